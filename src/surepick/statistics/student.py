"""Betting on the sign of a mean when the noise is Gaussian and nobody knows its scale.

A block of pulls gives an estimate with information I (for noise of scale 1) and, from residuals
that are independent of it, a residual sum of squares RSS with ν degrees of freedom. With
z = sqrt(I) · estimate, the number

    q = z / sqrt(RSS + z²)

does not change when all rewards are scaled. Its law depends on the mean in units of the noise
only, and the ratio of its densities at a mean of μ to a mean of 0 is

    exp(−μ²I/2) E_w[exp(μ sqrt(I) w q)],   w ~ χ with ν + 1 degrees of freedom

(write the joint density of z and sqrt(RSS) in polar form: w is the radius). So this ratio is a bet
with expectation 1 when the mean is 0. It increases in q for μ > 0, and q increases with the mean:
when the mean is negative the expectation is below 1. Averaging over stakes μ from the cut normal
of :mod:`surepick.statistics.payoffs` gives

    sqrt(p/(p+I)) · E_w[psi((b + w q sqrt(I)) / sqrt(p+I))] / psi(b/sqrt(p)):

the Gaussian payoff with the standardised estimate replaced by w q, averaged over w. The stakes are
for the mean *in units of the noise*; an estimate of the scale from earlier blocks is good enough
to choose them. The larger RSS, the smaller the payoff of a positive estimate: a misfit of the
model, which adds to RSS, does no harm.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from surepick.arrays.backend import HOST, Backend
from surepick.arrays.types import FloatArray
from surepick.statistics.payoffs import array_log_psi

_NODES = 57  # of the quadrature over w: for I up to 1000 the mean under the null is 1 to 1e-8
_REACH = 9.0  # widths of the integrand on either side of its peak


def log_student_payoff(
    score: ArrayLike,
    precision: ArrayLike,
    estimate: ArrayLike,
    information: ArrayLike,
    squares: float,
    freedom: int,
) -> FloatArray:
    """Log of what the bet pays when its stakes are N(score/precision, 1/precision), cut at 0.

    Parameters
    ----------
    score, precision
        b and p of the stakes, for the mean in units of the noise, chosen before the block.
    estimate, information
        The block's estimate of the mean, and the information of it if the noise had scale 1.
    squares, freedom
        RSS and ν of the block. Where one of them is 0 the block says nothing.

    Examples
    --------
    >>> round(float(log_student_payoff(0.0, 1.0, 1.0, 9.0, 10.0, 10)), 6)
    2.590272

    The scale of the rewards does not matter:

    >>> round(float(log_student_payoff(0.0, 1.0, 1e6, 9.0, 1e13, 10)), 6)
    2.590272
    """
    parts = (score, precision, estimate, information)
    b, p, mean, told = (np.asarray(part, dtype=float) for part in parts)
    return array_log_student_payoff(HOST, b, p, mean, told, squares, freedom)


def array_log_student_payoff(
    backend: Backend, b: Any, p: Any, estimate: Any, information: Any, squares: float, freedom: int
) -> Any:
    """The same for arrays of any library."""
    xp = backend.xp
    b, p, estimate, information = xp.broadcast_arrays(b, p, estimate, information)
    if freedom == 0 or squares == 0.0:
        return xp.zeros_like(p)
    # In units of the residuals: squares of very large or very small rewards would overflow.
    z = xp.sqrt(information) * (estimate / math.sqrt(squares))
    q = z / xp.sqrt(1.0 + z * z)
    after = p + information
    slope = q * xp.sqrt(information / after)  # of psi's argument in w
    start = b / xp.sqrt(after)
    nodes, weights = legendre()
    total = xp.full_like(p, -math.inf)
    for low, high in _panels(xp, slope, start, float(freedom)):
        half = 0.5 * (high - low)
        for node, weight in zip(nodes.tolist(), weights.tolist()):
            w = low + half * (1.0 + node)
            log = freedom * xp.log(w) - 0.5 * w * w + array_log_psi(backend, start + w * slope)
            total = xp.logaddexp(total, log + xp.log(half * weight))
    # density of w: w^ν exp(−w²/2) / (2^{(ν−1)/2} Γ((ν+1)/2))
    constant = 0.5 * (freedom - 1) * math.log(2.0) + math.lgamma(0.5 * (freedom + 1))
    averaged = total - constant
    return averaged - array_log_psi(backend, b / xp.sqrt(p)) - 0.5 * xp.log(after / p)


def _panels(xp: Any, slope: Any, start: Any, freedom: float) -> list[tuple[Any, Any]]:
    """Where the integrand w^ν exp(−w²/2) psi(start + w·slope) is not negligible.

    Where psi's argument is positive psi is about exp(argument²/2), and the integrand about
    w^ν exp(−a w²/2 + k w); elsewhere psi is nearly constant, and a = 1, k = 0. Each has a peak and
    a width, and the first panel covers both. Where k is negative and a small, the integrand
    falls more slowly than its width at the peak says: a second panel goes on to where it ends.
    """
    rising = xp.clip(slope, 0.0, None)
    a, k = 1.0 - rising * rising, rising * start
    root = xp.sqrt(k * k + 4.0 * freedom * a)
    # two forms of one root of ν/w − a w + k = 0, each free of cancellation on its side
    peak = xp.where(k > 0, (k + root) / (2.0 * a), 2.0 * freedom / (root - k))
    width = 1.0 / xp.sqrt(freedom / (peak * peak) + a)
    low = xp.clip(peak - _REACH * width, 0.0, None)
    high = peak + _REACH * width
    flat, reach = math.sqrt(freedom), _REACH / math.sqrt(2.0)  # the flat peak's width is 1/√2
    both = (start < 0) | (slope <= 0)
    low = xp.where(both, xp.clip(low, None, max(flat - reach, 0.0)), low)
    high = xp.where(both, xp.clip(high, flat + reach, None), high)
    end = high
    for _ in range(4):  # Newton: how far it has fallen is convex in w, so steps come from beyond
        fallen = freedom * xp.log(peak / end) + 0.5 * a * (end * end - peak * peak)
        fallen = fallen - k * (end - peak)
        end = xp.maximum(high, end + (0.5 * _REACH**2 - fallen) / (a * end - k - freedom / end))
    further = end > 1.001 * high
    if not bool(xp.any(further)):
        return [(low, high)]
    return [(low, high), (high, xp.where(further, end, 1.001 * high))]


@cache
def legendre() -> tuple[FloatArray, FloatArray]:
    """Nodes and weights of the quadrature on [−1, 1]."""
    return np.polynomial.legendre.leggauss(_NODES)
