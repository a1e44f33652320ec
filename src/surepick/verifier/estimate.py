"""Plain least squares, and what pulls say about leads of rivals over candidates.

By features: least squares. By arm: each candidate is an arm, with an estimate of its own.
"""

from __future__ import annotations

import copy
import math
from abc import ABC, abstractmethod
from typing import NamedTuple

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


# -- leads --------------------------------------------------------------------------------
class Field(NamedTuple):
    """Candidates and rivals; features are counted from the leader's on."""

    x: np.ndarray  #: candidates, (n, d)
    places: np.ndarray  #: their places among all candidates, (n,)
    rivals: np.ndarray  #: (R, d)
    rival_places: np.ndarray  #: (R,)

    def some(self, here: np.ndarray, rivals: int) -> Field:
        first = self.rivals[:rivals], self.rival_places[:rivals]
        return Field(self.x[here], self.places[here], *first)


class View(ABC):
    """Estimated leads, and their variances, (n, R)."""

    @abstractmethod
    def leads(self, field: Field) -> np.ndarray:
        """Of each rival over each candidate."""

    @abstractmethod
    def variances(self, field: Field) -> np.ndarray:
        """Of these; infinite where nothing is said."""

    def with_number(self) -> View:
        """With one more candidate behind all others, which is worth 0 and has no features."""
        return self

    @abstractmethod
    def size(self, leader: np.ndarray) -> float:
        """How large estimates are, which is what their rounding goes by."""

    @abstractmethod
    def largest(self, reach: float) -> float:
        """The most that an estimate of any candidate may be; ``reach`` is how far they are."""


def one_more(rows: np.ndarray) -> np.ndarray:
    """With a row of zeros behind the others."""
    return np.concatenate([rows, np.zeros_like(rows[:1])])


class ByFeatures(View):
    """Least squares."""

    def __init__(self, fit: Fit) -> None:
        self.fit, self.theta = fit, fit.theta

    def leads(self, field: Field) -> np.ndarray:
        theta = self.theta
        return field.rivals @ theta - (field.x @ theta)[:, None]

    def variances(self, field: Field) -> np.ndarray:
        return self.fit.between(field.x, field.rivals)

    def size(self, leader: np.ndarray) -> float:
        return abs(float(leader @ self.theta))

    def largest(self, reach: float) -> float:
        return reach * self.fit.length


class ByArm(View):
    """Variances are |common_r − common_x|² + own_r + own_x."""

    def __init__(self, means: np.ndarray, common: np.ndarray, own: np.ndarray) -> None:
        self.means, self.common, self.own = means, common, own

    def leads(self, field: Field) -> np.ndarray:
        return self.means[field.rival_places] - self.means[field.places][:, None]

    def variances(self, field: Field) -> np.ndarray:
        mine, others = self.common[field.places], self.common[field.rival_places]
        columns = [((mine - other) ** 2).sum(axis=1) for other in others]
        own = self.own[field.places][:, None] + self.own[field.rival_places]
        return np.stack(columns, axis=1) + own

    def with_number(self) -> ByArm:
        return ByArm(*(one_more(rows) for rows in (self.means, self.common, self.own)))

    def size(self, leader: np.ndarray) -> float:
        return self.largest(0.0)

    def largest(self, reach: float) -> float:
        return float(np.abs(self.means).max())


class Leaning(ByArm):
    """Estimates that take so much of the mean reward of each arm of a block.

    A misfit of ζ in the mean of every arm may move the lead of r over x by ζ times the sum of what
    it takes of each arm, but for one of r itself, and one less of x.

    Parameters
    ----------
    takes : array, (M, s)
        What each candidate's estimate takes.
    means, variances : array, (s,)
        Mean rewards of the arms, and what they vary by.
    arms : array, (s,)
        Which candidates these arms are; −1 for none.
    outside : array, (M, r)
        Candidates that differ here cannot be compared.
    """

    def __init__(
        self,
        takes: np.ndarray,
        means: np.ndarray,
        variances: np.ndarray,
        arms: np.ndarray,
        outside: np.ndarray,
    ) -> None:
        super().__init__(takes @ means, takes * np.sqrt(variances), np.zeros(len(takes)))
        self.takes, self._outside = takes, outside
        self._beyond = takes.copy()
        here = np.flatnonzero(arms >= 0)
        self._beyond[arms[here], here] -= 1.0
        self._absent = np.ones(len(takes))
        self._absent[arms[here]] = 0.0

    def with_number(self) -> Leaning:
        other = copy.copy(self)
        for name in ("means", "common", "own", "takes", "_outside", "_beyond", "_absent"):
            setattr(other, name, one_more(getattr(self, name)))
        return other

    def variances(self, field: Field) -> np.ndarray:
        found = super().variances(field)
        for column, rival in enumerate(field.rival_places):
            apart = np.abs(self._outside[field.places] - self._outside[rival]).max(axis=1)
            found[:, column] = np.where(apart > 1e-9, np.inf, found[:, column])
        return found

    def allowances(self, field: Field) -> np.ndarray:
        """How far a misfit of one may move each lead, (n, R)."""
        mine = self._beyond[field.places]
        columns = [
            np.abs(mine - self._beyond[rival]).sum(axis=1) + self._absent[rival]
            for rival in field.rival_places
        ]
        return np.stack(columns, axis=1) + self._absent[field.places][:, None]
