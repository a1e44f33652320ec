"""The morning look: who is ahead, how sure that is, what it is worth, and what to do next."""

from __future__ import annotations

import json
import math
import threading
from typing import Any

import numpy as np

from surepick.algorithms.pulls import ToldPulls
from surepick.run import Run
from surepick.run.diagnostics import Finding
from surepick.run.forecast import Ahead
from surepick.run.sharing import traffic_of
from surepick.run.standing import counted
from surepick.statistics.lift import Sums
from surepick.statistics.ratio import LEVEL, RatioTest
from surepick.storage.records import StudyProgress
from surepick.storage.traffic import Period
from surepick.study.checks.advice import anything_will_do
from surepick.study.checks.checks import Checks
from surepick.study.checks.unusual import measured
from surepick.study.desk.desk import Desk
from surepick.study.traffic.desk import TrafficDesk
from surepick.study.traffic.kinds import REPORTS
from surepick.study.traffic.report import columns_of
from surepick.study.traffic.words import ahead, headline, next_step, ratio_message, worth

_RECENT = 7  # periods that say how many visitors come
_HOUR = 3600.0  # shorter periods are trials, and say nothing about how long others will take
_LEVELS_CANCEL = Finding(
    False,
    0.0,
    0.05,
    "Options are compared within each period, so a change that affects all of them cancels out.",
)


class Traffic:
    """What a study of traffic knows beside its run; safe to use from several threads."""

    def __init__(self, desk: Desk) -> None:
        self.desk = TrafficDesk(desk)
        self._lock = threading.Lock()
        self._forget(0)

    def _forget(self, revision: int) -> None:
        """Look at everything anew: a report was corrected."""
        problem = self.desk.desk.problem
        self._revision = revision
        self._ratio = RatioTest(problem.n_arms)
        kind, control = problem.noise_kind, self.desk.sharing.control
        self._lifts = REPORTS.of(kind).lifts(kind, problem.n_arms, control)
        self._visits: list[int] = []  # of each period that was looked at

    def _follow(self, run: Run, at: StudyProgress) -> None:
        """Look at the periods that are new."""
        if at.revision != self._revision:
            self._forget(at.revision)
        seen, n = len(self._visits), run.problem.n_arms
        if seen >= run.batches:
            return
        storage, study = self.desk.desk.storage, self.desk.desk.record.id
        periods = storage.read(lambda tx: tx.periods(study, seen, run.batches))
        for period, told in zip(periods, run.told(seen)):
            added = by_option(told, n)
            self._ratio.add(np.array(json.loads(period.shares)), added.counts)
            if self._lifts is not None:
                self._lifts.add(added)
            self._visits.append(int(added.counts.sum()))

    def checks(self) -> Checks:
        """Whether visitors came in the shares that they were sent by."""
        run, at = self.desk.desk.load()
        with self._lock:
            self._follow(run, at)
            remarks = tuple(anything_will_do(run, measured(run)))
            return Checks(None, _LEVELS_CANCEL, None, "", remarks, None, self._finding(run))

    def _finding(self, run: Run) -> Finding:
        evidence = self._ratio.log_evidence
        alarm = evidence >= -math.log(LEVEL)
        off = tuple(self._ratio.off()) if alarm else ()
        ratio = self._ratio
        text = ratio_message(run.problem.labels, off, ratio.counts, ratio.expected, alarm)
        return Finding(alarm, evidence, LEVEL, text, off, not self._visits)

    def record_of_shares(self) -> dict[str, Any]:
        """What a certificate says of the traffic."""
        run, _ = self.desk.desk.load()
        periods, sharing = self.desk.periods()[: run.batches], self.desk.sharing
        return {
            "at_least": sharing.at_least,
            "control": sharing.control,
            "control_share": sharing.control_share,
            "periods": [
                {"name": one.name, "shares": json.loads(one.shares), "settled": one.settled}
                for one in periods
            ],
        }

    def status(self) -> dict[str, Any]:
        """Where the study stands, as JSON-ready values; ``headline`` and ``next`` are sentences."""
        desk, storage = self.desk.desk, self.desk.desk.storage
        run, at = desk.load()
        with self._lock:
            self._follow(run, at)
            finding, visits = self._finding(run), list(self._visits)
            lifts = self._intervals(run)
        recent = max(at.batch - _RECENT, 0)
        periods = storage.read(lambda tx: tx.periods(desk.record.id, recent))
        running = [period for period in periods if period.number >= at.batch]
        labels, (counts, sums) = run.problem.labels, run.totals()
        means = [s / n if n else None for s, n in zip(sums.tolist(), counts.tolist())]
        missing = traffic_of(run).visits_missing()
        usual = float(np.mean(visits[-_RECENT:])) if visits else None
        left = None if missing is None or not usual else math.ceil(missing / usual)
        leader = run.state.leader() if run.batches or run.past else None
        found: dict[str, Any] = {
            "settled": run.batches,
            "open": [_open(period) for period in running],
            "shares": json.loads(running[-1].shares) if running else None,
            "visits": visits,
            "leader": None if leader is None else labels[leader],
            "leader_mean": None if leader is None else means[leader],
            "risk": risk_of(run, leader),
            "control": self.desk.rules.control,
            "control_mean": None
            if self.desk.sharing.control is None
            else means[self.desk.sharing.control],
            "lift": lifts,
            "window": self.desk.rules.window,
            "visits_left": None if missing is None else math.ceil(missing),
            "periods_left": left,
            "days_left": None if left is None else _days(periods, left),
            "columns": list(columns_of(run.problem)),
            "ratio": {
                "alarm": finding.alarm,
                "message": finding.message,
                "off": [labels[i] for i in finding.arms],
            },
        }
        ended = at.finished
        said = {"name": desk.record.name, "left": run.state.left(), "finished": ended, **found}
        kind = run.answer.guarantee.kind if ended and not finding.alarm else "none"
        said |= {"kind": kind, "labels": len(labels), "epsilon": run.algorithm.epsilon}
        said["claims"] = _claims(run)
        said |= {"yes_no": run.problem.noise_kind.successes, "leader_index": leader}
        said |= {"delta": run.algorithm.delta, "minimise": run.problem.minimise}
        step, command = next_step(said)
        words = {"headline": headline(said), "worth": worth(said), "ahead": ahead(said)}
        return found | words | {"next": step, "command": command}

    def periods_ahead(self, run: Run) -> Ahead:
        """How many more periods, if they are like the last ones."""
        from surepick.simulate.ahead import periods_ahead

        desk = self.desk.desk
        with self._lock:
            self._follow(run, desk.load()[1])
            visits = self._visits[-_RECENT:]
        last = desk.storage.read(
            lambda tx: tx.periods(desk.record.id, run.batches - 1, run.batches)
        )
        shares = np.array(json.loads(last[0].shares)) if run.batches else None
        return periods_ahead(run, self.desk.sharing, shares, visits)

    def _intervals(self, run: Run) -> list[list[float] | None] | None:
        """How far each option is above the control, and the ends of its interval.

        All intervals hold at once, at every look. None for the control, and who was never seen.
        """
        if self._lifts is None:
            return None
        n = run.problem.n_arms
        low, high = self._lifts.intervals(run.algorithm.delta / max(n - 1, 1))
        lead, control = self._lifts.estimates(), self._lifts.control
        return [
            None if i == control or math.isnan(lead[i]) else [float(x) for x in ends]
            for i, ends in enumerate(zip(lead, low, high))
        ]


def risk_of(run: Run, leader: int | None) -> float:
    """The p-value of "another one is better than the leader" (by more than epsilon).

    Not below delta: everybody else has to be ruled out, and counts no further then.
    """
    if leader is None:
        return 1.0
    doubts = traffic_of(run).doubts()
    others = run.problem.distinct != run.problem.same_as[leader]
    return float(doubts[others].max(initial=0.0))


def _claims(run: Run) -> dict[str, str] | None:
    """What is claimed where options are compared with a baseline."""
    claims = run.state.claims()
    if claims is None:
        return None
    now = run.standing()
    options = dict(zip(now["state"], now["option"]))
    return {"baseline": options.get("baseline", claims.baseline), "counted": counted(now["state"])}


def _open(period: Period) -> dict[str, Any]:
    shares = json.loads(period.shares)
    return {"number": period.number, "period": period.name, "since": period.at, "shares": shares}


def _days(periods: list[Period], n: int) -> float | None:
    """How long so many periods take if they are as long as the last ones were."""
    if len(periods) < 2:
        return None
    usual = (periods[-1].at - periods[0].at) / (len(periods) - 1)
    return n * usual / (24 * _HOUR) if usual >= _HOUR else None


def by_option(told: ToldPulls, n: int) -> Sums:
    """A report added up by option: its rows may be groups of visitors."""
    spreads = 0.0 * told.sums if told.spreads is None else told.spreads
    columns = (told.pulls.counts, told.sums, spreads)
    return Sums(*(np.bincount(told.pulls.arms, one, n).astype(np.float64) for one in columns))
