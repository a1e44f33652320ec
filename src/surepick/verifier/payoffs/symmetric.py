"""Symmetric noise of any scales: bets on the sign of estimates from parts of a block."""

from __future__ import annotations

import math

import numpy as np

from surepick.verifier.blocks import MOST_PARTS, Block, check_parts
from surepick.verifier.estimate import ByFeatures, one_more
from surepick.verifier.guide import Outlook
from surepick.verifier.payoffs.base import News, Pairs, Payoff, cut_normal_stakes, known, log_mean

_KEPT = 0.002  # share of the capital that is not staked


class Symmetric(Payoff):
    """A stake λ pays the product over all parts of 1 + tanh(λ · estimate of the part).

    The estimates have the coefficients of the whole block, applied to mean rewards in the part.
    """

    def check_dealt(self, block: Block, where: str, own: bool) -> int:
        return check_parts(self.check, block, where, own)

    def look(self, past: Block) -> Outlook:
        return known(math.sqrt(self.variance(past)))

    def _linear(self, block: Block, outlook: Outlook, parts: int) -> News:
        arms, rows = np.unique(block.arms, return_counts=True)
        block = block.of(arms[rows == parts])  # arms that are not in every part do not count
        whole = block.by_arm()
        fit = self.guide.fit(whole, outlook)
        means = block.means.reshape(len(whole.arms), parts)  # rows are ordered by arm and part
        weights = whole.counts / outlook.variances(whole.arms)
        moments = self.check.arms[whole.arms].T @ (weights[:, None] * means)
        return News(ByFeatures(fit), fit.solve(moments))

    def _direct(self, block: Block, outlook: Outlook, parts: int) -> News:
        found = super()._direct(block, outlook, parts)
        return found._replace(facts=self._halvings(block))

    def _allowed(self, block: Block, outlook: Outlook, parts: int) -> News:
        whole, halvings = block.by_arm(), self._halvings(block)
        m = self._common(whole)
        used = whole.of(whole.arms[whole.counts >= m])
        view = self.leaning(used, outlook)
        return News(view, view.takes @ halvings[m][used.arms])

    def _common(self, block: Block) -> int:
        """The most parts that arms with four pulls in five have, and that span as much as all."""
        rows = self.check.arms[block.arms] @ self.check.whiten
        span = np.linalg.matrix_rank(rows, tol=1e-9)
        for m in (32, 16, 8, 4, 2):
            full = block.counts >= m
            enough = block.counts[full].sum() >= 0.8 * block.pulls
            if enough and np.linalg.matrix_rank(rows[full], tol=1e-9) == span:
                return m
        return 1

    def _halvings(self, block: Block) -> dict[int, np.ndarray]:
        """Mean rewards of each arm in 1, 2, 4, … parts, (M, m); nan where it has fewer.

        Of 2m parts, part j and part j + m make one of m.
        """
        n = len(self.guide.units)
        counts, sums = np.zeros((n, MOST_PARTS)), np.zeros((n, MOST_PARTS))
        counts[block.arms, block.parts] = block.counts
        sums[block.arms, block.parts] = block.sums * self.guide.units[block.arms]
        parts, found = (counts > 0).sum(axis=1), {}
        for m in (32, 16, 8, 4, 2, 1):
            folded = (table.reshape(n, -1, m).sum(axis=1) for table in (sums, counts))
            with np.errstate(invalid="ignore"):
                means = np.divide(*folded)
            found[m] = np.where((parts >= m)[:, None], means, np.nan)
        return found

    def with_number(self, news: News) -> News:
        found = super().with_number(news)
        if news.facts is None:
            return found
        return found._replace(facts={m: one_more(means) for m, means in news.facts.items()})

    def log_paid(self, pairs: Pairs, news: News) -> list[np.ndarray]:
        estimates, parts = self._estimates(pairs, news)
        found = []
        for multiple in self.precisions:
            stakes = cut_normal_stakes(*pairs.stakes(multiple)) * (pairs.told / parts)[..., None]
            logs = np.zeros_like(stakes)
            for j in range(estimates.shape[-1]):
                logs += log_tanh_bet(stakes * estimates[..., j, None])
            found.append(log_kept(log_mean(logs)))
        return found

    def _estimates(self, pairs: Pairs, news: News) -> tuple[np.ndarray, np.ndarray]:
        """Leads in each part, (n, R, m), and in how many parts there are any; 0 in the others."""
        if news.facts is None:
            found = news.across(pairs.field) + pairs.shift[..., None]
            return found, np.full(pairs.told.shape, found.shape[-1])
        field = pairs.field
        found = np.zeros((*pairs.told.shape, MOST_PARTS))
        parts = np.ones(pairs.told.shape, dtype=int)
        for m, means in sorted(news.facts.items()):  # the most that both arms have counts
            leads = means[field.rival_places][None] - means[field.places][:, None]
            leads = leads + pairs.shift[..., None]
            there = ~np.isnan(leads[..., 0])
            parts[there] = m
            found[there] = 0.0
            found[there, :m] = leads[there]
        return found, parts


def log_kept(paid: np.ndarray) -> np.ndarray:
    """Log of what is left when all but a little was staked, and paid this."""
    return np.logaddexp(paid + math.log(1 - _KEPT), math.log(_KEPT))


def log_tanh_bet(bet: np.ndarray) -> np.ndarray:
    """log(1 + tanh(bet)): 1 + tanh(u) is 2/(1 + e^{−2u})."""
    return math.log(2) - np.logaddexp(0.0, -2.0 * bet)
