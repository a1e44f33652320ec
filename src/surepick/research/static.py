"""Allocations fixed in advance: what XY-static and XY-oracle share.

A cycle of pulls, whole numbers in the proportion of a design, is repeated; rewards decide only
when to stop. After j cycles the Gram matrix is V = jV₁, and for a fixed direction y

    (θ̂ᵀy − θ*ᵀy) / a_y = Σ_s c_s η_s,  c_s = yᵀV₁⁻¹x_s / (yᵀV₁⁻¹y),  a_y = yᵀV₁⁻¹y / j,

with weights c_s that do not depend on j: a sum over cycles with variance 1/a_y. The test of
:mod:`surepick.statistics.mixture` therefore holds for all looks at once and any sub-Gaussian noise.
(Were the proportions to drift, old rewards would be reweighted at each look, and only a union
over the looks would be left.)

At a look the leader, the candidate with the highest estimate among those left, is compared with
every other; a candidate it beats is ruled out for good. Why the answer is right: the best
candidate x* is only ruled out through one of the M − 1 one-sided tests about x − x*, each of which
ever errs with probability at most delta/(M − 1). With epsilon, the run also stops when each
rival is ruled out as a better one by more than epsilon, by the same tests shifted by epsilon.

Looks cost nothing, so they are frequent: after 1, 2, … cycles, then as their number grows
by the factor ``growth``.

The printed stop and that of the program are unions over looks, for all rivals at once: at each
look the leader has to beat every other candidate. Printed: θ̂ᵀy >= 2√2 sqrt(a_y log(6n²K²/(π²δ)))
after n pulls. Program (public repository of RAGE's authors): θ̂ᵀy >= sqrt(2 a_y log(2j²K²/δ)) at
look j. Theirs draws arms at random from the design, starts its counter of pulls at d, and stops
when any candidate passes; ours repeats the cycle, and the one that leads has to pass. The levels
sum to less than delta over the looks in both.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from surepick.algorithms.base import Pulls, State
from surepick.arrays.grid import first_best
from surepick.arrays.types import FloatArray, IntArray
from surepick.arrays.validate import real
from surepick.errors import InvalidInputError
from surepick.problem import Problem
from surepick.research.designs import Solved, cycle
from surepick.research.levels import LevelledAlgorithm
from surepick.statistics.estimate import LeastSquares
from surepick.statistics.mixture import log_evidence


@dataclass(frozen=True)
class StaticAlgorithm(LevelledAlgorithm):
    """Settings of algorithms whose allocation is fixed in advance."""

    growth: float = field(default=1.05, kw_only=True)

    follows: ClassVar[str] = "pulls"
    theorem: ClassVar[str] = (
        "allocation fixed in advance; one-sided tests valid at all looks, union over rivals"
    )
    #: the union of the printed threshold and of the program's is over this power of the candidates
    union_power: ClassVar[int]
    program_growth: ClassVar[float]  #: the program draws ⌈program_growth^j⌉ pulls before look j

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 1 < real(self.growth, "growth") <= 4:
            raise InvalidInputError(f"growth must lie above 1 and up to 4; got {self.growth!r}")

    @abstractmethod
    def design(self, problem: Problem) -> tuple[Any, Solved, Any]:
        """A key to keep it under, the design to follow, and its directions."""

    def begin(self, problem: Problem, rng: np.random.Generator) -> StaticState:
        """A fresh state; nothing is drawn at random."""
        return StaticState(self, problem)


class StaticState(State):
    """A cycle repeated until the leader has beaten everyone else."""

    config: StaticAlgorithm
    saved: ClassVar[tuple[str, ...]] = (
        "active",
        "finished",
        "cycles",
        "batches",
        "counts",
        "sums",
        "looks",
        "_best",
        "_planned",
    )

    def __init__(self, config: StaticAlgorithm, problem: Problem) -> None:
        self.config, self.problem = config, problem
        self.active: IntArray = problem.distinct
        self.finished = len(self.active) == 1
        self.cycles = self.batches = 0
        self.counts = np.zeros(problem.n_arms, dtype=np.int64)
        self.sums = np.zeros(problem.n_arms)
        self.looks: list[dict[str, Any]] = []  # those that ruled somebody out
        self._best = int(self.active[0])
        self._planned = 0
        if not self.finished:
            key, design, directions = config.design(problem)
            self.cycle: Pulls = cycle(problem, key, design, directions)

    def propose(self, budget: int) -> Pulls:
        if self.config.constants == "program":
            _, reached = program_look(int(self.counts.sum()), self.config.program_growth)
            _, due = program_look(reached + 1, self.config.program_growth)
            # as many whole cycles as the program has pulls by its next look, and one at first
            length = self.cycle.total
            target = max(due // length, reached // length + 1) if self.cycles else 1
        else:
            # The slack keeps a product such as 20·1.05 from being rounded up past 21.
            target = math.ceil(self.cycles * self.config.growth * (1 - 1e-12))
        more = max(target - self.cycles, 1)
        whole = Pulls(self.cycle.arms, self.cycle.counts * more)
        pulls = whole.capped(budget)
        self._planned = more if pulls is whole else 0
        return pulls

    def observe(self, pulls: Pulls, sums: FloatArray) -> None:
        self.counts[pulls.arms] += pulls.counts
        self.sums[pulls.arms] += sums
        self.cycles += self._planned
        self.batches += 1
        arms = np.flatnonzero(self.counts)
        fit = LeastSquares(self.problem.features[arms], self.counts[arms], self.sums[arms])
        values = self.problem.targets[self.active] @ fit.theta
        self._best = int(self.active[first_best(values)])
        if self._planned:  # a cycle cut short by the budget is good for an estimate only
            self._look(fit)

    def _look(self, fit: LeastSquares) -> None:
        """Rule out whom the leader beats; stop when nobody is left, or within epsilon."""
        rivals = self.active[self.active != self._best]
        y = self.problem.targets[self._best] - self.problem.targets[rivals]
        gaps, variances = y @ fit.theta, fit.variances(y)
        margins = self._margins(gaps, variances)
        beaten = margins >= 0
        if self.config.constants != "tight" and not beaten.all():
            beaten[:] = False  # the stop is one test of all at once
        if beaten.any():
            noise = self.problem.unit
            dropped = [
                {"candidate": int(i), "by": self._best, "gap": float(g * noise), "margin": float(m)}
                for i, g, m in zip(rivals[beaten], gaps[beaten], margins[beaten])
            ]
            self.looks.append({"batch": self.batches - 1, "dropped": dropped})
            self.active = np.setdiff1d(self.active, rivals[beaten])
        if len(self.active) == 1:
            self.finished = True
        elif self.config.epsilon > 0:
            epsilon = self.config.epsilon / self.problem.unit
            close = self._margins(gaps[~beaten] + epsilon, variances[~beaten])
            self.finished = bool(close.min() >= 0)

    def _margins(self, gaps: FloatArray, variances: FloatArray) -> FloatArray:
        """By how much each test passes: at least zero where the leader is better for sure.

        Tight: log E − log(1/level). Otherwise the gap over its width, minus one.
        """
        M, delta = len(self.problem.distinct), self.config.delta
        n, union = int(self.counts.sum()), M**self.config.union_power
        if self.config.constants == "printed":
            # θ̂ᵀy >= 2√2 sqrt(a_y log(6n²K²/(π²δ))), n the pulls so far
            log = math.log(6 * n**2 * union / (math.pi**2 * delta))
            return gaps / np.sqrt(8 * variances * log) - 1
        if self.config.constants == "program":
            # θ̂ᵀy >= sqrt(2 a_y log(2j²K²/δ)), j the number of the look
            j, _ = program_look(n, self.config.program_growth)
            return gaps / np.sqrt(2 * variances * math.log(2 * j**2 * union / delta)) - 1
        information = 1 / variances
        bar = math.log((M - 1) / delta)
        first = information / self.cycles
        return log_evidence(gaps * information, information, first, bar) - bar

    def leader(self) -> int:
        return self._best

    def evidence(self) -> dict[str, Any]:
        M, delta = len(self.problem.distinct), self.config.delta
        tests = {"printed": "union over times", "program": "union over looks", "tight": "mixture"}
        tight = self.config.constants == "tight"
        return {
            "rule": "static",
            "test": tests[self.config.constants],
            "power": None if tight else self.config.union_power,
            "level": delta / max(M - 1, 1),
            "cycle": [] if M == 1 else [self.cycle.arms, self.cycle.counts],
            "looks": self.looks,
        }


def program_look(n: int, growth: float) -> tuple[int, int]:
    """Which look of the program ``n`` pulls are good for, and the pulls that it has by then.

    The program's counter of looks goes up by two: they are j = 1, 3, 5, …, and before look j it
    draws ⌈growth^j⌉.
    """
    j, drawn = 1, math.ceil(growth)
    while drawn < n:
        j += 2
        drawn += math.ceil(growth**j)
    return j, drawn
