"""Does a run change how long the next one takes?

What is timed leaves things behind: a disk that is still writing, a cache that is full of its own
data. In random order everybody has that before it, but hardly anybody has itself: with two options
in blocks of four, one follows itself once in three times. If one leaves more work behind than the
other, it is the other that is slowed down by it more often, and of two that take equally long the
untidy one looks faster. No order that takes no further runs is free of that, so whoever races says
that no run may change the next one, and looks whether one does.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from surepick.arrays.types import FloatArray, IntArray

#: probability of a false alarm, about: the look is a test by ranks with their normal law
LEVEL: Final = 0.001


class Sequence:
    """Runs in the order in which they were made, block by block.

    In a block the order is random: among the runs of an option, whoever was before them has nothing
    to do with how long they take, unless a run changes the next one.

    Examples
    --------
    >>> draw, sequence = np.random.default_rng(0), Sequence()
    >>> for _ in range(20):
    ...     own = draw.permutation([0, 0, 0, 1, 1, 1])
    ...     left_behind = np.r_[0, 0.5 * (own[:-1] == 0)]
    ...     sequence.add(own, 1 + left_behind + draw.random(6))
    >>> sequence.carries()
    True
    """

    def __init__(self) -> None:
        self._blocks: list[tuple[IntArray, FloatArray]] = []

    def add(self, options: IntArray, seconds: FloatArray) -> None:
        self._blocks.append((np.asarray(options), np.asarray(seconds, dtype=float)))

    def carries(self) -> bool:
        """Whether runs take longer, or less long, after some option, or after themselves."""
        every = sorted({one for own, _ in self._blocks for one in own.tolist()})
        sums, variances = np.zeros(len(every) + 1), np.zeros(len(every) + 1)
        for own, seconds in self._blocks:
            before, own, seconds = own[:-1], own[1:], seconds[1:]
            for option in np.unique(own):
                mine = own == option
                n = int(mine.sum())
                if n < 2:
                    continue
                order = np.argsort(np.argsort(seconds[mine])) / n
                ranks = order - order.mean()
                for place, who in enumerate([*every, option]):
                    after = before[mine] == who
                    k = int(after.sum())
                    sums[place] += ranks[after].sum()
                    variances[place] += k * (n - k) / (n - 1) * ranks.var()
        known = variances > 0
        if not known.any():
            return False
        most = float((np.abs(sums[known]) / np.sqrt(variances[known])).max())
        return math.erfc(most / math.sqrt(2)) * known.sum() < LEVEL
