"""Designs of PooledPeleg's blocks: where the first pulls go, and where the next ones do."""

from __future__ import annotations

import numpy as np

from surepick.arrays.cache import PlanCache
from surepick.arrays.types import FloatArray, IntArray
from surepick.problem import Problem

_LARGE = 512  # arms or directions beyond which the certified large-scale solver designs
_CUTS = np.array([0.3, 0.05])  # ways to round: arms due fewer pulls get none
_FIRST_DESIGNS = PlanCache(256)


def first_design(problem: Problem) -> FloatArray:
    """Weights with a small worst variance of the candidates around their centre."""
    return _FIRST_DESIGNS.get(problem.digest, lambda: _first_design(problem))


def _first_design(problem: Problem) -> FloatArray:
    arms, points = problem.features, problem.targets[problem.distinct]
    if max(len(arms), len(points)) > _LARGE:
        from surepick.design import g_optimal

        base = g_optimal(arms, tol=0.1).weights
    else:
        from surepick.algorithms.pooled.kernels import spread

        base = spread(arms, 30)
    shares = np.full(len(points), 1.0 / len(points))
    weights, _ = block_design(arms, points - points.mean(axis=0), base, shares)
    # A little of the G-optimal design, so that it spans more than the candidates' differences.
    return 0.9 * weights + 0.1 * base


def block_design(
    arms: FloatArray, directions: FloatArray, start: FloatArray, shares: FloatArray
) -> tuple[FloatArray, float]:
    """Design for these directions, to a few percent, and its value; updates ``shares``."""
    if max(len(arms), len(directions)) > _LARGE:
        from surepick.design import minimax

        result = minimax(arms, directions, tol=0.1, start=start)
        shares[:] = 0.0
        shares[result.directions] = result.direction_weights
        return result.weights, result.value
    from surepick.algorithms.pooled.kernels import solve_design

    return solve_design(arms, np.ascontiguousarray(directions), start, shares, 30, 0.03)


def whole_pulls(
    problem: Problem,
    weights: FloatArray,
    n: int,
    directions: FloatArray,
    shares: FloatArray,
    must_span: bool,
) -> IntArray:
    """``n`` pulls, one count per arm, that tell most about the directions, by their shares."""
    from surepick.algorithms.pooled.kernels import round_block

    spanning = problem.spanning_arms
    at_work = np.union1d(np.flatnonzero(weights), spanning)
    length = (directions**2).sum(axis=1)
    judges = np.sort(np.argsort(-length, kind="stable")[:_LARGE])
    counts = np.zeros(problem.n_arms, dtype=np.int64)
    counts[at_work] = round_block(
        problem.features[at_work],
        weights[at_work],
        n,
        directions[judges],
        shares[judges],
        np.searchsorted(at_work, spanning),
        _CUTS,
        must_span,
    )
    return counts
