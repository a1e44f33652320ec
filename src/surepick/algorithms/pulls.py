"""Pulls that an algorithm asks for, and what came of them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from surepick.arrays.types import FloatArray, IntArray


class Pulls(NamedTuple):
    """How often to pull which arms: parallel arrays, arms ascending, counts at least 1.

    An arm has several rows where its pulls are dealt into parts beforehand, by their numbers: the
    rewards of each part are then summed up by themselves.

    Examples
    --------
    >>> pulls = Pulls.from_counts(np.array([2, 0, 1]))
    >>> pulls.arms.tolist(), pulls.counts.tolist(), pulls.total
    ([0, 2], [2, 1], 3)
    >>> Pulls.in_parts(np.array([5, 0, 2]), 2).counts.tolist()
    [2, 3, 1, 1]
    """

    arms: IntArray
    counts: IntArray
    parts: IntArray | None = None

    @classmethod
    def from_counts(cls, counts: NDArray[Any]) -> Pulls:
        """From one count per arm."""
        arms = np.flatnonzero(counts)
        return cls(arms.astype(np.int64), np.asarray(counts)[arms].astype(np.int64))

    @classmethod
    def in_parts(cls, counts: NDArray[Any], parts: int) -> Pulls:
        """From one count per arm; those with so many pulls are dealt into this many even parts."""
        return cls._dealt(counts, np.where(counts >= parts, parts, 1))

    @classmethod
    def in_own_parts(cls, counts: NDArray[Any], most: int) -> Pulls:
        """From one count per arm; each is dealt into as many parts as it can, a power of two."""
        return cls._dealt(counts, 1 << np.log2(np.clip(counts, 1, most)).astype(np.int64))

    @classmethod
    def _dealt(cls, counts: NDArray[Any], parts: NDArray[Any]) -> Pulls:
        whole = cls.from_counts(counts)
        each = parts[whole.arms]
        arms, dealt = np.repeat(whole.arms, each), np.repeat(whole.counts, each)
        of, number = np.repeat(each, each), np.arange(each.sum())
        number -= np.repeat(np.cumsum(each) - each, each)
        return cls(arms, dealt * (number + 1) // of - dealt * number // of, number)

    def columns(self) -> list[IntArray]:
        """Arms and counts, and parts where there are any: what files hold."""
        return [column for column in self if column is not None]

    def same(self, other: Pulls) -> bool:
        """Whether these are the same pulls."""
        mine, others = self.columns(), other.columns()
        return len(mine) == len(others) and all(map(np.array_equal, mine, others))

    @property
    def total(self) -> int:
        """Number of pulls."""
        return int(self.counts.sum())

    def capped(self, budget: int) -> Pulls:
        """These pulls, scaled down where they would exceed ``budget``."""
        if budget is None or self.total <= budget:
            return self
        ideal = self.counts * (budget / self.total)
        counts = np.floor(ideal).astype(np.int64)
        left = budget - int(counts.sum())
        counts[np.argsort(counts - ideal, kind="stable")[:left]] += 1
        kept = counts > 0
        parts = None if self.parts is None else self.parts[kept]
        return Pulls(self.arms[kept], counts[kept], parts)


class ToldPulls(NamedTuple):
    """What was measured, row by row of the pulls."""

    pulls: Pulls
    sums: FloatArray
    spreads: FloatArray | None = None  #: Σ (reward − mean)² of each row
    #: sums, and where they count spreads, of further numbers by their names
    numbers: dict[str, list[Any]] | None = None

    def columns(self) -> list[Any]:
        """What files hold."""
        more = [] if self.numbers is None else [self.numbers]
        return [*self.pulls, self.sums, self.spreads, *more]

    @classmethod
    def from_columns(cls, columns: list[Any]) -> ToldPulls:
        """From what files hold."""
        return cls(Pulls(*columns[:3]), *columns[3:])
