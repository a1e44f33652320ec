"""Levels of the strata of a first block, which are kept out of the guide; nothing is bet on it."""

from __future__ import annotations

from typing import Any

import numpy as np

from surepick.algorithms.pooled.guide import squared_units
from surepick.algorithms.pooled.ledger import OpenBlock, Rows
from surepick.arrays.types import FloatArray, IntArray
from surepick.problem import Problem


def levelled(problem: Problem, block: OpenBlock) -> Rows:
    """All strata of a block together, one row for each arm, less the levels in which they differ.

    For a first block, on which nothing is bet: levels are those of least squares on the features
    and one level for each stratum, counted from their mean. Past measurements that only guide
    have a level of their own.
    """
    parts = [Rows.of(told).by_arm() for told in block.strata]
    if len(block.told.arms):
        parts.append(block.told.by_arm())
    columns: list[Any] = [np.concatenate(column) for column in zip(*parts)]
    rows, of = Rows(*columns), np.repeat(np.arange(len(parts)), [len(one.arms) for one in parts])
    levels = _levels(problem, rows, of, len(parts))
    rows = rows._replace(sums=rows.sums - rows.counts * levels, parts=of)
    return rows.by_arm() if of.any() else rows


def _levels(problem: Problem, rows: Rows, of: IntArray, n: int) -> FloatArray:
    """Of each row, in the units in which its rewards arrive."""
    units = np.sqrt(squared_units(problem, rows.arms))
    weights = np.sqrt(rows.counts)
    # Features come per unit of the noise where that is known, and so do levels.
    columns = np.hstack([problem.feature_rows(rows.arms), np.eye(n)[of] / units[:, None]])
    means = rows.sums / rows.counts
    fit = np.linalg.lstsq(columns * weights[:, None], means * weights, rcond=1e-9)[0]
    levels = fit[-n:] - float(rows.counts @ fit[-n:][of]) / rows.counts.sum()
    return levels[of] / units
