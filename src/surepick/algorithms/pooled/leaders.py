"""How far candidates are behind the one that leads, with intervals that hold at all times.

Who leads is known only afterwards, so every candidate that ever comes to lead has sums of its own,
over the blocks before which it led. The k-th of them has 1/(k(k+1)) of alpha: all intervals of one
candidate together, whoever leads, miss with probability at most alpha.
"""

from __future__ import annotations

from typing import Any

from surepick.algorithms.pooled.evidence import Evidence
from surepick.algorithms.pooled.leads import Interval, Leads
from surepick.algorithms.pooled.market import Market

_KEPT = 4  # leaders whose sums are kept; who comes back after so many others begins anew


class Leaders:
    """Sums for the last few candidates that led."""

    def __init__(self, ways: Evidence, candidates: int) -> None:
        self._ways, self._M = ways, candidates
        self._kept: list[tuple[int, Leads]] = []  # with their numbers; the last one led last
        self._number = 0

    def save(self) -> list[Any]:
        """Its memory, as NumPy arrays and plain values."""
        return [self._number, *([k, leads.about, leads.save()] for k, leads in self._kept)]

    def load(self, memory: list[Any]) -> None:
        """Take on a saved memory."""
        self._number, self._kept = memory[0], []
        for k, about, saved in memory[1:]:
            leads = Leads(self._ways, self._M, about)
            leads.load(saved)
            self._kept.append((k, leads))

    def take(self, market: Market, blocks: list[Any]) -> None:
        """A block, whose bets are those of the market."""
        leader = int(market.rivals[0])
        found = [kept for kept in self._kept if kept[1].about == leader]
        if not found:
            self._number += 1
            found = [(self._number, Leads(self._ways, self._M, leader))]
        self._kept = [kept for kept in self._kept if kept[1].about != leader][1 - _KEPT :] + found
        found[0][1].take(market, blocks)

    def interval(self, leader: int, alpha: float) -> Interval | None:
        """Leads over this one; None where it has never led before a block."""
        for k, leads in self._kept:
            if leads.about == leader:
                return leads.interval(alpha / (k * (k + 1)))
        return None
