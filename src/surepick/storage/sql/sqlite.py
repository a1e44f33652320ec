"""Studies in an SQLite file."""

from __future__ import annotations

import logging
import os
import random
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.exc import DBAPIError

from surepick.errors import (
    InvalidInputError,
    NotADatabaseError,
    StorageError,
    StorageFullError,
    StorageLockedError,
    StorageReadOnlyError,
    StudyDamagedError,
    UnknownStudyError,
)
from surepick.storage.sql import sums
from surepick.storage.sql.rows import SqlTransaction
from surepick.storage.sql.storage import PATIENCE, POOL, SqlStorage

_log = logging.getLogger(__name__)

_SMALL = 16 * 2**20  # bytes of a file that is looked at whenever it is opened: 50 ms at most
_BACKUP = "go on from a backup"


def wal_is_safe(version: tuple[int, ...]) -> bool:
    """Whether this SQLite is free of the bug by which resetting the WAL can lose a commit."""
    return (
        version >= (3, 51, 3) or (3, 50, 7) <= version < (3, 51) or (3, 44, 6) <= version < (3, 45)
    )


def _wait_for_turn(driver: Any) -> None:
    """Begin a transaction that may write, as soon as nobody else is in one.

    SQLite's own waiting looks ever more rarely, so that among many processes those who came
    last go first and some starve. Here everyone soon looks equally often.
    """
    end = time.monotonic() + PATIENCE
    pause = 0.001
    driver.execute("PRAGMA busy_timeout = 0")
    try:
        while True:
            try:
                driver.execute("BEGIN IMMEDIATE")
                return
            except sqlite3.OperationalError as error:
                if not error.sqlite_errorname.startswith("SQLITE_BUSY") or time.monotonic() >= end:
                    raise
            time.sleep(random.uniform(0.5, 1.5) * pause)
            pause = min(2 * pause, 0.015)
    finally:
        driver.execute(f"PRAGMA busy_timeout = {int(PATIENCE * 1000)}")


def _create_private(path: str) -> None:
    """An empty file for this user alone; SQLite gives its journals the same rights.

    Rewards and hashes of tokens are nobody else's. Whoever wants to share the file can say so
    (chmod): the rights of a file that is there are left as they are.
    """
    with suppress(OSError):  # SQLite says better what is wrong with the place
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))


class SqliteStorage(SqlStorage):
    """An SQLite file, shared by the processes of one machine.

    Every write is one ``BEGIN IMMEDIATE`` transaction, on the disk before it is acknowledged.
    New files use the write-ahead log where the linked SQLite does so safely; otherwise, and in
    files that came without one, the rollback journal.
    """

    errors = (DBAPIError, sqlite3.Error)
    clock = "(julianday('now') - 2440587.5) * 86400.0"

    def _connect(self) -> Engine:
        path = self._address.database
        if not path or path == ":memory:":
            raise InvalidInputError(
                "storage: an SQLite address needs a file (sqlite:///file.db); "
                "for studies in memory use memory://"
            )
        self._path = None if path.startswith("file:") else path
        self._turns_of = (os.getpid(), threading.Lock())
        self._log_given_up = False
        engine = create_engine(self._address, connect_args={"timeout": PATIENCE}, **POOL)

        @event.listens_for(engine, "connect")
        def connect(connection: Any, _record: object) -> None:
            connection.isolation_level = None  # transactions are begun and ended here, not by it
            # The strictest there is: a commit survives the loss of power right after it.
            connection.execute("PRAGMA synchronous = EXTRA")
            sums.provide(connection)

        return engine

    @contextmanager
    def _begin(self, engine: Engine, write: bool) -> Iterator[Connection]:
        # Threads that write wait for each other here: who looks again and again for the file's
        # lock would find it later than it is free.
        with self._turns() if write else nullcontext(), engine.connect() as connection:
            if write:
                self._give_up_log(connection)
                _wait_for_turn(connection.connection.driver_connection)
            else:
                connection.exec_driver_sql("BEGIN")
            yield connection

    def _turns(self) -> threading.Lock:
        """The lock of this process; after a fork another one, as a parent's may be held."""
        if self._turns_of[0] != os.getpid():
            self._turns_of = (os.getpid(), threading.Lock())
        return self._turns_of[1]

    def _commit(self, transaction: SqlTransaction) -> None:
        transaction.flush()
        transaction.connection.exec_driver_sql("COMMIT")

    def _prepare(self, create: bool) -> None:
        there = self._path is not None and os.path.exists(self._path)
        empty = there and self._path is not None and not os.path.getsize(self._path)
        new = self._path is not None and (empty or not there)
        if new and not create:
            why = "the file is empty (0 bytes); was it truncated?" if empty else "no such file"
            raise UnknownStudyError(f"there are no studies in {self.url}: {why}")
        if empty:
            _log.warning("%s is empty (0 bytes): any studies it contained are gone", self.url)
        if self._path is not None and not there:
            _create_private(self._path)
        if new:
            self._use_log()
        super()._prepare(create)
        if not new and self._path is not None and os.path.getsize(self._path) <= _SMALL:
            self.check()

    def check(self) -> None:
        """See :class:`Storage`: whether the file is whole as SQLite sees it, without its sums."""

        def look(connection: Connection) -> None:
            (found,) = connection.exec_driver_sql("PRAGMA quick_check(1)").one()
            if found != "ok":
                raise StudyDamagedError(f"{self.url} is damaged ({found}); {_BACKUP}")

        self._try_plain(look)

    def _use_log(self) -> None:
        """Let a new file have a write-ahead log, where that is safe."""

        def choose(connection: Connection) -> None:
            connection.exec_driver_sql("PRAGMA journal_mode = WAL")

        if wal_is_safe(sqlite3.sqlite_version_info):
            self._try_plain(choose)

    def _give_up_log(self, connection: Connection) -> None:
        """Before the first write: not with a log that is unsafe here.

        That needs the file for itself. Whoever only reads never asks for it, and goes on while
        somebody else writes.
        """
        if self._log_given_up:
            return
        if not wal_is_safe(sqlite3.sqlite_version_info):
            mode = connection.exec_driver_sql("PRAGMA journal_mode").scalar()
            if mode == "wal":
                connection.exec_driver_sql("PRAGMA journal_mode = DELETE")
        self._log_given_up = True

    def _try_plain(self, work: Any) -> None:
        """Run something that must not be inside a transaction."""
        try:
            with self._engine.connect() as connection:
                work(connection)
        except DBAPIError as error:
            raise self._explain(error)[0] from error

    def _explain(self, error: Exception) -> tuple[StorageError, bool]:
        cause = error.orig if isinstance(error, DBAPIError) else error
        name = getattr(cause, "sqlite_errorname", "") or ""
        said = f"{self.url}: {cause}"
        if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
            # The driver has waited for PATIENCE seconds already, unless it saw a deadlock coming.
            again = name in ("SQLITE_BUSY_SNAPSHOT", "SQLITE_BUSY_RECOVERY")
            return StorageLockedError(f"{said}; another process has held it too long"), again
        if sums.is_damage(cause):
            return StudyDamagedError(
                f"{self.url}: a row of its tables is not as it was written: the file was damaged, "
                f"or changed by somebody else; {_BACKUP}"
            ), False
        if name.startswith("SQLITE_READONLY"):
            return StorageReadOnlyError(
                f"{said}; check the permissions of the file and its folder"
            ), False
        if name.startswith("SQLITE_FULL"):
            return StorageFullError(f"{said}; nothing of this step was recorded"), False
        if name.startswith(("SQLITE_NOTADB", "SQLITE_CORRUPT")):
            return NotADatabaseError(f"{said}; this file cannot hold studies"), False
        if name.startswith("SQLITE_CANTOPEN"):
            return StorageError(f"{said}; check that the folder exists and is writable"), False
        return StorageError(said), False
