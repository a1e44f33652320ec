"""Phased elimination: what PELEG, RAGE and their kin share.

A phase is one batch whose pulls are fixed before any of its rewards is seen. Least squares on
that batch alone then estimates every difference yᵀθ* with a sub-Gaussian error of variance
a_y = yᵀV⁻¹y, so that each one-sided deviation beyond sqrt(2 a_y log(1/level)) has probability
at most ``level``. A candidate is dropped when another one beats it by more than that.

Why the answer is right: the best candidate x* can only be dropped in phase m through one of the
|X_m| - 1 one-sided events about the directions x - x*; their levels sum to at most delta over
all phases. Data-dependent active sets do no harm: the next phase's pulls and levels depend on
the past only.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import numpy as np

from surepick.algorithms.base import Algorithm, IntArray, Pulls, State
from surepick.problem import Problem
from surepick.problem.estimate import LeastSquares
from surepick.problem.validate import FloatArray


class Plan(NamedTuple):
    """The pulls of one phase and how its evidence will be judged."""

    pulls: Pulls
    level: float  #: error probability granted to each one-sided comparison
    threshold: float | None  #: fixed width for all comparisons, or None: the actual widths
    complete: bool = True  #: False when the budget cut it short


class PlanCache:
    """Plans by what they depend on, shared by all runs of this process; oldest go first."""

    def __init__(self, size: int = 4096) -> None:
        self._plans: OrderedDict[Any, Any] = OrderedDict()
        self._size = size

    def get(self, key: Any, make: Callable[[], Any]) -> Any:
        """The plan stored under ``key``, made when it is not there."""
        found = self._plans.get(key)
        if found is None:
            found = self._plans[key] = make()
            if len(self._plans) > self._size:
                self._plans.popitem(last=False)
        else:
            self._plans.move_to_end(key)
        return found

    def clear(self) -> None:
        """Drop everything."""
        self._plans.clear()

    def forget(self, key: Any) -> None:
        """Drop what is stored under ``key``."""
        self._plans.pop(key, None)


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
        self._best = int(self.active[0])
        self._plan: list[Any] | None = None

    @abstractmethod
    def plan(self, budget: int) -> Plan:
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
            "active": self.active,
            "level": level,
            "threshold": threshold,
            "dropped": [],
        }
        self.phases.append(record)
        self.phase += 1
        self._plan = None
        fit = LeastSquares(self.problem.features[pulls.arms], pulls.counts, sums)
        # A phase cut short by the budget has not earned a fixed width, and may not even span.
        if fit.spans and (complete or threshold is None):
            self._eliminate(fit, record)
        else:
            fit = LeastSquares(self.problem.features, self.total_counts, self.total_sums)
            self._best = self._highest(fit)

    def _eliminate(self, fit: LeastSquares, record: dict[str, Any]) -> None:
        """Drop what is beaten; stop when one is left, or when the rest is within epsilon."""
        points = self.problem.targets[self.active]
        beaten, by, gap, width = fit.beaten(points, record["level"], record["threshold"])
        record["dropped"] = [
            {
                "candidate": int(self.active[i]),
                "by": int(self.active[by[i]]),
                "gap": float(gap[i] * self.problem.noise),
                "width": float(width[i] * self.problem.noise),
            }
            for i in np.flatnonzero(beaten)
        ]
        self.active = self.active[~beaten]
        self._best = self._highest(fit)
        if len(self.active) == 1:
            self.finished = True
        elif self.config.epsilon > 0:
            lead = fit.lead_bounds(
                self.problem.targets[self.active],
                self.problem.targets[self._best],
                record["level"],
                record["threshold"],
            )
            self.finished = bool(lead.max() * self.problem.noise <= self.config.epsilon)
            if self.finished:  # how much better than the answer each of the others can be
                record["leads"] = (lead * self.problem.noise).tolist()

    def _highest(self, fit: LeastSquares) -> int:
        return int(self.active[np.argmax(self.problem.targets[self.active] @ fit.theta)])

    def leader(self) -> int:
        return self._best

    def evidence(self) -> dict[str, Any]:
        return {"rule": "phases", "phases": self.phases}
