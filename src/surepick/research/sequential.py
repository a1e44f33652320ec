"""Fully adaptive algorithms: one pull per batch, by a compiled rule.

Such an algorithm is two compiled functions over one named tuple of arrays, its memory:

- ``update(memory, arm, reward)`` takes in one (standardised) reward;
- ``choose(memory)`` returns the next arm to pull, ``STOP``, or ``NEED`` when it needs something
  that compiled code cannot compute (a linear program, a plug-in design): ``supply`` is then
  called and the choice repeated.

Ask/tell calls them one pull at a time; simulation runs the same two functions in a compiled loop,
``many`` (see :mod:`surepick.research.loop`).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from surepick.algorithms.base import Algorithm, Pulls, State
from surepick.arrays.types import FloatArray, IntArray
from surepick.problem import Problem

STOP, NEED = -1, -2


class SequentialState(State):
    """One pull at a time; children build ``memory`` and name the two compiled functions."""

    needs_batches: ClassVar[bool] = False

    #: the compiled rule, set by ``build``: update(memory, arm, reward) and choose(memory)
    update: Callable[..., Any]
    choose: Callable[..., Any]
    #: both in a compiled loop: many(memory, arm, means, noise, pulls, sums)
    many: Callable[..., Any]
    memory: Any  #: a NamedTuple of NumPy arrays; all the state there is

    def __init__(self, config: Algorithm, problem: Problem) -> None:
        self.config, self.problem = config, problem
        self.finished = len(problem.distinct) == 1
        self.arm = STOP
        if not self.finished:
            self.build()
            self.decide()

    @abstractmethod
    def build(self) -> None:
        """Set ``memory``, ``update``, ``choose`` and ``many`` (import numba code here)."""

    def supply(self) -> None:
        """Compute what ``choose`` asked for with ``NEED``, and put it into the memory."""
        raise RuntimeError(f"{type(self).__name__} asked for something it cannot supply")

    def decide(self) -> None:
        """Choose the next arm, or stop."""
        arm = int(self.choose(self.memory))
        while arm == NEED:
            self.supply()
            arm = int(self.choose(self.memory))
        self.arm = arm
        self.finished = arm == STOP

    def propose(self, budget: int) -> Pulls:
        return Pulls(np.array([self.arm]), np.array([1]))

    def observe(self, pulls: Pulls, sums: FloatArray) -> None:
        self.update(self.memory, int(pulls.arms[0]), float(sums[0]))
        self.decide()

    @property
    def active(self) -> IntArray:
        """All candidates until the stop, then the answer (all that are left, with epsilon)."""
        if self.finished:
            return np.array(self.remaining(), dtype=np.int64)
        return self.problem.distinct

    def remaining(self) -> list[int]:
        """Candidates not ruled out once stopped; with ``epsilon`` there may be several."""
        return [self.leader()]

    def save(self) -> dict[str, Any]:
        if len(self.problem.distinct) == 1:
            return {}
        return {"arm": self.arm, "finished": self.finished, "memory": self.memory._asdict()}

    def load(self, memory: dict[str, Any]) -> None:
        if memory:
            self.arm, self.finished = memory["arm"], memory["finished"]
            self.memory = type(self.memory)(**memory["memory"])
