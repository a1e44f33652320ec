"""Marks that means are compared with, and capital on both sides of them.

A limit sets a mark; so does the mean of an option, or a number, that rewards are to be better than.
Of each option k there is capital G on "k keeps it", fair or worse where it does not, and B on "k
breaks it".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from surepick.algorithms.limits.measured import Bets
from surepick.arrays.types import BoolArray, FloatArray
from surepick.proof.payoffs.stakes import ACCOUNTS
from surepick.proof.purses import begun, total


class Mark(NamedTuple):
    """What means of one number are compared with, in the units of bets."""

    up: bool  #: whether they are to be above it
    column: int  #: which number: 0 is the reward, the others follow
    reference: int  #: the option, or behind all options the number 0
    mark: float  #: above the reference
    tolerance: float
    certain: BoolArray  #: (K,): whether a margin to the option itself decides it

    @property
    def itself(self) -> bool:
        """Whether the reference keeps its own limit."""
        return self.mark <= 0 if self.up else self.mark >= 0

    def sure(self, logs: FloatArray, kept: bool) -> FloatArray:
        """Log capital of options, the last axis; ∞ where what is bet on is certain."""
        return np.where(self.certain & (self.itself == kept), math.inf, logs)


class OnMarks(NamedTuple):
    """Log payoffs of a block, (L, K, J) each."""

    keeps: FloatArray
    breaks: FloatArray
    within: FloatArray  #: keeps, up to the tolerance; as ``keeps`` where nothing asks for it

    @classmethod
    def of(cls, marks: Sequence[Mark], measured: Sequence[Bets], loose: bool) -> OnMarks:
        """By the bets on every number, that on the reward first."""
        rows = list[tuple[FloatArray, FloatArray, FloatArray]]()
        for mark in marks:
            bets = measured[mark.column]
            above = bets.above(mark.reference, mark.mark)
            below = bets.below(mark.reference, mark.mark)
            keeps, breaks = (above, below) if mark.up else (below, above)
            within = keeps
            if loose:
                wider = mark.mark + (-mark.tolerance if mark.up else mark.tolerance)
                within = (bets.above if mark.up else bets.below)(mark.reference, wider)
            rows.append((keeps, breaks, within))
        return cls(*(np.array(column) for column in zip(*rows)))


class Sides:
    """Accounts on both sides of marks, as logs; (L, K, J) each."""

    names: ClassVar[tuple[str, ...]] = ("keeps", "breaks", "within")

    def __init__(self, K: int, marks: Sequence[Mark], loose: bool) -> None:
        L = len(marks)
        self.marks, self.loose = marks, loose
        self.keeps: FloatArray = begun((L, K), np.array(ACCOUNTS))
        self.breaks: FloatArray = self.keeps.copy()
        self.within: FloatArray = self.keeps.copy()  # keeps, up to the tolerance

    def save(self) -> list[Any]:
        """Its memory."""
        return [getattr(self, name) for name in self.names]

    def load(self, memory: list[Any]) -> None:
        """Take on a saved memory."""
        for name, value in zip(self.names, memory, strict=True):
            setattr(self, name, value)

    def pay(self, paid: OnMarks) -> tuple[FloatArray, FloatArray]:
        """Pay out a block; what G and B paid in it, (L, K) each, as logs."""
        keeps, breaks = total(self.keeps), total(self.breaks)
        self.keeps += paid.keeps
        self.breaks += paid.breaks
        if self.loose:
            self.within += paid.within
        return total(self.keeps) - keeps, total(self.breaks) - breaks

    def all_keep(self) -> FloatArray:
        """log G of each limit and option, (L, K)."""
        return self.sure(total(self.keeps), True)

    def all_break(self) -> FloatArray:
        """log B of each limit and option, (L, K)."""
        return self.sure(total(self.breaks), False)

    def all_within(self) -> FloatArray:
        """As G, up to tolerances, (L, K)."""
        return self.sure(total(self.within), True)

    def sure(self, logs: FloatArray, kept: bool) -> FloatArray:
        """Log capital (L, …, K), where a margin to an option itself is certain."""
        return np.array([mark.sure(own, kept) for mark, own in zip(self.marks, logs)])
