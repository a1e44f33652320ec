"""Least squares on pulls fixed in advance, and the comparisons it supports."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from surepick.arrays import cutoffs
from surepick.arrays.backend import Backend, backend_of
from surepick.arrays.grid import coarse
from surepick.arrays.types import FloatArray, IntArray


class Comparisons(NamedTuple):
    """For each of some points, how it fares against the point that beats it by most."""

    beaten: NDArray[np.bool_]
    by: IntArray  #: the other point
    gap: FloatArray  #: estimated lead of the other one
    width: FloatArray  #: what the gap has to exceed


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

    # -- who is beaten ---------------------------------------------------------------------
    def beaten(self, points: Any, level: float, threshold: float | None = None) -> Comparisons:
        """Which points some other point beats beyond its width (``threshold`` where given).

        Up to some thousand points each is compared with all others. Of more points, each is
        compared with those of the highest estimates only: first with the very highest, then
        what is left with some hundred more, and as soon as few are left, those with each other.
        Comparisons that are not made cannot go wrong, so a bound on the errors of all pairs
        still holds. And little is lost: where all widths are at most eps, a point that is more
        than 2·eps below the best one is beaten by the one with the highest estimate, which is
        at least as high as the estimate of the best.
        """
        backend = backend_of(points)
        if points.shape[0] <= cutoffs.EVERY_PAIR:
            return self._by_anyone(backend.host(points), level, threshold)
        return self._by_leaders(backend, points, level, threshold)

    def _by_anyone(self, points: FloatArray, level: float, threshold: float | None) -> Comparisons:
        n = len(points)
        white = points @ self.root
        norms = (white**2).sum(axis=1)
        means = points @ self.theta
        by = np.empty(n, dtype=np.int64)
        gap, width = np.empty(n), np.empty(n)
        for start in range(0, n, cutoffs.COMPARED_ROWS):
            rows = slice(start, min(start + cutoffs.COMPARED_ROWS, n))
            gaps = means[None, :] - means[rows, None]
            if threshold is None:
                variances = norms[None, :] + norms[rows, None] - 2.0 * white[rows] @ white.T
                widths = self.widths(np.maximum(variances, 0.0), level)
            else:
                widths = np.full_like(gaps, threshold)
            best = np.argmax(coarse(gaps - widths), axis=1)
            by[rows] = best
            at = np.arange(len(best))
            gap[rows] = gaps[at, best]
            width[rows] = widths[at, best]
        if threshold is None:  # once more for the chosen pairs, free of cancellation
            width = self.widths(self.variances(points[by] - points), level)
        return Comparisons(gap > width, by, gap, width)

    def _by_leaders(
        self, backend: Backend, points: Any, level: float, threshold: float | None
    ) -> Comparisons:
        n = points.shape[0]
        by = np.zeros(n, dtype=np.int64)
        gap, width = np.full(n, -np.inf), np.zeros(n)
        left: IntArray = np.arange(n)
        order, _ = backend.largest(backend.product(points, self.theta), sum(cutoffs.LEADERS))
        ends = np.cumsum(cutoffs.LEADERS)
        for leaders in np.split(order, ends[:-1]):
            self._challenge(backend, points, left, leaders, level, threshold, (by, gap, width))
            left = left[gap[left] <= width[left]]
            if len(left) <= cutoffs.EVERY_PAIR:
                rest = self._by_anyone(backend.rows(points, left), level, threshold)
                by[left], gap[left], width[left] = left[rest.by], rest.gap, rest.width
                break
        return Comparisons(gap > width, by, gap, width)

    def _challenge(
        self,
        backend: Backend,
        points: Any,
        left: IntArray,
        leaders: IntArray,
        level: float,
        threshold: float | None,
        found: tuple[IntArray, FloatArray, FloatArray],
    ) -> None:
        """Compare those ``left`` with ``leaders``; what is clearer than before is noted."""
        xp, (by, gap, width) = backend.xp, found
        rivals = backend.take(points, leaders)
        root, theta = backend.put(self.root), backend.put(self.theta)
        white, values = xp.matmul(rivals, root), xp.matmul(rivals, theta)
        squares, spread = backend.squares(white), 2.0 * np.log(1.0 / level)
        for part in backend.blocks(points, len(left)):
            places = left[part]
            x = backend.take(points, places)
            gaps = values[None, :] - xp.matmul(x, theta)[:, None]
            if threshold is None:
                image = xp.matmul(x, root)
                variances = squares[None, :] + backend.squares(image)[:, None]
                variances -= 2.0 * xp.matmul(image, xp.matrix_transpose(white))
                gaps -= xp.sqrt(spread * xp.clip(variances, 0.0, None))
            best = xp.argmax(coarse(gaps, xp), axis=1)
            # Once more for the chosen pairs, free of cancellation: nobody may beat itself.
            y = backend.take(rivals, best) - x
            lead = backend.host(xp.matmul(y, theta))
            if threshold is None:
                own = np.sqrt(spread * backend.host(backend.squares(xp.matmul(y, root))))
            else:
                own = np.full(len(places), threshold)
            clearer = lead - own > gap[places] - width[places]
            places = places[clearer]
            by[places] = leaders[backend.host(best)[clearer]]
            gap[places], width[places] = lead[clearer], own[clearer]

    # -- how good others may be ------------------------------------------------------------
    def lead_bounds(
        self, points: Any, leader: FloatArray, level: float, threshold: float | None = None
    ) -> FloatArray:
        """Upper bounds on how much better than ``leader`` each point can be."""
        backend = backend_of(points)
        xp, bounds = backend.xp, np.empty(points.shape[0])
        root, theta, origin = (backend.put(part) for part in (self.root, self.theta, leader))
        for rows in backend.blocks(points):
            y = points[rows] - origin
            if threshold is None:
                variances = xp.sum(xp.matmul(y, root) ** 2, axis=1)
                widths = xp.sqrt(2.0 * variances * float(np.log(1.0 / level)))
            else:
                widths = threshold * xp.astype(xp.any(y != 0, axis=1), xp.float64)
            bounds[rows] = backend.host(xp.matmul(y, theta) + widths)
        return bounds
