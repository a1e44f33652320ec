"""Estimates that trust features so far as a misfit is allowed for.

The mean of arm k is x_kᵀθ + η_k with |η_k| ≤ ζ. An estimate of the lead of r over x takes a_k
times the mean reward of each arm k of the block, with Σ a_k x_k = x_r − x_x. While x is the best,
its mean is at most ζ · Σ_k |a_k + 1[k = x] − 1[k = r]|: that much is taken off. Weights as if
deviations were normal with the variance of ±ζ make the sum small where arms were measured often:
the estimate then leans on r's and x's own rewards, and needs no allowance.
"""

from __future__ import annotations

import numpy as np

from surepick.algorithms.pooled.guide import squared_units, weighted_fit
from surepick.algorithms.pooled.values import Allowance, Seen, Values
from surepick.arrays.types import FloatArray, IntArray
from surepick.problem import Problem

_VARIANCE = 1 / 3  # of a deviation, in units of ζ²: as if it were anything between −ζ and ζ


def leaning(problem: Problem, arms: IntArray, noise: FloatArray) -> tuple[FloatArray, Seen]:
    """What each candidate's estimate takes of the mean reward of each arm, (M, s).

    ``noise`` is the variance of these means. Estimates themselves are left out of what is seen.
    """
    points: FloatArray = problem.backend.host(problem.targets)
    misfit = problem.misfit / problem.unit
    spread = _VARIANCE * misfit**2
    x = problem.feature_rows(arms) * np.sqrt(squared_units(problem, arms))[:, None]
    weights = 1.0 / (spread + noise)
    _, root = weighted_fit(x, np.zeros(len(arms)), weights)
    takes = (points @ root) @ ((x @ root).T * weights)
    leans, unpulled = takes.copy(), np.ones(len(points))
    if not problem.transductive:
        known = spread / (spread + noise)
        takes[arms] *= (1.0 - known)[:, None]
        takes[arms, np.arange(len(arms))] += known
        leans = takes.copy()
        leans[arms, np.arange(len(arms))] -= 1.0
        unpulled[arms] = 0.0
    values = Values(np.zeros(len(points)), takes * np.sqrt(noise), np.zeros(len(points)))
    outside = points - (points @ root) @ np.linalg.pinv(root)
    return takes, Seen(values, outside, allowance=Allowance(misfit, leans, unpulled))
