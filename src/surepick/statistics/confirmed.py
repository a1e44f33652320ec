"""Whether reports that came after a decision show the same leads.

A decision is right with probability 1 − delta where the reports up to it are what they should be.
Bots on the day that decides, or a novelty that wears off, are in these reports; they are not, or
less so, in those that come later. So an answer waits: each lead that was decided lately must show
again, in later reports alone, by at least one standard error.

The lead of one option over another is the average over periods of what they differ by within each
(weights nk/(n + k) with n and k visits), so levels and shares that change do not matter. Where a
limit is a number, an option's distance to it is the average over its visits. Nothing is proven by
one standard error, and nothing needs to be: whoever waits names what had been decided, or nobody,
so an answer that is named is wrong no more often than the decision was.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from surepick.arrays.types import FloatArray, IntArray
from surepick.statistics.lift import Sums

ERRORS = 1.0  # standard errors by which leads must show again
ZERO = -1  # in the place of an option: the number 0


class Leads(NamedTuple):
    """What was decided: each of the first is not more than a margin below the second.

    Either may be :data:`ZERO`.
    """

    first: IntArray
    second: IntArray
    margins: FloatArray


def shown_again(leads: Leads, reports: list[Sums]) -> FloatArray:
    """By how many standard errors each lead shows in these reports; −∞ where nothing is known.

    Examples
    --------
    >>> day = Sums(np.full(2, 1000.0), np.array([50.0, 70.0]), np.array([47.5, 65.1]))
    >>> leads = Leads(np.array([1]), np.array([0]), np.zeros(1))
    >>> shown_again(leads, [day, day]).round(2).tolist()
    [2.67]
    """
    gain, variance = np.zeros((2, len(leads.first)))
    alone = (leads.first == ZERO) | (leads.second == ZERO)
    for report in reports:
        one = Sums(*(np.append(own, 0.0) for own in report))  # the last is ZERO
        n, k = one.counts[leads.first], one.counts[leads.second]
        total = np.maximum(n + k, 1.0)
        weight = np.where(alone, n + k, n * k / total)
        means = [one.sums[i] / np.maximum(one.counts[i], 1.0) for i in leads[:2]]
        gain += weight * (means[0] - means[1] + leads.margins)
        variance += weight * ((one.spreads[leads.first] + one.spreads[leads.second]) / total)
    error = np.sqrt(np.maximum(variance, 0.0))
    found = np.full(len(gain), -np.inf)
    some = error > 0
    found[some] = gain[some] / error[some]
    found[~some & (gain > 0)] = np.inf
    return found
