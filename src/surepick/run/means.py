"""Mean rewards of options, as people are shown them."""

from __future__ import annotations

import numpy as np

from surepick.algorithms.pulls import ToldPulls
from surepick.arrays.types import FloatArray, IntArray
from surepick.problem import Problem
from surepick.problem.noise import BySegment


def means_of(
    problem: Problem, counts: IntArray, sums: FloatArray, told: list[ToldPulls]
) -> list[float | None]:
    """Of each arm; None where nothing was measured. ``told`` is all that was.

    Where visitors are counted by segment it is the rate of the mix, and None while some segment has
    nobody: the mean over all who came would say as much about who came as about the option.
    """
    kind = problem.noise_kind
    if not isinstance(kind, BySegment):
        return [s / n if n else None for s, n in zip(sums.tolist(), counts.tolist())]
    came, yes = np.zeros((2, problem.n_arms, len(kind.shares)))
    for one in told:
        assert one.pulls.parts is not None
        at = (one.pulls.arms, one.pulls.parts)
        np.add.at(came, at, one.pulls.counts)
        np.add.at(yes, at, one.sums)
    rates = (np.array(kind.shares) * yes / np.maximum(came, 1.0)).sum(axis=1)
    whole = came.min(axis=1) > 0
    return [rate if seen else None for rate, seen in zip(rates.tolist(), whole.tolist())]
