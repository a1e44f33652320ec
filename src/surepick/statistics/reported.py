"""How far rewards are from their mean, by sums that somebody else added up.

Whoever counts visitors reports n, S = Σ y and Q = Σ y². Then Σ (y − ȳ)² = Q − S²/n, but where
rewards lie far from 0 compared with how much they differ, this is a small difference of large
numbers, and rounding may leave nothing of it. With too small a number bets pay more than they may:
what is taken here is never too small.

*Why.* Added up in any order, n numbers of double precision give a sum that is off by at most
γ Σ |y|, γ = n u/(1 − n u), u = 2⁻⁵³ (N. Higham, Accuracy and Stability of Numerical Algorithms,
section 4.2); a few more terms in γ are for squaring, for writing sums with 15 digits, and for what
is done here. So the true sums S* and Q* differ from S and Q by at most s = γ √(n Q*) and q = γ Q*.
Let m be any prediction between the bounds, and B the larger of their absolute values. Bets need

    Σ (y − m)² = Q* − 2 m S* + n m² ≤ (Q − S²/n) + n (S/n − m)² + q + 2 B s.

So max(Q − S²/n, 0) + q + 2 B s may stand for Σ (y − ȳ)². The same is at most
n (high − ȳ)(ȳ − low) for rewards between bounds; with it Σ (y − m)² is at most n times
(low + high − 2m) ȳ − low·high + m², a line in ȳ with a slope of at most high − low. So
n (high − ȳ)(ȳ − low) + (high − low) s may stand for it as well. ∎
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

_UNIT = 2.0**-53
_MORE_TERMS = 64  # 15 digits of a number written in decimals, and what is computed here


def rounded_off(n: Any) -> Any:
    """By which share of them a sum of n numbers may be off; γ above."""
    return 1.01 * _UNIT * (n + _MORE_TERMS)


class Reported(NamedTuple):
    """What is reported of an option in a period; rewards lie between two bounds."""

    visits: int
    total: float
    squares: float
    low: float
    high: float

    @property
    def rounding(self) -> float:
        """What rounding may have taken from Q − S²/n, at most."""
        most, squares = max(abs(self.low), abs(self.high)), max(self.squares, 0.0)
        lost = squares + 2.0 * most * math.sqrt(self.visits * squares)
        return float(rounded_off(self.visits)) * lost

    @property
    def most(self) -> float:
        """The most that Σ (y − ȳ)² can be between the bounds, whatever Q is."""
        mean, width = self.total / self.visits, self.high - self.low
        largest = self.visits * max(abs(self.low), abs(self.high))
        found = self.visits * (self.high - mean) * (mean - self.low)
        return max(found, 0.0) + float(rounded_off(self.visits)) * width * largest

    @property
    def spread(self) -> float:
        """At least Σ (y − ȳ)², for bets.

        Examples
        --------
        >>> Reported(4, 6.0, 14.0, 0.0, 10.0).spread
        5.00000000000...
        >>> offset = 1e8
        >>> Reported(4, 4 * offset + 2, 4 * offset**2 + 4 * offset + 2, offset, offset + 1).spread
        1.0000...
        """
        if self.visits == 1:
            return 0.0
        apart = self.squares - self.total * (self.total / self.visits)
        return min(abs(apart) + self.rounding, self.most)
