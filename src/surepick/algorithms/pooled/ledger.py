"""What was measured: in the block under way, and in all settled blocks together."""

from __future__ import annotations

from typing import Any

import numpy as np

from surepick.algorithms.base import Pulls, ToldPulls
from surepick.algorithms.rows import Rows
from surepick.arrays.backend import Backend
from surepick.arrays.types import FloatArray, IntArray
from surepick.problem import Problem


def by_block(blocks: list[dict[str, Any]], told: list[ToldPulls]) -> list[ToldPulls]:
    """What was told batch by batch, as the settled blocks that these batches made up."""
    left, found = iter(told), []
    for block in blocks:
        if "dealt" in block:  # of the report that the next one has
            continue
        rows = Rows.none()
        for _ in range(int(block["batches"])):
            rows = rows.plus(Rows.of(next(left)).by_arm())
        found.append(ToldPulls(Pulls(rows.arms, rows.counts), rows.sums, rows.spreads))
    return found


_NOTHING = Pulls.from_counts(np.zeros(0, dtype=np.int64))


class OpenBlock:
    """The block under way: its pulls that are still to be asked for, and what was told."""

    def __init__(self) -> None:
        self.left, self.told = _NOTHING, Rows.none()
        self.whole = _NOTHING  # all that it asks for
        self.pieces = 0  # batches it was told in so far
        self.pieces_of_past = 0  # blocks of past measurements in it
        self.strata: list[ToldPulls] = []  # instead of ``told``: what was told of each

    @property
    def empty(self) -> bool:
        """Whether nothing was asked for or told."""
        return not (self.left.total or self.pieces or self.pieces_of_past or self.strata)

    def begin(self, pulls: Pulls) -> None:
        """Ask for these."""
        self.left = self.whole = pulls

    @property
    def asked(self) -> int:
        """How many of its pulls were made."""
        return self.whole.total - self.left.total

    def next(self, size: int, cut: Any, number: int) -> Pulls:
        """So many of its pulls, as ``cut`` takes pieces of block ``number``; None: by shares."""
        if cut is None:
            return self.left.capped(size)
        return cut(number, self.whole, self.asked, self.asked + size)

    def save(self) -> dict[str, Any]:
        """Its memory."""
        return {
            "left": self.left.columns(),
            "whole": self.whole.columns(),
            "told": list(self.told),
            "pieces": [self.pieces, self.pieces_of_past],
            "strata": [part.columns() for part in self.strata],
        }

    def load(self, memory: dict[str, Any]) -> None:
        """Take on a saved memory."""
        self.left, self.told = Pulls(*memory["left"]), Rows(*memory["told"])
        self.whole = Pulls(*memory["whole"])
        self.pieces, self.pieces_of_past = memory["pieces"]
        self.strata = [ToldPulls.from_columns(columns) for columns in memory["strata"]]

    def take(self, told: ToldPulls) -> None:
        """Pulls that were asked for; where none were, a whole block with counts of its own."""
        rows = Rows.of(told)
        self.told = self.told.plus(rows)
        self.pieces += 1
        self._less(rows)

    def take_strata(self, strata: list[ToldPulls], asked: Pulls) -> None:
        """Take pulls that were asked for and told stratum by stratum."""
        self.strata += strata
        self._less(Rows.of(ToldPulls(asked, np.zeros(len(asked.arms)))))

    @classmethod
    def complete(cls, rows: Rows, pieces: int, of_past: int = 0) -> OpenBlock:
        """A block that has all of its rewards."""
        found = cls()
        found.told, found.pieces, found.pieces_of_past = rows, pieces, of_past
        return found

    def _less(self, rows: Rows) -> None:
        """Some of the pulls have been made."""
        if self.left.total in (0, rows.counts.sum()):
            self.left = _NOTHING
            return
        parts = np.zeros_like(self.left.arms) if self.left.parts is None else self.left.parts
        width = max(int(parts.max()), int(rows.parts.max())) + 1
        keys, counts = self.left.arms * width + parts, self.left.counts.copy()
        counts[np.searchsorted(keys, rows.arms * width + rows.parts)] -= rows.counts
        rest = counts > 0
        own = None if self.left.parts is None else self.left.parts[rest]
        self.left = Pulls(self.left.arms[rest], counts[rest], own)

    def take_past(self, told: ToldPulls) -> None:
        """Measurements from before the run."""
        self.told = self.told.plus(Rows.of(told))
        self.pieces_of_past += 1


class Totals:
    """All settled blocks together, by arm; spreads only where somebody asks for them."""

    def __init__(self, n_arms: int, with_spreads: bool = True, cells: int = 0) -> None:
        self._with_spreads = with_spreads
        #: visitors and yes of each arm in each segment as they came, if that is kept: (2, K, S)
        self.cells: FloatArray | None = np.zeros((2, n_arms, cells)) if cells else None
        self.counts: IntArray = np.zeros(n_arms, dtype=np.int64)
        self.sums: FloatArray = np.zeros(n_arms)
        self.spreads: FloatArray = np.zeros(n_arms)  # Σ (reward − mean of the arm)²
        self.arms: IntArray = np.zeros(0, dtype=np.int64)  # those with pulls, of very many
        self.pulls = 0

    def load(self, counts: IntArray, sums: FloatArray, spreads: FloatArray) -> None:
        """What was settled before."""
        self.counts, self.sums, self.spreads = counts, sums, spreads
        self.arms, self.pulls = np.flatnonzero(counts), int(counts.sum())

    def add(self, rows: Rows) -> None:
        """A settled block, with one row for each arm."""
        at = rows.arms
        if self._with_spreads:
            n = self.counts[at]
            before = np.divide(self.sums[at], n, out=np.zeros(len(at)), where=n > 0)
            apart = rows.sums / rows.counts - before
            both = n * rows.counts / (n + rows.counts)
            self.spreads[at] += rows.spreads + both * apart**2
        self.counts[at] += rows.counts
        self.sums[at] += rows.sums
        self.arms, self.pulls = np.union1d(self.arms, at), self.pulls + int(rows.counts.sum())

    def note(self, rows: Rows, one: float) -> None:
        """What a settled block says of each segment; a yes has the reward ``one``."""
        if self.cells is not None:
            several = self.cells.shape[2] > 1
            at = (rows.arms, rows.parts if several else np.zeros_like(rows.arms))
            np.add.at(self.cells[0], at, rows.counts)
            yes = rows.sums / one  # whole numbers, unless strata were put together
            np.add.at(self.cells[1], at, np.round(yes) if several else yes)

    def as_they_came(self, one: float) -> Totals:
        """Totals whose sums still have the levels in them, where these are kept."""
        if self.cells is None:
            return self
        plain = Totals(len(self.counts))
        plain.load(self.counts, one * self.cells[1].sum(axis=1), self.spreads)
        return plain

    def plus(self, rows: Rows) -> Totals:
        """As if this block were settled too; without spreads."""
        both = Totals(len(self.counts), False)
        both.counts, both.sums = self.counts.copy(), self.sums.copy()
        both.arms, both.pulls = self.arms, self.pulls
        both.add(rows)
        return both


def losses(problem: Problem, backend: Backend, lost: Any, capital: Any) -> Any:
    """Who was dropped, at which log capital, for the record: a table where they may be many."""
    names = problem.distinct[backend.host(lost)]
    logs = backend.rows(capital, lost)
    if problem.large:
        return {"candidate": names, "log_capital": logs}
    pairs = zip(names.tolist(), logs.tolist())
    return [{"candidate": name, "log_capital": log} for name, log in pairs]
