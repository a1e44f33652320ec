"""In which order the pulls of a batch are handed out.

An algorithm only says how often each arm is pulled in a batch. Handing out all pulls of one arm
before the next would mix up arms with the time of day; so the batch is cut into blocks, each
with its share of every arm, and each block is shuffled. The order depends on nothing but the
batch, is the same on every machine, and is worked out block by block: batches may be huge.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from surepick.algorithms.base import Pulls
from surepick.arrays.types import IntArray

_BLOCK = 1024  # pulls in a block, about


class Order:
    """The arms of a batch in the order in which they are handed out.

    Examples
    --------
    >>> order = Order(0, Pulls(np.array([3, 7]), np.array([2, 1])))
    >>> sorted(order.arms(0, 3).tolist())
    [3, 3, 7]
    """

    def __init__(self, batch: int, pulls: Pulls) -> None:
        self._batch, self._pulls = batch, pulls
        self.size = pulls.total
        self._blocks = max(1, self.size // _BLOCK)
        # Staggered, so that arms with few pulls do not all wait for the same block.
        self._offset = (_scrambled(pulls.arms) % np.uint64(self._blocks)).astype(np.int64)
        self._known = (0, 0, np.empty(0, dtype=np.int64))  # first and last pull, arms

    def arms(self, first: int, last: int) -> IntArray:
        """The arms of the pulls from ``first`` up to but not including ``last``."""
        parts = []
        while first < last:
            start, end, arms = self._block_of(first)
            parts.append(arms[first - start : last - start])
            first = end
        return np.concatenate(parts) if parts else np.empty(0, dtype=np.int64)

    def _block_of(self, pull: int) -> tuple[int, int, IntArray]:
        if not self._known[0] <= pull < self._known[1]:
            low, high = 0, self._blocks  # the last block that starts at or before this pull
            while high - low > 1:
                middle = (low + high) // 2
                if self._pulls_before(middle).sum() <= pull:
                    low = middle
                else:
                    high = middle
            before, after = self._pulls_before(low), self._pulls_before(low + 1)
            arms = np.repeat(self._pulls.arms, after - before)
            keys = _scrambled(np.arange(len(arms)) + (_SPREAD * (low + 1 + _SPREAD * self._batch)))
            arms = arms[np.argsort(keys, kind="stable")]
            self._known = (int(before.sum()), int(after.sum()), arms)
        return self._known

    def _pulls_before(self, block: int) -> IntArray:
        """Pulls of each arm in the blocks before this one."""
        each, left = np.divmod(self._pulls.counts, self._blocks)
        return each * block + (left * block + self._offset) // self._blocks


_SPREAD = 1_000_003  # far above the size of a block, so that blocks do not share sort keys


def _scrambled(values: NDArray) -> NDArray[np.uint64]:
    """Scrambled values (the finishing steps of the splitmix64 generator)."""
    z = np.asarray(values).astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))
