"""Betting on the sign of a mean when rewards are yes or no, or lie between two bounds.

The block's estimate of the mean is Σ_s c_s Y_s, with a coefficient c_s for each pull s that was
fixed before. Let m_s be any prediction of the mean of pull s from earlier blocks, and λ ≥ 0 a stake
with 1 + λ c_s (y − m_s) > 0 for every reward y that is possible. Then

    F = exp(λ Σ c_s m_s) · Π_s (1 + λ c_s (Y_s − m_s))

has mean exp(λ Σ c_s m_s) · Π_s (1 + λ c_s (μ_s − m_s)) ≤ exp(λ Σ c_s μ_s), as 1 + u ≤ e^u: at
most 1 where the mean Σ c_s μ_s is at most 0. Nothing is assumed about variances, which may differ
from option to option, and a good prediction makes use of small ones: rewards that are nearly
always 0 move F little. Averages over stakes are bets as well.

For rewards between bounds that may be anything there, log(1 + λc(Y − m)) is replaced by its lower
bound λc(Y − m) − ψ(λ|c|g) (Y − m)²/g², ψ(u) = −log(1 − u) − u, where g is the largest loss per
unit of |c| (m − low for c > 0, high − m for c < 0): sums and sums of squares by arm are enough
then (X. Fan, I. Grama, Q. Liu, 2015).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from surepick.arrays.types import FloatArray


def largest_stake(
    coefficients: FloatArray, means: FloatArray, low: float = 0.0, high: float = 1.0
) -> float:
    """The stake at which some possible reward would lose everything.

    Examples
    --------
    >>> largest_stake(np.array([1.0, -1.0]), np.array([0.5, 0.5]))
    2.0
    """
    loss = np.abs(coefficients) * _losses(coefficients, means, low, high)
    worst = float(loss.max(initial=0.0))
    return np.inf if worst == 0.0 else 1.0 / worst


def log_yes_no_payoff(
    stakes: ArrayLike,
    coefficients: FloatArray,
    counts: FloatArray,
    successes: FloatArray,
    means: FloatArray,
) -> FloatArray:
    """Log of what each stake pays, for rewards 0 and 1.

    Parameters
    ----------
    stakes
        Values of λ below :func:`largest_stake`, any shape.
    coefficients
        c of a pull of each arm.
    counts, successes
        Pulls of each arm, and how many of them gave 1.
    means
        Predicted rate of each arm, between 0 and 1.

    Examples
    --------
    >>> c, rates = np.array([0.5, -0.5]), np.array([0.5, 0.5])
    >>> bool(log_yes_no_payoff(1.0, c, np.array([2, 2]), np.array([2, 0]), rates) > 0)
    True
    """
    bets = np.multiply.outer(np.asarray(stakes, dtype=float), coefficients)
    paid = bets * (counts * means)
    # An arm without a success (or without a failure) never pays the logarithm of a loss.
    paid += np.where(successes > 0, successes * np.log1p(bets * (1.0 - means)), 0.0)
    failures = counts - successes
    paid += np.where(failures > 0, failures * np.log1p(-bets * means), 0.0)
    return paid.sum(axis=-1)


def log_bounded_payoff(
    stakes: ArrayLike,
    coefficients: FloatArray,
    sums: FloatArray,
    squares: FloatArray,
    means: FloatArray,
    low: float = 0.0,
    high: float = 1.0,
) -> FloatArray:
    """Log of what each stake pays at least, for rewards between ``low`` and ``high``.

    Parameters
    ----------
    stakes
        Values of λ below :func:`largest_stake`, any shape.
    coefficients
        c of a pull of each arm.
    sums, squares
        Of each arm, Σ Y and Σ (Y − mean predicted)².
    means
        Predicted mean of each arm, between the bounds.
    """
    stakes = np.asarray(stakes, dtype=float)
    losses = _losses(coefficients, means, low, high)
    bets = np.multiply.outer(stakes, np.abs(coefficients))
    return stakes * float(coefficients @ sums) - (_curvature(bets, losses) * squares).sum(axis=-1)


def _losses(coefficients: FloatArray, means: FloatArray, low: float, high: float) -> FloatArray:
    """The largest loss on a pull of each arm, per unit of stake and coefficient."""
    return np.where(coefficients > 0, means - low, high - means)


def _curvature(bets: FloatArray, losses: FloatArray) -> FloatArray:
    """ψ(λ|c|g)/g² with its limit λ²c²/2 at g = 0."""
    u = bets * losses
    # log(1 − u) + u cancels for small u: there a series, to float64's precision below 1e-3
    series = 0.5 + u * (1 / 3 + u * (1 / 4 + u * (1 / 5 + u / 6)))
    small = u < 1e-3
    safe = np.where(small, 0.5, u)
    direct = (-np.log1p(-safe) - safe) / safe**2
    return bets**2 * np.where(small, series, direct)
