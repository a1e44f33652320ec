"""What share of the next visitors each option should get, and how many are still missing.

A site sends visitors by shares, and how many come is not in our hands. So the design of a block is
wanted as proportions, and nothing of it is remembered: the same settled blocks give the same
shares, whoever works them out again.
"""

from __future__ import annotations

import math

import numpy as np

from surepick.algorithms.pooled.planner import BlockDesign
from surepick.algorithms.pooled.state import PooledState
from surepick.arrays.types import FloatArray

_SPREAD = 1.0  # part that all options still in have alike: this times √(options / visitors so far)


def wanted_shares(state: PooledState) -> FloatArray:
    """One share per option, 0 for those that are decided; they sum to 1. A baseline has one.

    Options must be compared by their own rewards (see :mod:`surepick.algorithms.pooled.evidence`):
    then one that is ruled out tells nothing about the others.
    """
    compared = state.compared()
    alike = compared / compared.sum()
    n = int(state.totals.counts.sum())
    if n == 0:
        return alike
    weights = np.where(compared, _design(state).weights, 0.0)
    total = float(weights.sum())
    weights = weights / total if total > 0 else alike
    spread = min(0.5, _SPREAD * math.sqrt(len(alike) / n))
    return (1.0 - spread) * weights + spread * alike


def visits_missing(state: PooledState) -> float | None:
    """About so many more will decide, if the estimates are right; None before the first report."""
    if state.finished:
        return 0.0
    return _design(state).value if state.totals.counts.any() else None


def _design(state: PooledState) -> BlockDesign:
    planner, leader = state._planner, int(state._open_market().rivals[0])
    planner.weigh(state._now())
    fresh = np.zeros(len(state.weights)), planner.first_shares()
    missing = state.question.lacking(state._open_market(), int(state.totals.counts.sum()))
    return planner.next(leader, missing, *fresh)
