"""What a question with limits bets, beside limits being kept or broken, and when it is answered.

The state reads blocks and asks for pulls (:mod:`surepick.algorithms.limits.state`); what follows
from a block is up to the question, of which there are two: which option is the best of those that
keep the limits (:mod:`surepick.algorithms.limits.best`), and which are better than a baseline and
keep them (:mod:`surepick.algorithms.limits.claims`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from surepick.algorithms.findings import Claims
from surepick.algorithms.limits.marks import Mark
from surepick.algorithms.limits.measured import Bets, Measured
from surepick.algorithms.limits.question import Limited
from surepick.algorithms.pooled.settings import BlockSettings
from surepick.arrays.types import BoolArray, FloatArray, IntArray
from surepick.errors import InvalidInputError
from surepick.problem import Problem
from surepick.promise import Promise


class Ground(NamedTuple):
    """What a decision stands on."""

    config: BlockSettings
    problem: Problem
    asked: Limited
    marks: tuple[Mark, ...]  #: of limits
    measured: list[Measured]  #: the reward, and the further numbers


class Decision(ABC):
    """One question with limits: its capital, and what is decided."""

    best: int = 0  #: who would be named now
    finished: Any  #: whether it is answered
    reference: int | None = None  #: whom others are compared with, beside the marks of limits

    def __init__(self, ground: Ground) -> None:
        self.ground = ground

    def spent(self) -> dict[str, float]:
        """As that of :class:`surepick.algorithms.base.State`."""
        return {}

    @abstractmethod
    def save(self) -> dict[str, Any]:
        """Its memory, as NumPy arrays and plain values."""

    @abstractmethod
    def load(self, memory: dict[str, Any]) -> None:
        """Take on a saved memory."""

    @abstractmethod
    def settle(self, measured: Sequence[Bets], number: int) -> dict[str, Any]:
        """Pay out a block, the first of which is number 1, and decide; what is recorded of it."""

    @abstractmethod
    def look(self) -> None:
        """A block more is known: forget what was worked out, and see who would be named."""

    @abstractmethod
    def missing(self, prices: FloatArray) -> FloatArray:
        """About how many pulls of each option are missing."""

    def turn(self, there: BoolArray) -> None:
        """Other options than before, new ones behind the others; only where that is not refused."""
        raise InvalidInputError("options: they cannot come and go here")

    @abstractmethod
    def on_limits(self) -> FloatArray:
        """Log capital on limits being kept, and broken, (2, L, K)."""

    @property
    @abstractmethod
    def open(self) -> BoolArray:
        """Options that are not decided, as a mask."""

    @property
    def active(self) -> IntArray:
        """Options that are not decided; those that were named last, where there are none."""
        return np.flatnonzero(self.open)

    def left(self) -> int:
        """How many are not decided."""
        return int(self.open.sum())

    def compared(self) -> BoolArray:
        """The undecided options, and those that others are compared with, as a mask."""
        found = self.open.copy()
        for reference in (self.reference, *(mark.reference for mark in self.ground.marks)):
            if reference is not None and reference < len(found):
                found[reference] = True
        return found

    @abstractmethod
    def progress(self) -> FloatArray:
        """For each option, how much of the evidence is there that decides it (1: decided)."""

    @abstractmethod
    def doubts(self) -> FloatArray:
        """p-values of what still speaks against naming another option; delta at least."""

    def p_values(self) -> FloatArray | None:
        """Of "this one is the answer"; None: there is no such number."""
        return None

    def named(self) -> list[int]:
        """All that would be named now, best first."""
        return [self.best]

    def promise(self) -> Promise | None:
        """What an answer promises; None: as always."""
        return None

    def claims(self) -> Claims | None:
        """What is claimed about options compared with a baseline, if they are."""
        return None

    def evidence(self) -> dict[str, Any]:
        """What a certificate has beside blocks."""
        return {}


def finite(value: float) -> float:
    """As certificates have it, which know no infinity."""
    return min(float(value), 1e300)


def price_each(problem: Problem, prices: Any) -> FloatArray:
    """What a pull of each option costs."""
    return np.broadcast_to(np.asarray(prices, dtype=np.float64), problem.n_arms)
