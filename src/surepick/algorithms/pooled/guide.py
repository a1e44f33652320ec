"""What the past suggests: whom to bet on, how much, and what to measure next.

Guarantees rest on none of it. Where features are trusted, the guide is least squares on all that
was measured. Where they are not, it is a model of features plus deviations: the mean reward of arm
k is x_kᵀθ + η_k with normal η_k, whose variance is learnt from the past. An arm that was measured
often is then known by its own rewards, one that was not by its features. One that lies farther from
what its features say than its noise explains is taken to deviate by as much itself: where features
say nothing, or the best is an exception, nothing is lost by asking them.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np

from surepick.algorithms.pooled.fit import Scales, least_squares
from surepick.algorithms.pooled.ledger import Rows, Totals
from surepick.algorithms.pooled.values import Values
from surepick.arrays.types import BoolArray, FloatArray, IntArray
from surepick.problem import Problem

_UNNOTICED = 4.0  # squared standard errors of a level that is taken to be none
_AS_MANY = 2.0  # arms that a first guess of the deviations counts for


class Guide(ABC):
    """Estimates from all settled blocks."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem

    @abstractmethod
    def estimate(self, totals: Totals, scales: Scales) -> Any:
        """What a market is made of."""

    @abstractmethod
    def candidates(self, totals: Totals, points: Any) -> Any:
        """Estimated values of these candidates, noise of unknown size taken to be one."""

    @abstractmethod
    def arms(self, found: Any, some: Any = ...) -> tuple[FloatArray, FloatArray]:
        """Mean reward of each arm, or of some, in an estimate that was made; and its variance."""


class TrustedFeatures(Guide):
    """Least squares."""

    def estimate(self, totals: Totals, scales: Scales) -> Any:
        return least_squares(self.problem, totals.counts, totals.sums, scales, totals.arms)

    def candidates(self, totals: Totals, points: Any) -> Any:
        return self.problem.backend.product(points, self.estimate(totals, Scales()).theta)

    def arms(self, found: Any, some: Any = ...) -> tuple[FloatArray, FloatArray]:
        problem, backend = self.problem, self.problem.backend
        if some is not ...:
            rows = problem.feature_rows(some)
            return rows @ found.theta, found.variances(rows)
        means = backend.host(backend.product(problem.features, found.theta))
        return means, backend.host(backend.quadratic(problem.features, found.root, None))


class FeaturesAndDeviations(Guide):
    """Least squares on features, and a deviation of its own for every arm."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self._points: FloatArray = problem.backend.host(problem.targets)
        self.squared_units = squared_units(problem)
        self._most = (problem.misfit / problem.unit) ** 2 if problem.misfit else math.inf

    def estimate(self, totals: Totals, scales: Scales) -> Values:
        everyone = np.arange(self.problem.n_arms)
        variances = self.squared_units * scales.of(everyone)
        return features_and_deviations(
            self._points,
            *means_of(totals, self.squared_units),
            variances,
            self._most,
        )

    def candidates(self, totals: Totals, points: Any) -> Any:
        return self.estimate(totals, Scales()).means

    def arms(self, found: Any, some: Any = ...) -> tuple[FloatArray, FloatArray]:
        units = np.sqrt(self.squared_units)
        variances = (found.white**2).sum(axis=1) + found.own
        return (found.means / units)[some], (variances / units**2)[some]


def squared_units(problem: Problem, arms: IntArray | None = None) -> FloatArray:
    """What rewards of each arm, or of these, are divided by, squared, in the problem's unit."""
    arms = np.arange(problem.n_arms) if arms is None else arms
    return np.full(len(arms), np.square(problem.noise_kind.units(arms) / problem.unit))


def means_of(totals: Totals, squared: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Pulls of each arm, and its mean reward in units of the problem; 0 where there is none."""
    counts = totals.counts.astype(np.float64)
    means = totals.sums * np.sqrt(squared) / np.maximum(counts, 1.0)
    return counts, means


def without_level(
    guide: Guide, rows: Rows, found: Any, scales: Scales, known: BoolArray | None = None
) -> Rows:
    """A block, one row for each arm, less what all its rewards lie above earlier ones.

    ``found`` is the guide's estimate from those.
    A level that nobody would notice, of less than two standard errors, is none; what is clear is
    taken nearly whole. Bets do not see it, as a block is compared within itself. Where something is
    known before of some rows only, the level is theirs.
    """
    arms = rows.arms
    if known is not None and not known.any():
        return rows
    units = np.sqrt(squared_units(guide.problem, arms))
    expected, variances = guide.arms(found, arms)
    weights = 1.0 / ((scales.of(arms) / rows.counts + variances) * units**2)
    weights = weights if known is None else np.where(known, weights, 0.0)
    total = float(weights.sum())
    level = float(weights @ ((rows.sums / rows.counts - expected) * units)) / total
    level *= max(0.0, 1.0 - _UNNOTICED / max(level * level * total, 1e-300))
    return rows._replace(sums=rows.sums - rows.counts * (level / units))


def features_and_deviations(
    points: FloatArray,
    counts: FloatArray,
    means: FloatArray,
    variances: FloatArray,
    most: float,
) -> Values:
    """Estimates under the model of features plus deviations.

    Parameters
    ----------
    points
        Features, (K, d).
    counts, means, variances
        Pulls of each arm, its mean reward, and the variance of a single one.
    most
        Variance of deviations at most.
    """
    pulled = counts > 0
    x, noise = points[pulled], variances[pulled] / counts[pulled]
    common = min(_deviation_variance(x, means[pulled], noise), most)
    fit = _fit(x, means[pulled], 1.0 / (common + noise))
    own = np.full(len(points), common)
    # E[(mean − fit)²] is about spread + noise, so this is what an arm shows itself
    spread = np.clip((means[pulled] - fit.values(x)) ** 2 - noise, common, most)
    known = np.zeros(len(points))  # how far an arm is known by its own rewards
    known[pulled] = spread / (spread + noise)
    own[pulled] = spread * (noise / (spread + noise))
    values = (1.0 - known) * fit.values(points) + known * means
    return Values(values, (1.0 - known)[:, None] * fit.white(points), own)


class _Fit(NamedTuple):
    """Least squares: estimate θ̂, and R with V⁺ = R Rᵀ."""

    theta: FloatArray
    root: FloatArray  #: R, (d, rank); where it is diagonal, (rank,)
    columns: IntArray | None = None  #: of features that R is about, where it is diagonal

    def values(self, points: FloatArray) -> FloatArray:
        """Estimates at points."""
        if self.columns is None:
            return points @ self.theta
        return points[:, self.columns] @ self.theta[self.columns]

    def white(self, points: FloatArray) -> FloatArray:
        """Points times R."""
        if self.columns is None:
            return points @ self.root
        return np.ascontiguousarray(points[:, self.columns] * self.root)


def weighted_fit(
    x: FloatArray, y: FloatArray, weights: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Least squares: estimate θ̂, and R with V⁺ = R Rᵀ."""
    values, vectors = np.linalg.eigh((x.T * weights) @ x)
    keep = values > values[-1] * 1e-13 * len(values)
    root = vectors[:, keep] / np.sqrt(values[keep])
    return root @ (root.T @ (x.T @ (weights * y))), root


def _fit(x: FloatArray, y: FloatArray, weights: FloatArray) -> _Fit:
    """A weighted least-squares fit; no matrix is built where every arm has its own feature."""
    own = _own_features(x)
    if own is None:
        return _Fit(*weighted_fit(x, y, weights))
    size = x[np.arange(len(x)), own]
    values = size * weights * size
    keep = values > values.max() * 1e-13 * x.shape[1]
    root = 1.0 / np.sqrt(values[keep])
    theta = np.zeros(x.shape[1])
    theta[own[keep]] = root * (root * (size * (weights * y))[keep])
    return _Fit(theta, root, own[keep])


def _own_features(x: FloatArray) -> IntArray | None:
    """The column of each row, where no row and no column has two entries that are not 0."""
    found = x != 0.0
    if not len(x) or (found.sum(axis=1) != 1).any() or (found.sum(axis=0) > 1).any():
        return None
    return found.argmax(axis=1)


def _deviation_variance(x: FloatArray, means: FloatArray, noise: FloatArray) -> float:
    """Variance of deviations, by the moments of residuals (R. DerSimonian, N. Laird, 1986).

    A first guess, that features explain nothing, counts for two arms.
    """
    weights = 1.0 / noise
    fit = _fit(x, means, weights)
    freedom = len(means) - fit.root.shape[-1]
    guess = float(np.var(means)) + 1e-12 * float(noise.min())
    if freedom <= 0:
        return guess
    excess = float(weights @ (means - fit.values(x)) ** 2) - freedom
    share = float(weights.sum() - weights**2 @ (fit.white(x) ** 2).sum(axis=1))
    found = max(excess, 0.0) / share
    return (freedom * found + _AS_MANY * guess) / (freedom + _AS_MANY)
