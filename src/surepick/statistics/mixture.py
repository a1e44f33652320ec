"""A one-sided test that may be looked at as often as one likes.

Let N_n = Σ_{s ≤ n} c_s η_s with weights c_s fixed before the rewards, noise 1-sub-Gaussian, and
V_n = Σ c_s². For every drift μ, exp(μN − μ²V/2) is a supermartingale that starts at one, and so
is any mixture over μ. For μ half-normal with precision ρ (ρ fixed in advance) the mixture is

    E = 2 sqrt(ρ/(V+ρ)) exp(N²/(2(V+ρ))) Φ(N/sqrt(V+ρ)),

and averages of several such E with different ρ will do as well. By Ville's inequality E ever
exceeds 1/α with probability at most α. Averaging over four ρ, each thirty times the last, costs
about two units of log E compared with a test at one n fixed in advance, wherever it stops.

H. Robbins, "Statistical methods related to the law of the iterated logarithm", 1970.
"""

from __future__ import annotations

import math

import numpy as np

from surepick.arrays.types import FloatArray
from surepick.proof.payoffs.normal import log_payoff

SCALES = (1.0, 30.0, 900.0, 27_000.0)  # ρ in units of the variance V at the first look


def log_evidence(
    total: FloatArray, variance: FloatArray, first: FloatArray, least: float = -math.inf
) -> FloatArray:
    """log E for sums ``total`` of variance ``variance``; ``first`` is the unit of ρ.

    Values below ``least`` need not be known: −inf stands for them. No E is above
    2 exp(N²/(2V)), which spares most looks the rest of the work.
    """
    found = np.full(len(total), -math.inf)
    near = np.maximum(total, 0.0) ** 2 >= 2.0 * variance * (least - math.log(2))
    if near.any():
        precision = np.multiply.outer(SCALES, first[near])
        bets = log_payoff(0.0, precision, total[near], variance[near])
        found[near] = np.logaddexp.reduce(bets, axis=0) - math.log(len(SCALES))
    return found
