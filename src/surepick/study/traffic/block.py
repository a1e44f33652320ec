"""A report as the block that a run is told."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from typing import Any, Protocol

import numpy as np

from surepick.algorithms.pulls import Pulls, ToldPulls
from surepick.arrays.types import FloatArray, IntArray
from surepick.problem import Problem
from surepick.problem.noise import BySegment
from surepick.run.report import tell_report
from surepick.run.run import Run
from surepick.storage.contract import Storage
from surepick.storage.records import Report, StudyRecord
from surepick.study.traffic.kinds import REPORTS
from surepick.study.traffic.report import Counts
from surepick.study.traffic.rules import BUCKETS, sends_traffic


def told_of(counts: Counts, n_arms: int, by_segment: bool = False) -> ToldPulls:
    """What a run is told: a row for each option, of its segments, or groups of its buckets."""
    arms, visits = np.array(counts.arms, dtype=np.int64), np.array(counts.visits, dtype=np.int64)
    sums = np.array(counts.sums, dtype=np.float64)
    numbers = counts.numbers or {}
    if counts.buckets is not None:
        buckets = np.array(counts.buckets, dtype=np.int64)
        if by_segment:
            own = {name: [np.array(one.sums), None] for name, one in numbers.items()}
            return ToldPulls(Pulls(arms, visits, buckets), sums, None, own or None)
        further = {name: np.array(one.sums) for name, one in numbers.items()}
        return _by_bucket(arms, buckets, visits, sums, further, n_arms)
    spreads = None if counts.spreads is None else np.array(counts.spreads)
    told = {
        name: [np.array(one.sums), None if one.spreads is None else np.array(one.spreads)]
        for name, one in numbers.items()
    }
    return ToldPulls(Pulls(arms, visits), sums, spreads, told or None)


def told_to(problem: Problem, counts: Counts) -> ToldPulls:
    """What a run of this problem is told."""
    return told_of(counts, problem.n_arms, REPORTS.of(problem.noise_kind).by_segment)


def _by_bucket(
    arms: IntArray,
    buckets: IntArray,
    visits: IntArray,
    sums: FloatArray,
    further: dict[str, FloatArray],
    n_arms: int,
) -> ToldPulls:
    """Groups of buckets, as many for each option as all have visitors: a power of two.

    Buckets j and j + m become one where too few came; only counts decide that. Nobody reported
    how much rewards differ within a bucket: that follows, about, from how much the means of buckets
    do. Stakes are chosen by it, and nothing else rests on it.
    """
    table = np.zeros((2 + len(further), n_arms, BUCKETS))
    for place, column in enumerate((visits, sums, *further.values())):
        table[place][arms, buckets] = column
    rows: list[tuple[IntArray, ...]] = []
    values = []
    left, m = np.flatnonzero(table[0].any(axis=1)), BUCKETS
    while len(left):
        folded = table.reshape(len(table), n_arms, BUCKETS // m, m).sum(axis=2)
        full = left[(folded[0][left] > 0).all(axis=1)]
        rows.append((np.repeat(full, m), np.tile(np.arange(m), len(full))))
        values.append(folded[:, full].reshape(len(table), -1))
        left, m = np.setdiff1d(left, full), m // 2
    arm, part = (np.concatenate(column) for column in zip(*rows))
    order = np.lexsort((part, arm))
    n, total, *rest = np.concatenate(values, axis=1)[:, order]
    arm, part = arm[order], part[order]
    spreads = (n - 1) * _variance(arm, n, total, n_arms)
    told = {name: [own, None] for name, own in zip(further, rest)}
    return ToldPulls(Pulls(arm, n.astype(np.int64), part), total, spreads, told or None)


def _variance(arm: IntArray, n: FloatArray, total: FloatArray, n_arms: int) -> float:
    """Variance of one reward, from how far the means of the groups of an option are apart."""
    of_arm = np.bincount(arm, total, n_arms) / np.maximum(np.bincount(arm, n, n_arms), 1)
    apart = float(n @ (total / n - of_arm[arm]) ** 2)
    freedom = len(arm) - len(np.unique(arm))
    return apart / freedom if freedom else 0.0


def reported(
    storage: Storage, study: StudyRecord, problem: Problem
) -> Iterator[tuple[str, int, dict[str, Any]]]:
    """Every row of every report: the period, the option, and what came; with its share."""
    if not sends_traffic(study):
        return
    kind = problem.noise_kind
    names = kind.names if isinstance(kind, BySegment) else None
    periods, reports = storage.read(lambda tx: (tx.periods(study.id), tx.reports(study.id)))
    for period, report in zip(periods, reports):
        counts, shares = Counts.from_json(report.content), json.loads(period.shares)
        for i, arm in enumerate(counts.arms):
            row: dict[str, Any] = {"share": shares[arm], "visits": counts.visits[i]}
            if counts.buckets is not None:
                part = counts.buckets[i]
                row |= {"bucket": part} if names is None else {"segment": names[part]}
            row["sum"] = counts.sums[i]
            if counts.squares is not None:
                row["squares"] = counts.squares[i]
            for name, own in (counts.numbers or {}).items():
                row[name] = own.sums[i]
                if own.squares is not None:
                    row[f"{name} squares"] = own.squares[i]
            yield str(period.name), arm, row | {"time": report.at, "token": report.token}


class Turn(Protocol):
    """Options that came or went in a study of traffic."""

    @property
    def after(self) -> int: ...  #: periods that had their shares before
    def apply(self, run: Run) -> None: ...


def tell_reports(
    run: Run,
    reports: Sequence[Report],
    began: float,
    corrected: bool = False,
    turns: Sequence[Turn] = (),
    deal: str | None = None,
    aside: Collection[int] = (),
) -> list[int]:
    """Tell a run reports in their order; returns how many options are in after each.

    The first shares were fixed at the time ``began``; the first report is dealt by the seed
    ``deal``, if there is one. Where a report was corrected it may stop
    before the last, which are then not needed. Periods that were set ``aside`` do not count.
    Options come and go before the first report of visitors who were sent by shares that follow from
    that.
    """
    left, rest = [], list(turns)
    for number, report in enumerate(reports):
        run.goes_on = bool(rest)
        while rest and rest[0].after <= number:
            rest.pop(0).apply(run)
        run.goes_on = bool(rest)
        if corrected and run.stopped:
            pass
        elif number in aside:
            run.skip()
        else:
            told = told_to(run.problem, Counts.from_json(report.content))
            tell_report(run, told, report.at - began, deal)
        left.append(run.state.left())
    for turn in rest:
        turn.apply(run)
    run.goes_on = False
    return left
