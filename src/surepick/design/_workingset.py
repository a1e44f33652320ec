"""The arms and directions at work, and the scans that make bounds hold for all of them."""

from __future__ import annotations

import numpy as np

from surepick.arrays import cutoffs
from surepick.arrays.backend import HOST, Backend
from surepick.arrays.grid import coarse
from surepick.arrays.types import FloatArray, IntArray
from surepick.design._bounds import Lower, Upper
from surepick.design._interior import InteriorPoint
from surepick.design._linalg import (
    cholesky,
    forward,
    gram,
    product,
    root_of_inverse,
    spanning_rows,
    squared_columns,
    squared_rows,
)
from surepick.design.directions import Directions
from surepick.errors import SolverError

Sparse = tuple[IntArray, FloatArray]  # indices, and a weight for each

_SHORT = 1e-10  # variances that far below the worst one are left out at first


class WorkingSet:
    """A part of the problem that an interior-point method works on, grown where it matters.

    Parameters
    ----------
    arms : array, (K, r)
        All arms, in whitened coordinates.
    whiten : array, (d, r)
        Takes directions, as rows, to these coordinates.
    directions : Directions
        All directions; at least one is not zero.
    start : array (K,), or (indices, weights), optional
        Weights to begin near to, such as those a game ended with. Indices and weights say that
        there are too many arms to look for others before the first scan.
    seed : array of int, optional
        Directions to begin with, such as those a game visited.
    backend : Backend
        Where the arms are.
    """

    def __init__(
        self,
        arms: FloatArray,
        whiten: FloatArray,
        directions: Directions,
        start: FloatArray | Sparse | None = None,
        seed: IntArray | None = None,
        backend: Backend = HOST,
    ) -> None:
        self.whiten = whiten
        self._all_arms, self._all_directions = arms, directions
        self._backend = backend
        self._dim = arms.shape[1]
        self.arms, weights = self._first_arms(start)
        root = self._root(self.arms, weights)
        if root is None:
            raise SolverError("arms: the measurements are too close to linear dependence")
        self.directions = self._first_directions(root, seed)
        vectors = product(directions.vectors(self.directions), whiten)
        self._point = InteriorPoint(self._rows(self.arms), weights, vectors)
        self._look()

    def _first_arms(self, start: FloatArray | Sparse | None) -> Sparse:
        """Arms to begin with, and positive weights for them."""
        # An interior-point method stalls on the boundary: stay a little away from it.
        if isinstance(start, tuple):
            return start[0], 0.9 * start[1] + 0.1 / len(start[1])
        weights = _spread(self._all_arms)
        if start is not None:
            weights = 0.9 * start + 0.1 * weights
        chosen = np.flatnonzero(weights)
        return chosen, weights[chosen]

    def upper(self) -> Upper:
        """The bound that the current weights prove."""
        total = float(self._point.w.sum())
        return Upper(self._worst * total, self.arms, self._point.w / total)

    def lower(self) -> Lower:
        """The bound that the current multipliers prove."""
        total = float(self._point.z.sum())
        value = total / float(self._scores.max())
        return Lower(value, self.directions, self._point.z / total, self._point.normals)

    def advance(self, tol: float) -> bool:
        """Take in what the last look found, make a step, look again; False if stuck."""
        self._grow(tol)
        if not self._point.step(tol) or not self._point.evaluate():
            return False
        self._look()
        return True

    def trim(self, upper: Upper, allowance: float) -> tuple[FloatArray, float]:
        """All K weights, negligible ones set to zero while the value stays in ``allowance``.

        What is left still spans the space: other code inverts A(w).
        """
        weights = np.zeros(self._all_arms.shape[0])
        for cut in (1e-1, 1e-2, 1e-3, 1e-4, 1e-6):
            keep = coarse(upper.weights) > coarse(cut / len(upper.weights))
            if keep.all():
                continue
            w = upper.weights[keep] / upper.weights[keep].sum()
            root = self._root(upper.arms[keep], w)
            value = np.inf if root is None else self._all_directions.worst(root)[0]
            if value <= allowance:
                weights[upper.arms[keep]] = w
                return weights, value
        weights[upper.arms] = upper.weights
        return weights, upper.value

    def _first_directions(self, root: FloatArray, seed: IntArray | None) -> IntArray:
        """The longest directions, or all of them if they are few."""
        family = self._all_directions
        if family.count <= cutoffs.ALL_DIRECTIONS:
            chosen = family.indices()
        else:
            chosen = family.violators(root, 0.0, 8 * self._dim + 64)
        if seed is not None:
            chosen = np.union1d(chosen, seed)
        a = squared_rows(product(family.vectors(chosen), root))
        # Very short directions would spoil the scaling; a scan finds those that matter after all.
        long = a > _SHORT * a.max()
        self._complete = len(chosen) == family.count and bool((long | (a == 0)).all())
        return chosen[long]

    def _look(self) -> None:
        """Scan all arms and all directions."""
        point = self._point
        self._scores = self._score()
        self._worst = float(point.f.max())
        self._new_directions = np.empty(0, dtype=np.int64)
        if self._complete:
            return
        root = product(self.whiten, point.root())
        # Those just below the worst will be next: taking them along saves rounds.
        gap = self._worst * point.w.sum() * self._scores.max() / point.z.sum() - 1.0
        near = self._worst * (1.0 - 0.3 * min(1.0, max(0.0, gap)))
        many = 4 * self._dim + 32
        if self._all_directions.large:
            limit = len(self.directions) + many
            bound, found, values = self._all_directions.scan(root, limit)
            self._worst = max(self._worst, bound)
            found = found[values > near]
        else:
            found = self._all_directions.violators(root, near, len(self.directions) + many)
        if len(found):
            image = product(self._all_directions.vectors(found), root)
            self._worst = max(self._worst, float(squared_rows(image).max()))
            self._new_directions = found[~np.isin(found, self.directions)][:many]

    def _grow(self, tol: float) -> None:
        """Take to work what the last look found."""
        point, scores, new = self._point, self._scores, self._new_directions
        # Where the scores are exceeded by less than this, the bound is good enough.
        better = np.flatnonzero(scores > scores[self.arms].max() * (1.0 + 0.1 * tol))
        best_first = np.argsort(-coarse(scores[better]), kind="stable")
        better = better[best_first[: 2 * self._dim + 32]]
        if len(new):
            point.add_directions(product(self._all_directions.vectors(new), self.whiten))
            self.directions = np.append(self.directions, new)
        if len(better):
            point.add_arms(self._rows(better), 1.0 - scores[better])
            self.arms = np.append(self.arms, better)
        if len(new) or len(better):
            point.evaluate()

    def _root(self, arms: IntArray, weights: FloatArray) -> FloatArray | None:
        """Root of A⁻¹ in the coordinates of the directions; None where A is singular."""
        x = self._rows(arms)
        chol = cholesky(gram(x, weights))
        return None if chol is None else product(self.whiten, root_of_inverse(chol))

    def _score(self) -> FloatArray:
        """Σ_y z_y (λ_yᵀ x)² of every arm."""
        point, many = self._point, self._all_arms.shape[0]
        if self._backend.plain and many * len(point.z) <= cutoffs.WORKING_TABLE:
            return product(point.z[None], product(point.normals, self._all_arms.T) ** 2)[0]
        # xᵀMx with M = Σ z λλᵀ: no table of arms and directions
        _, upper = np.linalg.qr(point.normals * np.sqrt(point.z)[:, None])
        return self._backend.host(self._backend.quadratic(self._all_arms, upper.T))

    def _rows(self, arms: IntArray) -> FloatArray:
        return self._backend.rows(self._all_arms, arms)


def _spread(arms: FloatArray) -> FloatArray:
    """Weights to start from, on at most a few arms per dimension, that span the space."""
    count, dim = arms.shape
    weights = np.full(count, 1.0 / count)
    if count <= cutoffs.ALL_ARMS:
        return weights
    for _ in range(8):  # multiplicative steps towards the G-optimal design
        chol = cholesky(gram(arms, weights))
        if chol is None:
            break
        weights *= squared_columns(forward(chol, arms.T)) / dim
    # Pivoted QR finds arms that span; the heaviest others join them.
    pivots = spanning_rows(arms * np.sqrt(weights)[:, None])
    heavy = np.argsort(-coarse(weights), kind="stable")[: max(cutoffs.ALL_ARMS // 2, 3 * dim)]
    chosen = np.union1d(pivots, heavy)
    start = np.zeros(count)
    start[chosen] = weights[chosen] + weights[chosen].mean()
    return start / start.sum()
