"""Minimax designs for more arms or directions than can be looked at all the time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from surepick.arrays import cutoffs
from surepick.arrays.backend import backend_of
from surepick.arrays.progress import report
from surepick.arrays.tables import is_large
from surepick.arrays.types import FloatArray, IntArray
from surepick.design._result import MinimaxResult, Round, make_result, narrow, nothing_to_estimate
from surepick.design.directions import Directions
from surepick.design.large.firstorder import FirstOrder
from surepick.design.large.span import large_whitening

_PATIENCE = 12  # looks without progress after which first-order steps are given up


def needs_scans(arms: Any, directions: Directions, tol: float) -> bool:
    """Whether a problem is too large, for this tolerance, for Newton steps from the start."""
    if not backend_of(arms).plain:
        return True
    entries = max(arms.shape[0], _rows(directions)) * arms.shape[1]
    large = is_large(arms) or directions.large
    return entries > cutoffs.HUGE_TABLE or (large and tol >= cutoffs.ROUGH_GAP)


def _rows(directions: Directions) -> int:
    """Points behind the directions: a pair takes no memory of its own."""
    return int(getattr(directions, "n_points", directions.count))


def solve_large(
    arms: Any,
    directions: Directions,
    tol: float,
    near: tuple[IntArray, FloatArray] | None,
    seed: tuple[IntArray, FloatArray] | None,
    max_rounds: int,
    on_round: Callable[[Round], Any] | None,
) -> MinimaxResult:
    """First-order steps with looks at everything; Newton steps where that is not enough."""
    backend = backend_of(arms)
    whiten, table = large_whitening(arms, directions)
    worst, _, values = directions.scan(whiten, 1)
    if worst == 0 or values[0] == 0:
        return nothing_to_estimate(arms, near and spread_out(*near, arms.shape[0]))
    solver = FirstOrder(backend, table, whiten, directions, near, seed)
    goal, last_gain, stopped = max(tol, cutoffs.ROUGH_GAP), 0, False
    while solver.gap > goal and solver.seen > (1.0 + goal) * solver.lower.value:
        if solver.looks >= max_rounds or solver.looks - last_gain >= _PATIENCE:
            break
        if solver.advance(goal):
            last_gain = solver.looks
        report("design", solver.looks, value=solver.upper.value, lower_bound=solver.lower.value)
        if on_round is not None and on_round(solver.status()):
            stopped = True
            break
    exact = solver.seen >= solver.upper.value * (1.0 - 1e-9)
    if solver.gap > tol and exact and not stopped and solver.looks < max_rounds:
        return _polish(solver, directions, tol, max_rounds - solver.looks, on_round)
    enough = (1.0 + tol) * solver.lower.value
    upper = solver.trim(enough if solver.upper.value <= enough else 1.02 * solver.upper.value)
    return make_result(
        spread_out(upper.arms, upper.weights, arms.shape[0]),
        upper.value,
        solver.lower,
        tol,
        whiten,
        solver.looks,
        np.sort(upper.arms[upper.weights > 0]),
    )


def _polish(
    solver: FirstOrder,
    directions: Directions,
    tol: float,
    max_rounds: int,
    on_round: Callable[[Round], Any] | None,
) -> MinimaxResult:
    from surepick.design._workingset import WorkingSet  # SciPy loads on first use

    upper, lower = solver.trim(1.02 * solver.upper.value), solver.lower
    heavy = np.argsort(-lower.weights, kind="stable")[: 8 * solver.dim + 64]
    work = WorkingSet(
        solver.table,
        solver.whiten,
        directions,
        (upper.arms, upper.weights),
        np.sort(lower.directions[heavy]),
        solver.backend,
    )
    return narrow(work, tol, max_rounds, on_round, (solver.upper, lower))


def spread_out(indices: IntArray, weights: FloatArray, count: int) -> FloatArray:
    """Weights of all arms, of which only these have any."""
    found = np.zeros(count)
    found[indices] = weights
    return found
