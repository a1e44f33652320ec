"""Betting on the sign of a mean: one-sided Gaussian mixtures in closed form.

An estimate with 1-sub-Gaussian error that carries information I adds S = I · estimate. If the
mean it estimates is at most 0, every stake mu >= 0 makes exp(mu S − mu² I / 2) a fair bet or
worse: its expectation is at most 1. So does any mixture of stakes. Taking the stakes from a
normal distribution of mean b/p and variance 1/p, cut to mu >= 0, the bet pays

    sqrt(p / (p + I)) · psi((b + S) / sqrt(p + I)) / psi(b / sqrt(p)),   psi(z) = e^{z²/2} Φ(z),

and the stakes that fit the data best have become a normal with b + S and p + I, cut in the same
way: bets in a row multiply as one bet on the sums when each starts where the last one ended.
With b = 0 this is the half-normal mixture; capital that starts at 1 and ever reaches 1/level
refutes "the mean is at most 0" at that level (J. Ville, 1939; H. Robbins, 1970).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from surepick.problem.validate import FloatArray

_ROOT_HALF = math.sqrt(0.5)


def log_psi(z: ArrayLike) -> FloatArray:
    """log(e^{z²/2} Φ(z)), to full precision on both sides.

    Examples
    --------
    >>> round(float(log_psi(0.0)), 6)
    -0.693147
    """
    from scipy.special import erfcx, log_ndtr

    z = np.asarray(z, dtype=float)
    low = np.log(0.5 * erfcx(-np.minimum(z, 0.0) * _ROOT_HALF))
    high = np.maximum(z, 0.0)
    return np.where(z < 0, low, 0.5 * high * high + log_ndtr(high))


def log_payoff(
    score: ArrayLike, precision: ArrayLike, new_score: ArrayLike, new_information: ArrayLike
) -> FloatArray:
    """Log of what the bet pays when its stakes are N(score/precision, 1/precision), cut at 0.

    Parameters
    ----------
    score, precision
        b and p of the stakes, chosen before the new estimate was seen.
    new_score, new_information
        S and I of the new estimate.

    Examples
    --------
    Nothing new pays nothing; an estimate of 1 with information 9 pays the half-normal bettor:

    >>> float(log_payoff(0.0, 1.0, 0.0, 0.0))
    0.0
    >>> round(float(log_payoff(0.0, 1.0, 9.0, 9.0)), 3)
    3.59
    """
    b, p = np.asarray(score, dtype=float), np.asarray(precision, dtype=float)
    after = p + np.asarray(new_information, dtype=float)
    z = (b + np.asarray(new_score, dtype=float)) / np.sqrt(after)
    return log_psi(z) - log_psi(b / np.sqrt(p)) - 0.5 * np.log(after / p)
