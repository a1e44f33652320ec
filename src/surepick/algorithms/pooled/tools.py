"""Which parts a problem gets: by its noise, and compiled ones or those for very many arms."""

from __future__ import annotations

from typing import Any

from surepick.algorithms.pooled.fit import BlockFit
from surepick.algorithms.pooled.kinds.bounded import BoundedRewards
from surepick.algorithms.pooled.kinds.equal import EqualScale
from surepick.algorithms.pooled.kinds.known import KnownScale
from surepick.algorithms.pooled.kinds.reading import Reading
from surepick.algorithms.pooled.kinds.symmetric import SymmetricScales
from surepick.algorithms.pooled.market import Market
from surepick.algorithms.pooled.planner import Planner
from surepick.problem import Problem
from surepick.statistics.estimate import LeastSquares

_READINGS: dict[str, type[Reading]] = {
    "symmetric": SymmetricScales,
    "equal": EqualScale,
    "known": KnownScale,
    "yes-no": BoundedRewards,
    "bounded": BoundedRewards,
}


def make_reading(problem: Problem) -> Reading:
    """How blocks are read under the problem's noise."""
    return _READINGS[problem.noise_kind.kind](problem)


def make_planner(problem: Problem, points: Any) -> Planner:
    """A planner for these candidates."""
    if problem.large:
        from surepick.algorithms.pooled.large.planner import LargePlanner

        return LargePlanner(problem, points)
    from surepick.algorithms.pooled.compiled.planner import CompiledPlanner

    return CompiledPlanner(problem, points)


def make_market(
    problem: Problem, points: Any, past: LeastSquares, first: BlockFit, scale: float
) -> Market:
    """Rivals and stakes for these candidates, after the blocks that ``past`` is made of."""
    if problem.large:
        from surepick.algorithms.pooled.large.market import LargeMarket

        return LargeMarket(problem.backend, points, past, first, scale)
    from surepick.algorithms.pooled.compiled.market import CompiledMarket

    return CompiledMarket(points, past, first, scale)
