"""EstimatedNoise: another algorithm, after a pilot that estimates the noise scale. Our own.

Guarantee: none in the strict sense. The pilot measures some arms several times, one round after
the other; the upper end of a 95 % interval of the pooled standard deviation then serves as the
noise scale of the algorithm proper, which starts from nothing. If noise is Gaussian and alike for
all arms, that scale is too small with probability 0.025; then, or if noise is of another kind, the
error probability may exceed delta. The answer says so.

Known in advance: nothing. The noise of the problem is only a unit.

The pilot's rewards are used for the noise scale alone. Each round pulls each of its arms once, so
that the sums that algorithms see are single rewards.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from surepick.algorithms import registry
from surepick.algorithms.base import Algorithm, Guarantee, IntArray, Pulls, State
from surepick.errors import InvalidInputError
from surepick.problem import Problem
from surepick.problem.validate import FloatArray, whole

_LEVEL = 0.025  # probability that the scale comes out too small
_EXACT = 1e-9  # of the rewards: the least noise there is, if measurements repeat exactly


@dataclass(frozen=True)
class EstimatedNoise(Algorithm):
    """An algorithm whose noise scale comes from a pilot.

    Parameters
    ----------
    delta, epsilon, max_samples
        As for every algorithm; the pilot counts as part of the budget.
    inner
        Registry name of the algorithm proper; it must measure in batches.
    replicates
        Repeated measurements of the pilot, at least. More bring the upper end of the interval
        closer to the true scale: with 30 it is about 1.3 times the scale, with 100 about 1.15.

    Examples
    --------
    >>> EstimatedNoise(0.05).inner
    'pooled-peleg'
    """

    inner: str = field(default="pooled-peleg", kw_only=True)
    replicates: int = field(default=30, kw_only=True)

    name: ClassVar[str] = "estimated-noise"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "replicates", whole(self.replicates, "replicates", least=2))
        if self.inner == self.name:
            raise InvalidInputError("inner must be another algorithm")
        self.proper()

    def proper(self) -> Algorithm:
        """The algorithm that follows the pilot."""
        return registry.get(self.inner, delta=self.delta, epsilon=self.epsilon)

    def begin(self, problem: Problem, rng: np.random.Generator) -> EstimatedNoiseState:
        """A fresh state; the generator is for the algorithm proper."""
        if not self.proper().begin(problem, np.random.default_rng(0)).needs_batches:
            raise InvalidInputError(
                f"noise cannot be estimated for {self.inner!r}, which does not measure in batches; "
                f"use pooled-peleg, peleg or rage"
            )
        return EstimatedNoiseState(self, problem, rng)

    def guarantee(self, epsilon_used: bool) -> Guarantee:
        """Approximate at best."""
        strict = self.proper().guarantee(epsilon_used)
        return Guarantee(
            "heuristic",
            f"no guarantee: the noise scale is an estimate, so that it holds only approximately "
            f"that this is {strict}",
        )


class EstimatedNoiseState(State):
    """The pilot, then the state of the algorithm proper."""

    def __init__(self, config: EstimatedNoise, problem: Problem, rng: np.random.Generator) -> None:
        self.config, self.problem, self.rng = config, problem, rng
        self.arms = pilot_arms(problem, config.replicates)
        self.rounds = 1 + math.ceil(config.replicates / len(self.arms))
        self.rewards: FloatArray = np.zeros((0, len(self.arms)))  # one row for each round
        self.scale = 0.0  # in units of the problem's noise; 0: the pilot is not over
        self.inner: State | None = None

    def propose(self, budget: int) -> Pulls:
        if self.inner is not None:
            return self.inner.propose(budget)
        return Pulls(self.arms[:budget], np.ones(min(len(self.arms), budget), dtype=np.int64))

    def observe(self, pulls: Pulls, sums: FloatArray) -> None:
        if self.inner is not None:
            self.inner.observe(pulls, sums / self.scale)
            return
        if len(sums) < len(self.arms):
            return  # the budget is spent
        self.rewards = np.vstack([self.rewards, sums])
        if len(self.rewards) == self.rounds:
            self._start(upper_scale(self.rewards))

    def _start(self, scale: float) -> None:
        self.scale = scale
        described = self.problem.to_dict() | {"noise": self.problem.noise * scale}
        self.inner = self.config.proper().begin(Problem.from_dict(described), self.rng)

    # -- where it stands -------------------------------------------------------------------
    @property
    def noise_factor(self) -> float | None:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The noise scale in use; None during the pilot."""
        return self.scale or None

    @property
    def active(self) -> IntArray:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Candidates not ruled out."""
        return self.problem.distinct if self.inner is None else self.inner.active

    @property
    def finished(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Whether the algorithm proper has stopped (at once where there is no choice)."""
        if len(self.problem.distinct) == 1:
            return True
        return self.inner is not None and self.inner.finished

    def leader(self) -> int:
        if self.inner is not None:
            return self.inner.leader()
        if not len(self.rewards):
            return int(self.problem.distinct[0])
        X = self.problem.features[self.arms]
        theta = np.linalg.lstsq(X, self.rewards.mean(axis=0), rcond=None)[0]
        means = self.problem.targets[self.problem.distinct] @ theta
        return int(self.problem.distinct[np.argmax(means)])

    def progress(self) -> FloatArray | None:
        return None if self.inner is None else self.inner.progress()

    def evidence(self) -> dict[str, Any]:
        return {
            "rule": "estimated-noise",
            "rounds": len(self.rewards),
            "noise": self.scale * self.problem.noise if self.scale else None,
            "inner": None if self.inner is None else self.inner.evidence(),
        }

    # -- save and load ---------------------------------------------------------------------
    def save(self) -> dict[str, Any]:
        return {
            "rewards": self.rewards,
            "scale": self.scale,
            "rng": self.rng,
            "inner": None if self.inner is None else self.inner.save(),
        }

    def load(self, memory: dict[str, Any]) -> None:
        self.rewards = np.reshape(memory["rewards"], (-1, len(self.arms)))
        self.rng = memory["rng"]
        if memory["inner"] is not None:
            self._start(float(memory["scale"]))
            assert self.inner is not None
            self.inner.load(memory["inner"])


def pilot_arms(problem: Problem, most: int) -> IntArray:
    """Arms to measure in each round: those that span, then others, as different as possible."""
    chosen = list(problem.spanning_arms)
    rest = [k for k in range(problem.n_arms) if k not in set(chosen)]
    room = max(0, min(len(rest), most - len(chosen)))
    if room:
        chosen += [rest[i] for i in np.linspace(0, len(rest) - 1, room).round().astype(int)]
    return np.unique(np.array(chosen, dtype=np.int64))


def upper_scale(rewards: FloatArray) -> float:
    """Upper end of the interval for the standard deviation, from rounds of the same arms."""
    from scipy.special import chdtri

    spread = float(((rewards - rewards.mean(axis=0)) ** 2).sum())
    freedom = rewards.shape[1] * (len(rewards) - 1)
    least = _EXACT * max(1.0, float(np.abs(rewards).max()))
    return max(math.sqrt(spread / float(chdtri(freedom, 1 - _LEVEL))), least)
