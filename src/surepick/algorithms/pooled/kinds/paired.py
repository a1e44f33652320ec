"""Options measured on the same items, such as test questions: bets on differences, item by item.

Every block draws items, with replacement; an option with n pulls in it meets the first n. Options
interact with items, and rewards on one item depend on each other, so the unit of a bet is the item:
the difference of r and x on the items that both have met. Only that it is symmetric over items, or
bounded, is needed. How hard an item is cancels.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from surepick.algorithms.pooled.fit import Scales
from surepick.algorithms.pooled.guide import Guide, squared_units
from surepick.algorithms.pooled.kinds.reading import DIGITS, Reader, Reading
from surepick.algorithms.pooled.ledger import Rows, Totals
from surepick.algorithms.pooled.parts import MOST_PARTS
from surepick.algorithms.pooled.payoff import Bets, News, Payoff
from surepick.algorithms.pooled.values import Seen, alone
from surepick.arrays.types import FloatArray, IntArray
from surepick.problem import Problem
from surepick.proof.payoffs.stakes import PRECISIONS

_LEAST_SHARE = 1e-4  # of the variance of all rewards of a block that is net of items, at least


class OnItems(NamedTuple):
    """Rewards by arm and item of a block, in the problem's unit."""

    counts: IntArray  #: items that each arm has met, (K,)
    table: FloatArray  #: (K, U); 0 where it has not
    variance: float  #: of a difference on one item, as far as the past says


class PairedPayoff(Payoff):
    """Bets of a market on pairs of arms."""

    def __init__(self, precisions: tuple[float, ...], width: float | None) -> None:
        super().__init__(precisions)
        self._width = width  # between the bounds of rewards, where there are any

    def compiled(self, bets: Bets, news: News, block: Any) -> FloatArray:
        from surepick.proof.payoffs.kernels import symmetric_payoffs
        from surepick.proof.payoffs.paired_kernels import paired_bounded_payoffs, paired_contrasts

        on: OnItems = block.facts
        places, rivals = news.pairs
        contrasts, groups, common = paired_contrasts(
            places, rivals, on.counts, on.table, news.shift, MOST_PARTS
        )
        told, stakes = common / on.variance, self.stakes(bets)
        if self._width is None:
            return symmetric_payoffs(told, contrasts, groups, stakes)
        return paired_bounded_payoffs(
            places, rivals, on.counts, on.table, told, news.shift, stakes, self._width
        )


class PairedItems(Reading):
    """Differences on items vary by twice the variance of a single reward, net of its item."""

    def __init__(self, problem: Problem, guide: Guide) -> None:
        super().__init__(problem, guide)
        kind, width = problem.noise_kind, None
        if kind.bounds is not None:
            width = (kind.bounds[1] - kind.bounds[0]) / kind.unit
        self.payoff = self.direct_payoff = PairedPayoff(PRECISIONS, width)

    def scales(self, totals: Totals) -> Scales:
        return Scales(self.variance(totals))

    def by_arm(self, rows: Rows) -> Rows:
        return net_of_items(rows)

    def midway(self, rows: Rows) -> Rows:
        return rows.by_arm()

    def readers(self) -> dict[str, Reader]:
        return {"paired": self.paired}

    def paired(self, rows: Rows, scales: Scales) -> Seen:
        """What a block says about arms by the items that they have in common."""
        n = self.problem.n_arms
        squared = squared_units(self.problem, rows.arms)
        counts = np.bincount(rows.arms, minlength=n)
        table = np.zeros((n, int(counts.max())))
        table[rows.arms, rows.parts] = rows.sums * np.sqrt(squared)
        variance = scales.variance * float(squared[0])
        means, own = np.zeros(n), np.full(n, np.inf)
        met = counts > 0
        means[met], own[met] = table.sum(axis=1)[met] / counts[met], variance / counts[met]
        facts = OnItems(counts, table, 2.0 * variance)
        return Seen(alone(means, own), np.zeros((n, 0)), facts=facts)


def net_of_items(rows: Rows) -> Rows:
    """A block with one row for each arm, less what its items have in common.

    Least squares for means of arms and levels of items; spreads are those of residuals, for as
    many degrees of freedom as counts less one suggest.
    """
    if np.ptp(rows.sums) == 0.0:  # nothing differs: no rounding may make it so
        return rows.by_arm()
    arms, place = np.unique(rows.arms, return_inverse=True)
    K, U = len(arms), int(rows.parts.max()) + 1
    met = np.zeros((K, U))
    met[place, rows.parts] = 1.0
    values = np.zeros((K, U))
    values[place, rows.parts] = rows.sums
    counts, on_item = met.sum(axis=1), met.sum(axis=0)
    item_means = values.sum(axis=0) / on_item
    system = np.diag(counts) - (met / on_item) @ met.T
    right = (values - met * item_means).sum(axis=1)
    effects = np.linalg.pinv(system, rcond=1e-10, hermitian=True) @ right
    levels = ((values - effects[:, None]) * met).sum(axis=0) / on_item
    overall = float(rows.sums.sum()) / len(rows.arms)
    effects += overall - float(counts @ effects) / counts.sum()
    levels -= float(on_item @ levels) / on_item.sum()
    rest = (values - effects[:, None] - levels) * met
    rest -= met * (rest.sum() / met.sum())
    pulls = len(rows.arms)
    freedom = max(pulls - K - U + 1, 1)
    spreads = (rest**2).sum(axis=1) * (max(pulls - K, 1) / freedom)
    spreads[spreads < DIGITS**2 * float((values**2).sum())] = 0.0  # rounding
    # The first items may be answered alike by all: differences are not taken for nearly none.
    altogether = float(((rows.sums - overall) ** 2).sum()) / max(pulls - 1, 1)
    spreads = np.maximum(spreads, _LEAST_SHARE * altogether * (counts - 1))
    whole = counts.astype(np.int64)
    return Rows(arms, np.zeros_like(arms), whole, effects * counts, spreads)
