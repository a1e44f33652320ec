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

What could be won by other stakes is little: bets that know the best rival, and by how much it is
ahead in the end, take 0.9 of the cells on real tables (``benchmarks/results/test_sets.md``).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from surepick.arrays.types import BoolArray, FloatArray, IntArray
from surepick.proof.purses import mixture

#: λ as a share of 1/√v̂; one more stake follows the evidence. More of them take more cells: what
#: they cost is more than what they find.
FRACTIONS = (0.4,)
STAKES = len(FRACTIONS) + 1
WEIGHTS = np.array([0.3, 0.7])  #: of the capital, for each stake
CAP = 0.9  #: c: no item takes more than this share of the capital
_WAIT = 5  # items by which an estimated lead is drawn towards 0
_EDGE = 1e-6  # this near to −1 and 1 nothing is bet: what is certain there is worked out exactly
_STEEP = 6.0  # rivals count by exp(−6 z), z their distance from the leader in standard errors
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
    open_ = np.abs(mean) < 1.0 - _EDGE
    most = CAP / np.where(open_, 1.0 + mean, 1.0)
    return np.where(open_[..., None], np.minimum(found, most[..., None]), 0.0)


def log_paid(
    lead: FloatArray,
    now: FloatArray,
    squares: FloatArray,
    met: int,
    items: int,
    slack: float = 0.0,
) -> FloatArray:
    """Logarithms of what one item pays, (…, STAKES); leads in items.

    Parameters
    ----------
    lead
        S of each pair.
    now
        D_t of each, between −1 and 1.
    squares
        Σ D² over the items met.
    met, items
        Items met before this one, and all there are.
    slack
        By how much in all the other may be ahead, for bets on closeness.
    """
    mean = -(lead + slack) / float(items - met)
    stake = stakes(mean, lead, squares, met)
    return np.log1p(stake * (now - mean)[..., None])


def walk(
    leads: FloatArray, first: int, items: int, slack: float = 0.0
) -> Iterator[tuple[int, FloatArray]]:
    """Item by item what bets on these leads pay, from place ``first`` on: (place, logs).

    ``leads``, (…, places), has those on all items up to the last one that is bet on.
    """
    lead, squares = leads[..., :first].sum(axis=-1), (leads[..., :first] ** 2).sum(axis=-1)
    for place in range(first, leads.shape[-1]):
        now = leads[..., place]
        yield place, log_paid(lead, now, squares, place, items, slack)
        lead, squares = lead + now, squares + now**2


def over_rivals(scores: IntArray, first: int, unit: int) -> FloatArray:
    """Leads of everybody else over each row, (rows, places), in items; scores in units.

    Everybody else is a weighted average: whoever leads after the first so many items has most of
    the weight, and who trails by z standard errors exp(−6 z) of that. An average has less noise
    than any one rival, and nobody has to know yet who is the best.

    Why that is a bet: where a row has the largest total, the sum of the leads of each rival over
    it is at most 0, and so is that of any average of them, with weights from the items before.
    """
    totals, some = scores[:, :first].sum(axis=1), scores / float(unit)
    top = int(np.argmax(totals))
    squares = ((some[:, :first] - some[top, :first]) ** 2).sum(axis=1)
    logs = -_STEEP * ((totals[top] - totals) / float(unit)) / np.sqrt(squares + 1.0)
    weights = np.exp(logs)
    whole = weights.sum()
    rest = np.exp(logs - np.delete(logs, top).max())  # the leader's rivals are the others
    rest[top] = 0.0
    weights[top], together = 0.0, weights @ some
    found = (together - whole * some) / (whole - weights)[:, None]
    found[top] = rest @ some / rest.sum() - some[top]
    return np.clip(found, -1.0, 1.0)


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
            capital = mixture(np.log1p(own * (values - mean)).sum(axis=1))
            low, high = (mean, high) if capital >= goal else (low, mean)
        return low

    low, high = beyond(leads), -beyond(-leads)
    return (low, high) if low <= high else (high, low)  # the latter with probability delta at most
