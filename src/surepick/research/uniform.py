"""Uniform sampling with the GLR stop: the floor that every adaptive rule must beat.

Arms are pulled in turn, all of them, whatever the rewards; nothing but the noise scale needs to
be known.

Guarantee: delta-PAC by the round-robin threshold of :mod:`surepick.research.thresholds`.
Because the pulls do not depend on rewards, every comparison is a one-dimensional martingale over
full rounds, and no price per dimension is due; the stop is looked at when a round is complete.
``Uniform.heuristic(delta)`` looks after every pull at log((1 + log t)/delta), without a guarantee:
the baseline in most plots.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from surepick.arrays.types import IntArray
from surepick.problem import Problem
from surepick.research.glr import GlrAlgorithm, GlrState


@dataclass(frozen=True)
class Uniform(GlrAlgorithm):
    """Every arm in turn.

    Parameters
    ----------
    delta, epsilon, max_samples
        As for every algorithm.
    threshold
        ``"round-robin"`` (proven) or ``"heuristic"``.

    Examples
    --------
    >>> Uniform.heuristic(0.1).registered_name()
    'uniform-heuristic'
    """

    threshold: str = field(default="round-robin", kw_only=True)

    name: ClassVar[str] = "uniform"
    thresholds: ClassVar[tuple[str, ...]] = ("round-robin", "heuristic")

    def begin(self, problem: Problem, rng: np.random.Generator) -> UniformState:
        """A fresh state; nothing is drawn at random."""
        return UniformState(self, problem)


class UniformState(GlrState):
    """Round robin."""

    def first_arms(self) -> IntArray:
        return np.arange(self.problem.n_arms)

    def build(self) -> None:
        from surepick.research.uniform_kernels import UniformMemory, choose, many, update

        self.memory = UniformMemory(self.new_core())
        self.update, self.choose, self.many = update, choose, many
