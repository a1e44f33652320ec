"""Compiled rule of :mod:`surepick.research.lazy_ts`."""

# numba compiles these functions: their types are what the callers pass.
# pyright: reportArgumentType=false, reportCallIssue=false

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from surepick.arrays.kernels import cholesky
from surepick.research.glr_kernels import ALIKE, TIME, Core, absorb, evidence_suffices
from surepick.research.loop import loop
from surepick.research.sequential import NEED, STOP

TURN, DUE = 0, 1  # entries of LazyMemory.schedule


class LazyMemory(NamedTuple):
    """``schedule``: whose turn it is in the spanning set, and when new weights are due."""

    core: Core
    weights: Any  # (K,): plug-in optimal weights, as last computed
    targets: Any  # (K,): summed weights
    schedule: Any  # (2,)
    exploration: Any  # (1,): c₀
    shifted: Any  # (d, d) scratch
    factor: Any  # (d, d) scratch


@njit(cache=True)
def update(memory, arm, reward):
    """Take in one reward."""
    absorb(memory.core, arm, reward)


@njit(cache=True)
def choose(memory):
    """Forced exploration when due, else track the summed weights."""
    core, schedule, targets = memory.core, memory.schedule, memory.targets
    weights, pulls, first = memory.weights, core.pulls, core.first
    t = core.place[TIME]
    if t < first.shape[0]:
        return first[t]
    if evidence_suffices(core):
        return STOP
    if t >= schedule[DUE]:
        return NEED
    best, least = -1, np.inf  # over arms that any weights so far have asked for
    for k in range(pulls.shape[0]):
        targets[k] += weights[k]
        lead = pulls[k] - targets[k]
        if targets[k] > 0.0 and lead < least - ALIKE:
            best, least = k, lead
    if explored_enough(core.V, memory.exploration[0] * np.sqrt(t), memory.shifted, memory.factor):
        return best
    arm = first[schedule[TURN]]
    schedule[TURN] = (schedule[TURN] + 1) % first.shape[0]
    return arm


@njit(cache=True)
def explored_enough(V, floor, shifted, factor):
    """λ_min(V) ≥ floor, up to rounding: V - floor·I is positive definite (at first it is equal)."""
    shifted[:, :] = V
    for i in range(V.shape[0]):
        shifted[i, i] -= (1.0 - 1e-9) * floor
    return cholesky(shifted, factor)


@njit(cache=True)
def many(memory, arm, means, noise, pulls, sums):
    """Many pulls at once, as in a simulation."""
    return loop(update, choose, memory, arm, means, noise, pulls, sums)
