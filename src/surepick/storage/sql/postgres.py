"""Studies in PostgreSQL, for many workers on many machines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from sqlalchemy import (
    BigInteger,
    Connection,
    Engine,
    bindparam,
    create_engine,
    event,
    func,
    select,
    text,
    true,
)
from sqlalchemy.dialects.postgresql import ARRAY
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
from surepick.storage.records import ANONYMOUS, Holder, Lease
from surepick.storage.sql.rows import OF_PULLS, SqlTransaction
from surepick.storage.sql.storage import PATIENCE, POOL, SqlStorage

_MIGRATING = 5_078_305_926_187_344_001  # any number, the same for all who migrate

# A network that breaks says nothing: without these a transaction waits for a quarter of an hour.
# What the address says comes first.
_NETWORK = {
    "connect_timeout": "10",  # seconds
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "3",
    "tcp_user_timeout": "20000",  # milliseconds
}
_REFUSED = ("does not exist", "authentication failed", "no pg_hba.conf entry", "no password")


_CLOCK = "extract(epoch from clock_timestamp())::double precision"

# The usual case of an ask and of a tell, on which `study.desk.leases` rules, in one journey to the
# database: with one pull per ask, `benchmarks/study_speed.py --only postgres` does 2 to 4 times as
# many pairs with these as without. The conformance suite of storages holds them to the rules.
#
# Each is one statement and so one transaction. Under READ COMMITTED, an UPDATE that had to wait for
# the row of the study goes by its newest version, conditions included; the other rows that these
# statements touch are only ever changed by whoever has that row.
_ASK_ONE = f"""
WITH next AS (
    UPDATE surepick_progress SET asked = asked + 1
    WHERE study = %(study)s AND batch = %(batch)s AND asked >= %(place)s
      AND NOT finished AND NOT paused
      AND asked < least(size + ahead, %(place)s + %(known)s)
      AND NOT EXISTS (
        SELECT FROM surepick_leases WHERE study = %(study)s AND (
          worker = %(worker)s AND token IS NOT DISTINCT FROM %(token)s
          OR second = %(worker)s AND second_token IS NOT DISTINCT FROM %(token)s))
    RETURNING first, asked - 1 AS place
)
INSERT INTO surepick_leases (study, pull, arm, worker, until, attempts, token, since, request)
SELECT %(study)s, first + place, (%(arms)s::bigint[])[place - %(place)s + 1],
       %(worker)s, now + %(lease)s, 1, %(token)s, now, %(request)s
FROM next, (SELECT {_CLOCK} AS now) AS clock
RETURNING pull, arm, until, since, (SELECT place FROM next)
"""
_TELL_ONE = f"""
WITH open AS MATERIALIZED (
    SELECT study, (%(pull)s >= first + size)::int AS early FROM surepick_progress
    WHERE study = %(study)s AND (told + 1 < size OR %(pull)s >= first + size) FOR UPDATE
), gone AS (
    DELETE FROM surepick_leases USING open
    WHERE surepick_leases.study = open.study AND pull = %(pull)s AND attempts > 0
      AND second IS NULL
      AND (%(token)s::text IS NULL OR token = %(token)s)
      AND (%(worker)s::text IS NULL OR coalesce(worker, last) IS NULL
           OR coalesce(worker, last) = %(worker)s
           OR left(coalesce(worker, last), 1) = '{ANONYMOUS}')
    RETURNING arm, coalesce(worker, last) AS worker, token, stratum
), kept AS (
    INSERT INTO surepick_tells (study, pull, arm, value, worker, at, token, stratum)
    SELECT %(study)s, %(pull)s, arm, %(value)s, coalesce(%(worker)s, worker), {_CLOCK},
           %(token)s, stratum
    FROM gone RETURNING pull
)
UPDATE surepick_progress AS at SET told = told + 1 - open.early, early = at.early + open.early
FROM kept, open WHERE at.study = %(study)s RETURNING told
"""


def _by_key(query: Any, table: Any) -> Any:
    """The rows of many pulls, each looked up by its key.

    Before the database has counted its rows it expects a few of each study. With IN (...) it
    would read all of a study, again and again, and hold the study's lock meanwhile: 10,000 late
    rewards took 20 s. OFFSET 0 keeps it from turning this into a join of its own choice.
    """
    pulls = func.unnest(bindparam("_pulls", type_=ARRAY(BigInteger))).label("pull")
    wanted = select(pulls).subquery("wanted")
    found = query.where(table.c.pull == wanted.c.pull).offset(0).lateral("found")
    return select(found).select_from(wanted.join(found, true()))


_SOME = {kind: _by_key(query, table) for kind, (query, table) in OF_PULLS.items()}


class PostgresTransaction(SqlTransaction):
    """One transaction of PostgreSQL."""

    def _some(self, kind: str, study: int, pulls: Sequence[int]) -> Iterator[Any]:
        return iter(self._run(_SOME[kind], {"_s": study, "_pulls": list(pulls)}))


class PostgresStorage(SqlStorage):
    """A PostgreSQL database.

    Transactions lock the row of their study; primary keys and unique names do the rest.
    """

    clock = _CLOCK
    transaction = PostgresTransaction

    def _connect(self) -> Engine:
        try:
            import psycopg
        except ImportError:
            raise MissingExtraError(
                "PostgreSQL needs an extra: pip install 'surepick[postgres]'"
            ) from None
        self.errors = (DBAPIError, psycopg.Error)
        self._passing = (psycopg.OperationalError, psycopg.InterfaceError)
        query = _NETWORK | dict(self._address.query)
        engine = create_engine(self._address.set(query=query), **POOL)

        @event.listens_for(engine, "connect")
        def connect(connection: Any, _record: object) -> None:
            # A worker that hangs inside a transaction must not hold up the others for ever.
            patience = int(PATIENCE * 1000)
            connection.autocommit = True
            connection.execute(f"SET lock_timeout = {patience}")
            connection.execute(f"SET idle_in_transaction_session_timeout = {patience}")
            connection.autocommit = False

        self._plain = engine.execution_options(isolation_level="AUTOCOMMIT")
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

    def ask_one(
        self,
        study: int,
        batch: int,
        place: int,
        arms: Sequence[int],
        holder: Holder,
        lease: float,
        request: str | None = None,
    ) -> tuple[int, Lease] | None:
        worker, token = holder
        values = {"study": study, "batch": batch, "place": place, "known": len(arms)}
        values |= {"arms": f"{{{','.join(map(str, arms))}}}", "lease": lease}
        values |= {"request": request}
        row = self._one_step(_ASK_ONE, values | {"worker": worker, "token": token})
        if row is None:
            return None
        pull, arm, until, since, taken = row
        return taken, Lease(pull, arm, worker, until, token=token, since=since, request=request)

    def tell_one(
        self, study: int, pull: int, value: float, worker: str | None, token: str | None
    ) -> bool | None:
        values = {"study": study, "pull": pull, "value": value, "worker": worker, "token": token}
        return None if self._one_step(_TELL_ONE, values) is None else True

    def _one_step(self, statement: str, values: dict[str, Any]) -> Any:
        """A statement that is a transaction of its own; None where it did nothing.

        Also None after an error that may pass. It may have taken effect then: callers have to look.
        """
        self._leave_parents_connections()
        self._be_prepared()
        try:
            with self._plain.connect() as connection:
                return connection.exec_driver_sql(statement, values).one_or_none()
        except self.errors as error:
            explained, passing = self._explain(error)
            if not passing:
                raise explained from error
            return None

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
        # Cut, shutting down, starting up, too busy for another connection, idle for too long.
        gone = state[:2] in ("08", "53", "57") or state == "25P03"
        if gone or (not state and isinstance(cause, self._passing)):
            return StorageConnectionError(said), True
        return StorageError(said), False
