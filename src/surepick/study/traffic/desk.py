"""Shares for periods of traffic, and reports of what came of them.

Everything that a report changes is written in one transaction: the report itself, the run after it,
the chain. Shares are stored before anybody sees them. What the database holds decides; a call whose
end was not heard of can be made again.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import numpy as np

from surepick.arrays.types import FloatArray
from surepick.arrays.validate import whole
from surepick.errors import InvalidInputError, RunStateError, TellConflictError
from surepick.run import Run
from surepick.run.codec import dumps
from surepick.run.report import tell_report
from surepick.run.sharing import in_whole_visits
from surepick.storage.contract import Transaction
from surepick.storage.records import BatchRecord, StudyProgress
from surepick.storage.traffic import Period, Report
from surepick.study import chain
from surepick.study.desk.desk import Desk
from surepick.study.desk.rebuild import summary_of
from surepick.study.pulls import as_name
from surepick.study.traffic.block import told_of
from surepick.study.traffic.report import MOST_VISITS, Counts, read_report
from surepick.study.traffic.results import Recorded, Split
from surepick.study.traffic.rules import TrafficRules, rules_of


class TrafficDesk:
    """The desk of a study of traffic."""

    def __init__(self, desk: Desk) -> None:
        rules = rules_of(desk.record)
        if rules is None:
            raise RunStateError(
                f"study {desk.record.name!r} hands out single pulls (ask, tell); only a traffic "
                "study (--traffic) takes reports"
            )
        self.rules: TrafficRules = rules
        self.desk, self._study = desk, desk.record.id
        self.sharing = rules.sharing(desk.problem)

    # -- shares ----------------------------------------------------------------------------
    def split(self, visits: int | None = None, period: str | None = None) -> Split:
        """Shares of the period that is under way, or of a new one; see :meth:`Study.split`."""
        if visits is not None:
            visits = whole(visits, "visits", least=1)
            if visits >= MOST_VISITS:
                raise InvalidInputError(f"visits must be below {MOST_VISITS:,}; got {visits}")
        name = None if period is None else as_name(period, "period")
        while True:
            run, _ = self.desk.load()
            found = self.desk.storage.write(lambda tx, run=run: self._split(tx, run, name))
            if found is not None:
                return self._shown(found, visits)

    def _split(self, tx: Transaction, run: Run, name: str | None) -> Period | None:
        """The period meant; None: others have gone on since the run was loaded."""
        at = tx.progress(self._study, lock=True)
        known = None if name is None else tx.period_named(self._study, name)
        if known is not None:
            return known
        if at.finished:
            raise RunStateError("the study is finished: send all visitors to its answer")
        if at.batch != run.batches:
            return None
        periods = tx.periods(self._study, max(at.batch - 1, 0))
        running = [one for one in periods if one.number >= at.batch]
        if running and name is None:
            return running[-1]
        if running and running[-1].name is None:
            tx.name_period(self._study, running[-1].number, str(name))
            return tx.period_named(self._study, str(name))
        last = periods[-1] if periods else None
        if last is not None and last.settled == at.batch:
            shares = last.shares  # nothing was reported since
        else:
            before = None if last is None else _shares(last)
            shares = json.dumps(self.sharing.shares(run, before).tolist())
        number = 0 if last is None else last.number + 1
        new = Period(number, name, shares, at.batch, at.now)
        tx.add_period(self._study, new)
        chain.split(tx, self._study, new, at.now)
        return new

    def _shown(self, period: Period, visits: int | None) -> Split:
        labels, shares = self.desk.problem.labels, _shares(period)
        counts = None
        if visits is not None:
            counts = dict(zip(labels, in_whole_visits(shares, visits)))
        return Split(
            period.number, period.name, dict(zip(labels, shares.tolist())), counts, period.at
        )

    # -- reports ---------------------------------------------------------------------------
    def record(
        self, report: Any, period: str, token: str | None = None, check: bool = False
    ) -> Recorded:
        """Take in what came of a period; see :meth:`Study.record`."""
        name = as_name(period, "period")
        while True:
            done = self._record(report, name, token, check)
            if done is not None:
                return done

    def _record(self, report: Any, name: str, token: str | None, check: bool) -> Recorded | None:
        storage = self.desk.storage
        at, due, known = storage.read(lambda tx: self._due(tx, name))
        problem = self.desk.problem
        counts = read_report(problem, report, _shares(due))
        if known is not None:
            if Counts.from_json(known.content).reported != counts.reported:
                raise TellConflictError(
                    f"period {name!r} was already recorded with other numbers, which still count. "
                    "If they are wrong, correct the report"
                )
            return self._recorded(name, "duplicate", counts)
        if check:
            return self._recorded(name, "checked", counts)
        try:
            with self.desk.changing() as (run, stands):
                if stands.batch != at.batch:
                    return None  # somebody else was faster: look again
                tell_report(run, told_of(counts, problem.n_arms))
                text = run.to_json()
                self._write(run, text, name, counts, stands, token)
        except _Overtaken:
            return None
        return self._recorded(name, "accepted", counts)

    def _write(
        self, run: Run, text: str, name: str, counts: Counts, at: StudyProgress, token: str | None
    ) -> None:
        visits, summary = sum(counts.visits), summary_of(run)

        def write(tx: Transaction) -> None:
            now, due, known = self._due(tx, name, lock=True)
            if known is not None or now.batch != at.batch:
                # Ours, if an earlier try was written and only its confirmation was lost.
                if tx.snapshot(self._study) == (at.batch + 1, text):
                    return
                raise _Overtaken
            if due.name is None:
                tx.name_period(self._study, due.number, name)
            report = Report(due.number, counts.to_json(), now.now, token)
            tx.add_report(self._study, report)
            pulls = dumps(run.told(now.batch)[0].pulls.columns())
            batch = BatchRecord(now.batch, now.first, visits, pulls, summary.survivors)
            tx.add_batch(self._study, batch)
            chain.report(tx, self._study, name, report, text, now.now)
            if run.stopped:
                chain.answer(tx, self._study, run.answer, text, now.now)
            tx.set_summary(self._study, summary)
            tx.set_snapshot(self._study, now.batch + 1, text)
            after = StudyProgress(now.batch + 1, now.first + visits, 0, finished=run.stopped)
            tx.set_progress(self._study, after)

        self.desk.storage.write(write)

    def _due(
        self, tx: Transaction, name: str, lock: bool = False
    ) -> tuple[StudyProgress, Period, Report | None]:
        """Where the study stands, the period of this name, and its report if there is one."""
        at = tx.progress(self._study, lock=lock)
        named = tx.period_named(self._study, name)
        if named is not None and named.number < at.batch:
            return at, named, tx.reports(self._study, named.number, named.number + 1)[0]
        if at.finished:
            raise RunStateError(
                f"the study is finished: period {name!r} came after the end and does not count"
            )
        running = tx.periods(self._study, at.batch)
        if not running:
            raise RunStateError(
                f"no shares were stored for period {name!r}. Visitors count only if the shares "
                "were fixed before they came: ask for shares first (split)"
            )
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
        self._check_window(at, first, running[1:], name)
        return at, first, None

    def _check_window(
        self, at: StudyProgress, period: Period, later: list[Period], name: str
    ) -> None:
        """A period settles when everybody in it has had the same time to respond."""
        if not self.rules.window:
            return
        if not later:
            raise RunStateError(
                f"period {name!r} is still running. It ends when the next period gets its shares "
                "(split --period NAME); its visitors then have the window to respond"
            )
        closes = later[0].at + self.rules.window
        if at.now < closes:
            when = datetime.fromtimestamp(closes, UTC).isoformat(timespec="minutes")
            raise RunStateError(
                f"the window of period {name!r} closes at {when}: visitors may still respond "
                "until then. Report the period after that; later periods can run in the meantime"
            )

    def _recorded(self, name: str, status: str, counts: Counts) -> Recorded:
        run, at = self.desk.load()
        return Recorded(name, status, sum(counts.visits), run.state.left(), at.finished)

    # -- what there is ---------------------------------------------------------------------
    def periods(self) -> list[Period]:
        """All periods, in order."""
        return self.desk.storage.read(lambda tx: tx.periods(self._study))

    def reports(self) -> list[Report]:
        """All reports, in the order of the periods."""
        return self.desk.storage.read(lambda tx: tx.reports(self._study))


class _Overtaken(Exception):
    """Somebody else has recorded a period since the run was loaded."""


def _shares(period: Period) -> FloatArray:
    return np.array(json.loads(period.shares), dtype=np.float64)
