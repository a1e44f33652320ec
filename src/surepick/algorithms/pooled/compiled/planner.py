"""Designs of PooledPeleg's blocks where compiled kernels do: fresh after every block."""

from __future__ import annotations

from typing import Any

import numpy as np

from surepick.algorithms.pooled.compiled.kernels import (
    round_block,
    round_in_parts,
    solve_design,
    spread,
)
from surepick.algorithms.pooled.lacking import Lacking
from surepick.algorithms.pooled.planner import BlockDesign, Planner
from surepick.algorithms.pooled.prices import per_money, spanning_arms
from surepick.arrays import cutoffs
from surepick.arrays.cache import PlanCache
from surepick.arrays.grid import coarse
from surepick.arrays.tables import read_only
from surepick.arrays.types import FloatArray, IntArray
from surepick.problem import Problem

_CUTS = np.array([0.3, 0.05])  # ways to round: arms due fewer pulls get none
_FIRST_DESIGNS = PlanCache(256)


class CompiledPlanner(Planner):
    """As :class:`Planner`."""

    def __init__(self, problem: Problem, points: FloatArray) -> None:
        super().__init__(problem, points)
        self._first: BlockDesign | None = None
        self._spanning = spanning_arms(problem)

    def first_shares(self) -> FloatArray:
        return np.full(len(self._points), 1.0 / len(self._points))

    def first(self) -> BlockDesign:
        if self._first is None:
            weights = _FIRST_DESIGNS.get(self.problem.digest, lambda: _first_design(self.problem))
            around = self._points - self._points.mean(axis=0)
            shares = self.first_shares()
            self._first = BlockDesign(weights, 0.0, around, shares, np.zeros(len(shares)))
        return self._first

    def next(
        self, leader: int, missing: Lacking, weights: FloatArray, shares: FloatArray
    ) -> BlockDesign:
        first = self.first().weights
        start = 0.98 * (weights if weights.any() else first) + 0.02 * first
        if missing.pairs is None:
            others = np.nonzero(missing.pulls > 0)[0]
            directions = self._points[leader] - self._points[others]
            missing = Lacking(missing.pulls[others], missing.nats[others])
        else:
            ahead, others = missing.pairs
            directions = self._points[ahead] - self._points[others]
        directions *= np.sqrt(2.0 * self._variance * missing.pulls)[:, None]
        own = shares[others] + 1e-3 / len(others)
        own /= own.sum()
        found, value = block_design(per_money(self.problem, self._arms), directions, start, own)
        shares[others] = own
        return BlockDesign(found, value, directions, own, missing.nats)

    def whole_pulls(
        self, weights: FloatArray, n: int, judges: BlockDesign, must_span: bool
    ) -> IntArray:
        at_work, spanning = self._at_work(weights)
        heavy = _longest(judges)
        counts = np.zeros(self.problem.n_arms, dtype=np.int64)
        counts[at_work] = round_block(
            read_only(self._arms[at_work]),
            weights[at_work],
            n,
            judges.directions[heavy],
            judges.shares[heavy],
            spanning,
            _CUTS,
            must_span,
        )
        return counts

    def pulls_in_parts(
        self, weights: FloatArray, n: int, judges: BlockDesign
    ) -> tuple[IntArray, int]:
        at_work, spanning = self._at_work(weights)
        heavy = _longest(judges)
        counts = np.zeros(self.problem.n_arms, dtype=np.int64)
        counts[at_work], parts = round_in_parts(
            read_only(self._arms[at_work]),
            weights[at_work],
            n,
            judges.directions[heavy],
            judges.shares[heavy],
            judges.nats[heavy],
            spanning,
        )
        return counts, int(parts)

    def _at_work(self, weights: FloatArray) -> tuple[Any, IntArray]:
        """Arms with weight and those that span, and the place of the latter among them."""
        if weights.all():
            return slice(None), self._spanning
        at_work = np.union1d(np.flatnonzero(weights), self._spanning)
        return at_work, np.searchsorted(at_work, self._spanning)


def _longest(judges: BlockDesign) -> Any:
    """As many directions as can be looked at."""
    if len(judges.directions) <= cutoffs.COMPILED_DESIGN:
        return slice(None)
    length = coarse((judges.directions**2).sum(axis=1))
    return np.sort(np.argsort(-length, kind="stable")[: cutoffs.COMPILED_DESIGN])


def _first_design(problem: Problem) -> FloatArray:
    """Weights with a small worst variance of the candidates around their centre."""
    arms, points = per_money(problem, problem.features), problem.targets[problem.distinct]
    if max(len(arms), len(points)) > cutoffs.COMPILED_DESIGN:
        from surepick.design import g_optimal

        base = coarse(g_optimal(arms, tol=0.1).weights)
    else:
        base = spread(arms, 30)
    if len(points) == 1:  # which is its own centre: nothing is compared
        return coarse(base)
    shares = np.full(len(points), 1.0 / len(points))
    weights, _ = block_design(arms, points - points.mean(axis=0), base, shares)
    # A little of the G-optimal design, so that it spans more than the candidates' differences.
    return coarse(0.9 * weights + 0.1 * base)


def block_design(
    arms: FloatArray, directions: FloatArray, start: FloatArray, shares: FloatArray
) -> tuple[FloatArray, float]:
    """Design for these directions, to a few percent, and its value; updates ``shares``."""
    if max(len(arms), len(directions)) > cutoffs.COMPILED_DESIGN:
        from surepick.design import minimax

        result = minimax(arms, directions, tol=0.1, start=start)
        shares[:] = 0.0
        shares[result.directions] = coarse(result.direction_weights)
        return coarse(result.weights), coarse(float(result.value))
    arms, directions = read_only(arms), np.ascontiguousarray(directions)
    weights, value = solve_design(arms, directions, start, shares, 30, 0.03)
    shares[:] = coarse(shares)
    return coarse(weights), coarse(float(value))
