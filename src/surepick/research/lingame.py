"""LinGame and LinGame-C: saddle-point algorithms, one learner step per pull.

Paper: Degenne, Ménard, Shang, Valko, "Gamification of Pure Exploration for Linear Bandits",
ICML 2020.

Each pull is one round of a game. AdaHedge proposes weights w over the arms, nature answers with
the alternative λ closest to θ̂ under A(w), AdaHedge is paid optimistic gains
½(|(θ̂-λ)ᵀx| + sqrt(2 log t ‖x‖²_{V⁻¹}))², at most log t, and the summed weights are tracked.
LinGame has one learner per answer and plays the one of the leading answer; LinGame-C has a single
learner over (answer, arm), whose game is convex: answers that do not lead have θ̂ itself as
closest alternative, so they are paid the optimism alone.

Guarantee: delta-PAC by the GLR stop, whatever the sampling rule; the paper shows that the number
of pulls is asymptotically optimal when delta goes to 0. Known in advance: the noise scale only.

Departures:

- the default threshold is the self-normalised one of :mod:`surepick.research.thresholds`: it
  is proven, tighter than the paper's, and needs no bound on ‖theta*‖. The paper's is
  ``threshold="regularised"`` with ``norm_bound`` S ≥ ‖theta*‖, which must be known;
  V then carries the regularisation everywhere, as in the paper. Otherwise least squares is plain;
- a spanning set of arms, pulled once each, comes first (regularisation would need no start);
- a share 1e-9 of the identity keeps A(w) invertible when learners have given up arms;
- with epsilon, alternatives are parameters under which a rival is better by more than epsilon.

``LinGame.heuristic(delta)`` stops at log((1 + log t)/delta) as the paper's plots do: no guarantee.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from surepick.arrays import cutoffs
from surepick.arrays.memory import demand_memory
from surepick.errors import InvalidInputError
from surepick.problem import Problem
from surepick.research.glr import AdaptiveGlr, GlrState

_FIRST_ROWS = 8  # learners kept from the start; more are added when more answers come to lead


@dataclass(frozen=True)
class LinGame(AdaptiveGlr):
    """One AdaHedge per answer against the closest alternative.

    Parameters
    ----------
    delta, epsilon, max_samples
        As for every algorithm.
    threshold, norm_bound, regularisation
        The stop; see :class:`~surepick.research.glr.AdaptiveGlr`.

    Examples
    --------
    >>> bool(LinGame.heuristic(0.1).theorem)
    False
    >>> LinGame(0.1, threshold="regularised", norm_bound=2.0).settings()["norm_bound"]
    2.0
    """

    name: ClassVar[str] = "lingame"

    def begin(self, problem: Problem, rng: np.random.Generator) -> LinGameState:
        """A fresh state; nothing is drawn at random."""
        return LinGameState(self, problem)


@dataclass(frozen=True)
class LinGameC(AdaptiveGlr):
    """The convexified form: one AdaHedge over all pairs of an answer and an arm.

    Parameters
    ----------
    delta, epsilon, max_samples
        As for every algorithm.
    threshold, norm_bound, regularisation
        The stop; see :class:`~surepick.research.glr.AdaptiveGlr`.

    Examples
    --------
    >>> LinGameC(0.1).registered_name()
    'lingame-c'
    """

    name: ClassVar[str] = "lingame-c"

    def begin(self, problem: Problem, rng: np.random.Generator) -> LinGameState:
        """A fresh state; nothing is drawn at random."""
        experts = len(problem.distinct) * problem.n_arms
        if experts > cutoffs.MOST_EXPERTS:
            raise InvalidInputError(
                f"lingame-c keeps a weight for every candidate and arm, {experts:,} here, more "
                f"than {cutoffs.MOST_EXPERTS:,}; use lingame"
            )
        return LinGameCState(self, problem)


class LinGameState(GlrState):
    """Both forms' memory, and LinGame's rule."""

    rebuilt = GlrState.rebuilt | {"weights", "gains", "metric", "factor", "shift", "along"}

    def build(self) -> None:
        from surepick.research import lingame_kernels as kernels

        self._allocate(self.problem.n_arms, min(_FIRST_ROWS, len(self.problem.distinct)))
        self.update, self.choose, self.many = kernels.update, kernels.choose, kernels.many

    def _allocate(self, experts: int, learners: int) -> None:
        from surepick.research.lingame_kernels import GameMemory

        core = self.new_core()
        d = len(core.theta)
        self.memory = GameMemory(
            core=core,
            targets=np.zeros(self.problem.n_arms),
            norms=np.zeros(self.problem.n_arms),
            learners=np.zeros((learners, experts + 2)),
            rows=np.full(len(self.problem.distinct), -1, dtype=np.int64),
            weights=np.empty(experts),
            gains=np.empty(experts),
            metric=np.empty((d, d)),
            factor=np.zeros((d, d)),
            shift=np.empty(d),
            along=np.empty(self.problem.n_arms),
        )

    def supply(self) -> None:
        """Room for more learners: an answer leads that never led before."""
        learners = self.memory.learners
        free = self.problem.backend.free_memory()
        demand_memory(8.0 * learners.shape[1], 2 * len(learners), free, "lingame: its learners")
        self.memory = self.memory._replace(learners=np.vstack([learners, np.zeros_like(learners)]))


class LinGameCState(LinGameState):
    """LinGame-C's rule."""

    def build(self) -> None:
        from surepick.research import lingame_kernels as kernels

        self._allocate(len(self.problem.distinct) * self.problem.n_arms, 1)
        self.update, self.choose = kernels.update, kernels.choose_convexified
        self.many = kernels.many_convexified
