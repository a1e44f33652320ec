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
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from surepick.arrays import cutoffs
from surepick.arrays.tables import as_table
from surepick.arrays.types import FloatArray, IntArray
from surepick.arrays.validate import probability, whole
from surepick.design._check import as_weights
from surepick.design._result import MinimaxResult, Round, Status, narrow, nothing_to_estimate
from surepick.design._span import whitening
from surepick.design.directions import Directions, Listed
from surepick.design.large.solve import needs_scans, solve_large, spread_out

__all__ = ["MinimaxResult", "Round", "Status", "minimax"]


def minimax(
    arms: ArrayLike,
    directions: ArrayLike | Directions,
    tol: float = 1e-3,
    *,
    start: ArrayLike | tuple[IntArray, FloatArray] | None = None,
    seed: tuple[IntArray, FloatArray] | None = None,
    max_rounds: int = 200,
    on_round: Callable[[Round], Any] | None = None,
) -> MinimaxResult:
    """Design with the smallest worst variance over a set of directions.

    Parameters
    ----------
    arms : array_like, (K, d)
        What can be measured; a large array may be one of PyTorch or CuPy.
    directions : array_like (P, d), Listed, AllPairs or Leads
        What has to be estimated well; each must lie in the span of the arms.
    tol : float
        Stop when ``value / lower_bound − 1`` is at most this.
    start : array_like, (K,), or (indices, weights), optional
        Weights to start from, such as those of a similar problem solved before; all of them, or
        those that are not 0.
    seed : (indices, weights), optional
        Directions that mattered to it; of use where there are very many.
    max_rounds : int
        Give up, with status "inaccurate" and the gap reached, after so many rounds.
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
    family = _as_directions(directions)
    tol = probability(tol, "tol")
    max_rounds = whole(max_rounds, "max_rounds", least=1)
    table = as_table(arms, "arms")
    if needs_scans(table, family, tol):
        near = None if start is None else _few(start, len(table))
        return solve_large(table, family, tol, near, seed, max_rounds, on_round)
    weights = None if start is None else _all(start, len(table))
    whiten = whitening(table, family)
    if family.worst(whiten)[0] == 0:
        return nothing_to_estimate(table, weights)
    first, group = _distinct(table)
    if weights is not None:
        weights = np.bincount(group, weights=weights).astype(np.float64)

    from surepick.design._linalg import product  # SciPy loads on first use
    from surepick.design._workingset import WorkingSet

    work = WorkingSet(product(table[first], whiten), whiten, family, weights)
    result = narrow(work, tol, max_rounds, on_round)
    spread = np.zeros(len(table))
    spread[first] = result.weights
    return replace(result, weights=spread, at_work=None)


def _names_arms(start: Any) -> bool:
    """Whether it is (indices, weights): a tuple may be a weight for each arm as well."""
    return isinstance(start, tuple) and len(start) == 2 and isinstance(start[0], np.ndarray)


def _few(start: Any, count: int) -> tuple[IntArray, FloatArray]:
    """Weights to start from: those that are not 0, and where."""
    if _names_arms(start):
        return start[0], as_weights(start[1], "start", len(start[0]))
    weights = as_weights(start, "start", count)
    chosen = np.flatnonzero(weights)
    return chosen, weights[chosen]


def _all(start: Any, count: int) -> FloatArray:
    """Weights to start from, of all arms."""
    if _names_arms(start):
        return spread_out(*_few(start, count), count)
    return as_weights(start, "start", count)


def _distinct(arms: FloatArray) -> tuple[IntArray, IntArray]:
    """First arm of each group of arms that are equal up to sign, and each arm's group.

    A few duplicates do no harm and share their weight; many would crowd the working set,
    which small problems are part of as a whole.
    """
    if len(arms) <= cutoffs.ALL_ARMS:
        everyone = np.arange(len(arms))
        return everyone, everyone
    sign = np.sign(arms[np.arange(len(arms)), np.argmax(arms != 0, axis=1)])
    _, first, group = np.unique(
        arms * sign[:, None] + 0.0, axis=0, return_index=True, return_inverse=True
    )
    return first, group.reshape(-1)


def _as_directions(given: Any) -> Directions:
    return given if hasattr(given, "violators") else Listed(given)
