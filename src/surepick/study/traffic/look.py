"""The morning look: who is ahead, how sure that is, what it is worth, and what to do next."""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from surepick.algorithms.limits.limit import parse_limit
from surepick.algorithms.pulls import ToldPulls
from surepick.problem import Problem
from surepick.problem.noise import BySegment
from surepick.promise import Promise
from surepick.run import Run
from surepick.run.changes import ADDED
from surepick.run.diagnostics import Finding
from surepick.run.forecast import Ahead
from surepick.run.sharing import traffic_of
from surepick.run.standing import counted, means_of
from surepick.run.waiting import Lead
from surepick.run.waiting import by_option as sums_of
from surepick.statistics.lift import Sums
from surepick.statistics.own_past import LEVEL as OWN_LEVEL
from surepick.statistics.own_past import Moved, OwnPast
from surepick.statistics.ratio import LEVEL, RatioTest
from surepick.statistics.scatter import scatter
from surepick.statistics.spending import shares_of_leads
from surepick.storage.records import Period, StudyProgress
from surepick.study.checks.checks import Checks, anything_will_do
from surepick.study.checks.typed import measured
from surepick.study.desk.desk import Desk
from surepick.study.desk.rebuild import algorithm_of
from surepick.study.segments import segment_of
from surepick.study.traffic.desk import TrafficDesk
from surepick.study.traffic.kinds import REPORTS
from surepick.study.traffic.report import columns_of
from surepick.study.traffic.words import (
    KEPT_RATIOS,
    ahead,
    headline,
    kept_text,
    listed,
    moved_messages,
    next_step,
    ratio_message,
    scattered_message,
    waiting_message,
    worth,
)

_SCATTERED = 0.001  # of a remark that counts scatter, where nothing is wrong
_FEWEST = 2  # periods before options can be compared with their own past
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
        self._forget(0, desk.problem)

    def _forget(self, revision: int, problem: Problem) -> None:
        """Look at everything anew: a report was corrected, or options came."""
        self._revision, self._options = revision, problem.n_arms
        self._ratio = RatioTest(problem.n_arms)
        kind, control = problem.noise_kind, self.desk.sharing.control
        self._lifts = REPORTS.of(kind).lifts(kind, problem.n_arms, control)
        first = self.desk.desk.first_problem.n_arms
        columns: list[str | None] = [None] if kind.successes else []  # None: successes
        limited = algorithm_of(self.desk.desk.record).asked.limited
        columns += [name for name in limited if problem.numbers[name].successes]
        segments = kind.names if isinstance(kind, BySegment) else ()
        #: numbers of segments, by the names that stand for columns here
        self._segments = {name: number for number, name in enumerate(segments)}
        columns = [*self._segments] or columns
        #: of each number, or segment: those that were there at first, and those of each addition
        self._past = {one: [OwnPast(first, shared=len(columns))] for one in columns}
        self._counts: dict[str | None, list[Sums]] = {one: [] for one in columns}
        self._names: list[str] = []
        self._visits: list[int] = []
        self._seen = 0  # reports that were looked at, also of periods that were set aside

    def _follow(self, run: Run, at: StudyProgress) -> None:
        """Look at the periods that are new."""
        if at.revision != self._revision or run.problem.n_arms != self._options:
            self._forget(at.revision, run.problem)
        seen, n = self._seen, run.problem.n_arms
        if seen >= run.batches:
            return
        self._seen = run.batches
        storage, study = self.desk.desk.storage, self.desk.desk.record.id
        periods = storage.read(lambda tx: tx.periods(study, seen, run.batches))
        periods = [one for one in periods if one.number not in run.skipped]
        additions = [one for one in run.option_changes if one["change"] == ADDED]
        for place, (period, told) in enumerate(
            zip(periods, run.told(len(self._visits)), strict=True), len(self._visits)
        ):
            added = by_option(told, n)
            self._ratio.add(np.array(_padded(period, n)), added.counts)
            if self._lifts is not None:
                self._lifts.add(added)
            for column, groups in self._past.items():
                for number, one in enumerate(additions, 1):
                    if number == len(groups) and one["batch"] <= place:
                        arms, own = one["arms"], (number, place, len(self._past))
                        groups.append(OwnPast(arms[-1] + 1, arms[0], *own))
                came = self._came(told, run.problem, column, added)
                self._counts[column].append(came)
                for group in groups:
                    group.add(came.counts, came.sums)
            self._names.append(str(period.name))
            self._visits.append(int(added.counts.sum()))

    def _came(self, told: ToldPulls, problem: Problem, column: str | None, added: Sums) -> Sums:
        """What is compared with its own past: successes, a further number, or one segment's."""
        if column is None:
            return added
        if column not in self._segments:
            return sums_of(told, problem, column)
        assert told.pulls.parts is not None
        rows = told.pulls.parts == self._segments[column]
        arms, n = told.pulls.arms[rows], problem.n_arms
        some = (np.bincount(arms, one[rows], n) for one in (told.pulls.counts, told.sums))
        counts, sums = (one.astype(np.float64) for one in some)
        return Sums(counts, sums, 0.0 * sums)

    def checks(self) -> Checks:
        """Whether visitors came in the shares that they were sent by."""
        run, at = self.desk.desk.load()
        with self._lock:
            self._follow(run, at)
            remarks = (*anything_will_do(run, measured(run)), *self._scattered())
            ratio, own = self._finding(run), self._own_past(run)
            return Checks(None, _LEVELS_CANCEL, None, "", remarks, None, ratio, own)

    def _scattered(self) -> list[str]:
        """That counts scatter more than those of visitors would, by each number or segment."""
        found = list[str]()
        for column, sums in self._counts.items():
            times, evidence = scatter([(one.counts, one.sums) for one in sums])
            if evidence >= -math.log(_SCATTERED / max(len(self._counts), 1)):
                found.append(scattered_message(times, column))
        return found

    def _finding(self, run: Run) -> Finding:
        evidence = self._ratio.log_evidence
        alarm = evidence >= -math.log(LEVEL)
        off = tuple(self._ratio.off()) if alarm else ()
        ratio = self._ratio
        text = ratio_message(run.problem.labels, off, ratio.counts, ratio.expected, alarm)
        return Finding(alarm, evidence, LEVEL, text, off, not self._visits)

    def _own_past(self, run: Run) -> Finding | None:
        """Whether options kept their ratios; None where that cannot be looked at."""
        if not self._past:
            return None
        found, said = list[Moved](), list[str]()
        for column, groups in self._past.items():
            own = [one for group in groups for one in group.found]
            counts = [(one.counts, one.sums) for one in self._counts[column]]
            where = run.problem.labels, own, self._names, counts
            if column in self._segments:
                said += [f"Among {column}: {one}" for one in moved_messages(*where, None)]
            else:
                said += moved_messages(*where, column)
            found += own
        text = " ".join(said) or KEPT_RATIOS
        arms = tuple(dict.fromkeys(i for m in found for i in (m.option, m.other) if i is not None))
        blind = len(self._visits) < _FEWEST
        evidence = max(one.log_evidence for groups in self._past.values() for one in groups)
        return Finding(bool(found), evidence, OWN_LEVEL, text, arms, blind)

    def record_of_shares(self) -> dict[str, Any]:
        """What a certificate says of the traffic."""
        run, _ = self.desk.desk.load()
        periods, sharing = self.desk.periods(), self.desk.sharing
        began, gone = periods[0].at if periods else 0.0, run.skipped
        kept = [n for n in range(run.batches) if n not in gone]
        periods = [periods[n] for n in kept]
        # each option against its own past, by successes or also by further counts
        number = 3 if self._segments else 1 if [*self._past] == [None] else 2
        rule: dict[str, Any] = {"past": number} if self._past else {}
        waits, times = run.waits, [{} for _ in periods]
        if waits is not None:
            reports = self.desk.reports()
            times = [{"after": reports[n].at - began} for n in kept]
            number = 2 if run.state.further else 1  # limits have to be kept again, too
            waited = {"least": waits.least, "decided": waits.decided}
            rule |= {"waits": {"rule": number, **waited}}
        rule |= {"window": window} if (window := self.desk.rules.window) else {}
        return rule | {
            "at_least": sharing.at_least,
            "control": sharing.control,
            "control_share": sharing.control_share,
            "periods": [
                {"name": one.name, "shares": json.loads(one.shares)}
                | {"settled": one.settled - sum(n < one.settled for n in gone)}
                | time
                for one, time in zip(periods, times, strict=True)
            ],
        }

    def status(self, promise: Promise | None = None) -> dict[str, Any]:
        """Where the study stands, as JSON-ready values; ``headline`` and ``next`` are sentences.

        The promise is that of the answer of a study that is finished.
        """
        desk, storage = self.desk.desk, self.desk.desk.storage
        run, at = desk.load()
        with self._lock:
            self._follow(run, at)
            finding, visits = self._finding(run), list(self._visits)
            own = self._own_past(run)
            lifts = self._intervals(run)
        recent = max(at.batch - _RECENT, 0)
        periods = storage.read(lambda tx: tx.periods(desk.record.id, recent))
        running = [period for period in periods if period.number >= at.batch]
        labels, (counts, sums) = run.problem.labels, run.totals()
        told = run.told() if run.problem.noise_kind.reports_only else []
        means = means_of(run.problem, counts, sums, told)
        missing = traffic_of(run).visits_missing()
        usual = float(np.mean(visits[-_RECENT:])) if visits else None
        left = None if missing is None or not usual else math.ceil(missing / usual)
        leader = run.state.leader() if run.batches or run.past else None
        found: dict[str, Any] = {
            "settled": run.batches,
            "open": [_open(period, len(labels)) for period in running],
            "shares": _padded(running[-1], len(labels)) if running else None,
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
            "segments": [*self._segments],
            "segment": self._segment(),
            "guardrails": guardrails(run),
            "ratio": _alarm(finding, labels),
            "own_past": None if own is None else _alarm(own, labels),
        }
        found["waiting"] = self._waiting(run, at)
        ended = at.finished
        said = {"name": desk.record.name, "left": run.state.left(), "finished": ended, **found}
        broken = finding.alarm or bool(own)
        promise = promise if ended and not broken else None
        said |= {"kind": "none", "promise": ""}
        if promise is not None:
            said |= {"kind": promise.kind, "promise": promise.ahead}
        near = run.problem.noise_kind.apart(run.algorithm.epsilon)
        said |= {"labels": len(labels), "epsilon": run.algorithm.epsilon, "near": near}
        said["claims"] = _claims(run)
        said |= {"yes_no": run.problem.noise_kind.successes, "leader_index": leader}
        said |= {"several": _several(run, means), "top": getattr(run.algorithm.asked, "m", 1)}
        within = run.algorithm.asked.within
        said["within"] = None if within is None else run.problem.noise_kind.apart(within)
        said |= {"means": dict(zip(labels, means))}
        said |= {"delta": run.algorithm.delta, "minimise": run.problem.minimise}
        step, command = next_step(said)
        words = {"headline": headline(said), "worth": worth(said), "ahead": ahead(said)}
        return found | words | {"next": step, "command": command}

    def _segment(self) -> dict[str, Any] | None:
        """Of which segment it is the answer, where each has one, and the studies of the others."""
        part = segment_of(json.loads(self.desk.desk.record.meta))
        if part is None:
            return None
        others = {name: study for name, study in part.studies.items() if name != part.name}
        return part.to_dict() | {"words": part.words, "others": others}

    def _waiting(self, run: Run, at: StudyProgress) -> dict[str, Any] | None:
        """When it was decided, and what the answer waits for; None: for nothing."""
        waits, desk = run.waits, self.desk.desk
        if waits is None or not (waits.begun and run.state.finished) or at.finished:
            return None
        first = desk.storage.read(lambda tx: tx.periods(desk.record.id, 0, 1))[0]
        decided = waits.decided or 0
        until = first.at + waits.least if waits.elapsed < waits.least else None
        labels, (behind, limits) = run.problem.labels, waits.unseen(run)
        found: dict[str, Any] = {
            "decided": self._names[decided - 1],
            "reports": waits.since,
            "most": waits.most,
            "until": until,
            "unseen": [labels[i] for i in behind],
            "limits": [_again(run, one) for one in limits],
        }
        return found | {"message": waiting_message(found)}

    def periods_ahead(self, run: Run, seconds: float) -> Ahead:
        """How many more periods, if they are like the last ones."""
        from surepick.ahead.copies import periods_ahead

        desk = self.desk.desk
        with self._lock:
            self._follow(run, desk.load()[1])
            visits = self._visits[-_RECENT:]
        last = desk.storage.read(
            lambda tx: tx.periods(desk.record.id, run.batches - 1, run.batches)
        )
        shares = np.array(json.loads(last[0].shares)) if run.batches else None
        return periods_ahead(run, self.desk.sharing, shares, visits, seconds=seconds)

    def _intervals(self, run: Run) -> list[list[float] | None] | None:
        """How far each option is above the control, and the ends of its interval.

        All intervals hold at once, at every look: those of the options that are there now, and of
        all that may ever come. None for the control, and who was never seen.
        """
        if self._lifts is None:
            return None
        first = self.desk.desk.first_problem.n_arms
        own = shares_of_leads(run.algorithm.delta, first, self._options, self._lifts.control)
        low, high = self._lifts.intervals(own)
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
    named = run.state.named() if run.state.claims() is None else [leader]
    others = ~np.isin(run.problem.distinct, run.problem.same_as[named])
    return float(doubts[others].max(initial=0.0))


def _claims(run: Run) -> dict[str, str] | None:
    """What is claimed where options are compared with a baseline."""
    claims = run.state.claims()
    if claims is None:
        return None
    now = run.standing()
    options = dict(zip(now["state"], now["option"]))
    better = [one for one, state in zip(now["option"], now["state"]) if state == "better"]
    named = f" ({listed(better)} better)" if better else ""
    found = f"{counted(now['state'])}{named}"
    return {"baseline": options.get("baseline", claims.baseline), "counted": found}


def guardrails(run: Run) -> list[dict[str, Any]]:
    """How each option stands to each limit, in words and numbers."""
    found = []
    for kept in run.state.limits_kept():
        limit = parse_limit(kept.limit)
        rate = run.problem.numbers[limit.number].successes
        rows = zip(kept.estimates.tolist(), kept.verdicts)
        cells = [kept_text(limit, mean, verdict, rate) for mean, verdict in rows]
        labels = run.problem.labels
        found.append(
            {
                "limit": kept.limit,
                "title": limit.said(rate),
                "cells": cells,
                "breaks": [label for label, one in zip(labels, kept.verdicts) if one == "breaks"],
            }
        )
    return found


def _several(run: Run, means: list[float | None]) -> list[tuple[str, float | None]]:
    """The m best so far, with their means, where more than one is asked for."""
    named = run.state.named()
    return [(run.problem.labels[i], means[i]) for i in named] if len(named) > 1 else []


def _alarm(finding: Finding, labels: Sequence[str]) -> dict[str, Any]:
    """What a check says, and of which options."""
    off = [labels[i] for i in finding.arms]
    return {"alarm": finding.alarm, "message": finding.message, "off": off}


def _padded(period: Period, n: int) -> list[float]:
    """The shares of a period; options that came later had none."""
    shares = json.loads(period.shares)
    return shares + [0.0] * (n - len(shares))


def _open(period: Period, n: int) -> dict[str, Any]:
    shares = _padded(period, n)
    return {"number": period.number, "period": period.name, "since": period.at, "shares": shares}


def _days(periods: list[Period], n: int) -> float | None:
    """How long so many periods take if they are as long as the last ones were."""
    if len(periods) < 2:
        return None
    usual = (periods[-1].at - periods[0].at) / (len(periods) - 1)
    return n * usual / (24 * _HOUR) if usual >= _HOUR else None


def _again(run: Run, lead: Lead) -> str:
    """A limit that has to be kept, or broken, once more."""
    assert lead.limit is not None
    rate = run.problem.numbers[lead.limit.column].successes
    word = "keep" if lead.keeps else "break"
    return f"{run.problem.labels[lead.option]} to {word} {lead.limit.said(rate)}"


def by_option(told: ToldPulls, n: int) -> Sums:
    """A report added up by option: its rows may be groups of visitors."""
    spreads = 0.0 * told.sums if told.spreads is None else told.spreads
    columns = (told.pulls.counts, told.sums, spreads)
    return Sums(*(np.bincount(told.pulls.arms, one, n).astype(np.float64) for one in columns))
