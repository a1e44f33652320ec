"""Blocks of options that are measured on the same items: which items, and how many for whom."""

from __future__ import annotations

import numpy as np

from surepick.algorithms.base import Pulls
from surepick.algorithms.items import drawn
from surepick.algorithms.pooled.direct import DirectPlanner
from surepick.algorithms.pooled.lacking import Lacking
from surepick.algorithms.pooled.planner import BlockDesign
from surepick.arrays.types import FloatArray, IntArray

NO_STRATA = (
    "strata: options are compared on the same items here, so differences between days cancel out "
    "already; leave strata out"
)
NO_PAST = (
    "past: it is not known on which items past measurements were made, so they cannot be compared "
    "item by item; leave them out"
)
_FIRST = 2  # items of the first block, on which all options are measured


def items_of(pulls: Pulls, items: int | None, seed: int, block: int) -> IntArray | None:
    """The item of each row, drawn with replacement from 0 … items − 1; None: there are none.

    A block draws anew; what it draws depends on nothing but the seed and its number.
    """
    if items is None or pulls.parts is None:
        return None
    return drawn(items, seed, block, int(pulls.parts.max()) + 1)[pulls.parts]


class PairedPlanner(DirectPlanner):
    """A lead over x takes items that both meet; who leads over several meets all of them."""

    def first(self) -> BlockDesign:
        n = self.problem.n_arms
        empty = np.zeros((0, 0))
        return BlockDesign(np.full(n, 1.0 / n), 1.0, empty, np.zeros(n), np.zeros(n))

    def first_shares(self) -> FloatArray:
        return np.zeros(self.problem.n_arms)

    def next(
        self, leader: int, missing: Lacking, weights: FloatArray, shares: FloatArray
    ) -> BlockDesign:
        wanted = np.clip(missing.pulls, 0.0, None)
        if missing.pairs is None:
            wanted[leader] = 0.0
            behind = np.arange(len(wanted))
            ahead = np.full(len(wanted), leader)
        else:
            ahead, behind = missing.pairs
        each = (self._variances / self._prices)[behind]  # of a reward
        items = 4.0 * wanted * each + self._part_cost * missing.nats
        items = np.where(wanted > 0, np.maximum(items, 1.0), 0.0)
        counts = np.zeros(self.problem.n_arms)
        for met_by in (ahead, behind):
            np.maximum.at(counts, met_by, items)
        counts[leader] = max(float(counts[leader]), 1.0)
        counts *= self._prices
        total = float(counts.sum())
        return BlockDesign(counts / total, total, np.zeros((0, 0)), shares, missing.nats)

    def whole_pulls(
        self, weights: FloatArray, n: int, judges: BlockDesign, must_span: bool
    ) -> IntArray:
        if must_span:
            return np.full(self.problem.n_arms, _FIRST, dtype=np.int64)
        return super().whole_pulls(weights, n, judges, must_span)
