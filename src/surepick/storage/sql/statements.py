"""The statements of a transaction, the same for every database."""

from __future__ import annotations

from functools import cache
from itertools import accumulate, pairwise
from typing import Any

from sqlalchemy import bindparam, case, delete, func, insert, literal_column, select, update

from surepick.storage.records import (
    CLOCK_SLACK,
    Event,
    Lease,
    Link,
    Period,
    Report,
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
    past,
    periods,
    progress,
    reports,
    snapshots,
    studies,
    summaries,
    tells,
)

# Column names are those of the records; what a bound value is called starts with an underscore.
_s, _pull, _n, _now = bindparam("_s"), bindparam("_pull"), bindparam("_n"), bindparam("_now")


KEPT = ("pull", "arm")  # of a lease: what never changes


def fields_of(table: Any, record: type) -> list[Any]:
    """The columns that make up a record, in the order of its fields; rows are checked."""
    first, *others = (table.c[name] for name in record.__dataclass_fields__ if name in table.c)
    return [checked(first), *others]


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
CHANGE_LEASE = (
    update(leases)
    .where(leases.c.study == _s, leases.c.pull == _pull)
    .values(
        {name: bindparam(f"_{name}") for name in Lease.__dataclass_fields__ if name not in KEPT}
    )
)
DROP_LEASE = delete(leases).where(leases.c.study == _s, leases.c.pull == _pull)
_one_tell = tells.c.study == _s, tells.c.pull == _pull
CHANGE_TELL = (
    update(tells)
    .where(*_one_tell)
    .values(value=bindparam("_value"), numbers=bindparam("_numbers", type_=tells.c.numbers.type))
)
DROP_TELL = delete(tells).where(*_one_tell)
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
ADD_LEASE, ADD_TELL, ADD_EVENT = insert(leases), insert(tells), insert(events).inline()
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
TABLES = (chain, events, tells, leases, past, snapshots, summaries, batches, progress)
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
CHANGE_REPORT = update(reports).where(reports.c.study == _s, reports.c.period == _n)
NAME_PERIOD = update(periods).where(periods.c.study == _s, periods.c.number == _n)
