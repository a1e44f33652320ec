"""How blocks are read: what every kind of noise shares."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from surepick.algorithms.pooled.allowed import leaning
from surepick.algorithms.pooled.fit import BlockFit, Scales, block_fit, least_squares
from surepick.algorithms.pooled.guide import (
    FeaturesAndDeviations,
    Guide,
    TrustedFeatures,
    squared_units,
)
from surepick.algorithms.pooled.ledger import OpenBlock, Rows, Totals
from surepick.algorithms.pooled.levels import levelled
from surepick.algorithms.pooled.payoff import Payoff
from surepick.algorithms.pooled.sums import Sums
from surepick.algorithms.pooled.values import Seen, alone
from surepick.arrays.types import FloatArray
from surepick.problem import Problem

DIGITS = 1e-12  # of the rewards: differences below are rounding
#: times the mean square of the residuals that the one added to them counts at most: two of them are
#: smaller than this by chance in 1 of 200 cases, three in 1 of 4,000
MOST_ADDED = 100.0
LEAST_VARIANCE = 1e-130  # its square is still a number; rewards that vary less count as nothing

#: what a block says, rewards varying so
Reader = Callable[[Rows, Scales], Any]


class Reading(ABC):
    """What a state does differently from one kind of noise to the other."""

    demands_spread = False  #: whether Σ (reward − mean)² of each row is part of the evidence
    in_parts = False  #: whether the pulls of a block are dealt into parts beforehand
    singly = False  #: whether every single reward of a block is needed, in a row of its own
    about_means = True  #: whether the best is the option with the largest mean
    reports_only = False  #: whether only reports can be read, whose rows are segments of visitors
    estimates_scale = True  #: whether how much rewards vary is read off them
    #: how blocks are read where options are measured on items; None: they cannot be
    on_items: ClassVar[type[Reading] | None] = None
    payoff: Payoff  #: what bets pay
    direct_payoff: Payoff  #: and where options are compared by their own rewards alone
    sums: type[Sums]  #: what is kept of blocks for intervals

    def __init__(self, problem: Problem, guide: Guide) -> None:
        self.problem, self.guide = problem, guide

    @property
    def cells(self) -> int:
        """Segments of which rewards are kept as they came, to predict the next ones by."""
        return 0

    @classmethod
    def least_pulls(cls, delta: float) -> int:
        """How often an option is measured at least before its own rewards rule it out."""
        return 2

    def of_reports(self) -> Reading | None:
        """How reports of many visitors are read, the first of which is dealt; None: as others."""
        return None

    @abstractmethod
    def scales(self, totals: Totals) -> Scales:
        """How much rewards vary, from all settled blocks: for stakes, designs and weights."""

    def readers(self) -> dict[str, Reader]:
        """How a block is read in each way; see :mod:`surepick.algorithms.pooled.evidence`."""
        return {"linear": self.fit, "direct": self.direct, "allowed": self.allowed}

    def by_arm(self, rows: Rows) -> Rows:
        """A block with one row for each arm, as the guide takes it."""
        return rows.by_arm()

    def midway(self, rows: Rows) -> Rows:
        """A block of which some rewards are missing, one row for each arm: for a look."""
        return self.by_arm(rows)

    def of_strata(self, block: OpenBlock) -> Rows:
        """All strata of a block on which nothing is bet, one row for each arm."""
        return levelled(self.problem, block)

    def shown(self, values: FloatArray, behind: FloatArray, errors: FloatArray) -> Any:
        """Estimates, how far behind the best, and errors of that, in the problem's unit.

        Estimates that are not a number stand for the means of options' own rewards.
        """
        unit = self.problem.unit
        return values * unit, behind * unit, errors * unit

    def fit(self, rows: Rows, scales: Scales) -> BlockFit:
        """What a block says, with all that the payoff needs."""
        return block_fit(self.problem, rows.by_arm(), scales)

    def direct(self, rows: Rows, scales: Scales) -> Seen:
        """What a block says about arms by their own rewards alone, whatever features say."""
        block, n = rows.by_arm(), self.problem.n_arms
        squared = squared_units(self.problem, block.arms)
        means, variances = np.zeros(n), np.full(n, np.inf)
        means[block.arms] = np.sqrt(squared) * block.sums / block.counts
        variances[block.arms] = squared * scales.of(block.arms) / block.counts
        facts = self.direct_facts(rows, scales)
        return Seen(alone(means, variances), np.zeros((n, 0)), facts=facts)

    def allowed(self, rows: Rows, scales: Scales) -> Seen:
        """What a block says if features are right up to the misfit that is allowed."""
        block = rows.by_arm()
        takes, seen = self.leaning(block, scales)
        return seen._replace(**self.allowed_facts(block, scales, takes))

    def leaning(self, block: Rows, scales: Scales) -> tuple[FloatArray, Seen]:
        """Estimates that lean on the mean rewards of arms, and how far each does."""
        squared = squared_units(self.problem, block.arms)
        noise = squared * scales.of(block.arms) / block.counts
        takes, seen = leaning(self.problem, block.arms, noise)
        means = takes @ (np.sqrt(squared) * block.sums / block.counts)
        return takes, seen._replace(values=seen.values._replace(means=means))

    def allowed_facts(self, block: Rows, scales: Scales, takes: FloatArray) -> dict[str, Any]:
        """Columns and facts for the payoff."""
        return {}

    def direct_facts(self, rows: Rows, scales: Scales) -> Any:
        """What else the payoff needs there."""
        return None

    def with_number(self, seen: Any) -> Any:
        """What a block says, with one more candidate that is worth exactly 0."""
        return seen.with_number() if isinstance(seen, Seen) else seen

    def variance(self, totals: Totals) -> float:
        """Variance of one reward, where it is taken to be the same for all arms."""
        trusted = isinstance(self.guide, TrustedFeatures)
        found = pooled_variance(self.problem, totals, MOST_ADDED if trusted else math.inf)
        if isinstance(self.guide, FeaturesAndDeviations):
            # Residuals are noise and deviations: they count as one of those within arms.
            freedom = int(totals.counts.sum() - np.count_nonzero(totals.counts))
            return (float(totals.spreads.sum()) + found) / (freedom + 1)
        return found


def pooled_variance(problem: Problem, totals: Totals, most: float = math.inf) -> float:
    """Variance of one reward, from all residuals so far; above 0 whatever was measured.

    Few residuals may be small by chance, all of them 0 where rewards are coarse; stakes would then
    be far too high. So one more is added, which is as large as rewards differ altogether; at most
    ``most`` times as large as the others, where there are two or more and they are not 0. (Means
    that lie 1,000 σ apart would else take a million pulls to be outweighed.)
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
    squares, rounding = within + float(counts @ residuals**2), DIGITS**2 * float(counts @ means**2)
    if freedom > 1 and squares > max(rounding, LEAST_VARIANCE):
        total = min(total, most * squares / (freedom - 1))
    variance = max((squares + total) / (freedom + 1), rounding / n)
    return variance if variance > LEAST_VARIANCE else 1.0  # nothing but zeros: any unit will do
