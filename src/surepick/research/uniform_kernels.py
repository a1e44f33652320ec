"""Compiled rule of :mod:`surepick.research.uniform`."""

# numba compiles these functions: their types are what the callers pass.
# pyright: reportArgumentType=false, reportCallIssue=false

from __future__ import annotations

from typing import NamedTuple

from numba import njit

from surepick.research.glr_kernels import TIME, Core, absorb, evidence_suffices
from surepick.research.loop import loop
from surepick.research.sequential import STOP


class UniformMemory(NamedTuple):
    """Nothing beyond the core."""

    core: Core


@njit(cache=True)
def update(memory, arm, reward):
    """Take in one reward."""
    absorb(memory.core, arm, reward)


@njit(cache=True)
def choose(memory):
    """The next arm in turn."""
    core = memory.core
    if evidence_suffices(core):
        return STOP
    return core.place[TIME] % core.arms.shape[0]


@njit(cache=True)
def many(memory, arm, means, noise, pulls, sums):
    """Many pulls at once, as in a simulation."""
    return loop(update, choose, memory, arm, means, noise, pulls, sums)
