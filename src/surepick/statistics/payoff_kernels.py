"""Compiled payoffs: :mod:`surepick.statistics.payoffs` for all candidates and rivals at once."""

# numba compiles these functions: their types are what the callers pass.
# pyright: reportArgumentType=false, reportCallIssue=false

from __future__ import annotations

import math

import numpy as np
from numba import njit


@njit(cache=True)
def log_psi(z):
    """log(e^{z²/2} Φ(z)), as in :mod:`surepick.statistics.payoffs`."""
    if z > -30.0:
        return 0.5 * z * z + math.log(0.5 * math.erfc(-z * math.sqrt(0.5)))
    t = 1.0 / (z * z)  # the tail's asymptotic series, exact to float64 out there
    series = 1.0 - t * (1.0 - 3.0 * t * (1.0 - 5.0 * t * (1.0 - 7.0 * t)))
    return math.log(series / (-z * math.sqrt(2.0 * math.pi)))


@njit(cache=True)
def gaussian_payoffs(bets, news, precisions):
    """Log payoffs (n, R, J) of stakes around a past estimate, cut at 0.

    ``bets``: lead, information and unit of each pair; ``news``: lead and information.
    """
    lead, information, unit = bets
    new_lead, told = news
    n, R = lead.shape
    J = precisions.shape[0]
    paid = np.zeros((n, R, J))
    for i in range(n):
        for a in range(R):
            if told[i, a] == 0.0:
                continue
            score = information[i, a] * lead[i, a]
            after_score = score + told[i, a] * new_lead[i, a]
            for j in range(J):
                precision = information[i, a] + precisions[j] * unit[i, a]
                after = precision + told[i, a]
                payoff = log_psi(after_score / math.sqrt(after)) - 0.5 * math.log(after / precision)
                paid[i, a, j] = payoff - log_psi(score / math.sqrt(precision))
    return paid
