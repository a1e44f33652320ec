"""Strengths of options from comparisons of two (Bradley and Terry, Biometrika 1952).

    P(first is preferred) = 1 / (1 + exp(−(s_first − s_second + b)))

with a strength s for each option and one bias b for the position, which all comparisons share.
Ties count as half of a win. Strengths are drawn towards what features say of them, and that towards
0, by a ridge: s = u + F w, with the penalty ½ ridge (|u|² + |w|² + b²). So there is one solution,
however few comparisons there are.

It is a guide: whom to compare next, how much to bet. Nothing is proven by it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from surepick.arrays.types import FloatArray

RIDGE = 0.5
_STEPS = 100
_LARGEST_STEP = 2.0  # of a strength, in one Newton step
_DONE = 1e-11


class Strengths(NamedTuple):
    """What was fitted."""

    values: FloatArray  #: (K,), sum about 0
    bias: float  #: for whoever comes first
    covariance: FloatArray  #: of the strengths, by Laplace's approximation, (K, K)

    def preferred(self) -> FloatArray:
        """How likely each option (row) is preferred to each other one, in a random order."""
        lead = self.values[:, None] - self.values
        return 0.5 * (_logistic(lead + self.bias) + _logistic(lead - self.bias))

    def scores(self) -> FloatArray:
        """How likely each is preferred to another one at random, in a random order."""
        won = self.preferred()
        np.fill_diagonal(won, 0.0)
        return won.sum(axis=1) / (len(won) - 1)


def fit_strengths(
    counts: FloatArray, sums: FloatArray, features: FloatArray | None = None
) -> Strengths:
    """Fit strengths to comparisons, by Newton's method.

    Parameters
    ----------
    counts, sums
        How often each option (row) was shown first with each other one (column) second, and the
        sum of 1 where it was preferred, ½ for ties. Both (K, K).
    features
        Features of the options, (K, f).
    """
    K = len(counts)
    prior = np.eye(K)
    if features is not None and features.shape[1]:
        prior = np.linalg.inv(np.eye(K) + features @ features.T)
    precision = np.zeros((K + 1, K + 1))
    precision[:K, :K], precision[K, K] = RIDGE * prior, RIDGE
    found, hessian = np.zeros(K + 1), precision
    for _ in range(_STEPS):
        p = _logistic(found[:K, None] - found[:K] + found[K])
        missed, weight = sums - counts * p, counts * p * (1.0 - p)
        slope = np.append(missed.sum(axis=1) - missed.sum(axis=0), missed.sum())
        slope -= precision @ found
        hessian = precision.copy()
        rows, columns = weight.sum(axis=1), weight.sum(axis=0)
        hessian[:K, :K] += np.diag(rows + columns) - weight - weight.T
        hessian[:K, K] += rows - columns
        hessian[K, :K] += rows - columns
        hessian[K, K] += weight.sum()
        step = np.linalg.solve(hessian, slope)
        longest = float(np.abs(step).max())
        found = found + step * min(1.0, _LARGEST_STEP / max(longest, _DONE))
        if longest < _DONE:
            break
    covariance = np.linalg.inv(hessian)[:K, :K]
    return Strengths(found[:K], float(found[K]), 0.5 * (covariance + covariance.T))


def _logistic(z: FloatArray) -> FloatArray:
    return 1.0 / (1.0 + np.exp(-np.clip(z, -40.0, 40.0)))
