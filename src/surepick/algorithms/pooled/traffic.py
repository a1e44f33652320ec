"""What share of the next visitors each option should get, and how many are still missing.

A site sends visitors by shares, and how many come is not in our hands. So the design of a block is
wanted as proportions, and nothing of it is remembered: the same settled blocks give the same
shares, whoever works them out again.
"""

from __future__ import annotations

import math

import numpy as np

from surepick.algorithms.pooled.planner import BlockDesign
from surepick.algorithms.pooled.planning import Situation
from surepick.arrays.types import BoolArray, FloatArray

_SPREAD = 1.0  # part that all options still in have alike: this times √(options / visitors so far)


class PlannedTraffic:
    """The shares of a state's next visitors: a function of what it knows.

    Options must be compared by their own rewards (see :mod:`surepick.algorithms.pooled.evidence`):
    then one that is ruled out tells nothing about the others.
    """

    def __init__(self, at: Situation) -> None:
        self._at = at

    def compared(self) -> BoolArray:
        """The undecided candidates, and whom bets on them need, such as a baseline; as a mask."""
        problem, question = self._at.problem, self._at.question
        if question.meets_all:
            return np.ones(len(problem.distinct), dtype=bool)
        found, about = np.isin(np.arange(len(problem.distinct)), question.open()), question.about
        if about is not None and about < len(found):
            found[about] = True
        return found

    def wanted_shares(self) -> FloatArray:
        """One share per option, 0 for those that nothing is bet on; they sum to 1."""
        compared = self.compared()
        alike = compared / compared.sum()
        n = self._at.settled
        if n == 0 or self._at.opening:  # nothing is known of somebody
            return alike
        weights = np.where(compared, self._at.planner.by_arm(self._design().weights), 0.0)
        total = float(weights.sum())
        weights = weights / total if total > 0 else alike
        spread = min(0.5, _SPREAD * math.sqrt(len(alike) / n))
        return (1.0 - spread) * weights + spread * alike

    def visits_missing(self) -> float | None:
        """About so many more will decide, if the estimates are right; None: nothing is known."""
        if self._at.question.finished:
            return 0.0
        return self._design().value if self._at.settled and not self._at.opening else None

    def doubts(self) -> FloatArray:
        """For each candidate: p-value of what still speaks against naming another one."""
        return self._at.question.doubts()

    def _design(self) -> BlockDesign:
        at, market = self._at, self._at.suggested.market
        at.planner.weigh(at.suggested.scales)
        fresh = np.zeros(len(at.weights)), at.planner.first_shares()
        missing = at.question.lacking(market, at.settled)
        return at.planner.next(int(market.rivals[0]), missing, *fresh)
