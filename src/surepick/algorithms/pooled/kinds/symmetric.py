"""Symmetric noise of any scales and tails: bets on the sign of contrasts, part by part.

The pulls of a block are dealt into parts beforehand, each of which has pulls of every arm that
counts. With the coefficients of the whole block's least squares, the arms' mean rewards in one part
give one estimate of a lead; the parts give as many, with independent symmetric noise.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from surepick.algorithms.pooled.fit import BlockFit, Scales, block_fit
from surepick.algorithms.pooled.guide import squared_units
from surepick.algorithms.pooled.kinds.paired import PairedItems
from surepick.algorithms.pooled.kinds.reading import Reading
from surepick.algorithms.pooled.ledger import Rows, Totals
from surepick.algorithms.pooled.parts import MOST_PARTS, parts_for_all
from surepick.algorithms.pooled.payoff import ArrayPayoff, Bets, News, log_mean
from surepick.algorithms.pooled.sums import SymmetricSums
from surepick.algorithms.pooled.values import Seen, with_zero
from surepick.arrays.backend import Backend
from surepick.arrays.types import FloatArray, IntArray
from surepick.proof.payoffs.stakes import PRECISIONS
from surepick.proof.payoffs.symmetric import array_log_kept, array_log_tanh_bet


class SymmetricPayoff(ArrayPayoff):
    """The bets of :mod:`surepick.proof.payoffs.symmetric`; columns are estimates from each part."""

    def compiled(self, bets: Bets, news: News, block: Any) -> FloatArray:
        from surepick.proof.payoffs.kernels import symmetric_payoffs

        found = self.contrasts(news, block)
        return symmetric_payoffs(news.information, *found, self.stakes(bets))

    def contrasts(self, news: News, block: Any) -> tuple[FloatArray, IntArray]:
        parts = np.full(news.information.shape, news.columns.shape[2])
        return news.columns + news.shift[..., None], parts

    def on(self, backend: Backend, bets: Bets, news: News, block: Any) -> list[Any]:
        xp, m = backend.xp, len(news.columns)
        each = news.information / m  # of one part
        found = []
        for stakes in self.stakes_on(backend, bets):
            logs = []
            for stake in stakes:
                bet = stake * each
                total = xp.zeros_like(bet)
                for column in news.columns:
                    total = total + array_log_tanh_bet(backend, bet * (column + news.shift))
                logs.append(total)
            found.append(array_log_kept(backend, log_mean(backend, logs)))
        return found


class ArmParts(NamedTuple):
    """Mean rewards of the parts of each arm's pulls, and of those parts in pairs, in fours, …"""

    parts: IntArray  #: a power of two, or 0: not pulled, (K,)
    means: FloatArray  #: (K, 63): one column for all pulls, two for their halves, and so on


class DirectSymmetricPayoff(SymmetricPayoff):
    """Symmetric bets on pairs of arms: a pair has as many contrasts as both arms have parts."""

    def contrasts(self, news: News, block: Any) -> tuple[FloatArray, IntArray]:
        from surepick.proof.payoffs.kernels import direct_contrasts

        facts: ArmParts = block.facts
        places, rivals = news.pairs
        return direct_contrasts(places, rivals, facts.parts, facts.means, news.shift)


class SymmetricScales(Reading):
    """The past suggests a scale for stakes; nothing rests on it."""

    demands_spread = in_parts = True
    on_items = PairedItems
    sums = SymmetricSums
    payoff = SymmetricPayoff(PRECISIONS)
    direct_payoff = DirectSymmetricPayoff(PRECISIONS)

    @classmethod
    def least_pulls(cls, delta: float) -> int:
        return math.ceil(math.log2(1.0 / delta))  # a measurement doubles the capital at most

    def scales(self, totals: Totals) -> Scales:
        return Scales(self.variance(totals))

    def fit(self, rows: Rows, scales: Scales) -> BlockFit:
        parts = int(rows.parts.max()) + 1
        # Arms with fewer pulls than parts are not in every part: they do not count.
        arms, found = np.unique(rows.arms, return_counts=True)
        used = rows.some(np.isin(rows.arms, arms[found == parts]))
        block = used.by_arm()
        fit = block_fit(self.problem, block, scales)
        # Rows are ordered by arm and part, so these are means (arms, parts).
        means = (used.sums / used.counts).reshape(len(block.arms), parts)
        features = self.problem.feature_rows(block.arms)
        weighted = features * (block.counts / scales.of(block.arms))[:, None]
        return fit._replace(columns=fit.root @ (fit.root.T @ (weighted.T @ means)))

    def allowed(self, rows: Rows, scales: Scales) -> Seen:
        block, parts = rows.by_arm(), self.direct_facts(rows, scales)
        m = parts_for_all(self.problem.feature_rows(block.arms), block.counts)
        used = block.some(block.counts >= m)
        takes, seen = self.leaning(used, scales)
        return seen._replace(columns=takes @ parts.means[used.arms, m - 1 : 2 * m - 1])

    def with_number(self, seen: Any) -> Any:
        found = super().with_number(seen)
        if not isinstance(seen, Seen) or not isinstance(seen.facts, ArmParts):
            return found
        parts = np.append(seen.facts.parts, MOST_PARTS)  # it is the same in every part
        return found._replace(facts=ArmParts(parts, with_zero(seen.facts.means)))

    def direct_facts(self, rows: Rows, scales: Scales) -> ArmParts:
        counts, sums = (np.zeros((self.problem.n_arms, MOST_PARTS)) for _ in range(2))
        counts[rows.arms, rows.parts], sums[rows.arms, rows.parts] = rows.counts, rows.sums
        parts = np.count_nonzero(counts, axis=1)
        means = np.zeros((len(parts), 2 * MOST_PARTS - 1))
        m = int(parts.max())  # a power of two
        while m:
            own = parts >= m
            means[own, m - 1 : 2 * m - 1] = sums[own, :m] / counts[own, :m]
            m //= 2
            for column in (counts, sums):  # part j and part j + m become one
                column[:, :m] += column[:, m : 2 * m]
        return ArmParts(parts, means * np.sqrt(squared_units(self.problem))[:, None])
