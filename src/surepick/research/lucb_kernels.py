"""The compiled rule of LUCB: :func:`update` and :func:`choose` over a :class:`Memory`."""

# numba compiles these functions: their types are what the callers pass.
# pyright: reportArgumentType=false, reportCallIssue=false, reportReturnType=false

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from surepick.arrays.types import FloatArray
from surepick.research.loop import loop
from surepick.research.sequential import STOP

# entries of Memory.whole
PULLS, ROUND, PENDING = 0, 1, 2


class Memory(NamedTuple):
    """All there is to remember; indices into ``choices`` unless it says "arm"."""

    choices: NDArray[np.int64]  #: the arm of each distinct candidate, (M,)
    counts: NDArray[np.int64]  #: pulls of each arm, (K,)
    sums: FloatArray  #: sum of the rewards of each arm, (K,)
    whole: NDArray[np.int64]  #: pulls, round t, arm still to be pulled in this round (or -1)
    constants: FloatArray  #: log(5M / 4 delta), epsilon / sigma


@njit(cache=True, error_model="numpy", inline="always")
def update(memory, arm, reward):
    """Take in one reward."""
    memory.counts[arm] += 1
    memory.sums[arm] += reward
    memory.whole[PULLS] += 1


@njit(cache=True, error_model="numpy", inline="always")
def log_term(memory):
    """log(5 M t⁴ / (4 delta))."""
    return memory.constants[0] + 4.0 * np.log(memory.whole[ROUND])


@njit(cache=True, error_model="numpy", inline="always")
def choose(memory):
    """The arm to pull now, or STOP."""
    choices, counts, sums, whole = memory.choices, memory.counts, memory.sums, memory.whole
    M = choices.shape[0]
    if whole[PULLS] < M:  # every candidate once
        return choices[whole[PULLS]]
    if whole[PENDING] >= 0:  # the second pull of the round
        arm = whole[PENDING]
        whole[PENDING] = -1
        return arm
    h = 0  # the leader: highest mean, first on ties
    best = -np.inf
    for i in range(M):
        mean = sums[choices[i]] / counts[choices[i]]
        if mean > best:
            best, h = mean, i
    twice = 2.0 * log_term(memory)
    rival, upper = 0, -np.inf  # the challenger: highest upper bound of the others
    for i in range(M):
        if i != h:
            u = counts[choices[i]]
            bound = sums[choices[i]] / u + np.sqrt(twice / u)
            if bound > upper:
                upper, rival = bound, i
    lower = best - np.sqrt(twice / counts[choices[h]])
    if upper - lower < memory.constants[1]:
        return STOP
    whole[PENDING] = choices[rival]
    whole[ROUND] += 1
    return choices[h]


@njit(cache=True, error_model="numpy")
def many(memory, arm, means, noise, pulls, sums):
    """Many pulls at once, as in a simulation."""
    return loop(update, choose, memory, arm, means, noise, pulls, sums)
