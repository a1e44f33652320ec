"""The operations of a transaction as SQL, the same for every database."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from functools import cache
from itertools import accumulate, pairwise
from typing import Any

from sqlalchemy import (
    Connection,
    Table,
    bindparam,
    case,
    delete,
    func,
    insert,
    literal_column,
    select,
    update,
)
from sqlalchemy.exc import IntegrityError

from surepick.errors import StudyExistsError
from surepick.storage.contract import Numbered, Row, T, Transaction
from surepick.storage.records import (
    CLOCK_SLACK,
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
from surepick.storage.sql.sums import checked
from surepick.storage.sql.tables import (
    batches,
    chain,
    events,
    leases,
    periods,
    progress,
    reports,
    snapshots,
    studies,
    summaries,
    tells,
)
from surepick.storage.sql.tables import (
    past as past_table,
)

_SHORT = 2000  # characters of all texts of a write together
_MANY = 500  # values in one IN (...); SQLite may refuse more than 999

# -- statements -----------------------------------------------------------------------------
# Column names are those of the records; what a bound value is called starts with an underscore.
_s, _pull, _n, _now = bindparam("_s"), bindparam("_pull"), bindparam("_n"), bindparam("_now")


def fields_of(table: Any, record: type) -> list[Any]:
    """The columns that make up a record, in the order of its fields; rows are checked."""
    first, *others = (table.c[name] for name in record.__dataclass_fields__ if name in table.c)
    return [checked(first), *others]


#: where rows are kept, and what no two of a study share
KEPT_IN: dict[type, tuple[Table, str]] = {
    BatchRecord: (batches, "number"),
    Link: (chain, "number"),
    Lease: (leases, "pull"),
    Tell: (tells, "pull"),
    Event: (events, "id"),
    Period: (periods, "number"),
    Report: (reports, "period"),
}
ADD = {kind: insert(table).inline() for kind, (table, _) in KEPT_IN.items()}


def _change(kind: type) -> Any:
    table, key = KEPT_IN[kind]
    values = {
        name: bindparam(f"_{name}", type_=table.c[name].type)
        for name in kind.__dataclass_fields__
        if name != key
    }
    return _at(update(table), kind).values(values)


def _at(statement: Any, kind: type) -> Any:
    """The statement for one row of a kind."""
    table, key = KEPT_IN[kind]
    return statement.where(table.c.study == _s, table.c[key] == bindparam(f"_{key}"))


CHANGE = {kind: _change(kind) for kind in (BatchRecord, Lease, Tell, Period, Report)}
DROP = {kind: _at(delete(KEPT_IN[kind][0]), kind) for kind in (Lease, Tell)}
LEASE = select(*fields_of(leases, Lease)).where(leases.c.study == _s)
TELL = select(*fields_of(tells, Tell)).where(tells.c.study == _s)
ONE_LEASE = LEASE.where(leases.c.pull == _pull)
ONE_TELL = TELL.where(tells.c.pull == _pull)
_token = bindparam("_token")
_worker = bindparam("_worker")
_own = (leases.c.worker == _worker) & leases.c.token.is_not_distinct_from(_token)
_as_second = (leases.c.second == _worker) & leases.c.second_token.is_not_distinct_from(_token)
LEASES_OF = LEASE.where(_own | _as_second).order_by(leases.c.pull).limit(_n)
LONGEST_OUT = (
    LEASE.where(leases.c.pull < bindparam("_last"), leases.c.until > _now)
    .where(leases.c.worker.is_not(None), leases.c.second.is_(None))
    .order_by(leases.c.since, leases.c.pull)
    .limit(_n)
)
WAITING = LEASE.where(leases.c.until <= _now).order_by(leases.c.until, leases.c.pull).limit(_n)
_from_the_future = (leases.c.since > _now + CLOCK_SLACK) & (leases.c.until > _now)
FROM_THE_FUTURE = LEASE.where(_from_the_future).order_by(leases.c.until, leases.c.pull).limit(_n)
_free = case((leases.c.until <= _now, 1), (_from_the_future, 1), else_=0)
_counted = func.count(checked(leases.c.pull))
COUNT_LEASES = select(_counted, func.coalesce(func.sum(_free), 0)).where(leases.c.study == _s)
SET_PROGRESS = update(progress).where(progress.c.study == _s)
REWARDS = (
    select(
        checked(tells.c.pull),
        *(tells.c[name] for name in ("arm", "value", "at", "stratum", "numbers")),
    )
    .where(tells.c.study == _s, tells.c.pull >= bindparam("_first"))
    .where(tells.c.pull < bindparam("_last"))
    .order_by(tells.c.pull)
)
NEW_REWARDS = REWARDS.where(tells.c.at >= bindparam("_since"))
TOTALS = (
    select(tells.c.arm, func.count(), func.sum(checked(tells.c.value)))
    .where(tells.c.study == _s, tells.c.pull >= bindparam("_first"))
    .where(tells.c.pull < bindparam("_last"))
    .group_by(tells.c.arm)
)
LINK = select(*fields_of(chain, Link)).where(chain.c.study == _s)
STUDY = select(*fields_of(studies, StudyRecord))
EVENT = select(*fields_of(events, Event)).where(events.c.study == _s).order_by(events.c.id)
_event_columns = checked(events.c.id), events.c.pull, events.c.kind, events.c.token
KNOWN_EVENT = select(*_event_columns).where(events.c.study == _s).order_by(events.c.id)
COUNT_EVENTS = (
    update(events)
    .where(events.c.id.in_(bindparam("_ids", expanding=True)))
    .values(count=events.c.count + _n)
)
#: what is looked up by pulls: the rows of a study, and their table
OF_PULLS = {"leases": (LEASE, leases), "tells": (TELL, tells), "events": (KNOWN_EVENT, events)}
SOME = {
    kind: query.where(table.c.pull.in_(bindparam("_pulls", expanding=True)))
    for kind, (query, table) in OF_PULLS.items()
}
TOLD = (
    TELL.where(tells.c.pull >= bindparam("_first"))
    .where(tells.c.pull < bindparam("_last"))
    .order_by(tells.c.pull)
)
TABLES = (chain, events, tells, leases, past_table, snapshots, summaries, batches, progress)
TABLES += (reports, periods)


@cache
def progress_query(clock: str, lock: bool) -> Any:
    """Where a study stands, and the time."""
    columns = [*fields_of(progress, StudyProgress), literal_column(clock).label("now")]
    query = select(*columns).where(progress.c.study == _s)
    return query.with_for_update() if lock else query


_OF_STUDY, _OF_PROGRESS = fields_of(studies, StudyRecord), fields_of(progress, StudyProgress)
_there, *_others = fields_of(summaries, Summary)
_OF_SUMMARY = [case((summaries.c.study.is_not(None), _there)), *_others]  # not every study has one
_ends = accumulate([0, len(_OF_STUDY), len(_OF_PROGRESS) + 1, len(_OF_SUMMARY), 1])
#: where what makes up an overview stands in its rows: study, progress, summary, a pull that is out
OVERVIEW_PARTS = [slice(*ends) for ends in pairwise(_ends)]


@cache
def overview_query(clock: str) -> Any:
    """What lists show of all studies, in one step."""
    now = literal_column(clock)
    one = select(checked(leases.c.pull)).where(leases.c.study == studies.c.id).limit(1)
    out = one.where(leases.c.until > now, leases.c.since <= now + CLOCK_SLACK)
    columns = [*_OF_STUDY, *_OF_PROGRESS, now.label("now"), *_OF_SUMMARY, out.scalar_subquery()]
    query = select(*columns).join(progress, progress.c.study == studies.c.id)
    query = query.join(summaries, summaries.c.study == studies.c.id, isouter=True)
    return query.order_by(studies.c.id)


_PERIOD = select(*fields_of(periods, Period)).where(periods.c.study == _s)
PERIODS = _PERIOD.where(periods.c.number >= _n, periods.c.number < bindparam("_last")).order_by(
    periods.c.number
)
PERIOD_NAMED = _PERIOD.where(periods.c.name == bindparam("_name"))
REPORTS = (
    select(*fields_of(reports, Report))
    .where(
        reports.c.study == _s,
        reports.c.period >= _n,
        reports.c.period < bindparam("_last"),
    )
    .order_by(reports.c.period)
)


# -- operations -----------------------------------------------------------------------------


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

    def _one(self, record: type[T], query: Any, values: Any = None) -> T | None:
        row = self._run(query, values).one_or_none()
        return None if row is None else record(*row)

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
        return self._one(StudyRecord, STUDY.where(studies.c.name == name))

    def studies(self) -> list[StudyRecord]:
        return [StudyRecord(*row) for row in self._run(STUDY.order_by(studies.c.id))]

    def overview(self) -> list[Overview]:
        found = []
        for row in self._run(overview_query(self._clock)):
            study, at, summary, out = (row[part] for part in OVERVIEW_PARTS)
            kept = None if summary[0] is None else Summary(*summary)
            one = Overview(StudyRecord(*study), StudyProgress(*at), kept, out[0] is not None)
            found.append(one)
        return found

    def remove_study(self, study: int) -> None:
        for table in TABLES:
            self._write(delete(table).where(table.c.study == _s), {"_s": study})
        self._write(delete(studies).where(studies.c.id == _s), {"_s": study})

    def find_progress(self, study: int, lock: bool) -> StudyProgress | None:
        return self._one(StudyProgress, progress_query(self._clock, lock), {"_s": study})

    def set_progress(self, study: int, at: StudyProgress) -> None:
        self._write(SET_PROGRESS, {"_s": study, **_stored(at)})

    # -- rows ------------------------------------------------------------------------------
    def add(self, study: int, *rows: Row) -> None:
        if rows:
            self._write(ADD[type(rows[0])], *({"study": study, **vars(row)} for row in rows))

    def change(self, study: int, *rows: Numbered) -> None:
        if rows:
            named = ({f"_{name}": value for name, value in vars(row).items()} for row in rows)
            self._write(CHANGE[type(rows[0])], *({"_s": study, **row} for row in named))

    def drop(self, study: int, kind: type[Lease | Tell], pulls: Sequence[int]) -> None:
        self._write(DROP[kind], *({"_s": study, "_pull": pull} for pull in pulls))

    # -- batches and snapshots -------------------------------------------------------------
    def batch(self, study: int, number: int) -> BatchRecord | None:
        query = select(*fields_of(batches, BatchRecord)).where(
            batches.c.study == _s, batches.c.number == bindparam("_number")
        )
        return self._one(BatchRecord, query, {"_s": study, "_number": number})

    def close_batch(self, study: int, number: int, survivors: int) -> None:
        closed = update(batches).where(batches.c.study == _s, batches.c.number == _n)
        self._write(closed, {"_s": study, "_n": number, "survivors": survivors})

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
        query = select(*fields_of(summaries, Summary)).where(summaries.c.study == _s)
        return self._one(Summary, query, {"_s": study})

    def set_snapshot(self, study: int, batch: int, run: str) -> None:
        self._write(delete(snapshots).where(snapshots.c.study == _s), {"_s": study})
        self._write(insert(snapshots), {"study": study, "batch": batch, "run": run})

    def snapshot(self, study: int) -> tuple[int, str] | None:
        query = select(checked(snapshots.c.batch), snapshots.c.run).where(snapshots.c.study == _s)
        row = self._run(query, {"_s": study}).one_or_none()
        return None if row is None else (row[0], row[1])

    def add_past(self, study: int, past: str) -> None:
        self._write(insert(past_table), {"study": study, "past": past})

    def past(self, study: int) -> str | None:
        query = select(checked(past_table.c.past)).where(past_table.c.study == _s)
        return self._run(query, {"_s": study}).scalar()

    # -- the chain -------------------------------------------------------------------------
    def last_link(self, study: int) -> Link | None:
        newest = LINK.order_by(chain.c.number.desc()).limit(1)
        return self._one(Link, newest, {"_s": study})

    def links(self, study: int, kinds: Iterable[str] | None = None) -> list[Link]:
        query = LINK.order_by(chain.c.number)
        if kinds is not None:
            query = query.where(chain.c.kind.in_(list(kinds)))
        return [Link(*row) for row in self._run(query, {"_s": study})]

    # -- leases ----------------------------------------------------------------------------
    def leases(self, study: int, pulls: Sequence[int]) -> dict[int, Lease]:
        rows = self._rows("leases", study, pulls, ONE_LEASE)
        return {row[0]: Lease(*row) for row in rows}

    def leases_of(self, study: int, worker: str, token: str | None, n: int) -> list[Lease]:
        values = {"_s": study, "_worker": worker, "_token": token, "_n": n}
        return [Lease(*row) for row in self._run(LEASES_OF, values)]

    def longest_out(self, study: int, now: float, last: int, n: int) -> list[Lease]:
        values = {"_s": study, "_now": now, "_last": last, "_n": n}
        return [Lease(*row) for row in self._run(LONGEST_OUT, values)]

    def waiting(self, study: int, now: float, n: int) -> list[Lease]:
        values = {"_s": study, "_now": now}
        found = [Lease(*row) for row in self._run(WAITING, values | {"_n": n})]
        if len(found) < n:
            more = self._run(FROM_THE_FUTURE, values | {"_n": n - len(found)})
            found += [Lease(*row) for row in more]
        return found

    def count_leases(self, study: int, now: float) -> tuple[int, int]:
        total, free = self._run(COUNT_LEASES, {"_s": study, "_now": now}).one()
        return total - free, free

    # -- the log ---------------------------------------------------------------------------
    def tells(self, study: int, pulls: Sequence[int]) -> dict[int, Tell]:
        rows = self._rows("tells", study, pulls, ONE_TELL)
        return {row[0]: Tell(*row) for row in rows}

    def told(self, study: int, first: int, last: int) -> list[Tell]:
        values = {"_s": study, "_first": first, "_last": last}
        return [Tell(*row) for row in self._run(TOLD, values)]

    def rewards(self, study: int, first: int, last: int, since: float | None = None) -> Rewards:
        values: dict[str, Any] = {"_s": study, "_first": first, "_last": last}
        if since is None:
            rows = self._run(REWARDS, values).all()
        else:
            rows = self._run(NEW_REWARDS, values | {"_since": since}).all()
        return Rewards.of(rows)

    def totals(self, study: int, first: int, last: int) -> dict[int, tuple[int, float]]:
        rows = self._run(TOTALS, {"_s": study, "_first": first, "_last": last})
        return {arm: (count, total) for arm, count, total in rows}

    def count_or_add_events(self, study: int, new: Sequence[Event]) -> None:
        together: dict[tuple[int, str, str | None], Event] = {}
        for event in new:
            key = (event.pull, event.kind, event.token)
            count = together[key].count if key in together else 0
            together[key] = replace(together.get(key, event), count=count + event.count)
        known: dict[tuple[int, str, str | None], int] = {}  # the id of the first
        for number, *which in self._rows("events", study, list({key[0] for key in together})):
            known.setdefault(tuple(which), number)
        self.add(study, *(one for key, one in together.items() if key not in known))
        counted: dict[int, list[int]] = {}  # ids, one statement for all that count so many
        for key in together.keys() & known.keys():
            counted.setdefault(together[key].count, []).append(known[key])
        for count, again in counted.items():
            for part in _parts(again):
                self._write(COUNT_EVENTS, {"_ids": part, "_n": count})

    def events(self, study: int, kinds: Iterable[str] | None = None) -> list[Event]:
        query = EVENT if kinds is None else EVENT.where(events.c.kind.in_(list(kinds)))
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
            yield from self._run(SOME[kind], {"_s": study, "_pulls": part})

    # -- traffic ---------------------------------------------------------------------------
    def periods(self, study: int, first: int = 0, last: int = ENDLESS) -> list[Period]:
        values = {"_s": study, "_n": first, "_last": last}
        return [Period(*row) for row in self._run(PERIODS, values)]

    def period_named(self, study: int, name: str) -> Period | None:
        return self._one(Period, PERIOD_NAMED, {"_s": study, "_name": name})

    def reports(self, study: int, first: int = 0, last: int = ENDLESS) -> list[Report]:
        values = {"_s": study, "_n": first, "_last": last}
        return [Report(*row) for row in self._run(REPORTS, values)]


def _parts(numbers: Sequence[int]) -> Iterator[list[int]]:
    """Split numbers into parts that one statement may name."""
    for start in range(0, len(numbers), _MANY):
        yield list(numbers[start : start + _MANY])


def _stored(at: StudyProgress) -> dict[str, Any]:
    """A progress without the time of reading."""
    values = dict(vars(at))
    del values["now"]
    return values
