"""Two special designs: for every arm at once, and for a single direction.

The G-optimal design, min_w max_x xᵀ A(w)⁻¹ x, is also the D-optimal one, and its value is the
dimension d (J. Kiefer and J. Wolfowitz, The equivalence of two extremum problems, 1960). It is
found by moving weight to the worst arm or away from the least useful one, with exact steps
(M. J. Todd and E. A. Yıldırım, On Khachiyan's algorithm, 2007). A single direction is a
linear program (G. Elfving, Optimum allocation in linear regression theory, 1952).
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from surepick.arrays.grid import coarse, first_best
from surepick.arrays.types import FloatArray
from surepick.arrays.validate import as_matrix, probability, whole
from surepick.design._span import whitening
from surepick.design.directions import Listed
from surepick.design.minimax import MinimaxResult
from surepick.errors import InvalidInputError, SolverError

_REFRESH = 100  # steps between inversions from scratch, against the drift of updates


def g_optimal(arms: ArrayLike, tol: float = 1e-2, *, max_rounds: int = 100_000) -> MinimaxResult:
    """Design with the smallest worst variance over the arms themselves, on few arms.

    Parameters
    ----------
    arms : array_like, (K, d)
    tol : float
        Stop when ``value / lower_bound − 1`` is at most this.
    max_rounds : int
        Give up, with status "inaccurate", after so many steps.

    Returns
    -------
    MinimaxResult
        ``directions`` are the arms with weight and ``direction_weights`` are their weights;
        ``lower_bound`` is the rank of the arms, by the theorem of Kiefer and Wolfowitz.

    Examples
    --------
    >>> result = g_optimal([[1, 0], [0, 1], [0.5, 0.5]])
    >>> result.weights.round(3), round(result.value, 3)
    (array([0.5, 0.5, 0. ]), 2.0)
    """
    table = as_matrix(arms, "arms")
    tol = probability(tol, "tol")
    max_rounds = whole(max_rounds, "max_rounds", least=1)
    whiten = whitening(table, Listed(table))
    x = table @ whiten
    dim = x.shape[1]

    from surepick.design._linalg import spanning_rows  # SciPy loads on first use

    weights = np.zeros(len(x))
    weights[spanning_rows(x)] = 1.0 / dim
    rounds = 0
    while True:
        support = np.flatnonzero(weights)
        information = (x[support].T * weights[support]) @ x[support]
        inverse = np.asarray(np.linalg.inv(information), dtype=np.float64)
        g = ((x @ inverse) * x).sum(axis=1)
        value = float(g.max())
        if value <= dim * (1.0 + tol) or rounds >= max_rounds:
            break
        # Few arms matter at a time: work on those, and look at all of them in between.
        at_work = np.union1d(support, np.argsort(-coarse(g), kind="stable")[: 4 * dim])
        steps, weights[at_work] = _exchange(
            x[at_work], weights[at_work], inverse, g[at_work], 0.5 * tol, max_rounds - rounds
        )
        rounds += steps
    gap = max(0.0, value / dim - 1.0)
    return MinimaxResult(
        weights=weights,
        value=value,
        lower_bound=float(dim),
        gap=gap,
        status="optimal" if gap <= tol else "inaccurate",
        directions=support,
        direction_weights=weights[support],
        normals=(x[support] @ inverse / g[support, None]) @ whiten.T,
        rounds=rounds,
    )


def _exchange(
    x: FloatArray, w: FloatArray, inverse: FloatArray, g: FloatArray, tol: float, limit: int
) -> tuple[int, FloatArray]:
    """Exact steps towards the worst arm or away from the best known one; steps and weights."""
    dim = x.shape[1]
    inverse, g = inverse.copy(), g.copy()
    for step in range(min(limit, _REFRESH)):
        far = first_best(g)
        near = first_best(np.where(w > 0, -g, -np.inf))
        if g[far] <= dim * (1.0 + tol):
            return max(1, step), w
        if g[far] - dim >= dim - g[near]:
            k, move = far, (g[far] / dim - 1.0) / (g[far] - 1.0)
        else:
            # at most the whole weight of the arm; where g <= 1 the objective grows until then
            most = w[near] / (1.0 - w[near])
            best = (1.0 - g[near] / dim) / (g[near] - 1.0) if g[near] > 1.0 else np.inf
            k, move = near, -min(most, best)
        # A ← (1 − move) A + move x xᵀ, by the rank-one formula
        u = inverse @ x[k]
        factor = move / (1.0 - move + move * g[k])
        inverse = (inverse - factor * np.outer(u, u)) / (1.0 - move)
        g = (g - factor * (x @ u) ** 2) / (1.0 - move)
        emptied = move < 0 and -move >= w[k] / (1.0 - w[k])
        w = (1.0 - move) * w
        w[k] = 0.0 if emptied else w[k] + move
    return min(limit, _REFRESH), w / w.sum()


def one_direction(arms: ArrayLike, direction: ArrayLike) -> MinimaxResult:
    """The best design for a single direction y, exactly.

    ``min_w yᵀ A(w)⁻¹ y = (min {‖c‖₁ : Σ c_x x = y})²``, with weights proportional to ``|c|``.

    Parameters
    ----------
    arms : array_like, (K, d)
    direction : array_like, (d,)
        Must lie in the span of the arms.

    Returns
    -------
    MinimaxResult
        The weights need not span more than the direction.

    Examples
    --------
    >>> result = one_direction([[1, 0], [0, 1]], [2, -1])
    >>> round(result.value, 6), result.weights.round(3)
    (9.0, array([0.667, 0.333]))
    """
    table = as_matrix(arms, "arms")
    y = as_matrix(np.atleast_2d(np.asarray(direction)), "direction")
    if len(y) != 1:
        raise InvalidInputError(f"direction must be one direction; got {len(y)}")
    whiten = whitening(table, Listed(y))
    x, target = table @ whiten, (y @ whiten)[0]
    length = float(np.linalg.norm(target))
    if length == 0:
        raise InvalidInputError("direction must not be zero")

    from scipy import optimize

    # Cast: what it returns is declared nowhere, and type checkers take ten seconds to work it out.
    solve = cast(Any, optimize.linprog)
    # c = plus − minus; the solver sees a target of length one
    answer = solve(
        np.ones(2 * len(x)), A_eq=np.hstack([x.T, -x.T]), b_eq=target / length, method="highs"
    )
    if answer.x is None:
        raise SolverError(f"linear program for direction failed: {answer.message}")
    c = np.abs(answer.x[: len(x)] - answer.x[len(x) :])
    value = float((length * c.sum()) ** 2)
    # The program's dual μ has |μᵀx| ≤ 1 on the arms: it proves the value from below.
    dual = answer.eqlin.marginals
    normal = dual / (dual @ target)
    lower = 1.0 / float(np.square(x @ normal).max())
    gap = max(0.0, value / lower - 1.0)
    return MinimaxResult(
        weights=c / c.sum(),
        value=value,
        lower_bound=lower,
        gap=gap,
        status="optimal" if gap <= 1e-6 else "inaccurate",
        directions=np.zeros(1, dtype=np.int64),
        direction_weights=np.ones(1),
        normals=(normal @ whiten.T)[None],
        rounds=int(answer.nit),
    )
