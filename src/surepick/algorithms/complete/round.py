"""What the items of one block pay, between options of a complete table."""

from __future__ import annotations

import numpy as np

from surepick.algorithms.complete.grid import Grid
from surepick.arrays.types import FloatArray, IntArray
from surepick.proof.payoffs.table import WEIGHTS, walk


class Ways:
    """A table is read in one way, item by item."""

    accounts = WEIGHTS
    ways = ()
    parts = "items"


class Round:
    """The items from one on, up to those that are met; ``number``: a row behind all options."""

    def __init__(self, grid: Grid, first: int, number: float | None = None) -> None:
        self._grid, self._first = grid, first
        self._own = grid.scores[:, : grid.met]
        if number is not None:  # in units, in each cell
            self._own = np.vstack([self._own, np.full(grid.met, number)])

    def between(self, xs: IntArray, rs: IntArray) -> Between:
        """Bets on each of ``rs`` (columns) against each of ``xs`` (rows)."""
        leads = (self._own[rs] - self._own[xs][:, None]) / self._grid.scale.unit
        return Between(leads, self._first, self._grid.items, xs[:, None] == rs)


class Between:
    """Bets between some options, before it is said how much more one has to be."""

    def __init__(self, leads: FloatArray, first: int, items: int, same: object) -> None:
        self._leads, self._first, self._items, self._same = leads, first, items, same

    def paid(self, by: float = 0.0, prior: float = 1.0) -> FloatArray:
        """Log payoffs of "r has more than x less ``by`` items", (xs, rs, accounts)."""
        paid = walk(self._leads, self._first, self._items, by)
        found = np.sum([logs for _, logs in paid], axis=0)
        found[self._same] = 0.0  # nothing is bet on how far options are from themselves
        return found
