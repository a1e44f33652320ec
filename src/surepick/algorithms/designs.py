"""Solved designs and whole pulls for the algorithms that plan ahead.

Designs depend on the problem and on who is still in the race only, so they are kept and shared
by all runs of the process. ``rho`` is always the worst variance per pull of the design
returned, over all its directions; it is within the tolerance of the best possible.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from surepick.algorithms.base import IntArray, Pulls
from surepick.algorithms.phased import PlanCache
from surepick.problem import Problem
from surepick.problem.validate import FloatArray

if TYPE_CHECKING:
    from surepick.design import Directions

_DESIGNS = PlanCache()
_MANY = 2000  # arms; beyond, a tenth of a per cent of the pulls is not worth the time it takes
_LONG_CYCLE = 64  # a cycle longer than this many pulls per dimension is never tried


class Solved(NamedTuple):
    """A design: weights of the arms and their worst variance."""

    weights: FloatArray
    rho: float


def solve(problem: Problem, key: Any, make: Callable[[], Any]) -> Solved:
    """The min-max design for the directions that ``make`` gives, in whitened coordinates."""

    def compute() -> Solved:
        from surepick.design import minimax

        tol = 1e-3 if problem.n_arms <= _MANY else 1e-2
        result = minimax(problem.features, make(), tol=tol)
        return Solved(result.weights, result.value)

    return _DESIGNS.get((problem.digest, key), compute)


def all_pairs(problem: Problem, active: IntArray) -> Directions:
    """The directions between any two of the ``active`` candidates."""
    from surepick.design import AllPairs

    return AllPairs(problem.targets[active])


def pair_design(problem: Problem, active: IntArray) -> Solved:
    """Design that tells any two of the ``active`` candidates apart."""
    return solve(problem, ("pairs", active.tobytes()), lambda: all_pairs(problem, active))


def candidate_design(problem: Problem, active: IntArray) -> Solved:
    """Design that estimates each of the ``active`` candidates (G-optimal for them).

    Arms with next to no weight are left out, so the design may span no more than it has to.
    """

    def compute() -> Solved:
        design = solve(problem, ("values", active.tobytes()), lambda: problem.targets[active])
        return _without_crumbs(problem, design, problem.targets[active])

    return _DESIGNS.get((problem.digest, "few", active.tobytes()), compute)


def root_of_inverse(points: FloatArray, weights: FloatArray) -> FloatArray:
    """R with A(w)⁺ = R Rᵀ, the inverse on what the points with weight span."""
    used = np.flatnonzero(weights)
    rows = points[used] * np.sqrt(weights[used])[:, None]
    _, s, vt = np.linalg.svd(rows, full_matrices=False)
    keep = s > s[0] * 1e-7
    return vt[keep].T / s[keep]


def _without_crumbs(problem: Problem, design: Solved, points: FloatArray) -> Solved:
    """The design on as few arms as estimate the points one per cent worse at most."""
    for cut in (1e-1, 1e-2, 1e-3, 1e-4):
        weights = np.where(design.weights < cut * design.weights.max(), 0.0, design.weights)
        weights /= weights.sum()
        root = root_of_inverse(problem.features, weights)
        basis = np.linalg.qr(root)[0]
        missed = points - (points @ basis) @ basis.T
        rho = float(((points @ root) ** 2).sum(axis=1).max())
        if np.abs(missed).max() <= 1e-9 * np.abs(points).max() and rho <= 1.01 * design.rho:
            return Solved(weights, rho)
    return design


def whole_pulls(problem: Problem, weights: FloatArray, n: int) -> IntArray:
    """About ``n`` pulls in the proportion of ``weights``, that span what the arms span.

    Arms whose share is below half a pull are left out: a whole pull of each would shift more
    weight than is lost.
    """
    from surepick.design import round_design

    n = max(n, 1)
    heavy = np.where(weights * n < 0.5, 0.0, weights)
    counts = round_design(heavy if heavy.any() else weights, n)
    if np.linalg.matrix_rank(problem.features[counts > 0]) < problem.rank:
        spanning = problem.spanning_arms
        counts[spanning] = np.maximum(counts[spanning], 1)
    return counts


def worst_variance(problem: Problem, counts: IntArray, directions: Directions) -> float:
    """max over the directions of a_y = yᵀV⁻¹y for these pulls; inf where they do not span."""
    pulled = np.flatnonzero(counts)
    x = problem.features[pulled]
    try:
        factor = np.linalg.cholesky((x.T * counts[pulled]) @ x)
    except np.linalg.LinAlgError:
        return math.inf
    root: FloatArray = np.linalg.inv(factor).T.astype(np.float64)
    return directions.worst(root)[0]


def pulls_reaching(
    problem: Problem, design: Solved, directions: Directions, variance: float
) -> Pulls:
    """About as few pulls as reach this worst variance after rounding."""
    n = max(math.ceil(design.rho / variance), problem.rank)
    counts = whole_pulls(problem, design.weights, n)
    for _ in range(20):
        excess = worst_variance(problem, counts, directions) / variance
        if excess <= 1.0:
            break
        n = math.ceil(n * min(excess, 1.5)) + 1
        counts = whole_pulls(problem, design.weights, n)
    return Pulls.from_counts(counts)


def cycle(problem: Problem, key: Any, design: Solved, directions: Directions) -> Pulls:
    """A short list of pulls that, repeated, follows the design to within five per cent.

    The smallest of a ladder of lengths that does; the most faithful one where none does.
    """

    def compute() -> Pulls:
        best, loss = None, math.inf
        n = problem.rank
        while n <= _LONG_CYCLE * problem.rank:
            counts = whole_pulls(problem, design.weights, n)
            own = worst_variance(problem, counts, directions) * float(counts.sum()) / design.rho
            if best is None or own < loss:
                best, loss = counts, own
            if own <= 1.05:
                break
            n = math.ceil(1.2 * n)
        assert best is not None
        return Pulls.from_counts(best)

    return _DESIGNS.get((problem.digest, "cycle", key), compute)
