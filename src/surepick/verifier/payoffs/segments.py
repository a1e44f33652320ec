"""Yes or no of visitors counted by segment: bets on rates of segments in shares stated beforehand.

The estimate of an option is Σ w_s (yes/visitors)_s, w_s being the share stated of segment s; of an
option that nobody of some segment saw there is none, and nothing is bet on its pairs. Given how
many came, each visitor has a fixed coefficient, w_s over the visitors of the segment, so the bets
are those of yes or no.
"""

from __future__ import annotations

import math

import numpy as np

from surepick.verifier.blocks import Block
from surepick.verifier.estimate import ByArm
from surepick.verifier.guide import Guide, Outlook
from surepick.verifier.payoffs.base import News
from surepick.verifier.payoffs.bounded import Results, YesNo

_SUCCESSES = 10.0  # that all options' rate in a segment counts for in that of one


class BySegment(YesNo):
    """What came of each option in each segment is kept: the next block is predicted by it."""

    def __init__(self, guide: Guide, precisions: list[float]) -> None:
        super().__init__(guide, precisions)
        self._stated = np.array(self.check.kind.shares)
        size = len(guide.units), len(self._stated)
        self._came, self._yes = np.zeros(size), np.zeros(size)

    def check_dealt(self, block: Block, where: str, own: bool) -> int:
        """Rows are segments: that means something of visitors in reports only."""
        demand = self.check.demand
        demand(self.check.record.traffic is not None, "segments are those of visitors in reports")
        demand(own, f"{where}: options are not compared by their own visitors")
        demand(
            bool((block.parts < len(self._stated)).all()), f"{where}: a segment is not among those"
        )
        return 1

    def remember(self, block: Block) -> None:
        low, high = self._ends
        counted = np.round((block.sums - low * block.counts) / (high - low))
        np.add.at(self._came, (block.arms, block.parts), block.counts)
        np.add.at(self._yes, (block.arms, block.parts), counted)

    def by_arm(self, block: Block) -> Block:
        """Each option's rate of the mix, for as many visitors of one rate as would tell as much.

        Where a segment is empty the others stand for it: nothing is proved by that.
        """
        came, sums = self._tables(block)
        arms = np.unique(block.arms)
        counts, totals = np.zeros(len(arms)), np.zeros(len(arms))
        for row, arm in enumerate(arms):
            seen = came[arm] > 0
            weights = self._stated[seen] / self._stated[seen].sum()
            value = math.fsum(weights * sums[arm][seen] / came[arm][seen])
            counts[row] = math.floor(1.0 / math.fsum(weights**2 / came[arm][seen]) + 1e-6)
            totals[row] = counts[row] * value
        return Block(arms, np.zeros_like(arms), counts, totals, np.zeros(len(arms)))

    def _direct(self, block: Block, outlook: Outlook, parts: int) -> News:
        low, high = self._ends
        came, sums = self._tables(block)
        predicted = self._predicted()
        options, segments = came.shape
        everywhere = came.min(axis=1) > 0
        each = np.zeros_like(came)
        each[everywhere] = self._stated / came[everywhere]
        spread = (each**2 * came * (predicted - low) * (high - predicted)).sum(axis=1)
        own = np.where(everywhere, spread, math.inf)
        view = ByArm((each * sums).sum(axis=1), np.zeros((options, 0)), own)
        columns = np.zeros((options, options * segments))
        for option in range(options):
            columns[option, option * segments : (option + 1) * segments] = each[option]
        flat = [table.ravel() for table in (came, sums, np.zeros_like(came), predicted)]
        return News(view, columns, Results(*flat))

    def _predicted(self) -> np.ndarray:
        """Mean rewards of options in segments, by what came before."""
        low, high = self._ends
        overall = (self._yes.sum(axis=0) + 0.5) / (self._came.sum(axis=0) + 1.0)
        rare = _SUCCESSES / np.minimum(overall, 1.0 - overall)
        return low + (high - low) * (self._yes + rare * overall) / (self._came + rare)

    def _tables(self, block: Block) -> tuple[np.ndarray, np.ndarray]:
        came, sums = np.zeros_like(self._came), np.zeros_like(self._came)
        np.add.at(came, (block.arms, block.parts), block.counts)
        np.add.at(sums, (block.arms, block.parts), block.sums)
        return came, sums
