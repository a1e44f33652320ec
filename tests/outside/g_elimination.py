"""An algorithm from outside: phased elimination with one G-optimal design for all phases."""

from dataclasses import dataclass
from typing import ClassVar

from surepick.algorithms import register
from surepick.algorithms.base import Algorithm, Pulls
from surepick.design import g_optimal, round_design
from surepick.research.elimination import PhasedState, PhasePlan


@dataclass(frozen=True)
class GElimination(Algorithm):
    """Settings: those of every algorithm."""

    name: ClassVar[str] = "g-elimination"
    theorem: ClassVar[str] = "phased elimination with fixed-design widths"

    def begin(self, problem, rng):
        return GEliminationState(self, problem)


class GEliminationState(PhasedState):
    """How a phase is planned; dropping and stopping are done."""

    def plan(self, budget):
        m = self.phase
        level = self.config.delta / (m * (m + 1)) / (len(self.active) - 1)
        weights = g_optimal(self.problem.features).weights
        counts = round_design(weights, 10 * self.problem.rank * 2**m)
        spanning = self.problem.spanning_arms
        counts[spanning] = counts[spanning].clip(min=1)  # or least squares would have no answer
        return PhasePlan(Pulls.from_counts(counts), level, None)


register("g-elimination", GElimination)
