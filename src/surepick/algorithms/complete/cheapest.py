"""Which is the cheapest option whose total is at most so much below the largest?

The question is that of measurements. All options meet all items until it is decided, as one that is
out may still be what others are too far below. What nothing to come can change needs no bets: an
option is out for certain where it ends too far below somebody, or where a cheaper one is good
enough.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from surepick.algorithms.complete.grid import Grid
from surepick.algorithms.complete.question import OnTable, dropped
from surepick.algorithms.complete.round import Round
from surepick.algorithms.pooled.questions.cheapest import CheapestGood
from surepick.algorithms.pooled.settings import BlockSettings
from surepick.arrays.types import BoolArray, IntArray
from surepick.problem import Problem


class CheapestOnTable(OnTable, CheapestGood):
    """Capital of all pairs of options, and who is in."""

    def __init__(self, config: BlockSettings, problem: Problem, grid: Grid) -> None:
        super().__init__(config, problem, grid)
        self.slack = grid.scale.slack(self.asked, grid.items)
        self.within = self.slack / grid.scale.unit

    def settle(self, arms: IntArray, first: int, bets: bool) -> dict[str, Any]:
        alive = self.dropped_at == 0
        lost = np.zeros_like(alive)
        if bets:
            leader = int(np.argmax(self.grid.scores[:, :first].sum(axis=1)))
            lost = self.pay(Round(self.grid, first), leader, self._named_after(first))
        certain = alive & self._certain()
        lost = np.flatnonzero(lost | certain)
        self.dropped_at[lost] = max(self.grid.met, 1)
        self.finished = int((self.dropped_at == 0).sum()) <= 1
        self.best = self._named_after(self.grid.met)
        logs = np.where(certain, math.inf, self.against)
        return dropped(lost, logs[lost], certain[lost])

    def _named_after(self, met: int) -> int:
        """The cheapest that is in and seems good enough then; if none does, the best that is in."""
        totals = self.grid.scores[:, :met].sum(axis=1)
        behind = (totals.max() - totals).tolist()  # times all items, more than an array can hold
        good = np.array([lead * self.grid.items <= self.slack * met for lead in behind])
        return self.head(totals, good, self.dropped_at == 0)

    def _certain(self) -> BoolArray:
        """Who cannot be the answer any more, whatever is to come."""
        low, high = self.grid.reach()
        too_far = low.max() - high > self.slack
        good = np.array(
            [np.delete(high, x).max(initial=0) - low[x] <= self.slack for x in self.measured()]
        )
        before = np.zeros(len(low), dtype=bool)  # somebody cheaper is good enough
        before[self.order[1:]] = np.logical_or.accumulate(good[self.order])[:-1]
        return too_far | before

    def p_value(self) -> float | None:
        """Of "another one is the answer"."""
        return float(np.delete(self.p_values(), self.best).max(initial=0.0))
