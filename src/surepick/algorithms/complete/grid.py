"""The table itself: which cells are known, and what they say whatever is to come."""

from __future__ import annotations

import numpy as np

from surepick.algorithms.complete.scores import Scale
from surepick.arrays.types import BoolArray, FloatArray, IntArray


class Grid:
    """Scores by place in the order of items, as whole numbers of units."""

    def __init__(self, options: int, items: int, scale: Scale) -> None:
        self.items, self.scale = items, scale
        self.scores: IntArray = np.full((options, items), -1, dtype=np.int64)  # −1: not known
        self.retired: BoolArray = np.zeros(options, dtype=bool)
        self.met = 0  # items that everybody who is measured has met, or will be caught up on

    def grow(self, count: int) -> None:
        """More options, of which nothing is known."""
        self.scores = np.vstack([self.scores, np.full((count, self.items), -1, dtype=np.int64)])
        self.retired = np.append(self.retired, np.zeros(count, dtype=bool))

    @property
    def left(self) -> int:
        """Items that nobody has met."""
        return self.items - self.met

    def there(self, arms: IntArray) -> BoolArray:
        """Who of these is known on all items met."""
        return np.asarray((self.scores[arms, : self.met] >= 0).all(axis=1))

    def totals(self, arms: IntArray) -> IntArray:
        """Over the items met; of those that are there."""
        return self.scores[arms, : self.met].sum(axis=1)

    def whole(self, arms: IntArray) -> bool:
        """Whether these are known on all items there are."""
        return self.met == self.items and not (self.scores[arms] < 0).any()

    def reach(self) -> tuple[IntArray, IntArray]:
        """The least and the largest total that each option can have in the end."""
        low = np.where(self.scores >= 0, self.scores, 0).sum(axis=1)
        return low, low + (self.scores < 0).sum(axis=1) * self.scale.unit

    def means(self) -> tuple[FloatArray, IntArray]:
        """Mean scores over the cells known (not a number where there are none), and how many."""
        known = self.scores >= 0
        counts = known.sum(axis=1)
        return self.scale.means(np.where(known, self.scores, 0).sum(axis=1), counts), counts

    def leads(self, row: IntArray | float) -> tuple[FloatArray, BoolArray]:
        """Of a row of scores, or a number, over every option, in items; and where both are known.

        0 where they are not.
        """
        known = (self.scores >= 0) & (np.asarray(row) >= 0)
        return np.where(known, (row - self.scores) / self.scale.unit, 0.0), known
