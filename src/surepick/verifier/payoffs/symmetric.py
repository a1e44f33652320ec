"""Symmetric noise of any scales: bets on the sign of estimates from parts of a block."""

from __future__ import annotations

import math

import numpy as np

from surepick.verifier.blocks import Block
from surepick.verifier.payoffs.base import News, Outlook, Pairs, Payoff, known
from surepick.verifier.payoffs.stakes import cut_normal_stakes, log_mean

_KEPT = 0.002  # share of the capital that is not staked


class Symmetric(Payoff):
    """A stake λ pays the product over all parts of 1 + tanh(λ · estimate of the part).

    The estimates have the coefficients of the whole block, applied to mean rewards in the part.
    """

    in_parts = True

    def look(self, past: Block) -> Outlook:
        return known(math.sqrt(self.pooled_variance(past)))

    def read(self, block: Block, outlook: Outlook, parts: int) -> News:
        arms, rows = np.unique(block.arms, return_counts=True)
        block = block.of(arms[rows == parts])  # arms that are not in every part do not count
        whole = block.by_arm()
        fit = self.fit(whole, outlook)
        means = block.means.reshape(len(whole.arms), parts)  # rows are ordered by arm and part
        weights = whole.counts / outlook.variances(whole.arms)
        moments = self.check.arms[whole.arms].T @ (weights[:, None] * means)
        return News(fit, fit.solve(moments))

    def log_paid(self, pairs: Pairs, news: News) -> list[np.ndarray]:
        assert news.columns is not None
        estimates = pairs.across(news.columns) + pairs.shift
        parts = estimates.shape[-1]
        found = []
        for multiple in self.precisions:
            stakes = cut_normal_stakes(*pairs.stakes(multiple)) * (pairs.told / parts)[..., None]
            logs = np.zeros_like(stakes)
            for j in range(parts):
                logs += log_tanh_bet(stakes * estimates[..., j, None])
            found.append(np.logaddexp(log_mean(logs) + math.log(1 - _KEPT), math.log(_KEPT)))
        return found


def log_tanh_bet(bet: np.ndarray) -> np.ndarray:
    """log(1 + tanh(bet)): 1 + tanh(u) is 2/(1 + e^{−2u})."""
    return math.log(2) - np.logaddexp(0.0, -2.0 * bet)
