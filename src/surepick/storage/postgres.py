"""Studies in PostgreSQL, for many workers on many machines."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, text
from sqlalchemy.exc import DBAPIError

from surepick.errors import (
    MissingExtraError,
    NotADatabaseError,
    StorageConnectionError,
    StorageError,
    StorageFullError,
    StorageLockedError,
    StorageReadOnlyError,
)
from surepick.storage.rows import SqlTransaction
from surepick.storage.sql import PATIENCE, SqlStorage

_MIGRATING = 5_078_305_926_187_344_001  # any number, the same for all who migrate

_REFUSED = ("does not exist", "authentication failed", "no pg_hba.conf entry", "no password")


class PostgresStorage(SqlStorage):
    """A PostgreSQL database.

    Transactions lock the row of their study; primary keys and unique names do the rest.
    """

    clock = "extract(epoch from clock_timestamp())::double precision"

    def _connect(self) -> Engine:
        try:
            import psycopg
        except ImportError:
            raise MissingExtraError(
                "PostgreSQL needs an extra: pip install 'surepick[postgres]'"
            ) from None
        self.errors = (DBAPIError, psycopg.Error)
        self._passing = (psycopg.OperationalError, psycopg.InterfaceError)
        query = {"connect_timeout": "10"} | dict(self._address.query)
        engine = create_engine(self._address.set(query=query), pool_size=1, max_overflow=-1)

        @event.listens_for(engine, "connect")
        def connect(connection: Any, _record: object) -> None:
            # A worker that hangs inside a transaction must not hold up the others for ever.
            patience = int(PATIENCE * 1000)
            connection.autocommit = True
            connection.execute(f"SET lock_timeout = {patience}")
            connection.execute(f"SET idle_in_transaction_session_timeout = {patience}")
            connection.autocommit = False

        return engine

    @contextmanager
    def _begin(self, engine: Engine, write: bool) -> Iterator[Connection]:
        with engine.connect() as connection:
            if not write:  # several statements, one state
                connection = connection.execution_options(isolation_level="REPEATABLE READ")
            yield connection

    def _commit(self, transaction: SqlTransaction) -> None:
        driver: Any = transaction.connection.connection.driver_connection
        if not transaction.light:  # a pipeline may stall on more than fits into its buffers
            transaction.flush()
        try:
            # The writes travel together, and the commit with them: one wait instead of many.
            # The server has confirmed all of it when the pipeline ends; or that raises.
            with driver.pipeline():
                transaction.flush()
                transaction.connection.commit()
        except BaseException:
            if not transaction.connection.invalidated:
                transaction.connection.invalidate()
            raise

    def _lock_tables(self, connection: Connection) -> None:
        connection.execute(text("SELECT pg_advisory_xact_lock(:n)"), {"n": _MIGRATING})

    def _explain(self, error: Exception) -> tuple[StorageError, bool]:
        cause = error.orig if isinstance(error, DBAPIError) else error
        state = getattr(cause, "sqlstate", None) or ""
        said = f"{self.url}: {str(cause).strip()}"
        if state in ("40001", "40P01"):  # lost a race
            return StorageLockedError(said), True
        if state == "55P03":
            return StorageLockedError(f"{said}; another process has held it too long"), False
        if state in ("25006", "42501"):
            return StorageReadOnlyError(said), False
        if state == "53100":
            return StorageFullError(said), False
        # What goes wrong while connecting comes without a code.
        refused = not state and any(words in said for words in _REFUSED)
        if refused or state in ("3D000", "28000", "28P01"):
            return NotADatabaseError(said), False
        if state[:2] in ("08", "57") or (not state and isinstance(cause, self._passing)):
            return StorageConnectionError(said), True
        return StorageError(said), False
