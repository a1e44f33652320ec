"""How far rounding may have moved an estimated lead: that much of it is not bet on.

A lead is a difference of numbers that may be far larger than it. Floating point keeps such numbers
to a share of themselves, so a tie between large values could be decided by their last digits. Bets
pay more for a larger lead, so taking off the most that rounding can have added keeps every
payoff's mean at 1 or below.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from surepick.algorithms.pooled.fit import BlockFit
from surepick.algorithms.pooled.ledger import Rows
from surepick.problem import Problem

_EPS = float(np.finfo(np.float64).eps)
_STEPS = 16  # operations on a value beyond sums over features, arms and pulls


def rounding_of(problem: Problem, rows: Rows, seen: Any) -> float:
    """The most that rounding moves a lead which a block suggests.

    Sums over the pulls of a row, over rows and over features each lose a unit in the last place
    for every term, of values no larger than the largest.
    """
    if isinstance(seen, BlockFit):
        largest = problem.reach * float(np.linalg.norm(seen.theta))
    else:
        largest = float(np.abs(seen.values.means).max())
    terms = _STEPS + problem.rank + len(np.unique(rows.arms)) + int(rows.counts.max())
    return 2.0 * terms * _EPS * largest
