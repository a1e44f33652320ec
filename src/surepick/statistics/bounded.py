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

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from surepick.arrays.backend import Backend
from surepick.arrays.types import FloatArray

CAP = 0.7  # of the largest stake: larger ones lose nearly everything to one bad reward


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


def array_log_capped_payoff(
    backend: Backend,
    stakes: Any,
    coefficients: list[Any],
    results: tuple[FloatArray, FloatArray, FloatArray, FloatArray],
    rule: tuple[float, float, bool],
    shift: float,
) -> Any:
    """Log of what one stake for each of many means pays, on arrays of any library.

    Parameters
    ----------
    stakes
        A value of λ for each mean; where it is too large, ``CAP`` of the largest is staked.
    coefficients
        For each arm an array of c for each mean.
    results
        Of each arm pulls, Σ Y, Σ (Y − predicted)², and the predicted mean.
    rule
        Bounds of rewards, and whether there is nothing between them.
    shift
        Added to every mean.
    """
    xp, (low, high, yes_no) = backend.xp, rule
    worst, drift = xp.zeros_like(stakes), xp.full_like(stakes, shift)
    for c, n, total, _, mean in zip(coefficients, *(part.tolist() for part in results)):
        loss = xp.where(c > 0, c * (mean - low), -c * (high - mean))
        worst = xp.maximum(worst, loss)
        drift = drift + c * (n * mean if yes_no else total)
    safe = xp.where(worst > 0, worst, xp.ones_like(worst))
    stakes = xp.where(worst > 0, xp.minimum(stakes, CAP / safe), stakes)
    paid = stakes * drift
    for c, n, total, square, mean in zip(coefficients, *(part.tolist() for part in results)):
        bet = stakes * c
        if yes_no:
            yes = round((total - low * n) / (high - low))
            if yes:
                paid = paid + yes * xp.log1p(bet * (high - mean))
            if n > yes:
                paid = paid + (n - yes) * xp.log1p(bet * (low - mean))
        elif square > 0.0:
            up, down = _curve(xp, xp.abs(bet), mean - low), _curve(xp, xp.abs(bet), high - mean)
            paid = paid - square * xp.where(bet > 0, up, down)
    return paid


def _curve(xp: Any, bets: Any, loss: float) -> Any:
    """As :func:`_curvature`, for one loss."""
    u = bets * loss
    series = 0.5 + u * (1 / 3 + u * (1 / 4 + u * (1 / 5 + u / 6)))
    small = (u < 1e-3) | (u >= 1.0)  # where u is 1 or more the other loss is the one that counts
    safe = xp.where(small, xp.full_like(u, 0.5), u)
    direct = (-xp.log1p(-safe) - safe) / safe**2
    return bets**2 * xp.where(small, series, direct)
