"""What LinGapE and GLUCB share: one confidence ellipsoid for all rounds at once.

With A = lambda I + sum of x xᵀ over the pulls and theta the regularised least squares estimate,
with probability at least 1 - delta, for every round t and whatever the sampling rule,

    ‖theta − theta*‖_A <= C_t = sqrt(2 log(det(A/lambda)^½ / delta)) + sqrt(lambda) ‖theta*‖

(Abbasi-Yadkori, Pál, Szepesvári, "Improved Algorithms for Linear Stochastic Bandits", 2011,
Theorem 2). On that one event thetaᵀ(z_j − z_i) + C_t ‖z_j − z_i‖_{A⁻¹} is, for every pair in every
round, at least theta*ᵀ(z_j − z_i). So when it is at most epsilon for all j, z_i is within epsilon
of the best: no union over pairs or rounds is needed.

``norm_bound`` takes the place of ‖theta*‖. It and lambda are about lengths, so all is done in
orthonormal coordinates of the span, where lengths are those of the features as given.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from surepick.algorithms.base import Algorithm
from surepick.algorithms.conditions import REGULARISATION, norm_condition
from surepick.arrays.grid import product
from surepick.arrays.types import FloatArray, IntArray
from surepick.arrays.validate import positive
from surepick.problem import Problem
from surepick.promise import Condition
from surepick.research.sequential import SequentialState


@dataclass(frozen=True)
class EllipsoidAlgorithm(Algorithm):
    """Settings of algorithms that stop by the confidence ellipsoid."""

    norm_bound: float = field(default=1.0, kw_only=True)
    regularisation: float = field(default=REGULARISATION, kw_only=True)

    theorem: ClassVar[str] = "self-normalised confidence ellipsoid, valid in all rounds at once"

    def __post_init__(self) -> None:
        super().__post_init__()
        positive(self.norm_bound, "norm_bound")
        positive(self.regularisation, "regularisation")

    def level(self, problem: Problem) -> float:
        """The probability that the ellipsoid may ever miss."""
        return self.delta

    def needs(self) -> tuple[Condition, ...]:
        return (norm_condition(self.norm_bound, self.regularisation),)


class EllipsoidState(SequentialState):
    """A running algorithm; children choose the arms to begin with and the sampling rule."""

    config: EllipsoidAlgorithm

    def start(self, first: IntArray, greedy: bool) -> None:
        """Set up the memory: ``first`` are the arms pulled once at the start."""
        from surepick.research import ellipsoid_kernels as kernels

        problem, config = self.problem, self.config
        isometric, candidates = problem.isometric
        arms = isometric.copy()
        (K, d), M = arms.shape, len(problem.distinct)
        lam = config.regularisation
        points = np.ascontiguousarray(candidates[problem.distinct].T)
        columns = np.ascontiguousarray(arms.T) if greedy else np.empty((d, 0))
        self.update = kernels.update
        self.choose = kernels.choose_greedily if greedy else kernels.choose_by_ratio
        self.many = kernels.many_greedily if greedy else kernels.many_by_ratio
        model, board, tally = np.zeros((d + 2, d)), np.zeros((4, M)), np.zeros((4, K))
        model[:d] = np.eye(d) / lam
        board[kernels.SQUARE] = (points**2).sum(axis=0) / lam
        board[kernels.SPREAD] = ((points - points[:, :1]) ** 2).sum(axis=0) / lam
        tally[kernels.REACH] = (arms**2).sum(axis=1) / lam
        shift = math.sqrt(lam) * config.norm_bound / problem.unit
        risk = math.log(1 / config.level(problem))
        self.memory = kernels.EllipsoidMemory(
            arms=arms,
            points=points,
            columns=columns,
            first=first.copy(),
            guarded=problem.spanning_arms,
            model=model,
            board=board,
            tally=tally,
            real=np.array([0.0, risk, shift, config.epsilon / problem.unit, lam]),
            whole=np.zeros(4, dtype=np.int64),
            pairs=np.empty((2, 0), dtype=np.int64),
            support=np.full((1, d), -1),
            shares=np.zeros((1, d)),
            last=np.array([-1, 0]),
        )

    def leader(self) -> int:
        if len(self.problem.distinct) == 1:
            return int(self.problem.distinct[0])
        return int(self.problem.distinct[np.argmax(self._estimates())])

    def _estimates(self) -> FloatArray:
        return self.memory.board[0]

    def _comparisons(self) -> tuple[FloatArray, FloatArray]:
        """The leader's lead over each distinct candidate, and how much of it may be luck."""
        from surepick.research.ellipsoid_kernels import SPREAD, radius

        estimates = self._estimates()
        spread = np.maximum(self.memory.board[SPREAD], 0.0)
        return estimates.max() - estimates, radius(self.memory.real) * np.sqrt(spread)

    def remaining(self) -> list[int]:
        if len(self.problem.distinct) == 1:
            return [self.leader()]
        gap, width = self._comparisons()
        left = gap < width
        left[np.argmax(self._estimates())] = True
        return [int(i) for i in self.problem.distinct[left]]

    def evidence(self) -> dict[str, Any]:
        """The ellipsoid, and the candidates that are worse than the answer all over it."""
        dropped: list[dict[str, Any]] = []
        if self.finished and len(self.problem.distinct) > 1:
            (gap, width), left = self._comparisons(), set(self.remaining())
            leader = self.leader()
            dropped = [
                {
                    "candidate": int(i),
                    "by": leader,
                    "gap": float(gap[n] * self.problem.unit),
                    "width": float(width[n] * self.problem.unit),
                }
                for n, i in enumerate(self.problem.distinct)
                if int(i) not in left
            ]
        return {
            "rule": "ellipsoid",
            "level": self.config.level(self.problem),
            "norm_bound": self.config.norm_bound,
            "regularisation": self.config.regularisation,
            "dropped": dropped,
        }

    # What the problem and the settings determine is not saved but built again.
    def save(self) -> dict[str, Any]:
        if len(self.problem.distinct) == 1:
            return {}
        from surepick.research.ellipsoid_kernels import CHANGING

        memory = {name: getattr(self.memory, name) for name in CHANGING}
        return {"arm": self.arm, "finished": self.finished, "memory": memory}

    def load(self, memory: dict[str, Any]) -> None:
        if memory:
            self.arm, self.finished = memory["arm"], memory["finished"]
            self.memory = self.memory._replace(**memory["memory"])
            self._come_here()

    def _come_here(self) -> None:
        """Work everything out again if it was saved in other coordinates than this problem's.

        Releases and machines differ in them where arms span less than the space of their features.
        """
        from surepick.research.ellipsoid_kernels import COUNT, refresh

        arms, d = self.memory.arms, self.memory.arms.shape[1]
        A = self.config.regularisation * np.eye(d)
        A += product(arms.T * self.memory.tally[COUNT], arms)
        apart = product(self.memory.model[:d], A) - np.eye(d)
        if not np.abs(apart).max() < 1e-4:
            refresh(self.memory)
