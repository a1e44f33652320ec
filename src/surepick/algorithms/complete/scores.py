"""Scores as whole numbers of units, so that who leads, and who ties, is a matter of arithmetic."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from surepick.arrays.types import FloatArray, IntArray
from surepick.errors import InvalidInputError
from surepick.problem import Problem

# Units in the range of a score that is not yes or no: scores with up to six decimals of it, and
# thirds, sevenths, …, are whole numbers of them. Others are read to nearly ten digits.
_FINE = 9_009_000_000  # 10⁶ · 3² · 7 · 11 · 13


@dataclass(frozen=True)
class Scale:
    """Between which numbers scores lie, and how finely they are read."""

    low: float
    high: float
    unit: int  #: units between the two

    @classmethod
    def of(cls, problem: Problem) -> Scale:
        """That of a problem, or an error where its rewards have no bounds."""
        bounds = problem.noise_kind.bounds
        if bounds is None:
            raise InvalidInputError(
                "complete: scores must be yes or no, or lie between known bounds; give "
                "noise='yes-no' or noise=(lo, hi) (--rewards yes-no, or --rewards LO..HI), or use "
                "items=… for scores of any kind"
            )
        low, high = sorted(problem.sign * bound for bound in bounds)  # larger is better inside
        return cls(low, high, 1 if problem.noise_kind.successes else _FINE)

    def units(self, scores: FloatArray) -> IntArray:
        """Scores in units above the lowest."""
        share = (scores - self.low) / (self.high - self.low)
        return np.rint(share * self.unit).astype(np.int64)

    def share(self, score: float) -> float:
        """Where a score lies between the lowest, 0, and the highest, 1."""
        return (score - self.low) / (self.high - self.low)

    def means(self, totals: IntArray, counts: IntArray) -> FloatArray:
        """Mean scores from totals in units; not a number where there are none."""
        share = totals / np.maximum(counts, 1) / self.unit
        return np.where(counts > 0, self.low + (self.high - self.low) * share, math.nan)

    def slack(self, epsilon: float, items: int) -> int:
        """How many units one may be ahead in all, where epsilon in the mean is close enough."""
        share = epsilon / (self.high - self.low) * items * self.unit
        return math.floor(share * (1.0 + 1e-12) + 1e-9)
