"""Purses of which each bets, block by block, on one candidate: on several things that it must do.

A row is a statement that bets are made against. Of a candidate r it says that r fails in at least
one of some *sides*: nobody knows which, so what was bet on r counts by the least of its sides. It
says so of all candidates but m − 1 at most. Hence m purses: one on each of m − 1 candidates that
are *sure*, and one on whoever is the rival of a block, one of the others. The least counts.

**The least is capital against the row.** Either a sure candidate fails in a side: its purse is not
above what was bet on that. Or none does; then all others fail, and the last purse is not above the
product, over the blocks, of bets on a side in which the rival of each fails: it is made of the
least over the blocks of each rival, multiplied. ∎

*Handing on* (:mod:`surepick.proof.several`): when another candidate becomes sure, its purse and the
last one go on with the least of the m on every side, and of those that stay no side keeps more than
the least of those that left: whichever purse it was that did not grow, the one that takes its part
begins with no more. There may also become fewer places, as long as the row says so of all but that
many.

A side of some candidates may be certain: then it is not a side of theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from surepick.arrays.types import BoolArray, FloatArray, IntArray
from surepick.proof.purses import longer

NOBODY = -1  # in the place of a rival, where none is bet on


class Led:
    """The purses, as logs; ``certain`` are sides of candidates, (K, sides)."""

    def __init__(self, rows: int, certain: BoolArray, candidates: int | None = None) -> None:
        K = len(certain) if candidates is None else candidates
        self.certain = certain
        self.others: FloatArray = np.zeros((rows, K, certain.shape[1]))  # by who was the rival
        self.head: FloatArray = np.zeros(rows)  # handed on, or paid where there was no rival
        self.sure: list[int] = []
        self.held: FloatArray = np.zeros((0, rows, certain.shape[1]))  # on each that is sure

    def save(self) -> list[Any]:
        """Its memory."""
        return [self.others, self.head, self.sure, self.held]

    def load(self, memory: list[Any]) -> None:
        """Take on a saved memory."""
        self.others, self.head, self.sure, self.held = memory

    def grow(self, count: int, rows: int) -> None:
        """So many candidates more, and rows, behind all others; only where none is sure."""
        sides = self.others.shape[2]
        self.others = longer(self.others, count, (1,), 0.0)
        self.others = np.concatenate([self.others, np.zeros((rows, *self.others.shape[1:]))])
        self.head = np.append(self.head, np.zeros(rows))
        self.held = np.zeros((0, len(self.head), sides))

    def places(self, leading: Sequence[int]) -> list[int]:
        """These, those that are sure first, the best of the others next; the last is the rival."""
        kept = [one for one in self.sure if one in leading][: len(leading) - 1]
        return kept + [one for one in leading if one not in kept]

    def make_sure(self, places: Sequence[int]) -> None:
        """As :meth:`places` has them, before a block."""
        sure = [int(one) for one in places[:-1]]
        if sure == self.sure:
            return
        # At first there is one purse, on everybody, who may be certain: all begin with nothing.
        fresh, shape = self.total() if self.sure else self.head, self.others[:, 0].shape
        gone = [self.on(one)[0].min(axis=1) for one in self.sure if one not in sure]
        most = np.min(gone, axis=0)[:, None] if gone else np.inf
        held = []
        for one in sure:
            begun = np.broadcast_to(fresh[:, None], shape)
            if one in self.sure:
                begun = np.minimum(self.held[self.sure.index(one)], most)
            held.append(begun)
        self.others, self.head = np.zeros_like(self.others), fresh
        self.held, self.sure = np.array(held).reshape(-1, *shape), sure

    def pay(
        self, rivals: IntArray, alone: FloatArray, paid: Callable[[int, IntArray], FloatArray]
    ) -> None:
        """Pay out a block.

        Parameters
        ----------
        rivals : array, (rows,)
            Whom the last purse bets on; nobody: no purse against that row bets on a candidate.
        alone : array, (rows,)
            What all of these pay then.
        paid
            What those of a place (the last is 0) pay on these candidates, (rows, sides).
        """
        nobody = rivals == NOBODY
        self.head += np.where(nobody, alone, 0.0)
        rows = np.flatnonzero(~nobody)
        if len(rows):
            self.others[rows, rivals[rows]] += paid(0, rivals)[rows]
        for k, one in enumerate(self.sure):
            self.held[k] += np.where(nobody, alone, 0.0)[:, None]
            if len(rows):
                self.held[k, rows] += paid(1 + k, np.full_like(rivals, one))[rows]

    def on(self, one: int) -> tuple[FloatArray, FloatArray]:
        """Of the purses that bet on this candidate: its sides, (rows, sides), and all the rest."""
        if one in self.sure:
            own = np.where(self.certain[one], np.inf, self.held[self.sure.index(one)])
            return own, np.zeros(len(own))
        each = self.each()
        rest = np.delete(each, one, axis=1).sum(axis=1) + self.head
        return np.where(self.certain[one], np.inf, self.others[:, one]), rest

    def each(self) -> FloatArray:
        """What was bet on each rival comes to, (rows, K)."""
        found = np.where(self.certain, np.inf, self.others).min(axis=2)
        found[:, self.sure] = 0.0
        return found

    def total(self) -> FloatArray:
        """The least of the purses against each row."""
        sure = [self.on(one)[0].min(axis=1) for one in self.sure]
        return np.min([self.each().sum(axis=1) + self.head, *sure], axis=0)
