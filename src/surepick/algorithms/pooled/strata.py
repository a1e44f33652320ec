"""Strata: pulls of a block that share a level, such as those of one day, plate or operator.

A stratum of a block is settled like a block of its own, so whatever all of its rewards have in
common cancels from every comparison. That is allowed, as its pulls are fixed before its rewards
are seen: the block fixes which arms are pulled, and what a pull belongs to is stamped when it is
handed out.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from surepick.algorithms.pooled.guide import squared_units
from surepick.algorithms.pooled.items import NO_STRATA
from surepick.algorithms.pooled.ledger import OpenBlock, Rows
from surepick.algorithms.pooled.settings import BlockSettings
from surepick.arrays.types import FloatArray, IntArray
from surepick.errors import InvalidInputError
from surepick.problem import Problem

_NO_LEVEL = (
    "strata: these features have no intercept, so differences between strata do not cancel out; "
    "add a column of ones, or do not trust the features (misfit=math.inf)"
)
_NUMBER = (
    "strata: a number, unlike an option, does not vary from day to day or plate to plate; compare "
    "with an option (baseline=…) that is measured on the same days"
)


def demand_strata(settings: BlockSettings, problem: Problem, ways: tuple[str, ...]) -> None:
    """Raise an error where options cannot be compared within strata."""
    if settings.items is not None:
        raise InvalidInputError(NO_STRATA)
    if settings.threshold is not None:
        raise InvalidInputError(_NUMBER)
    if not levels_cancel(problem, ways):
        raise InvalidInputError(_NO_LEVEL)


def levels_cancel(problem: Problem, ways: tuple[str, ...]) -> bool:
    """Whether what all rewards of a block share has no part in any comparison."""
    return ways == ("direct",) or problem.has_level


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
