"""Fully adaptive algorithms in simulation: a compiled loop over the very rule of ask/tell."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from surepick.arrays.types import FloatArray
from surepick.research.sequential import NEED, STOP, SequentialState

_FIRST, _LARGEST = 256, 65_536  # standard normal draws made at a time
_BETWEEN_LOOKS = 512  # pulls between two looks at the clock, where there is a deadline


def drive_sequential(
    state: SequentialState,
    means: FloatArray,
    rng: np.random.Generator,
    budget: int,
    deadline: float | None = None,
) -> tuple[Any, FloatArray]:
    """Run ``state`` on Gaussian rewards (unit noise) to its stop, its budget or the deadline.

    Returns the pulls and the reward sums of each arm.
    """
    most = _LARGEST if deadline is None else _BETWEEN_LOOKS
    pulls = np.zeros(len(means), dtype=np.int64)
    sums = np.zeros(len(means))
    left = budget
    size, noise, used = _FIRST, np.empty(0), 0
    while not state.finished and left > 0:
        if deadline is not None and time.process_time() > deadline:
            break
        if used == len(noise):
            noise, used = rng.standard_normal(size), 0
            size = min(2 * size, _LARGEST)
        block = noise[used : used + min(len(noise) - used, left, most)]
        arm, n = state.many(state.memory, state.arm, means, block, pulls, sums)
        used += n
        left -= n
        if arm == NEED:
            state.decide()
        else:
            state.arm = int(arm)
            state.finished = arm == STOP
    return pulls, sums
