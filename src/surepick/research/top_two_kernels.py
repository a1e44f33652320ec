"""Compiled rule of :mod:`surepick.research.top_two`."""

# numba compiles these functions: their types are what the callers pass.
# pyright: reportArgumentType=false, reportCallIssue=false

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from surepick.arrays.kernels import back_substitute
from surepick.research.glr_kernels import (
    LEADER,
    TIME,
    Core,
    evidence_suffices,
    furthest_behind,
    products,
    rival_variances,
)
from surepick.research.lingame_kernels import update
from surepick.research.loop import loop
from surepick.research.sequential import STOP


class TopTwoMemory(NamedTuple):
    """Data, and the summed shares of the arms."""

    core: Core
    targets: Any  # (K,): summed shares, to be tracked
    norms: Any  # (K,): ‖x‖² in V⁻¹
    along: Any  # (K,) scratch: xᵀV⁻¹y


@njit(cache=True)
def choose(memory):
    """The arm furthest behind, once what tells leader from challenger is added to the targets."""
    core, targets, along = memory.core, memory.targets, memory.along
    t = core.place[TIME]
    if t < core.first.shape[0]:
        return core.first[t]
    if evidence_suffices(core):
        return STOP
    rival_variances(core, core.lower)
    leader, y, white = core.place[LEADER], core.y, core.white
    challenger, least = -1, np.inf
    for m in range(core.gaps.shape[0]):
        gap, variance = core.gaps[m] + core.epsilon[0], core.variances[m]
        if m != leader:
            cost = 0.5 * gap * gap / variance - math.log(variance)
            if challenger < 0 or cost < least - 1e-9 * abs(least):
                challenger, least = m, cost
    for c in range(y.shape[0]):
        y[c] = white[c, leader] - white[c, challenger]
    back_substitute(core.lower, y, core.u)
    products(core.arms, core.u, along)
    total = 0.0
    for k in range(along.shape[0]):
        along[k] = targets[k] * along[k] * along[k]
        total += along[k]
    for k in range(along.shape[0]):
        targets[k] += along[k] / total
    return furthest_behind(core.pulls, targets, memory.norms)


@njit(cache=True)
def many(memory, arm, means, noise, pulls, sums):
    """Many pulls at once, as in a simulation."""
    return loop(update, choose, memory, arm, means, noise, pulls, sums)
