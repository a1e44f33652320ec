"""Directions from one point to many others, never written out."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from surepick.arrays.backend import backend_of
from surepick.arrays.screening import longest
from surepick.arrays.tables import as_table
from surepick.arrays.types import FloatArray, IntArray
from surepick.errors import InvalidInputError


class Leads:
    """The directions (centre − x) · scale_x for each point x: leads of one over all others.

    Direction i belongs to point i. Memory is that of the points, which may be a large array of
    any library that :class:`surepick.Problem` takes.

    Parameters
    ----------
    points : array, (M, d)
    centre : array_like, (d,)
        Such as the candidate that leads.
    scales : array, (M,), optional
        Not negative; by default all one. Directions of scale zero never matter.

    Examples
    --------
    >>> leads = Leads([[0.0, 1.0], [3.0, 0.0]], centre=[0.0, 0.0])
    >>> leads.worst(np.eye(2))
    (9.0, 1)
    """

    def __init__(self, points: Any, centre: ArrayLike, scales: Any = None) -> None:
        self.backend = backend_of(points)
        self._points = as_table(points, "points")
        self._centre: FloatArray = np.asarray(centre, dtype=np.float64)
        if self._centre.shape != (self.dim,):
            raise InvalidInputError(
                f"centre must be {self.dim} numbers, one per feature; got {self._centre.shape}"
            )
        self._scales = None if scales is None else scales
        if scales is not None and tuple(scales.shape) != (self.count,):
            raise InvalidInputError(f"scales must be {self.count} numbers, one per point")

    @property
    def count(self) -> int:
        """Number of directions."""
        return self._points.shape[0]

    @property
    def dim(self) -> int:
        """Length of each direction."""
        return self._points.shape[1]

    @property
    def large(self) -> bool:
        """Always: this class is made for many points."""
        return True

    def indices(self) -> IntArray:
        """All indices."""
        return np.arange(self.count)

    def scan(self, root: FloatArray, limit: int) -> tuple[float, IntArray, FloatArray]:
        """Largest a_y = ‖rootᵀ y‖², and up to ``limit`` of the longest directions with theirs."""
        own = (self._points, root, limit, self._centre, self._scales)
        found, values = longest(self.backend, *own)
        return float(values.max()), found, values

    def worst(self, root: FloatArray) -> tuple[float, int]:
        """Largest a_y and its index."""
        value, found, _ = self.scan(root, 1)
        return value, int(found[0])

    def violators(self, root: FloatArray, threshold: float, limit: int) -> IntArray:
        """Indices of up to ``limit`` directions with a_y above ``threshold``, worst first."""
        _, found, values = self.scan(root, limit)
        return found[values > threshold]

    def vectors(self, indices: ArrayLike) -> FloatArray:
        """The directions behind some indices, (n, d)."""
        chosen = np.asarray(indices, dtype=np.int64)
        y = self._centre - self.backend.rows(self._points, chosen)
        return y if self._scales is None else y * self.backend.rows(self._scales, chosen)[:, None]

    def residuals(self, scale: FloatArray, basis: FloatArray) -> tuple[float, int]:
        """Largest share of a direction that lies outside the span of ``basis``, and its index."""
        outside = np.eye(self.dim) - basis @ basis.T
        xp, least = self.backend.xp, 1e-300
        away = self.backend.quadratic(self._points, outside / scale[:, None], self._centre)
        length = self.backend.quadratic(self._points, np.diag(1.0 / scale), self._centre)
        rounding = 1e-28 * float(xp.max(length) + ((self._centre / scale) ** 2).sum())
        share = xp.where(away > rounding, away / (length + least), xp.zeros_like(away))
        found, values = self.backend.largest(share, 1)
        return float(np.sqrt(values[0])), int(found[0])

    def describe(self, index: int) -> str:
        """Name a direction in an error message."""
        return f"the direction to point {index}"
