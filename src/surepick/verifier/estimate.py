"""Plain least squares for the verifier: an estimate and the variances that go with it."""

from __future__ import annotations

import math

import numpy as np

_SEEN = 1e-8  # singular values below this share of the largest are rounding
_OPEN = 1e-7  # share of a direction that may lie outside of what was measured
_NEAR = 1e-4  # squared distances below this share of the lengths are computed from differences


class Fit:
    """Least squares on some pulls, in units of the noise.

    Parameters
    ----------
    rows : array, (n, d)
        Features of the arms that were pulled.
    counts, sums : array, (n,)
        How often, and the sums of their rewards in units of the noise.
    whiten : array, (d, r)
        To coordinates in which the arms extend equally far in all directions that they span.
    basis : array, (d, r)
        Orthonormal basis of these directions.
    """

    def __init__(
        self,
        rows: np.ndarray,
        counts: np.ndarray,
        sums: np.ndarray,
        whiten: np.ndarray,
        basis: np.ndarray,
    ) -> None:
        root = np.sqrt(counts)
        scaled = (rows @ whiten) * root[:, None]
        u, s, vt = np.linalg.svd(scaled, full_matrices=scaled.shape[0] < scaled.shape[1])
        seen = int((s > s[0] * _SEEN).sum())
        self.rank = seen  #: dimensions that the pulls tell about
        inverse = vt[:seen].T / s[:seen]
        white = inverse @ (u[:, :seen].T @ (sums / root))
        self.theta: np.ndarray = whiten @ white
        self.length = float(np.linalg.norm(white))  #: of the estimate in whitened coordinates
        self._root = whiten @ inverse  # (d, seen): ‖rootᵀy‖² is the variance of yᵀθ̂
        # Parts of a direction about which nothing was measured, and what they are a part of.
        self._open: list[tuple[np.ndarray, np.ndarray]] = []
        if seen < len(vt):
            self._open.append((whiten @ vt[seen:].T, whiten))
        if basis.shape[1] < len(basis):
            complete = np.linalg.svd(basis, full_matrices=True)[0]
            self._open.append((complete[:, basis.shape[1] :], np.eye(len(basis))))

    def solve(self, moments: np.ndarray) -> np.ndarray:
        """V⁻¹ times each column, on what was measured."""
        return self._root @ (self._root.T @ moments)

    def variance(self, y: np.ndarray) -> np.ndarray:
        """yᵀV⁻¹y of each row y (of a single vector too); inf where the pulls do not tell."""
        found = _squares(y @ self._root)
        for part, whole in self._open:
            across = _squares(y @ part) > _OPEN**2 * _squares(y @ whole)
            found = np.where(across, math.inf, found)
        return found

    def between(self, x: np.ndarray, points: np.ndarray) -> np.ndarray:
        """The variance for each difference of a row of ``x`` and one of a few points, (n, m)."""
        if self._open:
            return np.stack([self.variance(x - point) for point in points], axis=1)
        a, b = x @ self._root, points @ self._root
        lengths = _squares(a)[:, None] + _squares(b)[None, :]
        found = lengths - 2.0 * (a @ b.T)
        i, j = np.nonzero(found < _NEAR * lengths)  # too few digits are left of these
        found[i, j] = self.variance(x[i] - points[j])
        return found


def _squares(rows: np.ndarray) -> np.ndarray:
    return np.einsum("...i,...i->...", rows, rows)


def log_sum(logs: np.ndarray) -> np.ndarray:
    """log Σ exp over the last axis."""
    top = logs.max(axis=-1)
    return top + np.log(np.exp(logs - top[..., None]).sum(axis=-1))


def log_twice_normal(z: np.ndarray) -> np.ndarray:
    """log of 2Φ(z), for z that are not far below zero."""
    from scipy.special import erfc

    return np.log(erfc(-z / math.sqrt(2)))
