"""Rewards so far from what was measured before that somebody may have mistyped them.

Nothing rests on this. The prediction is plain least squares on the features, with as much noise as
its residuals have, misfit included: where features predict badly, hardly anything is unusual. It is
said when the reward comes in, and looks at both sides alike.
"""

from __future__ import annotations

import numpy as np

from surepick.algorithms.rows import Rows
from surepick.arrays.types import FloatArray
from surepick.problem import Problem
from surepick.run import Run
from surepick.run.diagnostics import ArmSummary
from surepick.statistics.estimate import LeastSquares

_FEWEST = 2  # residuals
_FAR = 8.0  # standard errors of a prediction
_CHANCE = 1e-6  # of a normal reward; decides where there are few residuals


class Expected:
    """What the rewards so far lead one to expect.

    Parameters
    ----------
    problem
        What is measured.
    summary
        What was measured, arm by arm. Where the scale of the noise is known, spreads are not used.

    Examples
    --------
    >>> problem = Problem([[1.0, 0.0], [1.0, 1.0]], labels=["a", "b"])
    >>> told = ArmSummary.of(2, [0, 0, 0, 1, 1, 1], [1.0, 1.2, 1.1, 2.0, 2.2, 2.1])
    >>> expected = Expected(problem, told)
    >>> expected.complaint(3, 0, 1.4)
    >>> expected.complaint(3, 0, 42.0)
    'pull 3 (a): 42 is far from what was measured before (about 1.1)'
    """

    def __init__(self, problem: Problem, summary: ArmSummary) -> None:
        self._labels = problem.labels
        self._errors: FloatArray | None = None
        n, kind = int(summary.counts.sum()), problem.noise_kind
        freedom = n - problem.rank
        if problem.large or kind.bounds is not None or freedom < _FEWEST:
            return
        every = np.arange(problem.n_arms)
        features, units = problem.feature_rows(every), kind.units(every) * np.ones(len(every))
        pulled, own = np.flatnonzero(summary.counts), summary.sums / units
        counts = summary.counts[pulled]
        fit = LeastSquares(features[pulled], counts, own[pulled])
        if not fit.spans:
            return
        predicted = features @ fit.theta
        apart = counts * (own[pulled] / counts - predicted[pulled]) ** 2
        within = 0.0 if kind.scale_known else float((summary.spread / units**2).sum())
        variance = (within + float(apart.sum())) / freedom
        if kind.scale_known:  # what options are off the features is no noise, but may be
            variance = max(1.0, variance)
        if not variance > 0:  # coarse readings may all have been the same: any other is far
            return
        self._freedom = freedom
        self._means: FloatArray = predicted * units
        self._errors = units * np.sqrt(variance * (1.0 + fit.variances(features)))

    @classmethod
    def of_run(cls, run: Run) -> Expected:
        """From the complete batches of a run."""
        return cls(run.problem, measured(run))

    @property
    def says_something(self) -> bool:
        """Whether enough was measured to expect anything."""
        return self._errors is not None

    def complaint(self, pull: int, arm: int, value: float) -> str | None:
        """Why a reward may be wrong; None: it may well be right."""
        if self._errors is None:
            return None
        away = abs(value - self._means[arm])
        if away <= _FAR * self._errors[arm] or away <= self._far() * self._errors[arm]:
            return None
        return (
            f"pull {pull} ({self._labels[arm]}): {value:g} is far from what was measured "
            f"before (about {self._means[arm]:.3g})"
        )

    def _far(self) -> float:
        """How many standard errors hardly any reward is away by chance."""
        from scipy.special import stdtrit  # here: most rewards are told before it would be loaded

        return float(stdtrit(self._freedom, 1 - _CHANCE / 2))


def measured(run: Run) -> ArmSummary:
    """What the complete batches of a run have measured, arm by arm."""
    K = run.problem.n_arms
    found = ArmSummary.of(K, [], [])
    for told in run.told():
        rows = Rows.of(told).by_arm()
        part = [np.zeros(K) for _ in range(3)]
        for column, values in zip(part, (rows.counts, rows.sums, rows.spreads)):
            column[rows.arms] = values
        found += ArmSummary(part[0].astype(np.int64), part[1], part[2])
    return found
