"""Which planner and which market a problem gets: compiled ones, or those for very many arms."""

from __future__ import annotations

from typing import Any

from surepick.algorithms.pooled.market import BlockFit, Market
from surepick.algorithms.pooled.planner import Planner
from surepick.problem import Problem
from surepick.statistics.estimate import LeastSquares


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
