"""Whether visitors came in the shares that they were sent by; valid at every look.

If assignment works, the counts of a period are multinomial with its shares, whatever the total.
Against that stands a Dirichlet–multinomial law around what earlier periods suggest: by how much
each option got more or less than its share. The product of the likelihood ratios over all periods
is a martingale with mean 1 while assignment works, so that it ever reaches 1/level has probability
at most the level (Ville). (M. Lindon, A. Malek, 2022, for shares that stay the same.) Nobody knows
how large a mismatch would be: a few concentrations share the capital.
"""

from __future__ import annotations

import math

import numpy as np

from surepick.arrays.types import FloatArray, IntArray
from surepick.statistics.gamma import log_gamma

#: visitors that the shares themselves count for beside those of earlier periods
CONCENTRATIONS = (1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8)
LEVEL = 0.001  # of ever raising a false alarm
_CLEAR = 4.0  # standard errors: an option this far off its share is named


class RatioTest:
    """Counts against shares, period by period."""

    def __init__(self, n: int) -> None:
        self.counts: FloatArray = np.zeros(n)
        self.expected: FloatArray = np.zeros(n)
        self._variance: FloatArray = np.zeros(n)
        self._logs: FloatArray = np.zeros(len(CONCENTRATIONS))  # log capital of each account

    def add(self, shares: FloatArray, counts: IntArray | FloatArray) -> None:
        sent = shares > 0.0
        p, n = shares[sent], counts[sent].astype(np.float64)
        past = float(self.expected.sum())
        for j, strength in enumerate(CONCENTRATIONS):
            own = strength * p
            ratio = (own + self.counts[sent]) / (own + self.expected[sent])
            prior = (strength + past) * p * ratio / float((p * ratio).sum())
            self._logs[j] += log_ratio(n, p, prior)
        total = float(n.sum())
        self.counts[sent] += n
        self.expected[sent] += total * p
        self._variance[sent] += total * p * (1.0 - p)

    @property
    def log_evidence(self) -> float:
        """Against assignment by the shares, as a logarithm."""
        return float(np.logaddexp.reduce(self._logs)) - math.log(len(self._logs))

    def off(self) -> list[int]:
        """Options that got far more or less than their share, worst first."""
        apart = np.abs(self.counts - self.expected) / np.sqrt(np.maximum(self._variance, 1e-300))
        worst = np.argsort(-apart, kind="stable")
        return [int(i) for i in worst if apart[i] > _CLEAR and self._variance[i] > 0]


def log_ratio(counts: FloatArray, shares: FloatArray, prior: FloatArray) -> float:
    """log of the Dirichlet–multinomial probability of counts over the multinomial one."""
    total, strength = float(counts.sum()), float(prior.sum())
    mixed = float((log_gamma(prior + counts) - log_gamma(prior)).sum())
    mixed += float(log_gamma(strength) - log_gamma(strength + total))
    return mixed - float(counts @ np.log(shares))
