"""Whether successes of options scatter more from period to period than independent visitors' would.

Given how many successes a period has in all, those of the options are about multinomial, by their
visitors times their rates, whatever the level of the day. So Σ (S − E)²/E over options and periods
is about chi-squared. If each visitor counts c times, it is c times as large: sessions or page views
scatter more than visitors. Single options whose rates fluctuate do, too. So this is a hint, and not
a proof of either. With f degrees of freedom it exceeds c·f with probability exp(−f(c − 1 − ln c)/2)
at most (Chernoff), of which each look has its part.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from surepick.arrays.types import FloatArray

_FEWEST = 5.0  # successes that are expected, from which on a normal distribution will do
_ROUNDS = 20  # in which rates and levels are fitted


def scatter(periods: Sequence[tuple[FloatArray, FloatArray]]) -> tuple[float, float]:
    """How many times as much successes scatter, and the log of what speaks for more than once."""
    width = max((len(n) for n, _ in periods), default=0)
    table = np.zeros((2, len(periods), width))
    for t, columns in enumerate(periods):
        for whole, column in zip(table, columns):
            whole[t, : len(column)] = column
    visits, hits = table
    expected = _expected(visits, hits)
    enough = expected >= _FEWEST
    enough[enough.sum(axis=1) < 2] = False
    enough[:, enough.sum(axis=0) < 2] = False
    freedom = int(enough.sum() - enough.any(axis=1).sum() - enough.any(axis=0).sum()) + 1
    if not enough.any() or freedom < 1:
        return 1.0, 0.0
    expected = _expected(np.where(enough, visits, 0.0), np.where(enough, hits, 0.0))
    apart = np.divide((hits - expected) ** 2, expected, out=np.zeros_like(hits), where=enough)
    times = float(apart.sum()) / freedom
    if times <= 1.0:
        return times, 0.0
    looks = math.log(len(periods) * (len(periods) + 1.0))
    return times, max(0.5 * freedom * (times - 1.0 - math.log(times)) - looks, 0.0)


def _expected(visits: FloatArray, hits: FloatArray) -> FloatArray:
    """Successes by levels of periods and rates of options, with the sums of both that were seen."""
    rates = np.ones(visits.shape[1])
    levels = np.ones(len(visits))
    for _ in range(_ROUNDS):
        levels = _ratio(hits.sum(axis=1), visits @ rates)
        rates = _ratio(hits.sum(axis=0), levels @ visits)
    return visits * np.outer(levels, rates)


def _ratio(above: FloatArray, below: FloatArray) -> FloatArray:
    return np.divide(above, below, out=np.zeros_like(above), where=below > 0.0)
