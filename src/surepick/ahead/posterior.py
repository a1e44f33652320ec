"""Truths that fit what was measured: drawn at random, to simulate what may come.

The mean reward of an option is a level, plus the effects of its features, plus a deviation of its
own. Effects are normal with variance ω², deviations with variance τ²: none where features are
trusted. What is known about ω and τ comes from the measurements too; both are drawn, from a
grid, with the likelihood of what was measured. This takes care of what a plain estimate forgets:
that the option that looks best owes part of its lead to luck.
"""

from __future__ import annotations

import math

import numpy as np

from surepick.ahead.kinds import DRAWINGS
from surepick.arrays.types import FloatArray, IntArray
from surepick.problem import Problem
from surepick.run import Run

# Of effects and deviations, over the spread of the measured means. Nobody studies options that are
# all the same: much smaller ones would make every forecast at first one of very many.
_SIZES = 2.0 ** np.arange(-2.0, 2.5, 0.5)
_LEVEL = 30.0  # standard deviations of the level, over that spread: hardly anything is known of it
_NEAR = 0.1  # of the way to a bound that drawn means come close to it


class Posterior:
    """What a run has measured, ready to draw truths from; None of it guides any guarantee."""

    def __init__(self, run: Run) -> None:
        self.problem = problem = run.problem_ahead  # with options that wait to come in
        counts, sums = DRAWINGS.of(problem.noise_kind).seen(run)
        self.measured: IntArray = np.flatnonzero(counts)
        self.counts = counts[self.measured].astype(float)
        self.means: FloatArray = sums[self.measured] / self.counts
        self.scales = DRAWINGS.of(problem.noise_kind).scales(run)
        #: degrees of freedom of the scales; infinite where they are known
        self.freedom = math.inf
        if run.state.scale_estimated and problem.noise_kind.bounds is None:
            self.freedom = max(float(self.counts.sum()) - len(self.measured), 2.0)
        self._spread = max(float(self.means.std()), 1e-9 * (1.0 + float(np.abs(self.means).max())))
        self._features = _directions(problem)
        self._sizes, self._weights = self._likely()

    def draw(self, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        """Mean rewards of all arms, and the scales of their noise."""
        factor = 1.0
        if math.isfinite(self.freedom):
            factor = math.sqrt(self.freedom / rng.chisquare(self.freedom))
        effects, deviations = self._sizes[rng.choice(len(self._sizes), p=self._weights)]
        prior = self._prior(effects, deviations, np.arange(self.problem.n_arms))
        noise = (factor * self.scales[self.measured]) ** 2 / self.counts
        seen = prior[:, self.measured]
        gain = np.linalg.solve(seen[self.measured] + np.diag(noise), seen.T).T
        centre = self._centre(noise)
        means = centre + gain @ (self.means - centre)
        values, vectors = np.linalg.eigh(prior - gain @ seen.T)
        means = means + vectors @ (np.sqrt(np.maximum(values, 0.0)) * rng.normal(size=len(means)))
        return self._possible(means), factor * self.scales

    def _likely(self) -> tuple[FloatArray, FloatArray]:
        """Sizes of effects and deviations, and how likely they are."""
        misfit, known = self.problem.misfit, self.problem.rank == self.problem.n_arms
        own = [0.0]
        if misfit and not known:
            own += [size for size in self._spread * _SIZES if size <= misfit]
        pairs = np.array([(e, d) for e in self._spread * _SIZES for d in own])
        noise = self.scales[self.measured] ** 2 / self.counts
        away = self.means - self._centre(noise)
        logs = np.empty(len(pairs))
        for i, (effects, deviations) in enumerate(pairs):
            root = np.linalg.cholesky(
                self._prior(effects, deviations, self.measured) + np.diag(noise)
            )
            logs[i] = -0.5 * float((np.linalg.solve(root, away) ** 2).sum())
            logs[i] -= float(np.log(np.diag(root)).sum())
        weights = np.exp(logs - logs.max())
        return pairs, weights / weights.sum()

    def _prior(self, effects: float, deviations: float, arms: IntArray) -> FloatArray:
        rows = self._features[arms]
        found = (_LEVEL * self._spread) ** 2 + effects**2 * (rows @ rows.T)
        found[np.diag_indices(len(arms))] += deviations**2 + 1e-9 * self._spread**2
        return found

    def _centre(self, noise: FloatArray) -> float:
        return float(np.average(self.means, weights=1.0 / np.maximum(noise, 1e-300)))

    def _possible(self, means: FloatArray) -> FloatArray:
        """Within the bounds of rewards, if there are any."""
        bounds = self.problem.noise_kind.bounds
        if bounds is None:
            return means
        middle = float(np.average(self.means, weights=self.counts))
        low, high = (end + _NEAR * (middle - end) for end in bounds)
        near = 1e-6 * (bounds[1] - bounds[0])
        low, high = max(low, bounds[0] + near), min(high, bounds[1] - near)
        # Thrown back rather than held at an end: ties there would be ties of nobody's making.
        means = np.where(means < low, 2 * low - means, means)
        means = np.where(means > high, 2 * high - means, means)
        return np.clip(means, low, high)


def _directions(problem: Problem) -> FloatArray:
    """Features without the level, of length one on average."""
    rows = np.asarray(problem.backend.host(problem.features), dtype=float)
    rows = rows - rows.mean(axis=0)
    return rows / max(math.sqrt(float((rows**2).sum()) / len(rows)), 1e-300)
