"""Minimax designs with a certified bracket.

B = min_w max_y yᵀ A(w)⁻¹ y over the simplex, A(w) = Σ w_k x_k x_kᵀ. Any weights bound B from
above. From below: for any vectors λ_y with λ_yᵀ y = 1 and any probabilities p on the directions,

    1 / max_w' min_y h_y(w') ≥ 1 / max_x Σ_y p_y (λ_yᵀ x)²,

because h_y(w') = 1/a_y = min { λᵀ A(w') λ : λᵀy = 1 }. The solver carries both bounds and stops
on their ratio. Only some arms and directions are at work at a time; every round scans all the
others, which certifies the bracket for the whole problem and says what to take to work next.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from surepick.design._check import as_weights
from surepick.design._span import whitening
from surepick.design.directions import Directions, IntArray, Listed
from surepick.errors import SolverError
from surepick.problem.validate import FloatArray, as_matrix, probability, whole

if TYPE_CHECKING:
    from surepick.design._workingset import WorkingSet

Status = Literal["optimal", "inaccurate"]

_FEW = 150  # arms among which duplicates are not looked for
_PATIENCE = 12  # rounds without progress after which rounding is to blame


@dataclass(frozen=True, eq=False)
class MinimaxResult:
    """A design and the proof of how good it is.

    Attributes
    ----------
    weights : array, (K,)
        The design: shares of the measurements, of sum one.
    value : float
        max_y yᵀ A(weights)⁻¹ y, over all directions.
    lower_bound : float
        No design has a smaller value than this.
    gap : float
        ``value / lower_bound − 1``.
    status : {"optimal", "inaccurate"}
        Whether the gap is at most the tolerance asked for.
    directions : array of int, (n,)
        Directions that the lower bound rests on.
    direction_weights : array, (n,)
        Their probabilities p_y.
    normals : array, (n, d)
        Their λ_y: λ_yᵀ y = 1, and ``lower_bound`` = 1 / max_x Σ_y p_y (λ_yᵀ x)².
    rounds : int
        Newton steps taken.
    """

    weights: FloatArray
    value: float
    lower_bound: float
    gap: float
    status: Status
    directions: IntArray
    direction_weights: FloatArray
    normals: FloatArray
    rounds: int


@dataclass(frozen=True)
class Round:
    """Where a solve stands; handed to ``on_round``."""

    round: int
    value: float
    lower_bound: float
    arms: int
    directions: int


def minimax(
    arms: ArrayLike,
    directions: ArrayLike | Directions,
    tol: float = 1e-3,
    *,
    start: ArrayLike | None = None,
    max_rounds: int = 200,
    on_round: Callable[[Round], Any] | None = None,
) -> MinimaxResult:
    """Design with the smallest worst variance over a set of directions.

    Parameters
    ----------
    arms : array_like, (K, d)
        What can be measured.
    directions : array_like (P, d), Listed or AllPairs
        What has to be estimated well; each must lie in the span of the arms.
    tol : float
        Stop when ``value / lower_bound − 1`` is at most this.
    start : array_like, (K,), optional
        Weights to start from, such as those of a similar problem solved before.
    max_rounds : int
        Give up, with status "inaccurate" and the gap reached, after so many Newton steps.
    on_round : callable, optional
        Called with a :class:`Round` after each round; a true return value ends the solve.

    Returns
    -------
    MinimaxResult
        Its weights span everything the arms span.

    Raises
    ------
    InvalidInputError
        For arms or directions that are not finite tables, and for directions outside the
        span of the arms; the message says which.

    Examples
    --------
    >>> result = minimax([[1, 0], [0, 1], [1, 1]], [[1, -1]])
    >>> bool(result.value < 4.01), result.status
    (True, 'optimal')
    """
    table = as_matrix(arms, "arms")
    family = _as_directions(directions)
    tol = probability(tol, "tol")
    max_rounds = whole(max_rounds, "max_rounds", least=1)
    weights = None if start is None else as_weights(start, "start", len(table))
    whiten = whitening(table, family)
    if family.worst(whiten)[0] == 0:
        return _nothing_to_estimate(table, weights)
    first, group = _distinct(table)
    if weights is not None:
        weights = np.bincount(group, weights=weights).astype(np.float64)

    from surepick.design._workingset import WorkingSet  # SciPy loads on first use

    work = WorkingSet(table[first] @ whiten, whiten, family, weights)
    result = _solve(work, tol, max_rounds, on_round)
    spread = np.zeros(len(table))
    spread[first] = result.weights
    return replace(result, weights=spread)


def _distinct(arms: FloatArray) -> tuple[IntArray, IntArray]:
    """First arm of each group of arms that are equal up to sign, and each arm's group.

    A few duplicates do no harm and share their weight; many would crowd the working set.
    """
    if len(arms) <= _FEW:
        everyone = np.arange(len(arms))
        return everyone, everyone
    sign = np.sign(arms[np.arange(len(arms)), np.argmax(arms != 0, axis=1)])
    _, first, group = np.unique(
        arms * sign[:, None] + 0.0, axis=0, return_index=True, return_inverse=True
    )
    return first, group.reshape(-1)


def _as_directions(directions: ArrayLike | Directions) -> Directions:
    if hasattr(directions, "violators"):
        return directions  # pyright: ignore[reportReturnType]
    return Listed(directions)  # pyright: ignore[reportArgumentType]


def _solve(
    work: WorkingSet,
    tol: float,
    max_rounds: int,
    on_round: Callable[[Round], Any] | None = None,
) -> MinimaxResult:
    """Newton steps until the bracket is narrow enough; the best of both ends is kept."""
    upper, lower = work.upper(), work.lower()
    last_gain = rounds = 0
    while upper.value > (1.0 + tol) * lower.value and rounds - last_gain < _PATIENCE:
        if rounds == max_rounds or not work.advance(tol):
            break
        rounds += 1
        up, low = work.upper(), work.lower()
        if up.value < upper.value or low.value > lower.value:
            last_gain = rounds
        upper = min(upper, up, key=lambda bound: bound.value)
        lower = max(lower, low, key=lambda bound: bound.value)
        if on_round is not None and on_round(
            Round(rounds, upper.value, lower.value, len(work.arms), len(work.directions))
        ):
            break
    if lower.value > upper.value * (1.0 + 1e-6):
        raise SolverError(
            f"bounds cross ({lower.value:.9g} > {upper.value:.9g}): the arms are too close to "
            f"linear dependence for double precision"
        )
    allowance = min((1.0 + tol) * lower.value, (1.0 + 0.1 * tol) * upper.value)
    weights, value = work.trim(upper, allowance)
    gap = max(0.0, value / lower.value - 1.0)
    proof = lower.weights > 0
    return MinimaxResult(
        weights=weights,
        value=value,
        lower_bound=lower.value,
        gap=gap,
        status="optimal" if gap <= tol else "inaccurate",
        directions=lower.directions[proof],
        direction_weights=lower.weights[proof],
        normals=lower.normals[proof] @ work.whiten.T,
        rounds=rounds,
    )


def _nothing_to_estimate(arms: FloatArray, start: FloatArray | None) -> MinimaxResult:
    """Every direction is zero, so every design is optimal."""
    return MinimaxResult(
        weights=np.full(len(arms), 1.0 / len(arms)) if start is None else start,
        value=0.0,
        lower_bound=0.0,
        gap=0.0,
        status="optimal",
        directions=np.empty(0, dtype=np.int64),
        direction_weights=np.empty(0),
        normals=np.empty((0, arms.shape[1])),
        rounds=0,
    )
