"""Reports of traffic: what came of a period, and corrections of that.

Everything that a report changes is written in one transaction: the report itself, the run after it,
the chain. A correction is a link with the report before and after; everything is then worked out
again from all reports, and the report that counts is the one that the storage has.

The guarantee stands as with single rewards: shares were fixed before their visitors came, and stay
what they were; rivals and stakes are worked out again from the earlier reports as they now are. If
which numbers are looked at again has nothing to do with them, what counts now is as good a report
as any other.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from itertools import takewhile
from typing import Any, NamedTuple, Self

import numpy as np

from surepick.algorithms.pulls import Pulls
from surepick.arrays.types import FloatArray
from surepick.errors import InvalidInputError, RunStateError, TellConflictError
from surepick.problem import Problem
from surepick.problem.noise import BySegment
from surepick.run import Run
from surepick.run.codec import dumps
from surepick.run.report import tell_report
from surepick.storage.contract import Transaction
from surepick.storage.records import BatchRecord, Link, Period, Report, StudyProgress
from surepick.study import chain
from surepick.study.acts.base import (
    NEEDED,
    WORKER,
    Act,
    ActKind,
    Changing,
    Field,
    Record,
    Scene,
    Step,
    Who,
)
from surepick.study.acts.options import BATCH
from surepick.study.acts.rewards import ASIDE
from surepick.study.chain import digest_of, sha
from surepick.study.checks.typed import rates
from surepick.study.pulls import as_name, said_by
from surepick.study.segments import segment_of
from surepick.study.sheet import Sheet
from surepick.study.traffic.block import told_to
from surepick.study.traffic.report import Counts, NobodyCame, read_report, rows_of
from surepick.study.traffic.results import Recorded, plain
from surepick.study.traffic.rules import TrafficRules, deal_seed, demanded_rules
from surepick.text import plural

_LOOKED_AT = 60  # periods before, beside which a report is looked at
CORRECTED = "report corrected"
#: of a period that was set aside, and never reported
EMPTY = Counts((), (), ())
_NOBODY = dumps(Pulls.from_counts(np.zeros(1, dtype=np.int64)).columns())


@dataclass(frozen=True)
class RowChange:
    """What became of one row of a report; visits are 0 where nobody came."""

    arm: int
    label: str
    bucket: int | None  #: of reports by bucket, or the number of the segment
    #: visits, sum, and the sum of squares of rewards between bounds; the same of further numbers
    old: tuple[float, ...]
    new: tuple[float, ...]
    segment: str | None = None  #: the name of the segment


@dataclass(frozen=True)
class ReportChange(Record):
    """What became of a report after it was recorded.

    Examples
    --------
    >>> import numpy as np
    >>> import surepick as sp
    >>> problem = sp.Problem(np.eye(2), noise="yes-no", labels=["a", "b"])
    >>> study = sp.create_study("shop", problem, storage="memory://", traffic=True)
    >>> split = study.split()
    >>> _ = study.record({"a": (100, 4), "b": (103, 9)}, period="monday")
    >>> made = study.correct_report("monday", {"a": (100, 4), "b": (99, 5)}, reason="bots")
    >>> [(row.label, row.old, row.new) for row in made.rows]
    [('b', (103, 9.0), (99, 5.0))]
    """

    period: str  #: its name
    number: int  #: 0 for the first period
    asked: int  #: periods that had their shares at the time
    rows: tuple[RowChange, ...]  #: those that differ
    at: float  #: the database's clock
    by: str | None  #: who changed it, if that was said
    reason: str
    token: str | None = None  #: id of the token it was changed with; None: on this machine

    @property
    def said(self) -> str:
        """What was done, as a sentence."""
        visits = sum(row.new[0] - row.old[0] for row in self.rows)
        more = f"{visits:+,.0f} visits" if visits else "as many visits"
        count = f"{len(self.rows)} row{'' if len(self.rows) == 1 else 's'}"
        return f"Period {self.period!r}: {count} of its report corrected ({more})."

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any]) -> Self:
        rows = tuple(
            RowChange(**row | {"old": tuple(row["old"]), "new": tuple(row["new"])})
            for row in saved["rows"]
        )
        return super().from_dict({**saved, "rows": rows})

    def certified(self, skipped: Sequence[int]) -> dict[str, Any]:
        """As certificates list it, which do not have the periods of these numbers."""
        rows = [
            {"arm": row.arm, "bucket": row.bucket, "old": list(row.old), "new": list(row.new)}
            for row in self.rows
        ]
        by = said_by(self.by, self.token)
        period, asked = (n - sum(one < n for one in skipped) for n in (self.number, self.asked))
        own = {"asked": asked, "at": self.at, "reason": self.reason}
        return own | {"period": period, "by": by, "rows": rows}


def read(tx: Transaction, study: int, scene: Scene) -> list[ReportChange]:
    """All corrections of a study's reports, in order."""
    return [of_link(link, scene) for link in tx.links(study, [CORRECTED])]


def of_link(link: Link, scene: Scene) -> ReportChange:
    """The correction that a link of the chain is about."""
    content = json.loads(link.content)
    names = ("by", "reason", "token")
    return ReportChange(
        content["name"],
        content["period"],
        content["asked"],
        changed_rows(content["was"], content["now"], scene),
        link.at,
        *(content[name] for name in names),
    )


def changed_rows(was: str, now: str, scene: Scene) -> tuple[RowChange, ...]:
    """The rows in which two reports differ."""
    old, new = _rows(Counts.from_json(was)), _rows(Counts.from_json(now))
    nobody = (0.0,) * len(next(iter(old.values())))
    kind, found = scene.problem.noise_kind, []
    for key in sorted(old.keys() | new.keys()):
        before, after = old.get(key, nobody), new.get(key, nobody)
        if before != after:
            arm, bucket = key
            part = None if bucket < 0 else bucket
            segment = None
            if part is not None and isinstance(kind, BySegment):
                segment = kind.names[part]
            found.append(RowChange(arm, scene.label(arm), part, before, after, segment))
    return tuple(found)


def _rows(counts: Counts) -> dict[tuple[int, int], tuple[float, ...]]:
    buckets = [-1] * len(counts.arms) if counts.buckets is None else counts.buckets
    columns = [counts.sums, counts.squares]
    for one in (counts.numbers or {}).values():
        columns += [one.sums, one.squares]
    sums = (column for column in columns if column is not None)
    return dict(zip(zip(counts.arms, buckets), zip(counts.visits, *sums)))


class _OfPeriod(ActKind):
    """Brings the report of a period."""

    large = True

    def check(self, scene: Scene, given: dict[str, Any]) -> dict[str, Any]:
        given = self.filled(given)
        rules, name = demanded_rules(scene.record), as_name(given["period"], "period")
        report, table = given["report"], given["table"]
        if (report is None) == (table is None):
            raise InvalidInputError("give either a report (by label) or a table")
        if table is not None:
            report, part = (
                Sheet.from_dict(table, "table"),
                segment_of(json.loads(scene.record.meta)),
            )
            report = report if part is None else rows_of(report.read("report"), part.name)
        elif isinstance(report, Mapping):
            report = {label: _cells(cells) for label, cells in report.items()}
        return given | {"period": name, "report": report, "rules": rules}


def sent_report(report: Any) -> dict[str, Any]:
    """A report as a request brings it: by label, or a table."""
    if isinstance(report, Mapping):
        return {"report": plain(report)}
    return {"table": Sheet.of(report).to_dict()}


def _cells(cells: Any) -> Any:
    """Keys of JSON are texts; buckets are numbers."""
    if not isinstance(cells, dict):
        return cells
    return {
        int(key) if isinstance(key, str) and key.isascii() and key.isdigit() else key: value
        for key, value in cells.items()
    }


_REPORT = Field(
    "report",
    dict[str, Any],
    "For each label [visits, sum]; with bounded rewards [visits, sum, squares]; with numbers of "
    "unknown scale an object of [visits, sum] by bucket. Further numbers come behind these.",
    None,
    example={"a": [1000, 12], "b": [990, 17]},
)
_PERIOD = Field(
    "period", str, "Name of the period.", NEEDED, {"minLength": 1, "maxLength": 200}, "monday"
)
_TABLE = Field("table", Sheet, "Instead: a table with these columns.", None)


# -- recording -----------------------------------------------------------------------------
class _Record(_OfPeriod):
    kind, link = "record", chain.REPORTED
    about = (
        "Record what came of a period; once this is answered, it is kept, and counts once. The "
        "same report again changes nothing, so a request may be repeated when its answer was "
        "lost; other numbers for the same period are refused (409)."
    )
    fields = (
        _PERIOD,
        _REPORT,
        _TABLE,
        Field("check", bool, "Only check whether the report could be recorded.", False),
    )
    role = WORKER

    def apply(self, scene: Scene, given: dict[str, Any], who: Who) -> Step | Act | None:
        name, rules, study = given["period"], given["rules"], scene.record.id
        run, at = scene.run()
        aside, due, known = scene.storage.read(lambda tx: _due(tx, study, at, rules, name))
        try:
            counts = read_report(run.problem_ahead, given["report"], _shares(due, run))
        except NobodyCame:
            if due.name is None or known is not None:  # it has no name yet, and goes on
                raise
            done = self._nobody(scene, at, name, run, who, given["check"])
            return self.apply(scene, given, who) if done is None else done
        if known is not None and Counts.from_json(known.content).reported != counts.reported:
            raise TellConflictError(
                f"period {name!r} was already recorded with other numbers, which still count. "
                "If they are wrong, correct the report"
            )
        asked = _questions(scene, run.problem_ahead, due.number, counts)
        if known is not None or given["check"]:
            status = "checked" if known is None else "duplicate"
            return self.done(_recorded(name, status, counts, run, asked), who, at.now)
        began = scene.storage.read(lambda tx: tx.periods(study, 0, 1))[0].at
        pulls = _NOBODY
        for _ in aside.before:
            run.skip()
        if name in aside.names:
            run.skip()
        else:
            told = told_to(run.problem, counts)
            tell_report(run, told, at.now - began, deal_seed(scene.record))
            pulls = dumps(run.told()[-1].pulls.columns())
        text, left = run.to_json(), run.state.left()
        visits = 0 if name in aside.names else sum(counts.visits)
        new = Report(due.number, counts.to_json(), at.now, who.token)
        missing = [Report(one.number, EMPTY.to_json(), at.now) for one in aside.before]
        content = {"period": due.number, "name": name, "report": digest_of(asdict(new))}
        if missing:  # that need no report any more
            content["before"] = [
                {"period": one.number, "name": one.name, "report": digest_of(asdict(report))}
                for one, report in zip(aside.before, missing, strict=True)
            ]

        def write(tx: Transaction, now: StudyProgress) -> StudyProgress:
            if due.name is None:
                tx.change(study, replace(due, name=name))
            for report in missing:
                tx.add(study, report)
                tx.add(study, BatchRecord(report.period, now.first, 0, _NOBODY, left))
            tx.add(study, new)
            tx.add(study, BatchRecord(due.number, now.first, visits, pulls, left))
            if run.stopped:
                chain.answer(tx, study, run.answer, text, now.now)
            after = replace(now, batch=due.number + 1, first=now.first + visits)
            return replace(after, finished=run.stopped, paused=now.paused and not run.stopped)

        def same(tx: Transaction) -> bool:
            return tx.periods(study, due.number, due.number + 1) == [due]

        outcome = _recorded(name, "accepted", counts, run, asked)
        content |= {"run": sha(text)}
        content |= {key: said for key, said in (("by", who.by), ("reason", who.reason)) if said}
        how = {"more": write, "same": same, "outcome": outcome, "text": text}
        return Step(at, content, run, run.stopped, False, **how)

    def _nobody(
        self, scene: Scene, at: StudyProgress, name: str, run: Run, who: Who, check: bool
    ) -> Act | None:
        """Nobody came in a period that has its name already: it goes on under the name of the next.

        None where something else happened first.
        """
        study = scene.record.id

        def go_on(tx: Transaction) -> bool:
            running = tx.periods(study, at.batch)
            if tx.progress(study, lock=True).place != at.place or running[0].name != name:
                return False
            if len(running) > 1:
                after = running[1]
                cure = f"count the visitors of both in {name!r}, and nobody in {after.name!r}"
                if after.shares != running[0].shares:
                    cure = (
                        "they differ, so visitors of both cannot be counted as one: set aside "
                        f"{name!r} (set_aside, surepick set-aside), then report {after.name!r}"
                    )
                raise InvalidInputError(
                    f"visits: nobody came in period {name!r}, and period {after.name!r} has its "
                    f"shares already; {cure}"
                )
            if not check:
                tx.change(study, replace(running[0], name=None))
            return True

        if not scene.storage.write(go_on):
            return None
        status = "checked" if check else "nobody"
        outcome = Recorded(name, status, 0, run.state.left(), run.stopped).to_dict()
        return self.done(outcome, who, at.now)

    def act(self, link: Link, scene: Scene) -> Act:
        """The report that a link is about, and by whom it was sent."""
        content, study = json.loads(link.content), scene.record.id
        here = (study, content["period"], content["period"] + 1)
        (report,) = scene.storage.read(lambda tx: tx.reports(*here))
        visits = sum(Counts.from_json(report.content).visits)
        who = Who(content.get("reason", ""), content.get("by"), report.token)
        return self.done({"period": content["name"], "visits": visits}, who, link.at)

    def words(self, details: dict[str, Any]) -> str:
        return f"Period {details['period']!r}: {plural(details['visits'], 'visit')} recorded."

    def result(self, act: Act | None, given: Mapping[str, Any]) -> Any:
        assert act is not None
        return Recorded(**{name: act.details[name] for name in Recorded.__dataclass_fields__})


def _recorded(name: str, status: str, counts: Counts, run: Run, asked: list[str]) -> dict[str, Any]:
    visits = sum(counts.visits)
    return Recorded(name, status, visits, run.state.left(), run.stopped, asked).to_dict()


def _questions(scene: Scene, problem: Problem, before: int, counts: Counts) -> list[str]:
    """What to ask about a report, beside those of the periods before."""
    first, study = max(0, before - _LOOKED_AT), scene.record.id
    kept = scene.storage.read(lambda tx: tx.reports(study, first, before))
    reports, labels = [Counts.from_json(one.content) for one in kept], problem.labels
    found = list[str]()
    for number, kind in ((None, problem.noise_kind), *problem.numbers.items()):
        if number is not None and number not in (counts.numbers or {}):
            continue
        known = [one.totals(number) for one in reports if number in (None, *(one.numbers or {}))]
        now = counts.totals(number)
        found += rates(known, now, labels, number or "", successes=kind.successes)
    return found


class _Aside(NamedTuple):
    """Periods that were set aside: their names, and those that come before the one that is due."""

    names: frozenset[str]
    before: list[Period]


def _due(
    tx: Transaction, study: int, at: StudyProgress, rules: TrafficRules, name: str
) -> tuple[_Aside, Period, Report | None]:
    """The period of this name, and its report if there is one.

    Whatever was set aside before it need not be reported.
    """
    named, names = tx.period_named(study, name), set_aside(tx, study)
    if named is not None and named.number < at.batch:
        known = tx.reports(study, named.number, named.number + 1)[0]
        return _Aside(names, []), named, known
    if at.finished:
        raise RunStateError(
            f"the study is finished: period {name!r} came after the end and does not count"
        )
    running = tx.periods(study, at.batch)
    if not running:
        raise RunStateError(
            f"no shares were stored for period {name!r}. Visitors count only if the shares "
            "were fixed before they came: ask for shares first (split)"
        )
    before = list(takewhile(lambda one: one.name in names and one.name != name, running[:-1]))
    running = running[len(before) :]
    first = running[0]
    if named is None and first.name is not None:
        raise RunStateError(
            f"period {first.name!r} must be recorded next; no shares were stored for a period "
            f"called {name!r}"
        )
    if named is not None and named.number != first.number:
        waiting = "an earlier period" if first.name is None else f"period {first.name!r}"
        raise RunStateError(
            f"{waiting} must be recorded before {name!r}: periods count in the order in which "
            "their shares were stored"
        )
    _check_window(at, rules.window, running, name)
    return _Aside(names, before), first, None


def set_aside(tx: Transaction, study: int) -> frozenset[str]:
    """The names of periods, or strata, that were set aside."""
    said = (json.loads(link.content) for link in tx.links(study, [ASIDE]))
    return frozenset(one["name"] for one in said if one["of"] != BATCH)


def _check_window(at: StudyProgress, window: float, running: list[Period], name: str) -> None:
    """A period settles when everybody in it has had the same time to respond."""
    if not window:
        return
    if len(running) == 1:
        raise RunStateError(
            f"period {name!r} is still running. It ends when the next period gets its shares "
            "(split --period NAME); its visitors then have the window to respond"
        )
    closes = running[1].at + window
    if at.now < closes:
        when = datetime.fromtimestamp(closes, UTC).isoformat(timespec="minutes")
        raise RunStateError(
            f"the window of period {name!r} closes at {when}: visitors may still respond "
            "until then. Report the period after that; later periods can run in the meantime"
        )


def _shares(period: Period, run: Run) -> FloatArray:
    """The shares of a period; options that came later had none."""
    found = np.zeros(run.problem_ahead.n_arms)
    given = json.loads(period.shares)
    found[: len(given)] = given
    return found


# -- correcting ----------------------------------------------------------------------------
class _CorrectReport(_OfPeriod, Changing):
    change = ReportChange
    kind, link = "correct-report", CORRECTED
    about = (
        "Let another report count for a period; everything is worked out again. The same "
        "correction again changes nothing, so a request may be repeated when its answer was lost."
    )
    caution = (
        "The guarantee stands if your choice of what to check again depended neither on the "
        "numbers nor on which option you favour. Examples are removing bots by one rule for all "
        "options, or a day that was exported twice. Check all options alike, whether they look "
        "good or bad."
    )
    fields = (
        _PERIOD,
        _REPORT,
        _TABLE,
    )
    needs_reason = True

    def apply(self, scene: Scene, given: dict[str, Any], who: Who) -> Step | Act | None:
        name, study, now = given["period"], scene.record.id, scene.run()[0]
        if name in scene.storage.read(lambda tx: set_aside(tx, study)):
            raise InvalidInputError(
                f"period {name!r} was set aside, so its numbers do not count; there is nothing to "
                "correct"
            )
        at, due, periods, reports, made = scene.storage.read(
            lambda tx: (*_recorded_period(tx, study, name), read(tx, study, scene))
        )
        counts = read_report(now.problem_ahead, given["report"], _shares(due, now))
        old, content = reports[due.number], counts.to_json()
        if Counts.from_json(old.content).reported == counts.reported:
            earlier = [one for one in made if one.number == due.number]
            if not earlier:
                raise InvalidInputError(
                    f"period {name!r} already has these numbers; nothing was changed"
                )
            return self.done(earlier[-1].to_dict(), who, earlier[-1].at)
        new = reports[due.number] = replace(old, content=content)
        run, left = scene.rereported(reports)

        def write(tx: Transaction, now: StudyProgress) -> StudyProgress:
            tx.change(study, new)
            return replace(now, first=change_batches(tx, study, due.number, reports, run, left))

        def same(tx: Transaction) -> bool:
            return len(tx.periods(study)) == periods

        said = {
            "period": due.number,
            "name": name,
            "asked": periods,
            "by": who.by,
            "token": who.token,
            "reason": who.reason,
            "was": old.content,
            "now": content,
        }
        return Step(at, said, run, run.stopped, more=write, same=same)

    def details(self, content: dict[str, Any], link: Link, scene: Scene) -> dict[str, Any]:
        return of_link(link, scene).to_dict()

    def words(self, details: dict[str, Any]) -> str:
        """How many rows, of which period; and what became of up to three of them."""
        change = ReportChange.from_dict(details)
        rows = [_row_in_words(row) for row in change.rows[:3]]
        rows += ["…"] if len(change.rows) > 3 else []
        return f"{change.said.removesuffix('.')}: {'; '.join(rows)}."


def _row_in_words(row: RowChange) -> str:
    (visits, total, *_), (before, earlier, *_) = row.new, row.old
    of = "" if row.bucket is None else f", bucket {row.bucket}"
    of = of if row.segment is None else f", {row.segment}"
    return f"{row.label}{of} {total:g} of {visits:,.0f} instead of {earlier:g} of {before:,.0f}"


def _recorded_period(
    tx: Transaction, study: int, name: str
) -> tuple[StudyProgress, Period, int, list[Report]]:
    at, due = tx.progress(study), tx.period_named(study, name)
    if due is None or due.number >= at.batch:
        raise RunStateError(f"period {name!r} was not recorded; there is nothing to correct")
    return at, due, len(tx.periods(study)), tx.reports(study)


def change_batches(
    tx: Transaction, study: int, first: int, reports: list[Report], run: Run, left: list[int]
) -> int:
    """Write what the batches from this period on have become; returns all visits."""
    begun = tx.batch(study, first)
    assert begun is not None
    visits = begun.first
    for number, report in enumerate(reports[first:], first):
        kept = tx.batch(study, number)
        assert kept is not None
        counts, pulls = Counts.from_json(report.content), kept.pulls
        size = sum(counts.visits)
        if number in run.skipped:
            pulls, size = _NOBODY, 0
        elif number == first:
            pulls = dumps(told_to(run.problem, counts).pulls.columns())
        changed = replace(kept, first=visits, size=size, pulls=pulls, survivors=left[number])
        tx.change(study, changed)
        visits += size
    return visits


RECORD, CORRECT_REPORT = _Record(), _CorrectReport()
