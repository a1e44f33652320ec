"""Measurements summed up by rows, which can be put together."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from surepick.algorithms.pulls import ToldPulls
from surepick.arrays.types import FloatArray, IntArray


class Rows(NamedTuple):
    """Measurements, summed up by rows: an arm each, or a part of an arm's pulls."""

    arms: IntArray
    parts: IntArray
    counts: IntArray
    sums: FloatArray
    spreads: FloatArray  #: Σ (reward − mean)²; 0 where nobody asked for it

    @classmethod
    def none(cls) -> Rows:
        """No rows."""
        whole = np.zeros(0, dtype=np.int64)
        return cls(whole, whole, whole, np.zeros(0), np.zeros(0))

    @classmethod
    def from_counts(cls, counts: IntArray, sums: FloatArray) -> Rows:
        """From one count and one sum per arm of the problem."""
        arms = np.flatnonzero(counts)
        return cls(arms, np.zeros_like(arms), counts[arms], sums[arms], np.zeros(len(arms)))

    @classmethod
    def of(cls, told: ToldPulls) -> Rows:
        """What a batch said."""
        pulls = told.pulls
        parts = np.zeros_like(pulls.arms) if pulls.parts is None else pulls.parts
        spreads = np.zeros(len(pulls.arms)) if told.spreads is None else told.spreads
        return cls(pulls.arms, parts, pulls.counts, told.sums, spreads)

    def plus(self, others: Rows) -> Rows:
        """Both, in the order of arms and parts, with one row for each."""
        if not len(self.arms):
            return others
        columns: list[Any] = [np.concatenate(pair) for pair in zip(self, others)]
        both = Rows(*columns)
        return both._merged(both.arms * (int(both.parts.max()) + 1) + both.parts)

    def some(self, rows: Any) -> Rows:
        """Those of a mask."""
        columns: list[Any] = [column[rows] for column in self]
        return Rows(*columns)

    def by_arm(self) -> Rows:
        """These rows merged into one row for each arm."""
        if not self.parts.any():
            return self
        return self._replace(parts=np.zeros_like(self.parts))._merged(self.arms)

    def _merged(self, keys: IntArray) -> Rows:
        """Rows of the same key as one: a spread is what each had, and how far means are apart."""
        first, place = _places(keys)
        n = len(first)
        counts, sums, spreads = np.zeros(n, dtype=np.int64), np.zeros(n), np.zeros(n)
        np.add.at(counts, place, self.counts)
        np.add.at(sums, place, self.sums)
        apart = self.sums / self.counts - (sums / counts)[place]
        np.add.at(spreads, place, self.spreads + self.counts * apart**2)
        return Rows(self.arms[first], self.parts[first], counts, sums, spreads)


def _places(keys: IntArray) -> tuple[IntArray, IntArray]:
    """The first row of each key, and which of the keys each row has, from the smallest on."""
    new = np.ones(len(keys), dtype=bool)
    np.not_equal(keys[1:], keys[:-1], out=new[1:])
    if (keys[1:] >= keys[:-1]).all():  # as in every block: no need to sort
        return np.flatnonzero(new), np.cumsum(new) - 1
    return np.unique(keys, return_index=True, return_inverse=True)[1:]
