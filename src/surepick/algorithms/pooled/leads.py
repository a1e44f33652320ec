"""Leads of all candidates over one of them, with intervals that hold at all times.

Which one it is was fixed before the blocks that count. Each interval misses the lead, at any time,
with probability at most alpha.
"""

from __future__ import annotations

import itertools
import math
from typing import Any, NamedTuple

import numpy as np

from surepick.algorithms.pooled.evidence import Evidence
from surepick.algorithms.pooled.market import Market
from surepick.algorithms.pooled.sums import Sums
from surepick.arrays.types import BoolArray, FloatArray

_STEPS = np.concatenate([[0.0], 0.02 * 1.3 ** np.arange(40)])  # up to some hundred units
_HALVINGS = 16


class Interval(NamedTuple):
    """Of the lead of each candidate, in the state's unit; arrays (M,)."""

    low: FloatArray
    high: FloatArray


class Leads:
    """What blocks say about leads over the candidate ``about``."""

    def __init__(self, ways: Evidence, candidates: int, about: int) -> None:
        self._ways, self._M, self.about = ways, candidates, about
        #: in each way; what is read item by item has none, and its intervals are without ends
        self._sums: list[Sums] = (
            [] if ways.parts == "items" else [ways.reading.sums(candidates) for _ in ways.ways]
        )
        self._middle = np.zeros(candidates)  # estimates before the last block
        self._found: tuple[float, Interval] | None = None  # for this alpha, after the last block

    def save(self) -> list[Any]:
        """Its memory, as NumPy arrays and plain values."""
        return [self._middle, *([sums.unit, sums.columns()] for sums in self._sums)]

    def load(self, memory: list[Any]) -> None:
        """Take on a saved memory."""
        self._middle = memory[0]
        for sums, (unit, columns) in zip(self._sums, memory[1:], strict=True):
            sums.unit = unit
            sums.restore(columns)

    def grow(self, count: int) -> None:
        """So many candidates more, behind all others; intervals of the others go on."""
        self._M += count
        self._middle, self._found = np.append(self._middle, np.zeros(count)), None
        for sums in self._sums:
            sums.grow(count)

    def take(self, market: Market, blocks: list[Any]) -> None:
        """A block, whose bets are those of the market."""
        if not self._sums:
            return
        self._found = None
        one, everyone = np.array([self.about]), np.arange(self._M)
        leads = np.array(market.means[: self._M] - market.means[self.about])
        self._middle = self._sums[0].middle(leads)
        for sums, way, block in zip(self._sums, self._ways.ways, blocks):
            payoff = self._ways.payoff(way)
            ahead = market.pairs(one, everyone, block, payoff)
            sums.take(ahead, market.pairs(everyone, one, block, payoff))

    @property
    def _unknown(self) -> bool:
        return not self._sums or any(sums.unit is None for sums in self._sums)

    def interval(self, alpha: float) -> Interval:
        """Where leads are, each with probability at least 1 − alpha at all times."""
        if self._unknown:
            return Interval(np.full(self._M, -math.inf), np.full(self._M, math.inf))
        if self._found is None or self._found[0] != alpha:
            goal = math.log(2.0 / alpha)
            ends = Interval(self._end(1.0, goal), self._end(-1.0, goal))
            if self.about < self._M:
                for end in ends:
                    end[self.about] = 0.0
            self._found = (alpha, ends)
        return self._found[1]

    def missing(self, leads: FloatArray, alpha: float) -> BoolArray:
        """Which of the intervals do not contain these leads; quicker than the intervals."""
        if self._unknown:
            return np.zeros(self._M, dtype=bool)
        goal = math.log(2.0 / alpha)
        below, above = (self._log_capital(sign, leads) >= goal for sign in (1.0, -1.0))
        return below | above

    def _log_capital(self, sign: float, shift: FloatArray) -> FloatArray:
        """In all ways together: each has the same share."""
        total = np.full(self._M, -math.inf)
        with np.errstate(all="ignore"):
            for sums in self._sums:
                total = np.logaddexp(total, sums.log_capital(sign, shift))
        return np.nan_to_num(total - math.log(len(self._sums)), nan=-math.inf)

    def _end(self, sign: float, goal: float) -> FloatArray:
        """The shift nearest to the estimates at which capital is high enough.

        Whatever shift has it will do: looking for the nearest one in steps costs precision only.
        """
        unit = self._sums[0].unit
        assert unit is not None
        width = 1.0 / np.sqrt(np.where(np.isnan(unit), 1.0, unit))  # of newcomers, not known yet
        outside = np.full(self._M, math.inf)  # steps away from the estimate
        inside = np.zeros(self._M)
        for before, step in itertools.pairwise(_STEPS):
            reached = self._log_capital(sign, self._middle - sign * step * width) >= goal
            first = reached & np.isinf(outside)
            outside[first], inside[first] = step, before
            if np.isfinite(outside).all():
                break
        found = np.isfinite(outside)
        for _ in range(_HALVINGS):
            between = np.where(found, 0.5 * (inside + np.where(found, outside, 0.0)), 0.0)
            reached = self._log_capital(sign, self._middle - sign * between * width) >= goal
            outside = np.where(found & reached, between, outside)
            inside = np.where(found & ~reached, between, inside)
        return self._middle - sign * outside * width
