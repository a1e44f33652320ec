"""A budget instead of a delta: what OD-LinBAI and successive elimination share.

In each stage a G-optimal design of the arms that are left, in their own span, is pulled and least
squares on that stage alone says which of them go on. The last stage names one.

Guarantee: none that is a number. The papers bound the probability of an error by a function of the
budget and of the gaps, which nobody knows beforehand, so an answer promises nothing; what can be
said is how often it was wrong (``surepick bench --budget N``). ``delta`` plays no part.
Known in advance: the budget, ``max_samples``.

Departures: whole pulls by Pukelsheim and Rieder's rounding of certified designs, where the papers
round up or solve greedily, and the last stage has what rounding left of the budget.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from surepick.algorithms.base import Algorithm, Pulls, State
from surepick.arrays.types import FloatArray, IntArray
from surepick.errors import InvalidInputError
from surepick.problem import Problem


@dataclass(frozen=True)
class FixedBudget(Algorithm):
    """Settings of an algorithm that is told its budget."""

    follows: ClassVar[str] = "pulls"
    needs_scale: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.max_samples is None:
            raise InvalidInputError(
                f"max_samples: {self.name} shares out a budget; say how many pulls there are"
            )

    def check_problem(self, problem: Problem) -> None:
        """Stages are pulls of the arms that may still be the answer."""
        super().check_problem(problem)
        if problem.transductive:
            raise InvalidInputError(
                f"candidates: {self.name} measures what it chooses among; leave candidates out"
            )
        least = sum(least for _, least in self.stages(problem))
        if self.pulls < least:
            raise InvalidInputError(
                f"max_samples: {self.name} needs {least} pulls here; got {self.pulls}"
            )

    @property
    def pulls(self) -> int:
        """The budget."""
        assert self.max_samples is not None
        return self.max_samples

    @abstractmethod
    def stages(self, problem: Problem) -> list[tuple[int, int]]:
        """For each stage, how many arms go on after it, and its pulls (the last: at least)."""

    def begin(self, problem: Problem, rng: np.random.Generator) -> StagedState:
        """A fresh state; nothing is drawn at random."""
        return StagedState(self, problem)


class StagedState(State):
    """Stages, until the budget is spent."""

    saved: ClassVar[tuple[str, ...]] = ("remaining", "finished", "stage", "used")

    config: FixedBudget

    def __init__(self, config: FixedBudget, problem: Problem) -> None:
        self.config, self.problem = config, problem
        self.stages = config.stages(problem)
        self.remaining: IntArray = problem.distinct  # those that go on; nobody is ruled out by that
        self.finished = len(self.remaining) == 1
        self.stage = self.used = 0

    def propose(self, budget: int) -> Pulls:
        from surepick.design import g_optimal, round_design

        last = self.stage == len(self.stages) - 1
        n = self.config.pulls - self.used if last else self.stages[self.stage][1]
        counts = round_design(g_optimal(self._arms()).weights, n, minimum=0)
        everyone = np.zeros(self.problem.n_arms, dtype=np.int64)
        everyone[self.remaining] = counts
        return Pulls.from_counts(everyone).capped(budget)

    def observe(self, pulls: Pulls, sums: FloatArray) -> None:
        own = self._arms()
        pulled = own[np.searchsorted(self.remaining, pulls.arms)]
        gram = (pulled.T * pulls.counts) @ pulled
        values = own @ np.linalg.lstsq(gram, pulled.T @ sums, rcond=None)[0]
        most = self.stages[min(self.stage, len(self.stages) - 1)][0]
        best = np.argsort(-values, kind="stable")[:most]
        self.remaining = np.sort(self.remaining[best])
        self.used += int(pulls.counts.sum())
        self.stage += 1

    def _arms(self) -> FloatArray:
        """Those that are left, in coordinates of their own span."""
        rows = self.problem.features[self.remaining]
        _, sizes, basis = np.linalg.svd(rows, full_matrices=False)
        return rows @ basis[sizes > 1e-9 * sizes[0]].T

    @property
    def active(self) -> IntArray:
        """Everybody: nothing is proven of those that did not go on."""
        return self.problem.distinct

    def leader(self) -> int:
        return int(self.remaining[0])

    def evidence(self) -> dict[str, Any]:
        return {"rule": "budget"}
