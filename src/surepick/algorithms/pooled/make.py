"""Which parts a problem gets: by its noise, and compiled ones or those for very many arms."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from surepick.algorithms.pooled.fit import BlockFit, Scales
from surepick.algorithms.pooled.guide import (
    FeaturesAndDeviations,
    TrustedFeatures,
    squared_units,
)
from surepick.algorithms.pooled.kinds import READINGS, Reading
from surepick.algorithms.pooled.market import Market
from surepick.algorithms.pooled.pace import USUAL, Pace
from surepick.algorithms.pooled.planner import Planner
from surepick.algorithms.pooled.questions import BETS
from surepick.algorithms.pooled.questions.base import Ground, Question
from surepick.algorithms.pooled.values import Values, alone
from surepick.arrays.backend import Backend
from surepick.arrays.tables import mark_checked
from surepick.arrays.types import BoolArray, FloatArray
from surepick.problem import Problem
from surepick.statistics.estimate import LeastSquares


def make_reading(problem: Problem, ways: tuple[str, ...]) -> Reading:
    """How blocks are read under the problem's noise, and in these ways."""
    reading = READINGS.of(problem.noise_kind)
    if ways == ("paired",):
        assert reading.on_items is not None  # else the problem was refused
        return reading.on_items(problem, FeaturesAndDeviations(problem))
    guide = FeaturesAndDeviations if "direct" in ways else TrustedFeatures
    return reading(problem, guide(problem))


def make_question(ground: Ground) -> Question:
    """The question that the configuration asks."""
    return BETS.of(ground.config.asked.name)(ground)


def points_of(problem: Problem, backend: Backend) -> Any:
    """The candidates that differ, (M, d), on this backend."""
    if backend is not problem.backend:
        return problem.backend.host(problem.targets)
    if len(problem.distinct) == problem.n_candidates:
        return problem.targets
    points = backend.take(problem.targets, problem.distinct)
    if problem.large:
        mark_checked(points)
    return points


def make_planner(
    problem: Problem,
    points: Any,
    ways: tuple[str, ...] = ("linear",),
    in_parts: bool = False,
    retired: BoolArray | None = None,
    pace: Pace = USUAL,
) -> Planner:
    """A planner for these candidates, which does not measure those that were retired."""
    if retired is not None and retired.any():
        from surepick.algorithms.pooled.offered import OfferedPlanner

        def make(some: Problem) -> Planner:
            own = some, points_of(some, some.backend), ways, in_parts
            return make_planner(*own, pace=pace)

        return OfferedPlanner(problem, retired, make)
    if ways == ("paired",):
        from surepick.algorithms.pooled.items import PairedPlanner

        return PairedPlanner(problem, make_planner(problem, problem.targets), in_parts)
    if "direct" in ways:
        from surepick.algorithms.pooled.direct import DirectPlanner

        misfit = problem.misfit / problem.unit if "allowed" in ways else math.inf
        features = problem.targets if len(points) == problem.n_arms else points
        return DirectPlanner(problem, make_planner(problem, features), in_parts, misfit)
    if problem.large:
        from surepick.algorithms.pooled.large.planner import LargePlanner

        return LargePlanner(problem, points, pace.looks)
    from surepick.algorithms.pooled.compiled.planner import CompiledPlanner

    return CompiledPlanner(problem, points)


def make_market(
    problem: Problem,
    points: Any,
    past: LeastSquares,
    first: BlockFit,
    scale: float,
    about: int | None = None,
    offered: BoolArray | None = None,
) -> Market:
    """Rivals and stakes for these candidates, after the blocks that ``past`` is made of."""
    if problem.large:
        from surepick.algorithms.pooled.large.market import LargeMarket

        return LargeMarket(problem.backend, points, past, first, scale)
    from surepick.algorithms.pooled.compiled.market import CompiledMarket

    return CompiledMarket.by_features(points, past, first, scale, about, offered)


def make_direct_market(
    problem: Problem,
    points: FloatArray,
    past: Values,
    scales: Scales,
    about: int | None = None,
    offered: BoolArray | None = None,
) -> Market:
    """A market for options that are compared directly: the unit is one pull of each."""
    from surepick.algorithms.pooled.compiled.market import CompiledMarket

    variances = squared_units(problem) * scales.for_leads().of(np.arange(problem.n_arms))
    unit = alone(np.zeros(problem.n_arms), variances)
    if len(points) > problem.n_arms:  # behind all options there is a number
        past, unit = past.with_number(), unit.with_number()
    return CompiledMarket(points, past, unit, 1.0, about, offered)
