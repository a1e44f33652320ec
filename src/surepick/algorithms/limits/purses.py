"""What is bet on claims: both sides of marks, and of each option a purse on "it breaks one".

:mod:`surepick.algorithms.limits.claims` says why these are bets.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from surepick.algorithms.limits.marks import Mark, OnMarks, Sides
from surepick.algorithms.limits.measured import Bets
from surepick.arrays.types import FloatArray

OF_PURSE = 0.8  # what of the capital against "it keeps all marks" is bet on what looks surest


class Purses(Sides):
    """Accounts on both sides of marks, and of each option a purse on "it breaks one"."""

    names: ClassVar[tuple[str, ...]] = (*Sides.names, "purse")

    def __init__(self, K: int, marks: Sequence[Mark], loose: bool) -> None:
        super().__init__(K, marks, loose)
        self.purse: FloatArray = np.zeros(K)

    def settle(self, measured: Sequence[Bets], shares: FloatArray) -> None:
        """Pay out a block; ``shares`` are logs, (1 + L, K)."""
        _, broken = self.pay(OnMarks.of(self.marks, measured, self.loose))
        self.purse += np.logaddexp.reduce(shares + broken, axis=0)

    def sides(self) -> FloatArray:
        """Log capital for each claim about each option, (2, K)."""
        better = (self.all_within() if self.loose else self.all_keep()).min(axis=0)
        each = np.logaddexp.reduce(self.all_break(), axis=0) - math.log(len(self.marks))
        purse = self.purse + math.log(OF_PURSE)
        return np.stack([better, np.logaddexp(purse, each + math.log(1.0 - OF_PURSE))])
