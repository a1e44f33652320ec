"""Noise of known scale: Gaussian bets."""

from __future__ import annotations

from typing import Any

from surepick.algorithms.pooled.fit import Scales
from surepick.algorithms.pooled.kinds.reading import Reading
from surepick.algorithms.pooled.ledger import Totals
from surepick.algorithms.pooled.payoff import ArrayPayoff, Bets, News
from surepick.algorithms.pooled.sums import KnownSums
from surepick.arrays.backend import Backend
from surepick.arrays.types import FloatArray
from surepick.proof.payoffs.normal import array_log_payoff
from surepick.proof.payoffs.stakes import PRECISIONS


class GaussianPayoff(ArrayPayoff):
    """The Gaussian bets of :mod:`surepick.proof.payoffs.normal`.

    Stakes are normal around the past's estimate, cut at 0. Rewards are in units of the noise.
    """

    def compiled(self, bets: Bets, news: News, block: Any) -> FloatArray:
        from surepick.proof.payoffs.kernels import gaussian_payoffs

        return gaussian_payoffs(bets[1:], news[:2], self._precisions)

    def on(self, backend: Backend, bets: Bets, news: News, block: Any) -> list[Any]:
        score, told = bets.information * bets.lead, news.information * news.lead
        return [
            array_log_payoff(
                backend, score, bets.information + precision * bets.unit, told, news.information
            )
            for precision in self.precisions
        ]


class KnownScale(Reading):
    """Rewards arrive in units of the noise."""

    estimates_scale = False
    payoff = direct_payoff = GaussianPayoff(PRECISIONS)
    sums = KnownSums

    def scales(self, totals: Totals) -> Scales:
        return Scales()
