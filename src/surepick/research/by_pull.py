"""Pull by pull, with nothing to write but which arm is next; for algorithms of your own.

The stop is the generalised likelihood ratio's, whose thresholds hold whatever the rule is
(:mod:`surepick.research.thresholds`). The rule is compiled when it is first used.
"""

# numba compiles these functions: their types are what the callers pass.
# pyright: reportArgumentType=false, reportCallIssue=false

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from surepick.problem import Problem
from surepick.research.glr import GlrAlgorithm, GlrState
from surepick.research.glr_kernels import (
    LEADER,
    TIME,
    absorb,
    closest_rival,
    evidence_suffices,
    rival_variances,
)
from surepick.research.loop import loop
from surepick.research.sequential import STOP


@dataclass(frozen=True)
class ByPull(GlrAlgorithm):
    """Derive a class with a ``name`` and an ``arm``, and register it.

    Parameters
    ----------
    delta, epsilon, max_samples
        As for every algorithm.
    threshold
        ``"self-normalised"``, ``"pairwise"``, ``"determinant"`` or ``"heuristic"``.

    Examples
    --------
    >>> class LeastPulled(ByPull):
    ...     name = "least-pulled"
    ...
    ...     @staticmethod
    ...     def arm(core):
    ...         return np.argmin(core.pulls)
    >>> run = LeastPulled(0.1).start(Problem(np.eye(2), noise=1.0))
    >>> run.ask().arms.tolist()
    [0]
    """

    @staticmethod
    @abstractmethod
    def arm(core: Any) -> int:
        """The next arm, from a :class:`~surepick.research.glr_kernels.Core`; plain NumPy."""

    def begin(self, problem: Problem, rng: np.random.Generator) -> ByPullState:
        """A fresh state; nothing is drawn at random."""
        return ByPullState(self, problem)


class Memory(NamedTuple):
    """Data, least squares, and where the stop stands."""

    core: Any


@njit(cache=True)
def difference(core):
    """Leader minus the rival that is hardest to rule out."""
    rival_variances(core, core.lower)
    rival, _ = closest_rival(core)
    return core.columns[:, core.place[LEADER]] - core.columns[:, rival]


@njit(cache=True)
def update(memory, arm, reward):
    """Take in one reward."""
    absorb(memory.core, arm, reward)


@cache
def compiled(rule: Callable[..., int]) -> tuple[Any, Any]:
    """``choose`` and ``many`` for a rule."""
    arm_of = njit(rule)

    @njit
    def choose(memory):
        core = memory.core
        t = core.place[TIME]
        if t < core.first.shape[0]:
            return core.first[t]
        return STOP if evidence_suffices(core) else arm_of(core)

    @njit
    def many(memory, arm, means, noise, pulls, sums):
        return loop(update, choose, memory, arm, means, noise, pulls, sums)

    return choose, many


class ByPullState(GlrState):
    """A compiled rule at work."""

    def __init__(self, config: ByPull, problem: Problem) -> None:
        self.rule = config.arm
        super().__init__(config, problem)

    def build(self) -> None:
        self.memory, self.update = Memory(self.new_core()), update
        self.choose, self.many = compiled(self.rule)
