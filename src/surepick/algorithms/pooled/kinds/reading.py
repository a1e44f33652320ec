"""How blocks are read: what every kind of noise shares."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from surepick.algorithms.pooled.fit import BlockFit, Scales, block_fit, least_squares
from surepick.algorithms.pooled.ledger import Rows, Totals
from surepick.algorithms.pooled.payoff import Payoff
from surepick.problem import Problem

DIGITS = 1e-12  # of the rewards: differences below are rounding


class Reading(ABC):
    """What a state does differently from one kind of noise to the other."""

    demands_spread = False  #: whether Σ (reward − mean)² of each row is part of the evidence
    in_parts = False  #: whether the pulls of a block are dealt into parts beforehand
    payoff: Payoff  #: what bets pay

    def __init__(self, problem: Problem) -> None:
        self.problem = problem

    @abstractmethod
    def scales(self, totals: Totals) -> Scales:
        """How much rewards vary, from all settled blocks: for stakes, designs and weights."""

    def fit(self, rows: Rows, scales: Scales) -> BlockFit:
        """What a block says, with all that the payoff needs."""
        return block_fit(self.problem, rows.by_arm(), scales)


def pooled_variance(problem: Problem, totals: Totals) -> float:
    """Variance of one reward, from all residuals so far; above 0 whatever was measured.

    Few residuals may be small by chance, all of them 0 where rewards are coarse; stakes would then
    be far too high. So one more is added, which is as large as rewards differ altogether.
    """
    pulled = np.flatnonzero(totals.counts)
    counts, spreads = totals.counts[pulled], totals.spreads[pulled]
    n, means = int(counts.sum()), totals.sums[pulled] / counts
    fit = least_squares(problem, totals.counts, totals.sums, Scales())
    residuals = means - problem.feature_rows(pulled) @ fit.theta
    overall = means - float(counts @ means) / n
    within = float(spreads.sum())
    total = (within + float(counts @ overall**2)) / max(n - 1, 1)
    freedom = n - fit.root.shape[1]
    variance = (within + float(counts @ residuals**2) + total) / (freedom + 1)
    variance = max(variance, DIGITS**2 * float(counts @ means**2) / n)
    return variance if variance > 0.0 else 1.0  # nothing but zeros: any unit will do
