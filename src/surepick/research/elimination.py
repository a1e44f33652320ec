"""Phased elimination: what PELEG, RAGE and their kin share.

A phase is one batch whose pulls are fixed before any of its rewards is seen. Least squares on
that batch alone then estimates every difference yᵀθ* with a sub-Gaussian error of variance
a_y = yᵀV⁻¹y, so that each one-sided deviation beyond sqrt(2 a_y log(1/level)) has probability
at most ``level``. A candidate is dropped when another one beats it by more than that.

Why the answer is right: the best candidate x* can only be dropped in phase m through one of the
|X_m| - 1 one-sided events about the directions x - x*; their levels sum to at most delta over
all phases. Data-dependent active sets do no harm: the next phase's pulls and levels depend on
the past only. Neither does it to leave out comparisons, as is done among very many candidates
(:meth:`surepick.statistics.estimate.LeastSquares.beaten`).

The record of a phase holds columns, one entry per candidate that it dropped. Who was still in the
race when it began is not written down: all candidates but those dropped before.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from surepick.algorithms.base import Algorithm, Pulls, State
from surepick.arrays.grid import first_best
from surepick.arrays.types import FloatArray, IntArray
from surepick.problem import Problem
from surepick.research.levels import LevelledAlgorithm
from surepick.statistics.estimate import LeastSquares


class PhasePlan(NamedTuple):
    """The pulls of one phase and how its evidence will be judged."""

    pulls: Pulls
    level: float  #: error probability granted to each one-sided comparison
    threshold: float | None  #: fixed width for all comparisons, or None: the actual widths
    complete: bool = True  #: False when the budget cut it short


@dataclass(frozen=True)
class PhasedAlgorithm(LevelledAlgorithm):
    """What the settings of phased elimination have in common."""

    any_backend: ClassVar[bool] = True
    follows: ClassVar[str] = "pulls"
    any_pulls: ClassVar[bool] = True
    theorem: ClassVar[str] = (
        "phased elimination with fixed-design widths; union over one-sided comparisons"
    )


class PhasedState(State):
    """Phases until one candidate is left; children say how a phase is planned."""

    saved: ClassVar[tuple[str, ...]] = (
        "active",
        "finished",
        "phase",
        "phases",
        "total_counts",
        "total_sums",
        "_best",
        "_plan",
    )

    def __init__(self, config: Algorithm, problem: Problem) -> None:
        self.config, self.problem = config, problem
        self.active: IntArray = problem.distinct
        self.finished = len(self.active) == 1
        self.phase = 1
        self.phases: list[dict[str, Any]] = []
        self.total_counts = np.zeros(problem.n_arms)
        self.total_sums = np.zeros(problem.n_arms)
        self.design_gaps: list[float] = []  # certified gaps of the designs made; not saved
        self._best = int(self.active[0])
        self._plan: list[Any] | None = None

    @abstractmethod
    def plan(self, budget: int) -> PhasePlan:
        """The plan of the phase that starts now (``self.phase``, ``self.active``)."""

    def propose(self, budget: int) -> Pulls:
        plan = self.plan(budget)
        pulls = plan.pulls.capped(budget)
        complete = plan.complete and pulls is plan.pulls
        self._plan = [plan.level, plan.threshold, complete]
        return pulls

    def observe(self, pulls: Pulls, sums: FloatArray) -> None:
        assert self._plan is not None
        level, threshold, complete = self._plan
        self.total_counts[pulls.arms] += pulls.counts
        self.total_sums[pulls.arms] += sums
        record: dict[str, Any] = {
            "level": level,
            "threshold": threshold,
            "dropped": _columns(self.active[:0], self.active[:0], np.empty(0), np.empty(0)),
        }
        self.phases.append(record)
        self.phase += 1
        self._plan = None
        fit = self._fit(pulls.arms, pulls.counts, sums)
        # A fixed width holds for complete phases only; one cut short may not even span.
        if fit.spans and (complete or threshold is None):
            self._eliminate(fit, record)
        else:
            arms = np.flatnonzero(self.total_counts)
            fit = self._fit(arms, self.total_counts[arms], self.total_sums[arms])
            self._best = self._highest(fit, self._points())

    def _fit(self, arms: IntArray, counts: Any, sums: FloatArray) -> LeastSquares:
        return LeastSquares(self.problem.feature_rows(arms), counts, sums)

    def _points(self) -> Any:
        """Features of the active candidates, where the problem has its own."""
        if len(self.active) == self.problem.n_candidates:
            return self.problem.targets
        return self.problem.backend.take(self.problem.targets, self.active)

    def _eliminate(self, fit: LeastSquares, record: dict[str, Any]) -> None:
        """Drop what is beaten; stop when one is left, or when the rest is within epsilon."""
        noise = self.problem.unit
        found = fit.beaten(self._points(), record["level"], record["threshold"])
        out = np.flatnonzero(found.beaten)
        record["dropped"] = _columns(
            self.active[out],
            self.active[found.by[out]],
            found.gap[out] * noise,
            found.width[out] * noise,
        )
        self.active = self.active[~found.beaten]
        points = self._points()
        self._best = self._highest(fit, points)
        if len(self.active) == 1:
            self.finished = True
        elif self.config.epsilon > 0:
            best = self.problem.target_rows([self._best])[0]
            lead = fit.lead_bounds(points, best, record["level"], record["threshold"])
            self.finished = bool(lead.max() * noise <= self.config.epsilon)
            if self.finished:  # how much better than the answer each of the others can be
                record["leads"] = lead * noise

    def _highest(self, fit: LeastSquares, points: Any) -> int:
        backend = self.problem.backend
        return int(self.active[first_best(backend.product(points, fit.theta), backend.xp)])

    def leader(self) -> int:
        return self._best

    def evidence(self) -> dict[str, Any]:
        return {"rule": "phases", "phases": self.phases}


def _columns(candidate: IntArray, by: IntArray, gap: FloatArray, width: FloatArray) -> Any:
    """Who was dropped, by whom, how far behind, and how far they had to be."""
    return {"candidate": candidate, "by": by, "gap": gap, "width": width}
