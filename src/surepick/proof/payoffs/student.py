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
of :mod:`surepick.proof.payoffs.normal` gives

    sqrt(p/(p+I)) · E_w[psi((b + w q sqrt(I)) / sqrt(p+I))] / psi(b/sqrt(p)):

the Gaussian payoff with the standardised estimate replaced by w q, averaged over w. The stakes are
for the mean *in units of the noise*; an estimate of the scale from earlier blocks is good enough
to choose them. The larger RSS, the smaller the payoff of a positive estimate: a misfit of the
model, which adds to RSS, does no harm.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from surepick.arrays.backend import HOST, Backend
from surepick.arrays.types import FloatArray
from surepick.proof.payoffs.normal import array_log_psi

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
    """Log of what the bet of :func:`log_student_payoff` pays, for arrays of any library."""
    xp, log_ndtr = backend.xp, backend.special("log_ndtr")
    b, p, estimate, information = xp.broadcast_arrays(b, p, estimate, information)
    if freedom == 0 or squares == 0.0:
        return xp.zeros_like(p)
    # In units of the residuals: squares of very large or very small rewards would overflow.
    z = xp.sqrt(information) * (estimate / math.sqrt(squares))
    q = z / xp.sqrt(1.0 + z * z)
    after = p + information
    known, news = p / after, information / after
    slope = q * xp.sqrt(news)  # of psi's argument in w
    start = b / xp.sqrt(after)
    ahead = (slope > 0) & (start > 0)
    inner = Inner.of(xp, slope, start, ahead, known + news / (1.0 + z * z))
    nodes, weights = legendre()
    total = xp.full_like(p, -math.inf)
    for low, high in _panels(xp, inner, (start < 0) | (slope <= 0), float(freedom)):
        half = 0.5 * (high - low)
        for node, weight in zip(nodes.tolist(), weights.tolist()):
            v = low + half * (1.0 + node)
            w = inner.centre + v
            at = start + w * slope
            shape = xp.where(ahead, log_ndtr(xp.clip(at, 0.0, None)), array_log_psi(backend, at))
            log = freedom * xp.log(w) - 0.5 * xp.where(ahead, inner.a, 1.0) * v * v + shape
            total = xp.logaddexp(total, log + xp.log(half * weight))
    constant = log_constant(freedom)
    before = b / xp.sqrt(p)
    peak = -0.5 * start * start * news / ((1.0 + z * z) * inner.a * known)
    stakes = xp.where(
        ahead, log_ndtr(xp.clip(before, 0.0, None)) - peak, array_log_psi(backend, before)
    )
    return total - constant - stakes - 0.5 * xp.log(after / p)


def log_constant(freedom: float) -> float:
    """Log of what the density of w, w^ν exp(−w²/2), is divided by: 2^{(ν−1)/2} Γ((ν+1)/2)."""
    return 0.5 * (freedom - 1) * math.log(2.0) + math.lgamma(0.5 * (freedom + 1))


class Inner(NamedTuple):
    """How the integrand w^ν exp(−w²/2) psi(start + w·slope) behaves; arrays.

    Where psi's argument is positive psi is about exp(argument²/2), and the integrand about
    w^ν exp(−a w²/2 + k w); elsewhere psi is nearly constant, and a = 1, k = 0. With a lead that was
    expected and seen (slope and start above 0) both terms may be huge, and what they leave is not:
    then v = w − k/a is the variable, in which the linear term is gone, and what is constant in
    w is put together in closed form.
    """

    a: Any
    k: Any  #: left in v
    centre: Any  #: w − v

    @classmethod
    def of(cls, xp: Any, slope: Any, start: Any, ahead: Any, rest: Any) -> Inner:
        """``rest`` is 1 − slope², free of cancellation."""
        a = xp.where(slope > 0, rest, xp.ones_like(rest))
        k = xp.clip(slope, 0.0, None) * start
        zero = xp.zeros_like(k)
        return cls(a, xp.where(ahead, zero, k), xp.where(ahead, k / a, zero))


def _panels(xp: Any, inner: Inner, both: Any, freedom: float) -> list[tuple[Any, Any]]:
    """Where the integrand is not negligible, in v.

    Its peak has a width, and the first panel covers both, where psi may be flat (``both``) the
    flat peak as well. Where k is negative and a small, the integrand falls more slowly than its
    width at the peak says: a second panel goes on to where it ends.
    """
    a, k, centre = inner
    whole = k + a * centre
    root = xp.sqrt(whole * whole + 4.0 * freedom * a)
    # the root of ν/(centre + v) − a v + k = 0, free of cancellation
    peak = 2.0 * freedom / (root + xp.abs(whole))
    width = 1.0 / xp.sqrt(freedom / (centre + peak) ** 2 + a)
    low = xp.maximum(peak - _REACH * width, -centre)
    high = peak + _REACH * width
    flat, reach = math.sqrt(freedom), _REACH / math.sqrt(2.0)  # the flat peak's width is 1/√2
    low = xp.where(both, xp.clip(low, None, max(flat - reach, 0.0)), low)
    high = xp.where(both, xp.clip(high, flat + reach, None), high)
    end = high
    for _ in range(4):  # Newton: how far it has fallen is convex in v, so steps come from beyond
        fallen = freedom * xp.log((centre + peak) / (centre + end)) - k * (end - peak)
        fallen = fallen + 0.5 * a * (end * end - peak * peak)
        steep = a * end - k - freedom / (centre + end)
        end = xp.maximum(high, end + (0.5 * _REACH**2 - fallen) / steep)
    little = 1e-3 * (high - low)
    further = end > high + little
    if not bool(xp.any(further)):
        return [(low, high)]
    return [(low, high), (high, xp.where(further, end, high + little))]


@cache
def legendre() -> tuple[FloatArray, FloatArray]:
    """Nodes and weights of the quadrature on [−1, 1]."""
    return np.polynomial.legendre.leggauss(_NODES)
