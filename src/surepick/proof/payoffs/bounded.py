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

from surepick.arrays.backend import HOST, Backend
from surepick.arrays.types import FloatArray

CAP = 0.7  # of the largest stake: larger ones lose nearly everything to one bad reward


Results = tuple[FloatArray, FloatArray, FloatArray, FloatArray]


def log_capped_payoff(
    stakes: ArrayLike,
    coefficients: FloatArray,
    results: Results,
    rule: tuple[float, float, bool] = (0.0, 1.0, True),
    shift: float = 0.0,
) -> FloatArray:
    """Log of what each stake on one mean pays; :func:`array_log_capped_payoff` has the parameters.

    Examples
    --------
    Two successes of the rival, two failures of the candidate:

    >>> counts, hits, rates = np.array([2.0, 2.0]), np.array([2.0, 0.0]), np.array([0.5, 0.5])
    >>> c = np.array([0.5, -0.5])
    >>> bool(log_capped_payoff(1.0, c, (counts, hits, counts / 4, rates)) > 0)
    True
    """
    own = np.asarray(stakes, dtype=float)
    spread = [np.full_like(own, c) for c in coefficients.tolist()]
    return array_log_capped_payoff(HOST, own, spread, results, rule, shift)


def array_log_capped_payoff(
    backend: Backend,
    stakes: Any,
    coefficients: list[Any],
    results: Results,
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
    """(−log(1 − u) − u) / loss² with u = bet · loss; bet²/2 in the limit."""
    u = bets * loss
    series = 0.5 + u * (1 / 3 + u * (1 / 4 + u * (1 / 5 + u / 6)))
    small = (u < 1e-3) | (u >= 1.0)  # where u is 1 or more the other loss is the one that counts
    safe = xp.where(small, xp.full_like(u, 0.5), u)
    direct = (-xp.log1p(-safe) - safe) / safe**2
    return bets**2 * xp.where(small, series, direct)
