"""Numbers of any kind: bets on who wins direct comparisons, within each block.

Nothing is assumed about the numbers. The best is the option that usually wins: one measurement of
it beats one of any other option with a probability above ½, a tie counting half. Where noise is
symmetric that is the option with the largest mean; elsewhere it need not be.

For designs and stakes, rewards are replaced by scores: normal quantiles of their ranks in the
block, in units of how much the scores of one option vary. A lead in scores is about what a lead in
rewards is, in standard deviations, where noise is normal. No guarantee rests on them.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from surepick.algorithms.pooled.fit import Scales
from surepick.algorithms.pooled.guide import Guide
from surepick.algorithms.pooled.kinds.paired import PairedItems
from surepick.algorithms.pooled.kinds.reading import Reading
from surepick.algorithms.pooled.ledger import OpenBlock, Rows, Totals
from surepick.algorithms.pooled.market import Pairs
from surepick.algorithms.pooled.payoff import Bets, News, Payoff
from surepick.algorithms.pooled.sums import Sums
from surepick.algorithms.pooled.values import Seen
from surepick.arrays.backend import HOST
from surepick.arrays.types import FloatArray, IntArray
from surepick.problem import Problem
from surepick.proof.payoffs.stakes import PRECISIONS
from surepick.statistics.scores import normal_scores

_HALF = 0.5
PER_LEAD = 1.0 / (2.0 * math.sqrt(math.pi))  # share of wins that a small lead in scores adds
_GRID = np.arange(1, 32) / 32.0  # shares of wins that intervals are made of


class Singles(NamedTuple):
    """The rewards of a block, option by option, in the order of their numbers."""

    starts: IntArray  #: where the rewards of each option begin, and those of the last end, (K + 1,)
    values: FloatArray


class WinsPayoff(Payoff):
    """The bets of :mod:`surepick.proof.payoffs.wins` on pairs of options."""

    def compiled(self, bets: Bets, news: News, block: Any) -> FloatArray:
        stakes = self.stakes(bets)
        means = np.broadcast_to((_HALF - news.shift)[..., None], stakes.shape[:3])
        return _paid(news, block, means, stakes)


def _paid(news: News, block: Any, means: FloatArray, stakes: FloatArray) -> FloatArray:
    """Log of what stakes (n, R, J, S) on shares of wins above ``means`` (n, R, J) pay."""
    from surepick.proof.payoffs.wins_kernels import win_payoffs

    (places, rivals), told = news.pairs, block.facts
    return win_payoffs(places, rivals, told.starts, told.values, means, stakes)


class WinsOnItemsPayoff(Payoff):
    """Bets on which of two options wins on an item that both have met, item by item."""

    def compiled(self, bets: Bets, news: News, block: Any) -> FloatArray:
        from surepick.proof.payoffs.wins_kernels import paired_win_payoffs

        (places, rivals), on, stakes = news.pairs, block.facts, self.stakes(bets)
        # A lead in scores, of which a difference on one item has this variance, as a stake on wins.
        unit = 4.0 / math.sqrt(2.0 * math.pi * on.variance)
        means = _HALF - news.shift
        return paired_win_payoffs(places, rivals, on.counts, on.table, means, unit * stakes)


class WinShares(Sums):
    """Capital on shares of wins, at each point of a grid of them.

    What is staked on "the share is above m" follows the estimate before the block. Between two
    points the higher one counts: who refutes a share refutes all below.
    """

    def __init__(self, candidates: int) -> None:
        super().__init__(candidates)
        self._logs = np.zeros((2, candidates, len(_GRID)))  # of being ahead, and behind

    def middle(self, leads: FloatArray) -> FloatArray:
        return shares_of(leads) - _HALF

    def _add(self, ahead: Pairs, behind: Pairs) -> None:
        for logs, pairs in zip(self._logs, (ahead, behind)):
            bets = pairs.bets
            lead = bets.lead * bets.information / (bets.information + bets.unit)
            over = np.maximum(shares_of(lead)[..., None] - _GRID, 0.0)  # (n, R, grid)
            means, stakes = np.broadcast_to(_GRID, over.shape), over[..., None] / PER_LEAD
            logs += _paid(pairs.news, pairs.seen, means, stakes).reshape(logs.shape)

    def _grow(self, count: int) -> None:
        self._logs = np.pad(self._logs, ((0, 0), (0, count), (0, 0)))

    def log_capital(self, sign: float, shift: FloatArray) -> FloatArray:
        place = np.ceil((_HALF + sign * shift) * (len(_GRID) + 1) - 1e-9).astype(int) - 1
        known = np.maximum(place, 0)
        beyond = known >= len(_GRID)
        own = self._logs[0 if sign > 0 else 1]
        found = own[np.arange(self._M), np.minimum(known, len(_GRID) - 1)]
        return np.where(beyond, -math.inf, found)

    def columns(self) -> list[Any]:
        return [self._logs]

    def restore(self, columns: list[Any]) -> None:
        self._logs = columns[0]


class AnyOnItems(PairedItems):
    """Numbers of any kind on the same items: who wins on most of them."""

    about_means = False

    def __init__(self, problem: Problem, guide: Guide) -> None:
        super().__init__(problem, guide)
        self.payoff = self.direct_payoff = WinsOnItemsPayoff(PRECISIONS)

    def by_arm(self, rows: Rows) -> Rows:
        return super().by_arm(scored_on_items(rows))

    def midway(self, rows: Rows) -> Rows:
        return scored_on_items(rows).by_arm()

    def paired(self, rows: Rows, scales: Scales) -> Seen:
        seen, scores = super().paired(rows, scales), super().paired(scored_on_items(rows), scales)
        return scores._replace(facts=scores.facts._replace(table=seen.facts.table))

    def shown(self, values: FloatArray, behind: FloatArray, errors: FloatArray) -> Any:
        return _shown(values, behind, errors)


class AnyNumbers(Reading):
    """Every single reward counts, beside those of the same block."""

    singly = True
    on_items = AnyOnItems
    about_means = False
    sums = WinShares
    payoff = direct_payoff = WinsPayoff(PRECISIONS)

    @classmethod
    def least_pulls(cls, delta: float) -> int:
        return math.ceil(math.log2(1.0 / delta))  # a comparison doubles the capital at most

    def scales(self, totals: Totals) -> Scales:
        return Scales()  # scores are in units of their own

    def by_arm(self, rows: Rows) -> Rows:
        return scored(rows)

    def of_strata(self, block: OpenBlock) -> Rows:
        parts = [scored(Rows.of(told)) for told in block.strata]
        if len(block.told.arms):
            parts.append(scored(block.told))
        found = parts[0]
        for more in parts[1:]:
            found = found.plus(more)
        return found

    def direct(self, rows: Rows, scales: Scales) -> Seen:
        seen = super().direct(scored(rows), scales)
        counts = np.bincount(rows.arms, minlength=self.problem.n_arms)
        return seen._replace(facts=Singles(np.append(0, np.cumsum(counts)), rows.sums))

    def shown(self, values: FloatArray, behind: FloatArray, errors: FloatArray) -> Any:
        return _shown(values, behind, errors)


def _shown(values: FloatArray, behind: FloatArray, errors: FloatArray) -> Any:
    nothing = np.full(len(values), math.nan)  # scores are nobody's business
    shares = [0.5 * math.erfc(-0.5 * lead) for lead in behind.tolist()]  # as shares_of, but ...
    return nothing, np.array(shares) - _HALF, errors * PER_LEAD  # ... SciPy takes time to load


def shares_of(leads: FloatArray) -> FloatArray:
    """The share of wins that goes with a lead in scores."""
    return HOST.special("ndtr")(np.asarray(leads) / math.sqrt(2.0))


def scored_on_items(rows: Rows) -> Rows:
    """Rows with scores in place of rewards, by ranks among all that met the same item."""
    scores = np.empty(len(rows.sums))
    for item in np.unique(rows.parts):
        own = rows.parts == item
        scores[own] = normal_scores(rows.sums[own])
    return rows._replace(sums=scores)


def scored(rows: Rows) -> Rows:
    """A block with one row for each option: sums of scores, and how they spread.

    Ranks are those among all rows of the block, ties sharing theirs. One more residual is added, as
    large as scores differ altogether: few may be small by chance.
    """
    scores = normal_scores(rows.sums / rows.counts)
    found = rows._replace(sums=scores * rows.counts, spreads=0.0 * scores).by_arm()
    pulls = float(rows.counts.sum())
    altogether = float(rows.counts @ scores**2) / pulls
    variance = (float(found.spreads.sum()) + altogether) / (pulls - len(found.arms) + 1.0)
    scale = math.sqrt(variance) if variance > 0.0 else 1.0
    return found._replace(sums=found.sums / scale, spreads=found.spreads / scale**2)
