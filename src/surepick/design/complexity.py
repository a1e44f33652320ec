"""How hard an instance is: the characteristic time, and the bound on pulls that follows.

For the best candidate z* and gaps Δ_z = θᵀ(z* − z), put

    B = min_w max_{z ≠ z*} ‖z* − z‖²_{A(w)⁻¹} / Δ_z²,   D* = 1/B.

With Gaussian noise of standard deviation σ, every algorithm whose answer is right with
probability at least 1 − δ on every instance takes at least 2σ² kl(1 − δ, δ) / D* pulls on
average, kl the relative entropy of two coins; and the weights w are the best way to pull.

Where arms cost different amounts, an arm of cost c counts as x/√c; then D*, the weights and the
bound are about money, not pulls. For the m best, the maximum is over all pairs of one of these and
one of the others.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from surepick.arrays import cutoffs
from surepick.arrays.backend import backend_of
from surepick.arrays.tables import is_large
from surepick.arrays.types import FloatArray
from surepick.arrays.validate import probability, whole
from surepick.design.large.leads import Leads
from surepick.design.minimax import MinimaxResult, Status, minimax
from surepick.errors import InvalidInputError
from surepick.problem.duplicates import column_scale

_SAME = 1e-12  # relative difference below which two numbers are the same
_FINE, _ROUGH = 1e-6, 0.05  # accuracies for usual problems and for very large ones


class _Problem(Protocol):
    @property
    def standardised_arms(self) -> FloatArray: ...
    @property
    def candidates(self) -> FloatArray: ...
    @property
    def unit(self) -> float: ...
    @property
    def costs(self) -> FloatArray | None: ...
    @property
    def sign(self) -> float: ...


@dataclass(frozen=True, eq=False)
class Complexity:
    """Characteristic time of an instance.

    Attributes
    ----------
    weights : array, (K,)
        The best shares of pulls, up to ``gap``.
    D_star : float
        D* for noise of scale one, rounded up within ``gap`` so that ``lower_bound`` holds;
        infinite where there is only one distinct candidate.
    gap : float
        ``weights`` reach D* within this factor: at least ``D_star / (1 + gap)``.
    status : {"optimal", "inaccurate"}
        Whether the gap is at most the tolerance asked for.
    noise : float
        Noise scale of the problem.

    Examples
    --------
    >>> import surepick as sp
    >>> result = sp.design.complexity(sp.Problem([[1, 0], [0, 1]]), [0.5, 0])
    >>> result.weights.round(2).tolist(), result.status
    ([0.5, 0.5], 'optimal')
    """

    weights: FloatArray
    D_star: float
    gap: float
    status: Status
    noise: float

    def lower_bound(self, delta: float) -> float:
        """Pulls, on average, that no algorithm right with probability 1 − delta can beat."""
        delta = probability(delta, "delta")
        if delta >= 0.5:
            return 0.0
        kl = (1.0 - 2.0 * delta) * math.log((1.0 - delta) / delta)
        return 2.0 * self.noise**2 * kl / self.D_star


def complexity(
    problem: _Problem, theta: ArrayLike, tol: float | None = None, top: int = 1
) -> Complexity:
    """Characteristic time of a problem with known truth, and its lower bound on pulls.

    Parameters
    ----------
    problem : Problem
        Arms, candidates and noise scale.
    theta : array_like, (d,)
        The truth.
    tol : float, optional
        Relative accuracy; by default 1e-6, and 0.05 where there are very many arms or candidates.
        The lower bound holds however far the solve got.
    top : int, optional
        How many of the best candidates are asked for.

    Returns
    -------
    Complexity

    Examples
    --------
    >>> from surepick.problem import Problem
    >>> result = complexity(Problem([[1, 0], [0, 1]]), [0.5, 0])
    >>> round(1 / result.D_star, 3), round(result.lower_bound(0.1), 1)
    (16.0, 56.2)
    """
    arms, candidates = _for_money(problem), problem.candidates
    truth = problem.sign * _as_truth(theta, candidates.shape[1])
    if whole(top, "top", least=1) > 1:
        return _of_several(problem, truth, tol, top)
    if not backend_of(candidates).plain or is_large(candidates) or is_large(arms):
        return _large_complexity(problem, truth, tol)
    means = candidates @ truth
    best = int(np.argmax(means))
    differences = candidates[best] - candidates
    scale = np.abs(candidates).max(axis=0)
    rivals = np.flatnonzero((np.abs(differences) > _SAME * scale).any(axis=1))
    if not len(rivals):
        return _trivial(len(arms), problem)
    gaps = differences[rivals] @ truth
    tied = rivals[gaps <= _SAME * float(scale @ np.abs(truth))]
    if len(tied):
        raise _tie(best, tied[0])
    directions = differences[rivals] / gaps[:, None]
    return _found(minimax(arms, directions, _FINE if tol is None else tol), problem)


def _for_money(problem: _Problem) -> FloatArray:
    """The arms, each as far as it reaches for its cost."""
    arms, costs = problem.standardised_arms, problem.costs
    return arms if costs is None else arms / np.sqrt(costs)[:, None]


def _of_several(problem: _Problem, truth: FloatArray, tol: float | None, m: int) -> Complexity:
    """The complexity of finding the m best candidates."""
    arms, candidates = _for_money(problem), problem.candidates
    if m >= len(candidates):
        raise InvalidInputError(
            f"top: there are {len(candidates)} candidates, so the {m} best are all of them"
        )
    if not backend_of(candidates).plain or m * (len(candidates) - m) > cutoffs.WORKING_TABLE:
        raise InvalidInputError(
            f"top: {m} times {len(candidates) - m:,} pairs of candidates are too many"
        )
    means = candidates @ truth
    order = np.argsort(-means, kind="stable")
    best, others = order[:m], order[m:]
    gaps = means[best][:, None] - means[others]
    scale = float(np.abs(candidates).max(axis=0) @ np.abs(truth))
    if gaps.min() <= _SAME * scale:
        raise InvalidInputError(
            f"theta: candidates {order[m - 1]} and {order[m]} tie, so the {m} best are not unique; "
            f"no number of pulls can tell them apart (the lower bound is infinite)"
        )
    directions = (candidates[best][:, None] - candidates[others]) / gaps[..., None]
    flat = directions.reshape(-1, candidates.shape[1])
    return _found(minimax(arms, flat, _FINE if tol is None else tol), problem)


def _large_complexity(problem: _Problem, truth: FloatArray, tol: float | None) -> Complexity:
    """The complexity, computed in blocks on any array library, without a table of differences."""
    arms: Any = problem.standardised_arms
    candidates: Any = problem.candidates
    if tol is None:
        entries = max(len(arms), len(candidates)) * candidates.shape[1]
        tol = _ROUGH if entries > cutoffs.HUGE_TABLE else _FINE
    backend = backend_of(candidates)
    xp, means = backend.xp, backend.product(candidates, truth)
    best = int(xp.argmax(means))
    leader = backend.rows(candidates, np.array([best]))[0]
    scale = column_scale(candidates, backend)
    same = backend.quadratic(candidates, np.diag(1.0 / scale), leader) <= _SAME**2
    gaps = means[best] - means
    tied = backend.nonzero((gaps <= _SAME * float(scale @ np.abs(truth))) & ~same)
    if tied.shape[0]:
        raise _tie(best, int(tied[0]))
    if bool(xp.all(same)):
        return _trivial(len(arms), problem)
    one = xp.ones_like(gaps)
    scales = xp.where(same, xp.zeros_like(gaps), one / xp.where(same, one, gaps))
    return _found(minimax(arms, Leads(candidates, leader, scales), tol), problem)


def _found(result: MinimaxResult, problem: _Problem) -> Complexity:
    return Complexity(
        weights=result.weights,
        D_star=1.0 / result.lower_bound,
        gap=result.gap,
        status=result.status,
        noise=problem.unit,
    )


def _trivial(k: int, problem: _Problem) -> Complexity:
    return Complexity(np.full(k, 1.0 / k), math.inf, 0.0, "optimal", problem.unit)


def _tie(best: int, other: int) -> InvalidInputError:
    return InvalidInputError(
        f"theta: the best candidate is not unique, candidates {best} and {other} tie; "
        f"no number of pulls can tell them apart (the lower bound is infinite)"
    )


def _as_truth(theta: Any, dim: int) -> FloatArray:
    try:
        truth = np.array(theta, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"theta must be {dim} numbers: {error}") from None
    if truth.shape != (dim,):
        raise InvalidInputError(f"theta must be {dim} numbers, one per feature; got {truth.shape}")
    bad = np.flatnonzero(~np.isfinite(truth))
    if len(bad):
        raise InvalidInputError(f"theta must be finite; entry {bad[0]} is {truth[bad[0]]}")
    return truth
