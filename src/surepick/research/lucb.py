"""LUCB: pull the leader and its strongest challenger until their intervals part.

Paper: Kalyanakrishnan, Tewari, Auer, Stone, "PAC Subset Selection in Stochastic Multi-armed
Bandits", ICML 2012 (the algorithm LUCB1, for a single best arm).

Guarantee: delta-PAC (Theorem 1 there). The interval of an arm pulled u times has half-width
beta(u, t) = sqrt(2 log(5 K t⁴ / (4 delta)) / u) in units of the noise scale. The answer is wrong
only if, in some round t, the best arm's mean is above its interval or another's below it: one
side per arm, K arms, at most t pull counts, so the risk is at most the sum over t of
K·t·4 delta / (5 K t⁴) = 0.8·zeta(3)·delta < 0.962 delta.

Known in advance: the noise scale only. Features are ignored: the answer must be among the arms
that can be pulled, and nothing learnt about one arm says anything about another.

All levels of constants are the printed one: no program of the authors is public, and the widths
use up 0.96 of delta.

Departures: rewards are sigma-sub-Gaussian instead of between 0 and 1 (sigma = 1/2 gives back the
paper's width). t counts rounds, 1 after the initial pulls, and a round is two pulls, leader
first; the proof needs no more than u <= t. Arms with equal features count as one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from surepick.arrays.types import FloatArray, IntArray
from surepick.errors import InvalidInputError
from surepick.problem import Problem
from surepick.research.levels import LevelledAlgorithm
from surepick.research.sequential import SequentialState


@dataclass(frozen=True)
class Lucb(LevelledAlgorithm):
    """Lower and upper confidence bounds, one interval per arm, features ignored.

    Parameters
    ----------
    delta, epsilon, max_samples
        As for every algorithm.
    constants
        All three levels are the same here.

    Examples
    --------
    >>> Lucb(delta=0.05).registered_name()
    'lucb'
    """

    name: ClassVar[str] = "lucb"
    theorem: ClassVar[str] = "one interval per arm, union over arms, rounds and pull counts"

    def check_problem(self, problem: Problem) -> None:
        """Refuse scales that differ: one width is for all arms pulled equally often."""
        super().check_problem(problem)
        if problem.noise_kind.scales is not None:
            raise InvalidInputError(
                "noise: lucb needs one scale for all arms, and this problem has one for each: "
                f"give the largest, noise={problem.noise_kind.scales.max():g}, or use "
                "pooled-peleg, which uses all of them"
            )

    def begin(self, problem: Problem, rng: np.random.Generator) -> LucbState:
        """A fresh state; nothing is drawn at random."""
        return LucbState(self, problem)


class LucbState(SequentialState):
    """A running LUCB."""

    def build(self) -> None:
        from surepick.research import lucb_kernels as kernels

        problem, config = self.problem, self.config
        choices = arms_of(problem)
        self.update, self.choose, self.many = kernels.update, kernels.choose, kernels.many
        self.memory = kernels.Memory(
            choices=choices,
            counts=np.zeros(problem.n_arms, dtype=np.int64),
            sums=np.zeros(problem.n_arms),
            whole=np.array([0, 1, -1]),
            constants=np.array(
                [math.log(5 * len(choices) / (4 * config.delta)), config.epsilon / problem.unit]
            ),
        )

    def _means(self) -> FloatArray:
        """Mean of each distinct candidate; -inf where there is none yet."""
        counts = self.memory.counts[self.memory.choices]
        sums = self.memory.sums[self.memory.choices]
        return np.where(counts > 0, sums / np.maximum(counts, 1), -np.inf)

    def leader(self) -> int:
        if len(self.problem.distinct) == 1:
            return int(self.problem.distinct[0])
        return int(self.problem.distinct[np.argmax(self._means())])

    def _comparisons(self) -> tuple[FloatArray, FloatArray]:
        """The leader's lead over each candidate, and the sum of the two half-widths."""
        from surepick.research.lucb_kernels import log_term

        means = self._means()
        h = int(np.argmax(means))
        half = np.sqrt(2.0 * log_term(self.memory) / self.memory.counts[self.memory.choices])
        return means[h] - means, half[h] + half

    def remaining(self) -> list[int]:
        if len(self.problem.distinct) == 1:
            return [self.leader()]
        gap, width = self._comparisons()
        left = gap <= width
        left[np.argmax(self._means())] = True
        return [int(i) for i in self.problem.distinct[left]]

    def evidence(self) -> dict[str, Any]:
        """The round that fixes the widths, and the candidates whose intervals lie below."""
        dropped: list[dict[str, Any]] = []
        rounds = 1
        if self.finished and len(self.problem.distinct) > 1:
            (gap, width), left = self._comparisons(), set(self.remaining())
            leader = self.leader()
            rounds = int(self.memory.whole[1])
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
        return {"rule": "intervals", "round": rounds, "dropped": dropped}


def arms_of(problem: Problem) -> IntArray:
    """The arm with the features of each distinct candidate."""
    if not problem.transductive:
        return problem.distinct.copy()
    scale = np.abs(problem.arms).max(axis=0)
    scale[scale == 0] = 1.0
    arms = np.empty(len(problem.distinct), dtype=np.int64)
    for n, i in enumerate(problem.distinct):
        apart = (np.abs(problem.arms - problem.candidates[i]) / scale).max(axis=1)
        arms[n] = np.argmin(apart)
        if apart[arms[n]] > 1e-12:
            raise InvalidInputError(
                f"lucb ignores features, so every candidate must be one of the arms: candidate "
                f"{i} ({problem.candidate_labels[i]!r}) is not; use an algorithm for linear "
                f"models, such as 'pooled-peleg' or 'lingape'"
            )
    return arms
