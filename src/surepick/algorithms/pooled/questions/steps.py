"""When all claims against a baseline together are right with probability 1 − delta.

Of each candidate x there are statements that bets are made against: "x is not better", "x is not
worse" and, with epsilon, "x is at least epsilon away". A claim refutes one of them. Each statement
h has a weight w_h, fixed before anything is bet. If T is the set of those that are true, the
capital Σ w_h E_h over T starts at W(T) = Σ w_h and is a supermartingale, so that it reaches W(T)/δ
at any time with probability at most δ. While it has not, this is safe: refute h once

    Σ over j in T of w_j (δ E_j − 1) ≥ 0   for every T that contains h and may be the true one,

since the true set is then none of these (closed testing, with weighted means of capital). Which
sets may be true is seen candidate by candidate: nobody is both better and worse, so at least one of
these two statements is true, and never are all three; a claim made earlier leaves only the sets in
which it is right. A statement lacks w_j (1 − δ E_j), or nothing, and a claim is made once

    w_h (δ E_h − 1) ≥ what others about x may lack + Σ what those about other candidates may lack.

The weights come from the block on which nothing is bet: the odds of what each candidate seems to
be. If a claim is right with probability p and its statement true with probability 1 − p, then the
capital that claims take, log((w + W)/w) with W the weight of all that is true, is least on average
where w is about p/(1 − p). Small lifts take most of the pulls, and get somewhat more.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from surepick.algorithms.pooled.lacking import CAUTION
from surepick.algorithms.pooled.market import ACCOUNTS, PRECISIONS
from surepick.arrays.types import FloatArray, IntArray

BETTER, WORSE, CLOSE = range(3)
_MEDIAN = 0.455  # of the square of a standard normal number
_WIDEST = 20.0  # that prior precisions are divided by at most
_TURNED = math.log(4.0)  # a prior four times as wide turns the accounts round
_LEAST = 1e-4  # that anything is likely


def claimed_by_number(
    claimed: Mapping[int, str], others: IntArray, claims: Sequence[str]
) -> IntArray:
    """What was claimed about each of the others, by its place in ``claims``; −1 for nothing."""
    found = np.full(len(others), -1)
    for candidate, claim in claimed.items():
        found[np.searchsorted(others, candidate)] = claims.index(claim)
    return found


def weights_of(lift: FloatArray, error: FloatArray, epsilon: float) -> FloatArray:
    """Weights of the statements about each candidate, (2 or 3, M).

    Parameters
    ----------
    lift, error : array, (M,)
        Over the baseline, as far as is known before anything is bet; and standard errors,
        above 0 and finite.
    epsilon : float
        What is close enough.
    """
    near = epsilon - np.abs(lift)
    likely = np.stack([above(seems / error) for seems in (lift, -lift, near)])
    takes = np.sqrt(lift**2 + CAUTION * error**2)
    return weights_by(likely[: 3 if epsilon > 0 else 2], takes)


def weights_by(likely: FloatArray, takes: FloatArray) -> FloatArray:
    """Weights of statements, from how likely claims seem to be right, and 1/√(pulls they take)."""
    likely = np.clip(likely, _LEAST, 1.0 - _LEAST)
    return likely / (1.0 - likely) / takes * takes.min()


def above(z: FloatArray) -> FloatArray:
    """How likely it is to be above zero, z standard errors above it.

    With long tails: errors are estimated from a few pulls.
    """
    tail = 0.5 / (1.0 + z**2)
    return np.where(z > 0, 1.0 - tail, tail)


def needed(
    weights: FloatArray,
    capital: FloatArray,
    claimed: IntArray,
    delta: float,
    one_true: bool = False,
) -> FloatArray:
    """Log capital that each claim takes now, (2 or 3, M).

    Parameters
    ----------
    capital : array, (2 or 3, M)
        Logs, against each statement.
    claimed : array, (M,)
        What was claimed about each candidate; −1 for nothing.
    one_true : bool
        Whether of the statements about a candidate never more than one is true.
    """
    lack = weights * -np.expm1(np.minimum(capital + math.log(delta), 0.0))
    here, all_of_it = np.arange(lack.shape[1]), lack.sum(axis=0)
    beside = np.stack([np.delete(lack, kind, axis=0).max(axis=0) for kind in range(len(lack))])
    open_ = all_of_it - (lack.min(axis=0) if len(lack) > CLOSE else 0.0)  # never all three are true
    if one_true:
        beside, open_ = np.zeros_like(lack), lack.max(axis=0)
    each = np.where(claimed < 0, open_, all_of_it - lack[claimed, here])
    return np.log1p((beside + each.sum() - each) / weights) - math.log(delta)


def expected(weights: FloatArray, capital: FloatArray, delta: float) -> FloatArray:
    """Log capital that each claim will take once the others are made, (2 or 3, M)."""
    seems = np.argmax(np.log(weights) + capital, axis=0)
    rest = weights.sum(axis=0) - weights[seems, np.arange(weights.shape[1])]
    return np.log1p(rest.sum() / weights) - math.log(delta)


def prior_of(lift: FloatArray, variance: FloatArray, unit: FloatArray) -> float:
    """Times which the prior precision of stakes is, by how large lifts seem to be.

    Elsewhere stakes are made for leads that take long to tell; here every lift has to be told, and
    those of most candidates may be large. ``unit`` is what one pull of each would tell.
    """
    square = float(np.median(lift**2 * unit)) / _MEDIAN - float(np.median(variance * unit))
    return 1.0 / min(max(PRECISIONS[0] * square, 1.0), _WIDEST)


def accounts_by(prior: float, ways: int) -> FloatArray:
    """Log of what is to be added to the accounts' capital: the wider the prior, the more of it."""
    share = ACCOUNTS[0] + (ACCOUNTS[1] - ACCOUNTS[0]) * min(-math.log(prior) / _TURNED, 1.0)
    return np.tile(np.log([share / ACCOUNTS[0], (1.0 - share) / ACCOUNTS[1]]), ways)
