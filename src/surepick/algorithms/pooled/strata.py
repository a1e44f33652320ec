"""Strata: pulls of a block that share a level, such as those of one day, plate or operator.

A stratum of a block is settled like a block of its own, so whatever all of its rewards have in
common cancels from every comparison. That is allowed, as its pulls are fixed before its rewards
are seen: the block fixes which arms are pulled, and what a pull belongs to is stamped when it is
handed out.
"""

from __future__ import annotations

from surepick.algorithms.pooled.items import NO_STRATA
from surepick.algorithms.pooled.settings import BlockSettings
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
_QUANTILE = (
    "strata: quantiles are those of all measurements of an option, which cannot be compared day by "
    "day or plate by plate; leave out strata or quantile"
)


def demand_strata(settings: BlockSettings, problem: Problem, ways: tuple[str, ...]) -> None:
    """Raise an error where options cannot be compared within strata."""
    if settings.items is not None:
        raise InvalidInputError(NO_STRATA)
    if settings.asked.number is not None:
        raise InvalidInputError(_NUMBER)
    if not settings.asked.levels_cancel:
        raise InvalidInputError(_QUANTILE)
    if not levels_cancel(problem, ways):
        raise InvalidInputError(_NO_LEVEL)


def levels_cancel(problem: Problem, ways: tuple[str, ...]) -> bool:
    """Whether what all rewards of a block share has no part in any comparison."""
    return ways == ("direct",) or problem.has_level
