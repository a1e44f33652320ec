"""Symmetric noise of any scales and tails: bets on the sign of contrasts, part by part.

The pulls of a block are dealt into parts beforehand, each of which has pulls of every arm that
counts. With the coefficients of the whole block's least squares, the arms' mean rewards in one part
give one estimate of a lead; the parts give as many, with independent symmetric noise.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from surepick.algorithms.pooled.fit import BlockFit, Scales, block_fit
from surepick.algorithms.pooled.kinds.reading import Reading, pooled_variance
from surepick.algorithms.pooled.ledger import Rows, Totals
from surepick.algorithms.pooled.market import PRECISIONS
from surepick.algorithms.pooled.payoff import Bets, News, Payoff, log_mean
from surepick.arrays.backend import Backend
from surepick.arrays.types import FloatArray
from surepick.statistics.symmetric import array_log_kept, array_log_tanh_bet


class SymmetricPayoff(Payoff):
    """The bets of :mod:`surepick.statistics.symmetric`; columns are estimates from each part."""

    def compiled(self, bets: Bets, news: News, block: BlockFit) -> FloatArray:
        from surepick.statistics.payoff_kernels import symmetric_payoffs

        return symmetric_payoffs(news.information, news.columns + news.shift, self.stakes(bets))

    def on(self, backend: Backend, bets: Bets, news: News, block: BlockFit) -> list[Any]:
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


class SymmetricScales(Reading):
    """The past suggests a scale for stakes; nothing rests on it."""

    demands_spread = in_parts = True
    payoff = SymmetricPayoff(PRECISIONS)

    def scales(self, totals: Totals) -> Scales:
        return Scales(pooled_variance(self.problem, totals))

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
