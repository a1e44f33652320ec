"""What a minimax solve returns, and the loop that narrows its bracket."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from surepick.arrays.progress import report
from surepick.arrays.types import FloatArray, IntArray
from surepick.errors import SolverError

if TYPE_CHECKING:
    from surepick.design._bounds import Lower, Upper
    from surepick.design._workingset import WorkingSet

Status = Literal["optimal", "inaccurate"]

_PATIENCE = 12  # rounds without progress after which rounding errors must be the reason


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
    at_work : array of int, (s,), optional
        The arms with weight, where they are few of very many.

    Examples
    --------
    >>> import surepick as sp
    >>> result = sp.design.minimax([[1, 0], [0, 1]], [[1, -1]])
    >>> result.weights.round(2).tolist(), result.gap <= 1e-3
    ([0.5, 0.5], True)
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
    at_work: IntArray | None = field(default=None, repr=False)

    @property
    def support(self) -> IntArray:
        """The arms with weight, ascending."""
        return np.flatnonzero(self.weights) if self.at_work is None else self.at_work


@dataclass(frozen=True)
class Round:
    """Where a solve stands; handed to ``on_round``.

    Examples
    --------
    >>> import surepick as sp
    >>> seen: list[Round] = []
    >>> pairs = sp.design.AllPairs(np.eye(3))
    >>> _ = sp.design.minimax([[1, 0, 0], [0, 1, 0], [1, 1, 1]], pairs, on_round=seen.append)
    >>> seen[-1].arms, seen[-1].directions
    (3, 3)
    """

    round: int
    value: float
    lower_bound: float
    arms: int
    directions: int


def narrow(
    work: WorkingSet,
    tol: float,
    max_rounds: int,
    on_round: Callable[[Round], Any] | None = None,
    better: tuple[Upper, Lower] | None = None,
) -> MinimaxResult:
    """Newton steps until the bracket is narrow enough; the best of both ends is kept.

    ``better`` are bounds that are known already.
    """
    upper, lower = work.upper(), work.lower()
    # The best bounds of these steps alone: they may have to catch up with ``better`` first.
    lowest, highest = upper.value, lower.value
    if better is not None:
        upper = min(upper, better[0], key=lambda bound: bound.value)
        lower = max(lower, better[1], key=lambda bound: bound.value)
    last_gain = rounds = 0
    while upper.value > (1.0 + tol) * lower.value and rounds - last_gain < _PATIENCE:
        if rounds == max_rounds or not work.advance(tol):
            break
        rounds += 1
        up, low = work.upper(), work.lower()
        if up.value < lowest or low.value > highest:
            last_gain = rounds
        lowest, highest = min(lowest, up.value), max(highest, low.value)
        upper = min(upper, up, key=lambda bound: bound.value)
        lower = max(lower, low, key=lambda bound: bound.value)
        report("design", rounds, value=upper.value, lower_bound=lower.value)
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
    return make_result(weights, value, lower, tol, work.whiten, rounds)


def make_result(
    weights: FloatArray,
    value: float,
    lower: Lower,
    tol: float,
    whiten: FloatArray,
    rounds: int,
    at_work: IntArray | None = None,
) -> MinimaxResult:
    """The result of a solve in whitened coordinates."""
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
        normals=lower.normals[proof] @ whiten.T,
        rounds=rounds,
        at_work=at_work,
    )


def nothing_to_estimate(arms: Any, start: FloatArray | None) -> MinimaxResult:
    """Every direction is zero, so every design is optimal."""
    return MinimaxResult(
        weights=np.full(arms.shape[0], 1.0 / arms.shape[0]) if start is None else start,
        value=0.0,
        lower_bound=0.0,
        gap=0.0,
        status="optimal",
        directions=np.empty(0, dtype=np.int64),
        direction_weights=np.empty(0),
        normals=np.empty((0, arms.shape[1])),
        rounds=0,
    )
