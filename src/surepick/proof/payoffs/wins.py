"""Bets on who wins direct comparisons: they hold for numbers of any kind.

Of option r there are n rewards of a block, of option x there are k ≥ n. A *matching* compares each
reward of r with another one of x; a win counts 1, a tie ½. The pairs of a matching have no reward
in common, so a stake λ on wins pays

    Π (1 + λ(y − m)),      y = 1, ½ or 0,      0 ≤ λ < 1/m,

with mean at most 1 where r wins a share of at most m on average, whatever the rewards are like
otherwise. So does the average of that over *all* matchings, which does not depend on how rewards
are numbered, and wastes hardly anything: of the logarithm that a test with normal noise of known
scale gains, it gains about nine tenths (``benchmarks/any_numbers.py``).

How the average is worked out. A factor is 1 − λm + λ/2·[x < r] + λ/2·[x ≤ r]. Multiplied out, each
reward of r chooses nothing, "x below me" or "x not above me", and a choice by j of them holds for a
share of all matchings that is easy to count if those are looked at in order of how many x suit
them: the first has c₁ of k, the second, which suits all that the first one suits, c₂ − 1 of the
k − 1 that are left, and so on (they count the ways to place rooks on a staircase). With ρ_j the sum
of these shares over all such choices, the average is Σ_j ρ_j λ^j (1 − λm)^{n−j}. All terms are
positive: nothing cancels.

Above :data:`MOST` rewards, those of both options are dealt into as many groups, and what the groups
pay is multiplied: each has rewards of its own. The price of that is a few per cent of the gain.
"""

from __future__ import annotations

import math

import numpy as np

from surepick.arrays.types import FloatArray, IntArray

#: rewards of an option that are matched together, at most
MOST = 64
#: of the largest stake that cannot lose everything
CAP = 0.95
#: what a lead of one standard deviation of normal noise adds to the share of wins, about: times 12,
#: as the share of wins among n and k rewards has a variance of (1/n + 1/k)/12
STAKE = 12.0 / (2.0 * math.sqrt(math.pi))


def win_moments(below, upto, k, out):
    """The coefficients ρ_0 … ρ_n of one group, of all matchings.

    Parameters
    ----------
    below, upto
        How many of the k rewards of x are below each of the n of r, and how many not above it;
        ascending.
    k
        Rewards of x; n at least.
    out
        Where the n + 1 coefficients go.
    """
    n = len(below)
    for j in range(n + 1):
        out[j] = 0.0
    out[0] = 1.0
    done = 0
    while done < n:
        s, w = below[done], upto[done]
        if s == w:  # no ties
            for j in range(min(done + 1, s), 0, -1):
                out[j] += out[j - 1] * (s - j + 1) / (k - j + 1)
            done += 1
            continue
        alike = 1
        while done + alike < n and below[done + alike] == s and upto[done + alike] == w:
            alike += 1
        # From many chosen to few, so that what is read has not been written yet.
        for j in range(min(done, w), -1, -1):
            start = out[j]
            strictly = 1.0  # a of those that are alike choose "below me"
            for a in range(alike + 1):
                if a > 0:
                    strictly *= 0.5 * (alike - a + 1) / a * (s - j - a + 1) / (k - j - a + 1)
                if strictly <= 0.0:
                    break
                both = strictly
                for b in range(alike - a + 1):  # and b of the others "not above me"
                    if b > 0:
                        both *= 0.5 * (alike - a - b + 1) / b
                        both *= (w - j - a - b + 1) / (k - j - a - b + 1)
                    if both <= 0.0:
                        break
                    if a + b > 0:
                        out[j + a + b] += start * both
        done += alike


def log_win_payoff(moments, n, stake, mean):
    """Log of what a stake pays, averaged over all matchings of a group of n.

    Parameters
    ----------
    moments
        What :func:`win_moments` found.
    n
        How many comparisons a matching has.
    stake
        λ, from 0 up to but not including 1/mean.
    mean
        The share of wins that is held to be the largest possible.
    """
    if stake == 0.0:
        return 0.0
    lose = 1.0 - stake * mean
    # Horner's rule in λ/lose or, where that is large, in its inverse.
    total = 0.0
    if stake <= lose:
        ratio = stake / lose
        for j in range(n, -1, -1):
            total = total * ratio + moments[j]
        return math.log(total) + n * math.log(lose)
    ratio = lose / stake
    for j in range(n + 1):
        total = total * ratio + moments[j]
    return math.log(total) + n * math.log(stake)


def groups_of(n: int) -> int:
    """How many groups so many comparisons are dealt into: a power of two."""
    groups = 1
    while groups * MOST < n:
        groups *= 2
    return groups


def places_below(rows: FloatArray, columns: FloatArray) -> tuple[IntArray, IntArray]:
    """Of each row (ascending): how many columns (ascending) are below it, and not above it."""
    below = np.searchsorted(columns, rows, side="left")
    return below, np.searchsorted(columns, rows, side="right")


def log_wins(better: FloatArray, worse: FloatArray, stake: float, mean: float = 0.5) -> float:
    """Log of what a stake on "the first usually beats the second" pays.

    Rewards are dealt into groups by their places, which must have been drawn before they were
    measured.

    Examples
    --------
    >>> import numpy as np
    >>> bool(log_wins(np.array([3.0, 4.0]), np.array([1.0, 2.0]), 1.0) == 2 * np.log(1.5))
    True
    >>> log_wins(np.array([1.0, 1.0]), np.array([1.0, 1.0]), 1.0)
    0.0
    """
    if len(better) > len(worse):  # who wins is who loses, seen from the other side
        better, worse = -worse, -better
    groups, total = groups_of(len(better)), 0.0
    for group in range(groups):
        rows, columns = np.sort(better[group::groups]), np.sort(worse[group::groups])
        moments = np.empty(len(rows) + 1)
        win_moments(*places_below(rows, columns), len(columns), moments)
        total += log_win_payoff(moments, len(rows), stake, mean)
    return total
