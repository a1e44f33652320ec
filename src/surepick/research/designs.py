"""Solved designs and whole pulls for the algorithms that plan ahead.

Designs depend on the problem and on who is still in the race only, so they are kept and shared
by all runs of the process. ``rho`` is always the worst variance per pull of the design
returned, over all its directions, or a bound on it; ``gap`` says how far from the best possible
it may be. That is a fraction of a per cent, unless there are very many arms.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from surepick.algorithms.base import Pulls
from surepick.arrays import cutoffs
from surepick.arrays.cache import PlanCache, fingerprint
from surepick.arrays.grid import coarse
from surepick.arrays.tables import is_large
from surepick.arrays.types import FloatArray, IntArray
from surepick.problem import Problem

if TYPE_CHECKING:
    from surepick.design import Directions, MinimaxResult

_DESIGNS = PlanCache()


class Solved(NamedTuple):
    """A design: weights of the arms, their worst variance, and its certified relative gap."""

    weights: FloatArray
    rho: float
    gap: float


def solve(problem: Problem, key: Any, make: Callable[[], Any], tol: float | None = None) -> Solved:
    """The min-max design for the directions that ``make`` gives, in whitened coordinates."""

    def compute() -> Solved:
        from surepick.design import minimax

        features, directions = _on_host_if_small(problem, problem.features), make()
        crowded = problem.n_arms > cutoffs.NEWTON_ARMS and not _is_small(problem)
        if crowded or problem.n_arms * problem.rank > cutoffs.HUGE_TABLE:
            result = minimax(
                features, directions, tol=cutoffs.ROUGH_GAP, max_rounds=cutoffs.ROUGH_LOOKS
            )
            return _rounded(_tightened(problem, directions, result))
        exact = 1e-3 if problem.n_arms <= cutoffs.EXACT_ARMS else 1e-2
        result = minimax(features, directions, tol=exact if tol is None else tol)
        return _rounded(Solved(result.weights, result.value, result.gap))

    return _DESIGNS.get((problem.key, key, tol), compute, problem.n_arms)


def _rounded(found: Solved) -> Solved:
    """The design, as coarsely as whole pulls are to see it: no last digit decides about one.

    It has the value that is said, to a few parts in 10⁹.
    """
    weights = coarse(found.weights)
    return found._replace(weights=weights / weights.sum(), rho=coarse(float(found.rho)))


def _tightened(problem: Problem, directions: Directions, found: MinimaxResult) -> Solved:
    """The design, with its value looked at once more.

    The solver bounds it many times, and makes do with a quick bound where pairs are very many.
    """
    root = root_of_inverse(*_used(problem, found.weights))
    if found.lower_bound == 0 or root.shape[1] < problem.rank:
        return Solved(found.weights, found.value, found.gap)
    value = min(found.value, _worst(directions, root))
    return Solved(found.weights, value, max(0.0, value / found.lower_bound - 1.0))


def _is_small(problem: Problem) -> bool:
    return not (is_large(problem.features) or is_large(problem.targets))


def _on_host_if_small(problem: Problem, table: Any) -> Any:
    """A table of the problem; a small one comes to the host, where exact solvers work."""
    return problem.backend.host(table) if _is_small(problem) else table


def all_pairs(problem: Problem, active: IntArray) -> Directions:
    """The directions between any two of the ``active`` candidates."""
    from surepick.design import AllPairs

    points = problem.targets
    if len(active) < problem.n_candidates:
        points = problem.backend.take(points, active)
    return AllPairs(_on_host_if_small(problem, points))


def pair_design(problem: Problem, active: IntArray, tol: float | None = None) -> Solved:
    """Design that tells any two of the ``active`` candidates apart."""
    key = "pairs", fingerprint(active)
    return solve(problem, key, lambda: all_pairs(problem, active), tol)


def candidate_design(problem: Problem, active: IntArray) -> Solved:
    """Design that estimates each of the ``active`` candidates (G-optimal for them).

    Arms with next to no weight are left out, so the design may span no more than it has to.
    """
    name = fingerprint(active)

    def compute() -> Solved:
        points = problem.target_rows(active)
        design = solve(problem, ("values", name), lambda: points)
        return _on_few_arms(problem, design, points)

    return _DESIGNS.get((problem.key, "few", name), compute, problem.n_arms)


def _used(problem: Problem, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Features and weights of the arms that have weight."""
    arms = np.flatnonzero(weights)
    return problem.feature_rows(arms), weights[arms]


def _worst(directions: Directions, root: FloatArray) -> float:
    """Largest variance ‖rootᵀy‖² of a direction, or a bound on it if there are very many."""
    from surepick.design import AllPairs

    if isinstance(directions, AllPairs) and directions.large:
        return directions.bound(root)
    return directions.worst(root)[0]


def root_of_inverse(points: FloatArray, weights: FloatArray) -> FloatArray:
    """R with A(w)⁺ = R Rᵀ, the inverse on what the points with weight span."""
    used = np.flatnonzero(weights)
    rows = points[used] * np.sqrt(weights[used])[:, None]
    _, s, vt = np.linalg.svd(rows, full_matrices=False)
    keep = s > s[0] * 1e-7
    return vt[keep].T / s[keep]


def _on_few_arms(problem: Problem, design: Solved, points: FloatArray) -> Solved:
    """The design on as few arms as estimate the points one per cent worse at most."""
    for cut in (1e-1, 1e-2, 1e-3, 1e-4):
        weights = np.where(design.weights < cut * design.weights.max(), 0.0, design.weights)
        weights = coarse(weights / weights.sum())
        weights /= weights.sum()
        root = root_of_inverse(*_used(problem, weights))
        basis = np.linalg.qr(root)[0]
        missed = points - (points @ basis) @ basis.T
        rho = float(((points @ root) ** 2).sum(axis=1).max())
        rho = coarse(rho)
        if np.abs(missed).max() <= 1e-9 * np.abs(points).max() and rho <= 1.01 * design.rho:
            return Solved(weights, rho, rho / design.rho * (1.0 + design.gap) - 1.0)
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
    if np.linalg.matrix_rank(problem.feature_rows(np.flatnonzero(counts))) < problem.rank:
        spanning = problem.spanning_arms
        counts[spanning] = np.maximum(counts[spanning], 1)
    return counts


def worst_variance(problem: Problem, counts: IntArray, directions: Directions) -> float:
    """max over the directions of a_y = yᵀV⁻¹y for these pulls; inf where they do not span.

    A bound on it where there are too many directions to look at.
    """
    pulled = np.flatnonzero(counts)
    x = problem.feature_rows(pulled)
    try:
        factor = np.linalg.cholesky((x.T * counts[pulled]) @ x)
    except np.linalg.LinAlgError:
        return math.inf
    root: FloatArray = np.linalg.inv(factor).T.astype(np.float64)
    return _worst(directions, root)


def pulls_reaching(
    problem: Problem, design: Solved, directions: Directions, variance: float
) -> Pulls:
    """About as few pulls as reach this worst variance after rounding."""
    n = max(math.ceil(coarse(design.rho / variance)), problem.rank)
    counts = whole_pulls(problem, design.weights, n)
    for _ in range(20):
        excess = coarse(worst_variance(problem, counts, directions) / variance)
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
        while n <= cutoffs.CYCLE_PULLS * problem.rank:
            counts = whole_pulls(problem, design.weights, n)
            own = worst_variance(problem, counts, directions) * float(counts.sum()) / design.rho
            own = coarse(own)
            if best is None or own < loss:
                best, loss = counts, own
            if own <= 1.05:
                break
            n = math.ceil(1.2 * n)
        assert best is not None
        return Pulls.from_counts(best)

    return _DESIGNS.get((problem.key, "cycle", key), compute)
