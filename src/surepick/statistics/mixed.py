"""Rates of a fixed mix of segments, and how many visitors of one rate would tell as much."""

from __future__ import annotations

import numpy as np

from surepick.arrays.types import FloatArray, IntArray


def worth(shares: FloatArray, counts: FloatArray, sums: FloatArray) -> tuple[IntArray, FloatArray]:
    """Of each option: how many visitors its estimate is worth, and the estimate.

    Parameters
    ----------
    shares
        Of the segments in the mix, (S,); they sum to 1.
    counts, sums
        Visitors of each option in each segment, and the sum of their rewards, (K, S). Where a
        segment is empty the others stand for it, in their proportions: a guess, no evidence.

    Examples
    --------
    >>> worth(np.array([0.5, 0.5]), np.array([[100.0, 50.0]]), np.array([[10.0, 20.0]]))
    (array([133]), array([0.25]))
    """
    there = counts > 0
    weights = np.where(there, shares, 0.0)
    total = weights.sum(axis=1, keepdims=True)
    weights = weights / np.where(total > 0, total, 1.0)
    per = np.where(there, counts, 1.0)
    means = (weights * sums / per).sum(axis=1)
    squares = (weights**2 / per).sum(axis=1)
    found = np.where(squares > 0, 1.0 / np.where(squares > 0, squares, 1.0), 0.0)
    # One third of a visitor may be rounding: 133 must not become 132 on another machine.
    return np.floor(found + 1e-6).astype(np.int64), means


def as_one(
    shares: FloatArray, counts: FloatArray, yes: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Of each option visitors, yes and Σ (reward − mean)², as if all had the rate of the mix.

    As many visitors as would tell as much; none where nobody came of some segment.

    Examples
    --------
    >>> found = as_one(np.array([0.5, 0.5]), np.array([[100.0, 50.0]]), np.array([[10.0, 20.0]]))
    >>> [round(float(column[0]), 2) for column in found]
    [133.33, 33.33, 25.33]
    """
    whole = counts.min(axis=1) > 0
    per = np.where(counts > 0, counts, 1.0)
    rates = yes / per
    n = np.where(whole, 1.0 / (shares**2 / per).sum(axis=1), 0.0)
    varies = (shares**2 * rates * (1.0 - rates) / per).sum(axis=1)
    return n, n * (rates * shares).sum(axis=1), n**2 * varies
