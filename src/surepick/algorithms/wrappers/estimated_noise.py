"""EstimatedNoise: another algorithm, after a pilot that estimates the noise scale. Our own.

Only here so that studies, saved runs and certificates of 0.1.0 go on: nothing new is started with
it. PooledPeleg has an exact guarantee without a noise scale.

Guarantee: none in the strict sense. The pilot measures some arms several times, one round after
the other; the upper end of a 95 % interval of the pooled standard deviation then serves as the
noise scale of the algorithm proper, which starts from nothing. If noise is Gaussian and alike for
all arms, that scale is too small with probability 0.025; then, or if noise is of another kind, the
error probability may exceed delta. The answer says so.

Known in advance: nothing. The noise of the problem is only a unit.

The estimate is refreshed whenever the number of replicates has doubled, from the spread within
batches (where single rewards are told, not only their sums) and between batches that measured the
same arm. Each batch is divided by the scale that was known before it. The rewards of the pilot
are used for the noise scale alone; each of its rounds pulls each of its arms once.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from surepick.algorithms import registry
from surepick.algorithms.base import Algorithm, Pulls, State, ToldPulls
from surepick.arrays.types import FloatArray, IntArray
from surepick.arrays.validate import whole
from surepick.errors import InvalidInputError
from surepick.problem import Problem
from surepick.problem.noise import NoiseKind
from surepick.promise import Promise, Reason

_LEVEL = 0.025  # probability that the scale comes out too small
_EXACT = 1e-9  # of the rewards: the least noise there is, if measurements repeat exactly

#: why nothing is promised in the strict sense
ESTIMATED = Reason(
    "the noise scale is an estimate, so that it holds only approximately that this is",
    "the noise scale is an estimate",
    joint=" ",
)


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

    inner: str = field(default=registry.DEFAULT, kw_only=True)
    replicates: int = field(default=30, kw_only=True)

    name: ClassVar[str] = "estimated-noise"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "replicates", whole(self.replicates, "replicates", least=2))
        if self.inner == self.name:
            raise InvalidInputError("inner must be another algorithm")
        # What follows is what the algorithm inside says, where that is everything.
        inner = self.proper().follows
        object.__setattr__(self, "follows", inner if inner == "pulls" else "nothing")

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

    def promise(self, kind: NoiseKind, epsilon_used: bool) -> Promise:
        """Approximate at best."""
        return self.proper().promise(kind, epsilon_used).withdrawn(ESTIMATED)


class EstimatedNoiseState(State):
    """The pilot, then the state of the algorithm proper."""

    needs_spread = True
    scale_estimated = True

    def __init__(self, config: EstimatedNoise, problem: Problem, rng: np.random.Generator) -> None:
        self.config, self.problem, self.rng = config, problem, rng
        self.arms = pilot_arms(problem, config.replicates)
        self.rounds = 1 + math.ceil(config.replicates / len(self.arms))
        self.replicates = Replicates(problem.n_arms)
        self.batches = 0  # told so far, the pilot's rounds among them
        # Scales in units of the problem's noise, each with the first batch that it is used for.
        self.scales: list[tuple[int, float]] = []
        self.known = 0  # replicates that the last scale rests on
        self.past: tuple[list[Any], bool] | None = None
        self.inner: State | None = None
        self._recorded: dict[str, Any] | None = None  # by whose rule the inner one goes

    def as_recorded(self, evidence: dict[str, Any]) -> None:
        self._recorded = evidence["inner"]

    @property
    def scale(self) -> float:
        """The scale in use; 0: the pilot is not over."""
        return self.scales[-1][1] if self.scales else 0.0

    def propose(self, budget: int) -> Pulls:
        if self.inner is not None:
            self.inner.piece = self.piece
            return self.inner.propose(budget)
        return Pulls(self.arms[:budget], np.ones(min(len(self.arms), budget), dtype=np.int64))

    def observe(self, pulls: Pulls, sums: FloatArray) -> None:
        if self.inner is None and len(sums) < len(self.arms):
            return  # the budget is spent
        self.batches += 1
        self.replicates.add(pulls, sums)
        if self.inner is not None:
            self.inner.observe(pulls, sums / self.scale)
            if self.replicates.freedom >= 2 * self.known:
                self._refresh()
        elif self.batches == self.rounds:
            self._refresh()
            self._start()

    def observe_spread(self, pulls: Pulls, spread: FloatArray) -> None:
        self.replicates.spread += float(spread.sum())
        self.replicates.freedom += int((pulls.counts - 1).sum())

    def _refresh(self) -> None:
        self.known = self.replicates.freedom
        self.scales.append((self.batches, self.replicates.upper_scale()))

    def _start(self) -> None:
        first = self.scales[0][1]
        problem = self.problem.with_noise(self.problem.unit * first)
        self.inner = self.config.proper().begin(problem, self.rng)
        if self._recorded is not None:
            self.inner.as_recorded(self._recorded)
        if self.past is not None:
            blocks = [
                ToldPulls(Pulls(arms, counts), sums / first) for arms, counts, sums in self.past[0]
            ]
            self.inner.observe_past(blocks, self.past[1])

    def split_past(self, arms: IntArray, rewards: FloatArray, evidence: bool) -> list[ToldPulls]:
        proper = self.config.proper().begin(self.problem, np.random.default_rng(0))
        return proper.split_past(arms, rewards, evidence)

    def observe_past(self, batches: list[ToldPulls], evidence: bool) -> None:
        self.past = ([[t.pulls.arms, t.pulls.counts, t.sums] for t in batches], evidence)

    # -- where it stands -------------------------------------------------------------------
    @property
    def noise_factor(self) -> float | None:
        """The noise scale in use; None during the pilot."""
        return self.scale or None

    @property
    def active(self) -> IntArray:
        """Candidates not ruled out."""
        return self.problem.distinct if self.inner is None else self.inner.active

    @property
    def finished(self) -> bool:
        """Whether the algorithm proper has stopped (at once where there is no choice)."""
        if len(self.problem.distinct) == 1:
            return True
        return self.inner is not None and self.inner.finished

    def leader(self) -> int:
        if self.inner is not None:
            return self.inner.leader()
        if not self.batches:
            return int(self.problem.distinct[0])
        X = self.problem.features[self.arms]
        theta = np.linalg.lstsq(X, self.replicates.means[self.arms], rcond=None)[0]
        means = self.problem.targets[self.problem.distinct] @ theta
        return int(self.problem.distinct[np.argmax(means)])

    def progress(self) -> FloatArray | None:
        return None if self.inner is None else self.inner.progress()

    def evidence(self) -> dict[str, Any]:
        unit = self.problem.unit
        return {
            "rule": "estimated-noise",
            "rounds": self.rounds if self.scales else self.batches,
            "noise": [{"from_batch": b, "noise": scale * unit} for b, scale in self.scales],
            "inner": None if self.inner is None else self.inner.evidence(),
        }

    # -- save and load ---------------------------------------------------------------------
    def save(self) -> dict[str, Any]:
        return {
            "replicates": self.replicates.save(),
            "batches": self.batches,
            "scales": self.scales,
            "known": self.known,
            "past": self.past,
            "rng": self.rng,
            "inner": None if self.inner is None else self.inner.save(),
        }

    def load(self, memory: dict[str, Any]) -> None:
        self.replicates.load(memory["replicates"])
        self.batches, self.known = int(memory["batches"]), int(memory["known"])
        self.scales = [(int(b), float(scale)) for b, scale in memory["scales"]]
        self.past = None if memory["past"] is None else (memory["past"][0], memory["past"][1])
        self.rng = memory["rng"]
        if memory["inner"] is not None:
            self._start()
            assert self.inner is not None
            self.inner.load(memory["inner"])


class Replicates:
    """How much measurements of the same arm differ, over all arms."""

    def __init__(self, n_arms: int) -> None:
        self.counts: IntArray = np.zeros(n_arms, dtype=np.int64)
        self.means: FloatArray = np.zeros(n_arms)
        self.spread, self.freedom, self.largest = 0.0, 0, 0.0

    def add(self, pulls: Pulls, sums: FloatArray) -> None:
        """A batch, from its counts and sums: one more value around the mean of each arm."""
        arms, n = pulls.arms, pulls.counts
        before, means = self.counts[arms], sums / n
        apart = means - self.means[arms]
        self.spread += float((apart**2 * (before * n / (before + n))).sum())
        self.freedom += int(np.count_nonzero(before))
        self.means[arms] += apart * n / (before + n)
        self.counts[arms] += n
        self.largest = max(self.largest, float(np.abs(means).max()))

    def upper_scale(self) -> float:
        """Upper end of the interval for the standard deviation of one measurement."""
        from scipy.special import chdtri

        least = _EXACT * max(1.0, self.largest)
        return max(math.sqrt(self.spread / float(chdtri(self.freedom, 1 - _LEVEL))), least)

    def save(self) -> list[Any]:
        """The memory, as arrays and plain values."""
        return [self.counts, self.means, self.spread, self.freedom, self.largest]

    def load(self, memory: list[Any]) -> None:
        """Take on a saved memory."""
        self.counts, self.means = memory[0], memory[1]
        self.spread, self.freedom, self.largest = float(memory[2]), int(memory[3]), float(memory[4])


def pilot_arms(problem: Problem, most: int) -> IntArray:
    """Arms to measure in each round: those that span, then others, as different as possible."""
    chosen = list(problem.spanning_arms)
    rest = [k for k in range(problem.n_arms) if k not in set(chosen)]
    room = max(0, min(len(rest), most - len(chosen)))
    if room:
        chosen += [rest[i] for i in np.linspace(0, len(rest) - 1, room).round().astype(int)]
    return np.unique(np.array(chosen, dtype=np.int64))
