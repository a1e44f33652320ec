"""Bets on a table that can be filled in completely: a finite set of items, each cell measured once.

Items are met in a random order π. With D_t the lead of r over x on item π_t, in units of the widest
that it can be, S = D_1 + … + D_{t−1} and left = N − t + 1:

    m_t = −S / left,    F_t = 1 + λ_t (D_t − m_t),    0 <= λ_t <= c / (1 + m_t),  c < 1,

where λ_t is chosen from the items before t.

Why that is a bet: given the items so far π_t is any of those left, each as likely, so that E[D_t] =
(S_N − S)/left, which is at most m_t where x is at least as good as r over all items (S_N <= 0). And
F_t > 0, as D_t >= −1. So products of such factors are non-negative supermartingales.

Two things are no matter of chance. Where S > left, r is ahead by more than x can gain: x is behind
for certain. Where S = left, x can still reach a tie, by winning all items left; nothing is bet
then, and with the first item that it does not win S > left. (Calling x behind at S = left rules
out options that tie for the best.) After the last item S > left = 0 says who is behind. Leads are
whole numbers of units here, so that none of this depends on rounding.

Closeness (x is not ahead of r by more than ``slack`` in all) is the same with S + slack for S.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from surepick.arrays.types import BoolArray, FloatArray, IntArray

#: λ as a share of 1/√v̂; one more stake follows the evidence. More of them (0.05, 0.15, 0.4, 0.9 and
#: equal weights) take a tenth more cells: what they cost is more than what they find.
FRACTIONS = (0.2,)
STAKES = len(FRACTIONS) + 1
WEIGHTS = np.array([0.3, 0.7])  #: of the capital, for each stake
CAP = 0.9  #: c: no item takes more than this share of the capital
_WAIT = 10  # items by which an estimated lead is drawn towards 0
_SHARES = np.array(FRACTIONS)
_ALL_SIZES = np.geomspace(2.0, 1 / 128, 9)  # λ√v̂ where the number of items is not known


def behind(lead: Any, left: int, unit: int, slack: int = 0) -> BoolArray:
    """Whether who trails by this lead (whole numbers of units) is behind whatever is to come.

    Examples
    --------
    >>> behind(np.array([2, 3]), left=2, unit=1).tolist()
    [False, True]
    """
    return lead + slack > left * unit


def stakes(mean: FloatArray, lead: FloatArray, squares: FloatArray, met: int) -> FloatArray:
    """λ for each pair, (…, STAKES), from what ``met`` items showed.

    Parameters
    ----------
    mean
        m_t; nothing is bet where it is not between −1 and 1.
    lead, squares
        S and Σ D² over the items met, in items.
    met
        How many these are.
    """
    spread = (squares + 1.0) / (met + 2)  # v̂
    edge = lead / (met + _WAIT) - mean
    found = np.empty((*mean.shape, STAKES))
    found[..., :-1] = _SHARES / np.sqrt(spread)[..., None]
    found[..., -1] = np.maximum(edge, 0.0) / (spread + edge * edge)
    open_ = (mean > -1.0) & (mean < 1.0)
    most = CAP / np.where(open_, 1.0 + mean, 1.0)
    return np.where(open_[..., None], np.minimum(found, most[..., None]), 0.0)


def log_paid(
    lead: IntArray,
    now: IntArray,
    squares: FloatArray,
    met: int,
    items: int,
    unit: int,
    slack: int = 0,
) -> FloatArray:
    """Logarithms of what one item pays, (…, STAKES).

    Parameters
    ----------
    lead
        S of each pair, in units.
    now
        D_t of each, in units: at most ``unit``.
    squares
        Σ D² over the items met, with D in items.
    met, items
        Items met before this one, and all there are.
    unit
        Units in the widest difference on one item.
    slack
        By how many units in all the other may be ahead, for bets on closeness.
    """
    left = items - met
    mean = -(lead + slack) / float(left * unit)
    stake = stakes(mean, lead / float(unit), squares, met)
    return np.log1p(stake * (now / float(unit) - mean)[..., None])


def log_sum(logs: FloatArray, axes: int = 1) -> FloatArray:
    """Logarithm of all capital together, over the last so many axes."""
    last = tuple(range(-axes, 0))
    top = np.max(logs, axis=last, keepdims=True)
    return np.log(np.sum(np.exp(logs - top), axis=last)) + np.squeeze(top, last)


def new_items(leads: FloatArray, delta: float) -> tuple[float, float]:
    """Between which numbers the mean lead on new items lies, with probability at least 1 − delta.

    ``leads`` (between −1 and 1) are those on items drawn independently, in the order in which they
    were met, and it may have ended whenever somebody liked: for every mean μ capital is bet on
    "more than μ" and on "less", and the μ are kept against which it is below 1/delta.

    Examples
    --------
    >>> low, high = new_items(np.array([1.0] * 60 + [0.0] * 40), 0.05)
    >>> 0.3 < low < 0.6 < high < 0.9
    True
    """
    if not len(leads):
        return -1.0, 1.0
    before = np.arange(len(leads))
    squares = np.concatenate([[0.0], np.cumsum(leads**2)[:-1]])
    spread = (squares + 1.0) / (before + 2)
    stake = (_ALL_SIZES / np.sqrt(spread)[:, None]).T  # from the items before, (J, n)
    goal = math.log(2.0 * len(stake) / delta)  # capital is an average

    def beyond(values: FloatArray) -> float:
        """The largest mean that is refuted by bets on more; capital falls as the mean grows."""
        low, high = -1.0, 1.0
        for _ in range(20):
            mean = 0.5 * (low + high)
            own = np.minimum(stake, CAP / (1.0 + mean))
            capital = log_sum(np.log1p(own * (values - mean)).sum(axis=1))
            low, high = (mean, high) if capital >= goal else (low, mean)
        return low

    low, high = beyond(leads), -beyond(-leads)
    return (low, high) if low <= high else (high, low)  # the latter with probability delta at most
