"""What some pulls say about leads of rivals over candidates.

By features: least squares. By arm: each candidate is an arm, with an estimate of its own. Part of
the verifier: nothing here is shared with the algorithms.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np

from surepick.verifier.estimate import Fit


class Field(NamedTuple):
    """Candidates and rivals; features are counted from the leader's on."""

    x: np.ndarray  #: candidates, (n, d)
    places: np.ndarray  #: their places among all candidates, (n,)
    rivals: np.ndarray  #: (R, d)
    rival_places: np.ndarray  #: (R,)

    def some(self, here: np.ndarray, rivals: int) -> Field:
        """Some of the candidates with the first rivals only."""
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
