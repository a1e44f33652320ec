"""Studies in an SQL database: connections, transactions, retries."""

from __future__ import annotations

import logging
import os
import random
import threading
import time
from abc import abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager

from sqlalchemy import Connection, Engine
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DBAPIError

from surepick.errors import (
    InvalidInputError,
    StorageConnectionError,
    StorageError,
    StorageReadOnlyError,
    UnknownStudyError,
)
from surepick.storage.contract import Storage, T, Transaction
from surepick.storage.sql import migrate
from surepick.storage.sql.rows import SqlTransaction

_log = logging.getLogger(__name__)

PATIENCE = 60.0  # seconds to wait for a lock before giving up
# Keep as many connections as were ever needed at once: opening one takes longer than most
# transactions. No thread waits for another; `close` lets go of all of them.
POOL = {"pool_size": 0, "max_overflow": -1}
_TRIES = 6  # of a transaction whose connection was lost or which lost a race


class SqlStorage(Storage):
    """What SQLite and PostgreSQL share."""

    clock: str  #: SQL for the database's time, in seconds since 1970
    errors: tuple[type[Exception], ...] = (DBAPIError,)  #: what the database raises
    transaction: type[SqlTransaction] = SqlTransaction

    def __init__(self, url: str, *, create: bool = True, later: bool = False) -> None:
        try:
            self._address = make_url(url)
        except ArgumentError:
            raise InvalidInputError(f"storage: {url!r} is not a database address") from None
        self.url = self._address.render_as_string(hide_password=True)
        self._pid = os.getpid()
        self._engine = self._connect()
        self._create, self._prepared, self._preparing = create, False, False
        self._lock = threading.RLock()
        if not later:
            try:
                self._be_prepared()
            except BaseException:
                self.close()
                raise

    # -- what differs ----------------------------------------------------------------------
    @abstractmethod
    def _connect(self) -> Engine:
        """An engine for the address."""

    @abstractmethod
    def _begin(self, engine: Engine, write: bool) -> AbstractContextManager[Connection]:
        """A connection in a transaction that is rolled back unless it was committed."""

    @abstractmethod
    def _commit(self, transaction: SqlTransaction) -> None:
        """Do the writes that were put off, and commit."""

    @abstractmethod
    def _explain(self, error: Exception) -> tuple[StorageError, bool]:
        """A database's error in our words, and whether trying again may help."""

    def _lock_tables(self, connection: Connection) -> None:
        """Keep others from migrating at the same time."""

    # -- transactions ----------------------------------------------------------------------
    def write(self, work: Callable[[Transaction], T]) -> T:
        return self._try(work, write=True)

    def read(self, work: Callable[[Transaction], T]) -> T:
        return self._try(work, write=False)

    def _try(self, work: Callable[[SqlTransaction], T], *, write: bool) -> T:
        """Run ``work`` in a transaction, again where the database failed in passing."""
        self._leave_parents_connections()
        self._be_prepared()
        for attempt in range(1, _TRIES + 1):
            try:
                with self._begin(self._engine, write) as connection:
                    transaction = self.transaction(connection, self.clock)
                    result = work(transaction)
                    self._commit(transaction)
                    return result
            except self.errors as error:
                explained, passing = self._explain(error)
                if isinstance(explained, StorageConnectionError | StorageReadOnlyError):
                    # Those that wait in the pool are likely cut as well, or lead to a server that
                    # another one has taken over from.
                    self._engine.dispose()
                if not passing or attempt == _TRIES:
                    raise explained from error
                _log.info("%s: trying again (%s)", self.url, explained)
                time.sleep(random.uniform(0.5, 1.0) * 0.05 * 2**attempt)
        raise AssertionError("unreachable")

    def _leave_parents_connections(self) -> None:
        """After a fork the child opens its own connections: sharing one would mix them up."""
        if self._pid != os.getpid():
            self._engine.dispose(close=False)
            self._pid = os.getpid()

    def close(self) -> None:
        """Let go of connections; they come back when needed."""
        self._engine.dispose(close=self._pid == os.getpid())

    # -- tables ----------------------------------------------------------------------------
    def _be_prepared(self) -> None:
        """Prepare the database before it is used first; again next time, where that failed."""
        if self._prepared:
            return
        with self._lock:
            if self._prepared or self._preparing:  # preparing runs transactions of its own
                return
            self._preparing = True
            try:
                self._prepare(self._create)
                self._prepared = True
            finally:
                self._preparing = False

    def _prepare(self, create: bool) -> None:
        """Check the version of the tables, and bring them up to date."""
        found = self._try(lambda tx: migrate.version(tx.connection), write=False)
        if found is None and not create:
            raise UnknownStudyError(f"there are no studies in {self.url}")
        if not migrate.check(found, self.url):
            return

        def upgrade(tx: SqlTransaction) -> None:
            self._lock_tables(tx.connection)
            migrate.upgrade(tx.connection, self.url)

        self._try(upgrade, write=True)
