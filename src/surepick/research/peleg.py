"""PELEG: phased elimination with a two-player game inside each phase.

Paper: Zaki, Mohan, Gopalan, "Explicit Best Arm Identification in Linear Bandits Using No-Regret
Learners", 2020 (arXiv 2006.07562), Algorithm 1.

Guarantee: delta-PAC in all forms, by the argument in
:mod:`surepick.research.elimination`. Known in advance: the noise scale only.

Forms and departures:

- ``Peleg.paper(delta)``, or ``constants="printed"``, is what the paper's experiments ran:
  exponential weights at the paper's rate, no ball, constants as printed. Without the ball the
  accuracy is not shrunk (shrinking it would lengthen every phase for nothing: the key lemma is
  exact without). The authors' program is not public, and what the paper says of it is that it
  leaves the ball out: ``constants="program"`` is the same.
- ``Peleg(delta, learner="adahedge")`` is the same with a learner that goes on learning: AdaHedge
  instead of exponential weights at the paper's rate, which hardly move once gains are small. What
  makes the answer right does not look at the learner.
- ``Peleg(delta, ball=True)`` is the algorithm of the paper's theorem: every minimisation is over
  the ball B(0, D_m) too, and the accuracy is shrunk by min(1, D_m sqrt(C) / r_m). The theorem is
  about arms no longer than 1: where some are longer, all are measured in units of the longest.
- ``Peleg(delta)``, the default, is ``"tight"``. It keeps the template (phases, a min-max design
  solved as a game, elimination) and changes what costs pulls: levels delta/(m(m+1)) spread over
  the directions that can hurt, actual widths instead of the phase's worst, a coarse first phase, a
  certified design rounded to pulls instead of tracking round by round.

With separate candidates the pairs are pairs of candidates, and the paper's K² counts candidates.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from surepick.algorithms.base import TIED, Pulls
from surepick.arrays.cache import PlanCache, fingerprint
from surepick.arrays.grid import coarse
from surepick.arrays.validate import real
from surepick.errors import InvalidInputError
from surepick.problem import Problem
from surepick.research.designs import Solved, pair_design
from surepick.research.elimination import PhasedAlgorithm, PhasedState, PhasePlan

_PLANS = PlanCache()
_LEARNERS = ("exponential", "adahedge")
_TOL = 0.01  # certified gap of the designs, unless there are very many arms
_FIRST = 40  # pulls of the first phase per dimension: enough to see gaps of half the noise


@dataclass(frozen=True)
class Peleg(PhasedAlgorithm):
    """Phased elimination linear exploration game.

    Parameters
    ----------
    delta, epsilon, max_samples
        As for every algorithm.
    ball
        Use the paper's theorem version (very long phases).
    growth
        Default form: factor by which the accuracy of a phase improves on the last one.
    learner
        Of the paper's form: ``"exponential"`` weights at the stated rate, or ``"adahedge"``, which
        implies the paper's constants.

    Examples
    --------
    >>> Peleg(delta=0.05).growth
    1.6
    >>> Peleg.paper(0.1).registered_name()
    'peleg-paper'
    >>> Peleg(0.1, learner="adahedge").registered_name()
    'peleg-adahedge'
    """

    ball: bool = field(default=False, kw_only=True)
    growth: float = field(default=1.6, kw_only=True)
    learner: str = field(default="exponential", kw_only=True)

    name: ClassVar[str] = "peleg"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.learner not in _LEARNERS:
            raise InvalidInputError(
                f"learner must be 'exponential' or 'adahedge'; got {self.learner!r}"
            )
        if self.learner == "adahedge" or self.ball or self.constants == "program":
            object.__setattr__(self, "constants", "printed")
        if not 1 < real(self.growth, "growth") <= 16:
            raise InvalidInputError(f"growth must lie above 1 and up to 16; got {self.growth!r}")

    @classmethod
    def paper(cls, delta: float, *, epsilon: float = 0.0, max_samples: int | None = None) -> Peleg:
        """The paper's experiments: its constants, closed form, no ball."""
        return cls(delta, epsilon=epsilon, max_samples=max_samples, constants="printed")

    @classmethod
    def adahedge(
        cls, delta: float, *, epsilon: float = 0.0, max_samples: int | None = None
    ) -> Peleg:
        """The paper's constants with AdaHedge, a learner that goes on learning."""
        return cls(delta, epsilon=epsilon, max_samples=max_samples, learner="adahedge")

    def registered_name(self) -> str:
        if self.constants == "tight" or self.ball:
            return "peleg"
        return "peleg-paper" if self.learner == "exponential" else "peleg-adahedge"

    def settings(self) -> dict[str, object]:
        given = super().settings()
        if self.registered_name() != "peleg":  # the name says it
            for said in ("constants", "learner"):
                given.pop(said, None)
        return given

    def tied_after(self) -> int:
        # The exact forms play one round of a game for every pull: a few hours at most.
        return TIED if self.constants == "tight" else 10**10

    def begin(self, problem: Problem, rng: np.random.Generator) -> PhasedState:
        """A fresh state; nothing is drawn at random."""
        return (_State if self.constants == "tight" else _PaperState)(self, problem)


class _PaperState(PhasedState):
    """Algorithm 1 as printed, with or without the ball."""

    config: Peleg

    def plan(self, budget: int) -> PhasePlan:
        config = self.config
        key = (self.problem.key, config.ball, config.learner, config.delta, self.phase)
        key += (fingerprint(self.active),)
        plan = _PLANS.get(key, lambda: self._play(budget))
        if not plan.complete:
            _PLANS.forget(key)  # another budget may allow more
        return plan

    def _play(self, budget: int) -> PhasePlan:
        from surepick.research.game.learners import AdaHedge
        from surepick.research.game.loop import play_phase

        arms, candidates = (self.problem.backend.host(part) for part in self.problem.isometric)
        K, m = len(arms), self.phase
        compared = len(self.problem.distinct)
        level = self.config.delta / m**2 / compared**2
        points = candidates[self.active]
        if self.config.ball:  # the theorem is about arms no longer than 1
            longest = max(1.0, coarse(float(np.linalg.norm(arms, axis=1).max())))
            arms, points = arms / longest, points / longest
        constants = phase_constants(arms, points, m, self.config.delta, compared, self.config.ball)
        learner = AdaHedge() if self.config.learner == "adahedge" else None
        pulls, complete = play_phase(arms, points, constants, budget, learner)
        assert len(pulls) == K
        return PhasePlan(Pulls.from_counts(pulls), level, 2.0 ** -(m + 2), complete)


class _State(PhasedState):
    """Our default form."""

    config: Peleg

    def plan(self, budget: int) -> PhasePlan:
        m = self.phase
        level = self.config.delta / (m * (m + 1)) / (len(self.active) - 1)
        key = (self.problem.key, self.config.delta, self.config.growth, m)
        key += (fingerprint(self.active),)
        return PhasePlan(_PLANS.get(key, lambda: self._pulls(level)), level, None)

    def _pulls(self, level: float) -> Pulls:
        from surepick.design.rounding import round_design

        weights, value, gap = self._design(self.active)
        self.design_gaps.append(gap)
        accuracy = self._first_accuracy() * self.config.growth ** (1 - self.phase)
        n = 2 * value * math.log(1 / level) / accuracy**2
        n = max(math.ceil(coarse(n)), self.problem.rank)  # rounding errors add no pull
        heavy = np.where(weights * n < 0.5, 0.0, weights)
        counts = round_design(heavy if heavy.any() else weights, n)
        counts[self.problem.spanning_arms] = np.maximum(counts[self.problem.spanning_arms], 1)
        return Pulls.from_counts(counts)

    def _first_accuracy(self) -> float:
        """The accuracy that the smallest sensible first phase reaches.

        Gaps may be of any size, so the first phase is just large enough to estimate
        everything: pulls are spent in proportion to how hard the problem turns out to be.
        """
        everything = self.problem.distinct
        value = self._design(everything).rho
        level = self.config.delta / 2 / (len(everything) - 1)
        return math.sqrt(2 * value * math.log(1 / level) / (_FIRST * self.problem.rank))

    def _design(self, active: np.ndarray) -> Solved:
        """Min-max weights over all pairs of ``active``, and their value."""
        return pair_design(self.problem, active, _TOL)


def phase_constants(
    arms: np.ndarray, points: np.ndarray, m: int, delta: float, compared: int, ball: bool
) -> dict[str, float]:
    """C, D_m, r_m² and epsilon_m of phase ``m`` on the active ``points`` (Algorithm 1)."""
    C = coarse(float(np.linalg.eigvalsh(arms.T @ arms)[0]))
    log_K = math.log(max(len(arms), 2))
    square = (points**2).sum(axis=1)
    spread = coarse(float((square[:, None] + square[None, :] - 2 * points @ points.T).max()))
    D = 2 * (math.sqrt(2) - 1) * math.sqrt(C / (spread * log_K))
    r2 = 8 * math.log(compared**2 * m**2 / delta)
    shrink = min(1.0, D * math.sqrt(C) / math.sqrt(r2)) if ball else 1.0
    return {
        "C": C,
        "D": D,
        "r2": r2,
        "eps": shrink * 2.0 ** -(m + 1),
        "radius": D if ball else math.inf,
    }
