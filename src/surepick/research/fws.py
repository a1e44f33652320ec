"""Frank-Wolfe Sampling: one Frank-Wolfe step on the lower bound's objective per pull.

Paper: Wang, Tzeng, Proutière, "Fast Pure Exploration via Frank-Wolfe", NeurIPS 2021.

The objective F(x) = min_j f_j(x), f_j(x) = (θ̂ᵀy_j)²/(2 y_jᵀA(x)⁻¹y_j) over rivals j of the
leader, is not smooth, so a step looks at all f_j within r_t = t^{-0.9}/K of the least: z maximises
the worst ⟨z - x, ∇f_j⟩ among them, a small matrix game; x moves to ((t-1)x + z)/t, and the arm
with the least pulls per x is next. When sqrt(⌊t/K⌋) is an integer, z is uniform, to explore.

Guarantee: delta-PAC by the GLR stop, whatever the sampling rule; the paper shows that the number
of pulls is asymptotically optimal when delta goes to 0. Known in advance: the noise scale only.

Departures:

- the threshold is the self-normalised one of :mod:`surepick.research.thresholds`, proven and
  free of a bound on ‖theta*‖ (``threshold="regularised"`` with ``norm_bound`` for the classical
  one);
- the linear program is solved exactly, by a simplex method on |set| × K numbers, not by a
  general solver; with one rival in the set it is an argmax;
- with epsilon, alternatives are parameters under which a rival is better by more than epsilon.

``FrankWolfeSampling.heuristic(delta)`` stops at log((1 + log t)/delta), as in the paper's tables,
without a guarantee. Those tables come from code whose step uses A(1/K), neither inverted nor
updated, in place of A(x)⁻¹; followed to the letter, the algorithm needs fewer pulls there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from surepick.arrays import cutoffs
from surepick.arrays.grid import product
from surepick.arrays.memory import demand_memory
from surepick.arrays.types import IntArray
from surepick.problem import Problem
from surepick.research.glr import AdaptiveGlr, GlrState


@dataclass(frozen=True)
class FrankWolfeSampling(AdaptiveGlr):
    """Frank-Wolfe steps towards the optimal shares of pulls.

    Parameters
    ----------
    delta, epsilon, max_samples
        As for every algorithm.
    threshold, norm_bound, regularisation
        The stop; see :class:`~surepick.research.glr.AdaptiveGlr`.

    Examples
    --------
    >>> FrankWolfeSampling(0.05).theorem
    'GLR stop; self-normalised bound (method of mixtures)'
    """

    name: ClassVar[str] = "fws"

    def begin(self, problem: Problem, rng: np.random.Generator) -> FrankWolfeState:
        """A fresh state; nothing is drawn at random."""
        return FrankWolfeState(self, problem)


class FrankWolfeState(GlrState):
    """The iterate and the matrix that belongs to it."""

    rebuilt = GlrState.rebuilt | {"near", "step", "factor", "shift", "room"}

    def first_arms(self) -> IntArray:
        return np.arange(self.problem.n_arms)

    def build(self) -> None:
        from surepick.research.fws_kernels import FrankWolfeMemory, choose, many, update

        core = self.new_core()
        K, d = core.arms.shape
        self.memory = FrankWolfeMemory(
            core=core,
            targets=np.ones(K),  # x starts uniform, after every arm was pulled once
            metric=product(core.arms.T, core.arms),
            near=np.empty(len(self.problem.distinct), dtype=np.int64),
            step=np.empty(K),
            factor=np.zeros((d, d)),
            shift=np.empty(d),
            room=np.array([cutoffs.GAME_ENTRIES, 0]),
        )
        self.update, self.choose, self.many = update, choose, many

    def load(self, memory: dict[str, Any]) -> None:
        super().load(memory)
        if memory:  # in the coordinates of this problem
            arms = self.memory.core.arms
            metric = product(arms.T * self.memory.targets, arms)
            apart = np.abs(metric - self.memory.metric).max()
            if not apart <= 1e-9 * np.abs(metric).max():
                self.memory = self.memory._replace(metric=metric)

    def supply(self) -> None:
        """Room for a matrix game of many rivals, if there is enough memory."""
        room, K = self.memory.room, self.problem.n_arms
        free = self.problem.backend.free_memory()
        demand_memory(16.0 * K, int(room[1]), free, "fws: the rivals that are nearly closest")
        room[0] = room[1] * K
