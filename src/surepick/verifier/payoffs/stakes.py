"""Nine stakes that stand for a normal distribution cut at 0."""

from __future__ import annotations

import math

import numpy as np

STAKES = 9
_LEAST = -5.0  # means below this many standard deviations count as this


def cut_normal_stakes(score: np.ndarray, precision: np.ndarray) -> np.ndarray:
    """Middles of equal shares of N(score/precision, 1/precision) above 0, along a new axis."""
    deviation = 1.0 / np.sqrt(precision)
    z = np.maximum(score * deviation, _LEAST)[..., None]
    upper = (2 * np.arange(STAKES) + 1) / (2 * STAKES)  # share of what lies above 0
    # P(stake > s) is a share of P(stake > 0) = Φ(z) where s = (z − Φ⁻¹(share · Φ(z))) · deviation
    below = normal_quantile(np.log(upper) + _log_normal(z))
    return np.maximum(z - below, 0.0) * deviation[..., None]


def normal_quantile(log_share: np.ndarray) -> np.ndarray:
    """The t with log Φ(t) = log_share, for shares between 1e-12 and 0.99.

    log Φ is concave: Newton's steps from below never overshoot.
    """
    t = -np.sqrt(-2.0 * log_share)  # Φ(t) <= exp(−t²/2)
    for _ in range(12):
        value = _log_normal(t)
        slope = np.exp(-0.5 * t * t - value) / math.sqrt(2 * math.pi)
        t = t + (log_share - value) / slope
    return t


def _log_normal(t: np.ndarray) -> np.ndarray:
    """log Φ(t) for t that are not far below zero."""
    from scipy.special import erfc

    return np.log(0.5 * erfc(-t / math.sqrt(2)))


def log_mean(logs: np.ndarray) -> np.ndarray:
    """log of the mean of exp, over the last axis."""
    top = logs.max(axis=-1)
    return top + np.log(np.exp(logs - top[..., None]).mean(axis=-1))
