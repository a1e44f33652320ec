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

The same formula serves noise of unknown scales, if it is symmetric. Let D_1, D_2, … be contrasts
of groups of pulls, each of which estimates the mean without bias and has symmetric noise given the
groups before it, of whatever scale. Then S = Σ D_j and I = Σ D_j² may be put into it: for every
stake, exp(mu D − mu² D²/2) ≤ 1 + tanh(mu D), as cosh u ≤ e^{u²/2}, and the right-hand side
increases in D and has mean 1 where D is symmetric around 0.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from surepick.arrays.backend import HOST, Backend
from surepick.arrays.types import FloatArray

_ROOT_HALF = math.sqrt(0.5)


def log_psi(z: ArrayLike) -> FloatArray:
    """log(e^{z²/2} Φ(z)), to full precision on both sides.

    Examples
    --------
    >>> round(float(log_psi(0.0)), 6)
    -0.693147
    """
    return array_log_psi(HOST, np.asarray(z, dtype=float))


def array_log_psi(backend: Backend, z: Any) -> Any:
    """log(e^{z²/2} Φ(z)) for an array of any library."""
    xp, erfcx, log_ndtr = backend.xp, backend.special("erfcx"), backend.special("log_ndtr")
    low = xp.log(0.5 * erfcx(xp.clip(z, None, 0.0) * -_ROOT_HALF))
    high = xp.clip(z, 0.0, None)
    return xp.where(z < 0, low, 0.5 * high * high + log_ndtr(high))


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
    parts = (score, precision, new_score, new_information)
    return array_log_payoff(HOST, *(np.asarray(part, dtype=float) for part in parts))


def array_log_payoff(backend: Backend, b: Any, p: Any, new_b: Any, new_p: Any) -> Any:
    """Log of what the bet of :func:`log_payoff` pays, for arrays of any library."""
    xp, after = backend.xp, p + new_p
    gained = array_log_psi(backend, (b + new_b) / xp.sqrt(after))
    return gained - array_log_psi(backend, b / xp.sqrt(p)) - 0.5 * xp.log(after / p)
