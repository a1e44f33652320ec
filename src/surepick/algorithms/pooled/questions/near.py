"""With epsilon, where m candidates are asked for: bets on "x is not more than epsilon better".

For every candidate a that was ever among the m that look best there is capital on "x is not more
than epsilon better than a" against every x. With j = 1 for the first m of them, 2 for the next m
and so on, it starts at s/(m · j(j+1)), and x is close to a for good once that and the capital
against x reach m/delta together (s is a share, :mod:`surepick.statistics.accepting`).
When everyone still in, outside of m candidates, is close to each of these, none of them is more
than epsilon below the m-th best: else one of the m best is outside of them, more than epsilon
better than one of them. It was dropped or shown to be close, both by a capital of its own that
begins with 1 at most and reached m/delta: with probability delta/m for each of the m best.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from surepick.algorithms.pooled.evidence import Evidence
from surepick.algorithms.pooled.market import Market, all_accounts
from surepick.arrays.backend import HOST
from surepick.arrays.grid import reached
from surepick.arrays.types import BoolArray, FloatArray, IntArray
from surepick.statistics.accepting import for_closeness, together


class Near:
    """Capital on closeness to everyone who ever was among the first m."""

    def __init__(self, evidence: Evidence, candidates: int, m: int) -> None:
        self._ways, self._M, self._m = evidence, candidates, m
        self.led: list[int] = []
        self.spare: FloatArray = np.zeros((0, candidates, len(evidence.accounts)))  # logs
        self.close: BoolArray = np.zeros((0, candidates), dtype=bool)

    def save(self) -> list[Any]:
        """Its memory, as NumPy arrays and plain values."""
        return [self.led, self.spare, self.close]

    def load(self, memory: list[Any]) -> None:
        """Take on a saved memory."""
        self.led, self.spare, self.close = memory

    def bet(
        self,
        market: Market,
        leading: IntArray,
        alive: BoolArray,
        blocks: list[Any],
        epsilon: float,
        goal: float,
        against: FloatArray,
    ) -> None:
        """Settle the bets on closeness to each of these, against those of a mask.

        ``against`` is the log capital against each candidate at this moment.
        """
        new = [int(place) for place in leading if place not in self.led]
        if new:
            self.led = self.led + new
            fresh = np.tile(np.log(self._ways.accounts), (len(new), self._M, 1))
            self.spare = np.concatenate([self.spare, fresh])
            self.close = np.concatenate([self.close, np.zeros((len(new), self._M), dtype=bool)])
        places, rows = np.flatnonzero(alive), [self.led.index(place) for place in leading]
        for number, (way, block) in enumerate(zip(self._ways.ways, blocks)):
            own, payoff = self._ways.own(number), self._ways.payoff(way)
            paid = market.pairs(places, leading, block, payoff).raised(epsilon).paid()
            for column, row in enumerate(rows):
                self.spare[row, places, own] += paid[:, column]
        for row, place in zip(rows, leading):
            self.close[row] |= alive & reached(self.together(int(place), against), goal)

    def all_close(self, some: IntArray, alive: BoolArray) -> bool:
        """Whether everyone still in, outside of these, is close to each of these."""
        outside = alive.copy()
        outside[some] = False
        return all(bool(self.shown(int(place))[outside].all()) for place in some)

    def evidence(self, place: int) -> FloatArray:
        """Log capital on closeness of each candidate to this one; it takes log(m/delta)."""
        k = self.led.index(place) if place in self.led else len(self.led)
        total = all_accounts(HOST, self.spare[k]) if k < len(self.led) else np.zeros(self._M)
        total = total + for_closeness(k, self._m)
        total[place] = -math.inf
        return total

    def together(self, place: int, against: FloatArray) -> FloatArray:
        """The same, and the log capital against each candidate."""
        return together(against, self.evidence(place), np)

    def shown(self, place: int) -> BoolArray:
        """Who is close to this one, as a mask."""
        if place in self.led:
            return self.close[self.led.index(place)]
        return np.zeros(self._M, dtype=bool)
