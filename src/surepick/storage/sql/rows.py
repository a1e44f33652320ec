"""The operations of a transaction as SQL, the same for every database."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from typing import Any

from sqlalchemy import (
    Connection,
    bindparam,
    delete,
    func,
    insert,
    literal_column,
    select,
    update,
)
from sqlalchemy.exc import IntegrityError

from surepick.errors import StudyExistsError
from surepick.storage.contract import Transaction
from surepick.storage.records import (
    ENDLESS,
    BatchRecord,
    Closed,
    Event,
    Lease,
    Link,
    Overview,
    Period,
    Report,
    Rewards,
    StudyProgress,
    StudyRecord,
    Summary,
    Tell,
)
from surepick.storage.sql import statements as sql
from surepick.storage.sql import tables
from surepick.storage.sql.sums import checked
from surepick.storage.sql.tables import (
    batches,
    events,
    periods,
    progress,
    reports,
    snapshots,
    studies,
    summaries,
)

_SHORT = 2000  # characters of all texts of a write together
_MANY = 500  # values in one IN (...); SQLite may refuse more than 999

_s, _n = bindparam("_s"), bindparam("_n")


class SqlTransaction(Transaction):
    """One transaction of a database connection.

    Parameters
    ----------
    connection
        In a transaction that the storage has begun and will end.
    clock
        SQL for the database's time, in seconds since 1970.
    """

    def __init__(self, connection: Connection, clock: str) -> None:
        self.connection = connection
        self._clock = clock
        self._writes: list[tuple[Any, Any]] = []
        self.light = True  #: what has been put off is a few short rows

    def _run(self, query: Any, values: Any = None) -> Any:
        """Run a statement now, after all writes that have been put off."""
        self.flush()
        return self.connection.execute(query, values)

    def _write(self, statement: Any, *rows: Any) -> None:
        """Put off a write until something is read, or until the end."""
        if rows:
            values = list(rows)
            self._writes.append((statement, values if len(values) > 1 else values[0]))
            texts = (text for text in values[0].values() if isinstance(text, str))
            self.light &= len(values) == 1 and sum(map(len, texts)) < _SHORT

    def flush(self) -> None:
        """Do what has been put off."""
        writes, self._writes, self.light = self._writes, [], True
        for statement, rows in writes:
            self.connection.execute(statement, rows)

    # -- studies ---------------------------------------------------------------------------
    def add_study(self, study: StudyRecord, start: StudyProgress) -> StudyRecord:
        values = asdict(study)
        del values["id"], values["created"]
        try:
            added = self._run(
                insert(studies)
                .values(**values, created=literal_column(self._clock))
                .returning(studies.c.id)
            )
        except IntegrityError:  # the name is the only thing that can clash
            raise StudyExistsError(f"a study called {study.name!r} already exists") from None
        number = added.scalar_one()
        self._write(insert(progress), {"study": number, **_stored(start)})
        found = self.find_study(study.name)
        assert found is not None
        return found

    def find_study(self, name: str) -> StudyRecord | None:
        row = self._run(sql.STUDY.where(studies.c.name == name)).one_or_none()
        return None if row is None else StudyRecord(*row)

    def studies(self) -> list[StudyRecord]:
        return [StudyRecord(*row) for row in self._run(sql.STUDY.order_by(studies.c.id))]

    def overview(self) -> list[Overview]:
        found = []
        for row in self._run(sql.overview_query(self._clock)):
            study, at, summary, out = (row[part] for part in sql.OVERVIEW_PARTS)
            kept = None if summary[0] is None else Summary(*summary)
            one = Overview(StudyRecord(*study), StudyProgress(*at), kept, out[0] is not None)
            found.append(one)
        return found

    def remove_study(self, study: int) -> None:
        for table in sql.TABLES:
            self._write(delete(table).where(table.c.study == _s), {"_s": study})
        self._write(delete(studies).where(studies.c.id == _s), {"_s": study})

    def find_progress(self, study: int, lock: bool) -> StudyProgress | None:
        row = self._run(sql.progress_query(self._clock, lock), {"_s": study}).one_or_none()
        return None if row is None else StudyProgress(*row)

    def set_progress(self, study: int, at: StudyProgress) -> None:
        self._write(sql.SET_PROGRESS, {"_s": study, **_stored(at)})

    # -- batches and snapshots -------------------------------------------------------------
    def add_batch(self, study: int, batch: BatchRecord) -> None:
        self._write(insert(batches), {"study": study, **asdict(batch)})

    def batch(self, study: int, number: int) -> BatchRecord | None:
        query = select(*sql.fields_of(batches, BatchRecord)).where(
            batches.c.study == _s, batches.c.number == bindparam("_number")
        )
        row = self._run(query, {"_s": study, "_number": number}).one_or_none()
        return None if row is None else BatchRecord(*row)

    def close_batch(self, study: int, number: int, survivors: int) -> None:
        closed = update(batches).where(batches.c.study == _s, batches.c.number == _n)
        self._write(closed, {"_s": study, "_n": number, "survivors": survivors})

    def change_batch(self, study: int, batch: BatchRecord) -> None:
        changed = update(batches).where(batches.c.study == _s, batches.c.number == _n)
        values = {name: value for name, value in asdict(batch).items() if name != "number"}
        self._write(changed, {"_s": study, "_n": batch.number, **values})

    def closed_batches(self, study: int, last: int) -> list[Closed]:
        query = (
            select(checked(batches.c.number), batches.c.first + batches.c.size, batches.c.survivors)
            .where(batches.c.study == _s, batches.c.number < _n, batches.c.survivors.is_not(None))
            .order_by(batches.c.number)
        )
        return [Closed(*row) for row in self._run(query, {"_s": study, "_n": last})]

    def set_summary(self, study: int, summary: Summary) -> None:
        self._write(delete(summaries).where(summaries.c.study == _s), {"_s": study})
        self._write(insert(summaries), {"study": study, **vars(summary)})

    def summary(self, study: int) -> Summary | None:
        query = select(*sql.fields_of(summaries, Summary)).where(summaries.c.study == _s)
        row = self._run(query, {"_s": study}).one_or_none()
        return None if row is None else Summary(*row)

    def set_snapshot(self, study: int, batch: int, run: str) -> None:
        self._write(delete(snapshots).where(snapshots.c.study == _s), {"_s": study})
        self._write(insert(snapshots), {"study": study, "batch": batch, "run": run})

    def snapshot(self, study: int) -> tuple[int, str] | None:
        query = select(checked(snapshots.c.batch), snapshots.c.run).where(snapshots.c.study == _s)
        row = self._run(query, {"_s": study}).one_or_none()
        return None if row is None else (row[0], row[1])

    def add_past(self, study: int, past: str) -> None:
        self._write(insert(tables.past), {"study": study, "past": past})

    def past(self, study: int) -> str | None:
        query = select(checked(tables.past.c.past)).where(tables.past.c.study == _s)
        return self._run(query, {"_s": study}).scalar()

    # -- the chain -------------------------------------------------------------------------
    def add_link(self, study: int, link: Link) -> None:
        self._write(insert(tables.chain), {"study": study, **asdict(link)})

    def last_link(self, study: int) -> Link | None:
        newest = sql.LINK.order_by(tables.chain.c.number.desc()).limit(1)
        row = self._run(newest, {"_s": study}).one_or_none()
        return None if row is None else Link(*row)

    def links(self, study: int, kinds: Iterable[str] | None = None) -> list[Link]:
        query = sql.LINK.order_by(tables.chain.c.number)
        if kinds is not None:
            query = query.where(tables.chain.c.kind.in_(list(kinds)))
        return [Link(*row) for row in self._run(query, {"_s": study})]

    # -- leases ----------------------------------------------------------------------------
    def add_leases(self, study: int, new: Sequence[Lease]) -> None:
        self._write(sql.ADD_LEASE, *({"study": study, **vars(lease)} for lease in new))

    def change_leases(self, study: int, changed: Sequence[Lease]) -> None:
        rows = [{f"_{name}": value for name, value in vars(lease).items()} for lease in changed]
        self._write(sql.CHANGE_LEASE, *({"_s": study, **row} for row in rows))

    def drop_leases(self, study: int, pulls: Sequence[int]) -> None:
        self._write(sql.DROP_LEASE, *({"_s": study, "_pull": pull} for pull in pulls))

    def leases(self, study: int, pulls: Sequence[int]) -> dict[int, Lease]:
        rows = self._rows("leases", study, pulls, sql.ONE_LEASE)
        return {row[0]: Lease(*row) for row in rows}

    def leases_of(self, study: int, worker: str, token: str | None, n: int) -> list[Lease]:
        values = {"_s": study, "_worker": worker, "_token": token, "_n": n}
        return [Lease(*row) for row in self._run(sql.LEASES_OF, values)]

    def longest_out(self, study: int, now: float, last: int, n: int) -> list[Lease]:
        values = {"_s": study, "_now": now, "_last": last, "_n": n}
        return [Lease(*row) for row in self._run(sql.LONGEST_OUT, values)]

    def waiting(self, study: int, now: float, n: int) -> list[Lease]:
        values = {"_s": study, "_now": now}
        found = [Lease(*row) for row in self._run(sql.WAITING, values | {"_n": n})]
        if len(found) < n:
            more = self._run(sql.FROM_THE_FUTURE, values | {"_n": n - len(found)})
            found += [Lease(*row) for row in more]
        return found

    def count_leases(self, study: int, now: float) -> tuple[int, int]:
        total, free = self._run(sql.COUNT_LEASES, {"_s": study, "_now": now}).one()
        return total - free, free

    # -- the log ---------------------------------------------------------------------------
    def add_tells(self, study: int, new: Sequence[Tell]) -> None:
        self._write(sql.ADD_TELL, *({"study": study, **vars(tell)} for tell in new))

    def change_tells(self, study: int, changed: Sequence[Tell]) -> None:
        rows = (
            {"_s": study, "_pull": one.pull, "_value": one.value, "_numbers": one.numbers}
            for one in changed
        )
        self._write(sql.CHANGE_TELL, *rows)

    def drop_tells(self, study: int, pulls: Sequence[int]) -> None:
        self._write(sql.DROP_TELL, *({"_s": study, "_pull": pull} for pull in pulls))

    def tells(self, study: int, pulls: Sequence[int]) -> dict[int, Tell]:
        rows = self._rows("tells", study, pulls, sql.ONE_TELL)
        return {row[0]: Tell(*row) for row in rows}

    def told(self, study: int, first: int, last: int) -> list[Tell]:
        values = {"_s": study, "_first": first, "_last": last}
        return [Tell(*row) for row in self._run(sql.TOLD, values)]

    def rewards(self, study: int, first: int, last: int, since: float | None = None) -> Rewards:
        values: dict[str, Any] = {"_s": study, "_first": first, "_last": last}
        if since is None:
            rows = self._run(sql.REWARDS, values).all()
        else:
            rows = self._run(sql.NEW_REWARDS, values | {"_since": since}).all()
        return Rewards.of(rows)

    def totals(self, study: int, first: int, last: int) -> dict[int, tuple[int, float]]:
        rows = self._run(sql.TOTALS, {"_s": study, "_first": first, "_last": last})
        return {arm: (count, total) for arm, count, total in rows}

    def add_events(self, study: int, new: Sequence[Event]) -> None:
        self._write(sql.ADD_EVENT, *({"study": study, **vars(event)} for event in new))

    def count_or_add_events(self, study: int, new: Sequence[Event]) -> None:
        together: dict[tuple[int, str, str | None], Event] = {}
        for event in new:
            key = (event.pull, event.kind, event.token)
            count = together[key].count if key in together else 0
            together[key] = replace(together.get(key, event), count=count + event.count)
        known: dict[tuple[int, str, str | None], int] = {}  # the id of the first
        for number, *which in self._rows("events", study, list({key[0] for key in together})):
            known.setdefault(tuple(which), number)
        self.add_events(study, [one for key, one in together.items() if key not in known])
        counted: dict[int, list[int]] = {}  # ids, one statement for all that count so many
        for key in together.keys() & known.keys():
            counted.setdefault(together[key].count, []).append(known[key])
        for count, again in counted.items():
            for part in _parts(again):
                self._write(sql.COUNT_EVENTS, {"_ids": part, "_n": count})

    def events(self, study: int, kinds: Iterable[str] | None = None) -> list[Event]:
        query = sql.EVENT if kinds is None else sql.EVENT.where(events.c.kind.in_(list(kinds)))
        return [Event(*row) for row in self._run(query, {"_s": study})]

    def count_events(self, study: int, kinds: Iterable[str]) -> dict[int, int]:
        query = select(events.c.arm, func.sum(checked(events.c.count))).where(
            events.c.study == _s, events.c.kind.in_(list(kinds))
        )
        rows = self._run(query.group_by(events.c.arm), {"_s": study})
        return {row[0]: int(row[1]) for row in rows}

    def _rows(self, kind: str, study: int, pulls: Sequence[int], one: Any = None) -> Iterator[Any]:
        """The rows of some pulls; ``one`` is the statement for a single pull."""
        if len(pulls) == 1 and one is not None:
            return iter(self._run(one, {"_s": study, "_pull": pulls[0]}))
        return self._some(kind, study, pulls)

    def _some(self, kind: str, study: int, pulls: Sequence[int]) -> Iterator[Any]:
        """The rows of many pulls."""
        for part in _parts(pulls):
            yield from self._run(sql.SOME[kind], {"_s": study, "_pulls": part})

    # -- traffic ---------------------------------------------------------------------------
    def add_period(self, study: int, period: Period) -> None:
        self._write(insert(periods), {"study": study, **asdict(period)})

    def name_period(self, study: int, number: int, name: str | None) -> None:
        self._write(sql.NAME_PERIOD, {"_s": study, "_n": number, "name": name})

    def periods(self, study: int, first: int = 0, last: int = ENDLESS) -> list[Period]:
        values = {"_s": study, "_n": first, "_last": last}
        return [Period(*row) for row in self._run(sql.PERIODS, values)]

    def period_named(self, study: int, name: str) -> Period | None:
        row = self._run(sql.PERIOD_NAMED, {"_s": study, "_name": name}).one_or_none()
        return None if row is None else Period(*row)

    def add_report(self, study: int, report: Report) -> None:
        self._write(insert(reports), {"study": study, **asdict(report)})

    def change_report(self, study: int, report: Report) -> None:
        self._write(
            sql.CHANGE_REPORT, {"_s": study, "_n": report.period, "content": report.content}
        )

    def reports(self, study: int, first: int = 0, last: int = ENDLESS) -> list[Report]:
        values = {"_s": study, "_n": first, "_last": last}
        return [Report(*row) for row in self._run(sql.REPORTS, values)]


def _parts(numbers: Sequence[int]) -> Iterator[list[int]]:
    """Split numbers into parts that one statement may name."""
    for start in range(0, len(numbers), _MANY):
        yield list(numbers[start : start + _MANY])


def _stored(at: StudyProgress) -> dict[str, Any]:
    """A progress without the time of reading."""
    values = dict(vars(at))
    del values["now"]
    return values
