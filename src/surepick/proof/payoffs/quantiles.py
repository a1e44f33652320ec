"""Bets on whose quantile is the best: they hold for numbers of any kind.

The p-quantile q of an option is the least number v with P(Y ≤ v) ≥ p, where Y is one of its
measurements. So P(Y ≤ v) ≥ p from q on, and P(Y < v) ≤ p up to it: q is the only number at which
both are always true, ties and all.

For each number v there are two bets on measurements y of an option,

    U(v) = Π (1 + λ(1[y < v] − p)),  0 ≤ λ < 1/p,      on "P(Y < v) > p", so q < v,
    D(v) = Π (1 + λ(p − 1[y ≤ v])),  0 ≤ λ < 1/(1 − p),    on "P(Y ≤ v) < p", so q > v,

or averages of such products over several stakes λ, which are fixed once and for all. Let x be the
option with the largest quantile, and look at v = q_x. There no factor of U_x has a mean above 1;
and as q_r ≤ q_x, none of any D_r has. Measurements of different options are different ones, so

    U_x(v) · mean over r ≠ x of D_r(v)

is, at that v, a supermartingale that begins with 1. Nobody knows q_x; but the least of it,

    W_x = min over all v of U_x(v) · mean over r ≠ x of D_r(v),

is never above what it is there. So W_x ever reaches 1/δ with probability at most δ, and nothing is
paid for not knowing v. Where the smallest quantile is the best, U and D change places: at v = q_x
no factor of D_x has a mean above 1, and none of any U_r, as q_r ≥ q_x.

If x is behind r, then W_x grows: where v is below both quantiles D_r does, where it is above both
U_x does, and between them both. To first order its logarithm grows as that of a test of the
difference of two sample quantiles would if densities were known.

What bets pay depends on counts alone: how many measurements of an option there are, and how many of
them are below v, or at most v. The minimum is at one of the measured values: from one of these to
the next nothing changes, and at a value U counts no more, and D no fewer, than on either side.

Nothing is assumed of the numbers but that an option's measurements have one and the same quantile
all the time: what drifts moves quantiles.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from surepick.arrays.types import FloatArray, IntArray

# Stakes are bets on another share than p: one whose log odds are this far from those of p. Most of
# the capital is for differences that some hundreds or thousands of measurements tell.
_REACHES = tuple(3.2 * 0.5**j for j in range(10))
_WEIGHTS = tuple(1.0 / (1 + abs(j - 3)) for j in range(10))
_CASH = 0.05  # that is not bet: one side may have many more measurements than the other


class Payoffs(NamedTuple):
    """Log of what bets on n measurements pay if 0, 1, … n of them are counted; (n + 1,) each."""

    up: FloatArray  #: U, by how many are below v
    down: FloatArray  #: D, by how many are at most v


def payoffs(n: int, p: float) -> Payoffs:
    """What bets pay, for every number of n measurements.

    Examples
    --------
    >>> found = payoffs(2, 0.5)
    >>> bool(found.up[0] < 0 < found.up[2]), bool(np.isclose(found.up[2], found.down[0]))
    (True, True)
    """
    counted = np.arange(n + 1)[:, None]
    reach = np.append(_REACHES, 0.0)
    shares = np.append((1.0 - _CASH) * np.array(_WEIGHTS) / sum(_WEIGHTS), _CASH)
    odds = math.log(p) - math.log1p(-p)
    both = []
    for sign in (1.0, -1.0):
        other = odds + sign * reach
        yes = -np.log1p(np.exp(-other)) - math.log(p)  # log(1 + λ(1 − p)), and the other way
        no = -np.log1p(np.exp(other)) - math.log1p(-p)
        logs = np.log(shares) + counted * yes + (n - counted) * no
        top = logs.max(axis=1)
        both.append(top + np.log(np.exp(logs - top[:, None]).sum(axis=1)))
    return Payoffs(*both)


def log_capital(values: list[FloatArray], p: float, smallest: bool = False) -> FloatArray:
    """Log capital against "this option has the largest p-quantile", of each option.

    Parameters
    ----------
    values
        The measurements of each of at least two options, ascending.
    smallest
        Whether the smallest quantile is the best.

    Examples
    --------
    >>> low, high = np.linspace(0, 1, 200), np.linspace(5, 6, 200)
    >>> found = log_capital([low, high], 0.5)
    >>> bool(found[0] > 50), bool(found[1] < 0)
    (True, True)
    """
    cells = np.unique(np.concatenate(values))
    if not len(cells):
        return np.zeros(len(values))
    own, rival = [], []
    for some in values:
        paid = payoffs(len(some), p)
        sides = paid.up[counts_below(some, cells)], paid.down[counts_upto(some, cells)]
        own.append(sides[smallest])
        rival.append(sides[not smallest])
    others = _means_of_others(np.array(rival))
    return (np.array(own) + others).min(axis=1)


def _means_of_others(logs: FloatArray) -> FloatArray:
    """Of each row, the log of the mean of all other rows' exponentials."""
    k = len(logs)
    if k == 2:
        return logs[::-1]
    # Sums from both ends: a difference of large numbers would lose the small ones.
    nothing = np.full((1, logs.shape[1]), -math.inf)
    before = np.concatenate([nothing, np.logaddexp.accumulate(logs, axis=0)[:-1]])
    after = np.concatenate([np.logaddexp.accumulate(logs[::-1], axis=0)[-2::-1], nothing])
    return np.logaddexp(before, after) - math.log(k - 1)


def counts_below(own: FloatArray, cells: FloatArray) -> IntArray:
    """How many values (ascending) are below each of some numbers."""
    return np.searchsorted(own, cells, side="left")


def counts_upto(own: FloatArray, cells: FloatArray) -> IntArray:
    """How many values (ascending) are at most each of some numbers."""
    return np.searchsorted(own, cells, side="right")


def quantile(values: FloatArray, p: float) -> float:
    """The least of these values (ascending) that a share p of them does not exceed.

    Examples
    --------
    >>> quantile(np.array([1.0, 2.0, 3.0, 4.0]), 0.5), quantile(np.array([1.0, 2.0]), 0.95)
    (2.0, 2.0)
    """
    return float(values[place_of(len(values), p)])


def place_of(n: int, p: float) -> int:
    """The place of the p-quantile among n values: where p·n is whole but for rounding, that."""
    return min(max(math.ceil(n * p * (1.0 - 1e-12)) - 1, 0), n - 1)


def interval(values: FloatArray, p: float, alpha: float) -> tuple[float, float]:
    """Where the p-quantile of an option lies at all times, with probability 1 − alpha.

    At v = q neither of U(v) and D(v) ever reaches 2/alpha but with probability alpha/2.

    Examples
    --------
    >>> low, high = interval(np.linspace(0.0, 1.0, 1001), 0.5, 0.05)
    >>> bool(0.4 < low < 0.5 < high < 0.6)
    True
    """
    n = len(values)
    paid, goal = payoffs(n, p), math.log(2.0 / alpha)
    least = int(np.argmax(paid.down < goal))  # so many at least are at most q
    most = n - int(np.argmax(paid.up[::-1] < goal))  # and so many at most are below it
    low = -math.inf if least == 0 else float(values[least - 1])
    return low, math.inf if most >= n else float(values[most])
