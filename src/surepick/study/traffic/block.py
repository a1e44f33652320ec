"""A report as the block that a run is told."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from surepick.algorithms.pulls import Pulls, ToldPulls
from surepick.arrays.types import FloatArray, IntArray
from surepick.run.report import tell_report
from surepick.run.run import Run
from surepick.storage.contract import Storage
from surepick.storage.records import StudyRecord
from surepick.storage.traffic import Report
from surepick.study.traffic.report import Counts
from surepick.study.traffic.rules import BUCKETS, rules_of


def told_of(counts: Counts, n_arms: int) -> ToldPulls:
    """What a run is told: a row for each option, or for each of its groups of buckets."""
    arms, visits = np.array(counts.arms, dtype=np.int64), np.array(counts.visits, dtype=np.int64)
    sums = np.array(counts.sums, dtype=np.float64)
    if counts.buckets is not None:
        return _by_bucket(arms, np.array(counts.buckets, dtype=np.int64), visits, sums, n_arms)
    spreads = None
    if counts.spreads is not None:
        spreads = np.array(counts.spreads)
    elif counts.squares is not None:  # as 0.2.0 took it in
        spreads = np.maximum(np.array(counts.squares) - sums * (sums / visits), 0.0)
    return ToldPulls(Pulls(arms, visits), sums, spreads)


def _by_bucket(
    arms: IntArray, buckets: IntArray, visits: IntArray, sums: FloatArray, n_arms: int
) -> ToldPulls:
    """Groups of buckets, as many for each option as all have visitors: a power of two.

    Buckets j and j + m become one where too few came; only counts decide that. Nobody reported
    how much rewards differ within a bucket: that follows, about, from how much the means of buckets
    do. Stakes are chosen by it, and nothing else rests on it.
    """
    table = np.zeros((2, n_arms, BUCKETS))
    table[0][arms, buckets], table[1][arms, buckets] = visits, sums
    rows: list[tuple[IntArray, ...]] = []
    values = []
    left, m = np.flatnonzero(table[0].any(axis=1)), BUCKETS
    while len(left):
        folded = table.reshape(2, n_arms, BUCKETS // m, m).sum(axis=2)
        full = left[(folded[0][left] > 0).all(axis=1)]
        rows.append((np.repeat(full, m), np.tile(np.arange(m), len(full))))
        values.append(folded[:, full].reshape(2, -1))
        left, m = np.setdiff1d(left, full), m // 2
    arm, part = (np.concatenate(column) for column in zip(*rows))
    n, total = np.concatenate(values, axis=1)
    order = np.lexsort((part, arm))
    arm, part, n, total = arm[order], part[order], n[order], total[order]
    spreads = (n - 1) * _variance(arm, n, total, n_arms)
    return ToldPulls(Pulls(arm, n.astype(np.int64), part), total, spreads)


def _variance(arm: IntArray, n: FloatArray, total: FloatArray, n_arms: int) -> float:
    """Variance of one reward, from how far the means of the groups of an option are apart."""
    of_arm = np.bincount(arm, total, n_arms) / np.maximum(np.bincount(arm, n, n_arms), 1)
    apart = float(n @ (total / n - of_arm[arm]) ** 2)
    freedom = len(arm) - len(np.unique(arm))
    return apart / freedom if freedom else 0.0


def reported(storage: Storage, study: StudyRecord) -> Iterator[tuple[str, int, dict[str, Any]]]:
    """Every row of every report: the period, the option, and what came; with its share."""
    if rules_of(study) is None:
        return
    periods, reports = storage.read(lambda tx: (tx.periods(study.id), tx.reports(study.id)))
    for period, report in zip(periods, reports):
        counts, shares = Counts.from_json(report.content), json.loads(period.shares)
        for i, arm in enumerate(counts.arms):
            row: dict[str, Any] = {"share": shares[arm], "visits": counts.visits[i]}
            if counts.buckets is not None:
                row["bucket"] = counts.buckets[i]
            row["sum"] = counts.sums[i]
            if counts.squares is not None:
                row["squares"] = counts.squares[i]
            yield str(period.name), arm, row | {"time": report.at, "token": report.token}


def tell_reports(run: Run, reports: Sequence[Report], corrected: bool = False) -> list[int]:
    """Tell a run reports in their order; returns how many options are in after each.

    Where one of them was corrected it may stop before the last, which are then not needed.
    """
    left = []
    for report in reports:
        if not (corrected and run.stopped):
            tell_report(run, told_of(Counts.from_json(report.content), run.problem.n_arms))
        left.append(run.state.left())
    return left
