"""Sets of directions y over which a design's worst variance is taken.

Both classes answer the same questions, given a matrix ``root`` with A⁻¹ = root rootᵀ,
so that the variance of the direction y is a_y = ‖rootᵀ y‖²: which direction is worst, which
ones exceed a threshold, what are the vectors behind some indices, and how many there are.
All pairs of a set of points are never written out: a scan works in blocks, and skips points
too close to the centre to be part of a long pair.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from surepick.arrays import cutoffs
from surepick.arrays.backend import backend_of
from surepick.arrays.grid import coarse
from surepick.arrays.tables import as_table, is_large
from surepick.arrays.types import FloatArray, IntArray
from surepick.errors import InvalidInputError


class Directions(Protocol):
    """What a design needs to know about its directions.

    Examples
    --------
    >>> isinstance(Listed([[1.0, -1.0]]).count, int)
    True
    """

    @property
    def count(self) -> int:
        """Number of directions, zero ones included."""
        ...

    @property
    def dim(self) -> int:
        """Length of each direction."""
        ...

    @property
    def large(self) -> bool:
        """Whether the directions are to be scanned in blocks, by :meth:`scan`."""
        ...

    def indices(self) -> IntArray:
        """All indices; for small sets only."""
        ...

    def scan(self, root: FloatArray, limit: int) -> tuple[float, IntArray, FloatArray]:
        """A bound on the largest a_y, and up to ``limit`` long directions with their a_y."""
        ...

    def worst(self, root: FloatArray) -> tuple[float, int]:
        """Largest a_y = ‖rootᵀ y‖² and its index."""
        ...

    def violators(self, root: FloatArray, threshold: float, limit: int) -> IntArray:
        """Indices of up to ``limit`` directions with a_y above ``threshold``, worst first."""
        ...

    def vectors(self, indices: ArrayLike) -> FloatArray:
        """The directions behind some indices, (n, d)."""
        ...

    def residuals(self, scale: FloatArray, basis: FloatArray) -> tuple[float, int]:
        """Largest share of a direction that lies outside the span of ``basis``, and its index."""
        ...

    def describe(self, index: int) -> str:
        """Name a direction in an error message."""
        ...


class Listed:
    """Directions given one by one.

    Parameters
    ----------
    directions : array_like, (P, d)
        One direction per row. Zero rows are allowed and never matter.

    Examples
    --------
    >>> import numpy as np
    >>> Listed([[1.0, 0.0], [0.0, 3.0]]).worst(np.eye(2))
    (9.0, 1)
    """

    def __init__(self, directions: ArrayLike) -> None:
        self._rows = as_table(directions, "directions")
        self.backend = backend_of(self._rows)

    @property
    def count(self) -> int:
        """Number of directions."""
        return len(self._rows)

    @property
    def dim(self) -> int:
        """Length of each direction."""
        return self._rows.shape[1]

    @property
    def large(self) -> bool:
        """Whether they take more memory than a copy may."""
        return is_large(self._rows) or not self.backend.plain

    def indices(self) -> IntArray:
        """All indices."""
        return np.arange(len(self._rows))

    def scan(self, root: FloatArray, limit: int) -> tuple[float, IntArray, FloatArray]:
        """Largest a_y, and up to ``limit`` of the longest directions with their a_y."""
        a = self.backend.quadratic(self._rows, root)
        found, values = self.backend.largest(a, limit, alike=True)
        return float(values.max()), found, values

    def worst(self, root: FloatArray) -> tuple[float, int]:
        """Largest a_y = ‖rootᵀ y‖² and its index (the first, on ties)."""
        a = self._variances(root)
        index = int(np.argmax(a))
        return float(a[index]), index

    def violators(self, root: FloatArray, threshold: float, limit: int) -> IntArray:
        """Indices of up to ``limit`` directions with a_y above ``threshold``, worst first."""
        a = self._variances(root)
        return _largest(a, np.flatnonzero(a > threshold), limit)

    def vectors(self, indices: ArrayLike) -> FloatArray:
        """The directions behind some indices, (n, d)."""
        return self.backend.rows(self._rows, np.asarray(indices, dtype=np.int64))

    def residuals(self, scale: FloatArray, basis: FloatArray) -> tuple[float, int]:
        """Largest share of a direction that lies outside the span of ``basis``, and its index."""
        return _residuals(self.backend.host(self._rows) / scale, basis, 0.0)

    def describe(self, index: int) -> str:
        """Name a direction in an error message."""
        return f"direction {index}"

    def _variances(self, root: FloatArray) -> FloatArray:
        if self.large:
            return self.backend.host(self.backend.quadratic(self._rows, root))
        a = np.empty(len(self._rows))
        step = max(1, cutoffs.SCAN_ENTRIES // max(1, root.shape[1]))
        for start in range(0, len(a), step):
            image = _product(self._rows[start : start + step], root)
            a[start : start + step] = np.square(image).sum(axis=1)
        return a


class AllPairs:
    """Every difference x_i − x_j, i < j, of a set of points.

    The index of a pair is ``i * M + j``. Memory is that of the points and one block.

    Parameters
    ----------
    points : array_like, (M, d)
        One point per row. Duplicates are allowed; their difference never matters.

    Examples
    --------
    >>> import numpy as np
    >>> pairs = AllPairs([[0.0], [1.0], [5.0]])
    >>> pairs.count, pairs.worst(np.eye(1))
    (3, (25.0, 2))
    >>> pairs.vectors([2])
    array([[-5.]])
    """

    def __init__(self, points: ArrayLike) -> None:
        self._points = as_table(points, "points")
        self.backend = backend_of(self._points)
        if len(self._points) < 2:
            raise InvalidInputError("points: pairs need at least two points; got 1")
        # Differences are what counts; centred points lose no digits to a common offset.
        self._centre: FloatArray = self.backend.host(self.backend.xp.mean(self._points, axis=0))

    @property
    def count(self) -> int:
        """Number of pairs."""
        m = len(self._points)
        return m * (m - 1) // 2

    @property
    def dim(self) -> int:
        """Length of each direction."""
        return self._points.shape[1]

    def indices(self) -> IntArray:
        """All indices; they take the memory that the rest of the class avoids."""
        return self._encode(*np.triu_indices(len(self._points), 1))

    @property
    def n_points(self) -> int:
        """Number of points."""
        return len(self._points)

    @property
    def large(self) -> bool:
        """Whether the points take more memory than a copy may."""
        return is_large(self._points) or not self.backend.plain

    def scan(self, root: FloatArray, limit: int) -> tuple[float, IntArray, FloatArray]:
        """A bound on the largest a_y, and up to ``limit`` long pairs with their a_y.

        The bound is the largest a_y itself unless there are very many points, nearly all of
        them equally far from their centre.
        """
        from surepick.design.large.diameter import long_pairs

        bound, i, j, values = long_pairs(self.backend, self._points, root, self._centre, limit)
        return bound, self._encode(i, j), values

    def bound(self, root: FloatArray) -> float:
        """A bound on the largest a_y, for which ten times the work of a scan is done."""
        from surepick.design.large.diameter import diameter_bound

        return diameter_bound(self.backend, self._points, root, self._centre)

    def worst(self, root: FloatArray) -> tuple[float, int]:
        """Largest a_y = ‖rootᵀ y‖² and its index."""
        if self.large:
            _, found, values = self.scan(root, 1)
            return float(values[0]), int(found[0])
        image = _product(self._points - self._centre, root)
        # Farthest from the centre, then farthest from that: a long pair to prune with.
        i = int(np.argmax(np.square(image).sum(axis=1)))
        offset = image - image[i]
        squared = np.square(offset).sum(axis=1)
        j = int(np.argmax(squared))
        value, index = float(squared[j]), int(self._encode(i, j))
        for rows, partners, best in _long_pairs(image, value):
            top = int(np.argmax(best))
            if best[top] > value:
                value, index = float(best[top]), int(self._encode(rows[top], partners[top]))
        # The scan's products leave rounding behind; duplicates must come out as exactly zero.
        y = _product(self.vectors([index]), root)[0]
        return float(np.square(y).sum()), index

    def violators(self, root: FloatArray, threshold: float, limit: int) -> IntArray:
        """Indices of up to ``limit`` pairs with a_y above ``threshold``, worst first.

        Each point brings its longest pair only: this spreads the answer over the points,
        and still finds a violator whenever there is one.
        """
        if self.large:
            _, indices, a = self.scan(root, limit)
            return indices[a > threshold]
        found: list[IntArray] = []
        values: list[FloatArray] = []
        image = _product(self._points - self._centre, root)
        for rows, partners, best in _long_pairs(image, threshold):
            keep = best > threshold
            found.append(self._encode(rows[keep], partners[keep]))
            values.append(best[keep])
        if not found:
            return np.empty(0, dtype=np.int64)
        indices, first = np.unique(np.concatenate(found), return_index=True)
        a = np.concatenate(values)[first]
        return indices[_largest(a, np.arange(len(a)), limit)]

    def vectors(self, indices: ArrayLike) -> FloatArray:
        """The differences behind some indices, (n, d)."""
        i, j = np.divmod(np.asarray(indices, dtype=np.int64), len(self._points))
        return self.backend.rows(self._points, i) - self.backend.rows(self._points, j)

    def residuals(self, scale: FloatArray, basis: FloatArray) -> tuple[float, int]:
        """Largest share of a direction that lies outside the span of ``basis``, and its index."""
        # All differences lie in a subspace as soon as those with the first point do.
        points = self.backend.host(self._points)
        rows = (points[1:] - points[0]) / scale
        rounding = 1e-14 * float(np.abs(points / scale).max())
        share, index = _residuals(rows, basis, rounding)
        return share, index + 1

    def describe(self, index: int) -> str:
        """Name a direction in an error message."""
        i, j = divmod(index, len(self._points))
        return f"the difference of points {i} and {j}"

    def _encode(self, i: Any, j: Any) -> Any:
        return np.minimum(i, j) * len(self._points) + np.maximum(i, j)


def _long_pairs(image: FloatArray, floor: float) -> Iterator[tuple[IntArray, IntArray, FloatArray]]:
    """Each point's longest pair with a point farther out, where it can reach ``floor``.

    Yields rows, partners and squared lengths, block by block. Points are taken by decreasing
    distance r from the centre; a pair is at most r_i + r_j long, which bounds both loops.
    """
    squared = np.square(image).sum(axis=1)
    order = np.argsort(-squared, kind="stable")
    image, squared = image[order], squared[order]
    radius = np.sqrt(squared)
    # Rounding must not prune a pair that is exactly as long as the floor.
    reach = np.sqrt(max(floor, 0.0)) * (1 - 1e-12)
    start = 0
    while start < len(order) and radius[start] + radius[0] >= reach:
        stop = min(len(order), start + max(1, cutoffs.SCAN_ENTRIES // max(1, start + 256)))
        # radius is decreasing, so the columns worth looking at are the first few
        columns = int(np.searchsorted(-radius, radius[start] - reach, side="right"))
        columns = min(columns, stop)
        gram = _product(image[start:stop], image[:columns].T)
        gram *= -2.0
        gram += squared[:columns]
        partners = np.argmax(gram, axis=1)
        best = gram[np.arange(stop - start), partners] + squared[start:stop]
        yield order[start:stop], order[partners], best
        start = stop


def _residuals(rows: FloatArray, basis: FloatArray, rounding: float) -> tuple[float, int]:
    outside = np.linalg.norm(rows - (rows @ basis) @ basis.T, axis=1)
    size = np.linalg.norm(rows, axis=1)
    share = np.maximum(outside - rounding, 0.0) / np.where(size > 0, size, 1.0)
    index = int(np.argmax(share))
    return float(share[index]), index


def _largest(values: FloatArray, among: IntArray, limit: int) -> IntArray:
    """Up to ``limit`` of the indices ``among`` with the largest values, largest first."""
    return among[np.argsort(-coarse(values[among]), kind="stable")[:limit]]


def _product(a: FloatArray, b: FloatArray) -> FloatArray:
    """``a @ b``, in a fixed order where that is quick."""
    from surepick.design._linalg import product  # SciPy and numba load on first use

    return product(a, b)
