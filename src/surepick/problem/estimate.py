"""Least squares on pulls fixed in advance, and the comparisons it supports."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from surepick.problem.validate import FloatArray

_BLOCK = 1024  # rows of the comparison matrix held at a time


class LeastSquares:
    """Estimate from pull counts and reward sums (standardised: unit noise).

    Parameters
    ----------
    arms
        Features of the pulled arms ``(n, d)``, in well-conditioned coordinates.
    counts, sums
        Pulls of each and the sum of their rewards.
    """

    def __init__(self, arms: FloatArray, counts: NDArray, sums: FloatArray) -> None:
        gram = (arms.T * counts) @ arms
        moment = arms.T @ sums
        values, vectors = np.linalg.eigh(gram)
        # Directions never measured have eigenvalue zero; they get no weight in the estimate.
        keep = values > values[-1] * 1e-13 * len(values)
        self.spans = bool(keep.all())
        #: R with V⁺ = R Rᵀ
        self.root: FloatArray = vectors[:, keep] / np.sqrt(values[keep])
        self.theta: FloatArray = self.root @ (self.root.T @ moment)

    def white(self, points: FloatArray) -> FloatArray:
        """Coordinates in which squared distances are the variances of estimated differences."""
        return points @ self.root

    def variances(self, directions: FloatArray) -> FloatArray:
        """a_y = yᵀV⁻¹y for each direction."""
        return ((directions @ self.root) ** 2).sum(axis=1)

    def widths(self, variances: FloatArray, level: float) -> FloatArray:
        """How far an estimate may deviate to one side, except with probability ``level``."""
        return np.sqrt(2.0 * variances * np.log(1.0 / level))

    def beaten(
        self, points: FloatArray, level: float, threshold: float | None = None
    ) -> tuple[NDArray[np.bool_], NDArray[np.int64], FloatArray, FloatArray]:
        """Which points some other point beats beyond its width.

        Returns, per point: beaten or not, the point that beats it by most, the estimated
        gap, and the width it had to exceed (``threshold`` where given).
        """
        n = len(points)
        white = points @ self.root
        norms = (white**2).sum(axis=1)
        means = points @ self.theta
        by = np.empty(n, dtype=np.int64)
        gap, width = np.empty(n), np.empty(n)
        for start in range(0, n, _BLOCK):
            rows = slice(start, min(start + _BLOCK, n))
            gaps = means[None, :] - means[rows, None]
            if threshold is None:
                variances = norms[None, :] + norms[rows, None] - 2.0 * white[rows] @ white.T
                widths = self.widths(np.maximum(variances, 0.0), level)
            else:
                widths = np.full_like(gaps, threshold)
            best = np.argmax(gaps - widths, axis=1)
            by[rows] = best
            at = np.arange(len(best))
            gap[rows] = gaps[at, best]
            width[rows] = widths[at, best]
        if threshold is None:  # once more for the chosen pairs, free of cancellation
            width = self.widths(self.variances(points[by] - points), level)
        return gap > width, by, gap, width

    def lead_bounds(
        self, points: FloatArray, leader: FloatArray, level: float, threshold: float | None = None
    ) -> FloatArray:
        """Upper bounds on how much better than ``leader`` each point can be."""
        directions = points - leader
        if threshold is None:
            widths = self.widths(self.variances(directions), level)
        else:
            widths = np.where((directions == 0).all(axis=1), 0.0, threshold)
        return directions @ self.theta + widths
