"""Designs where some options were retired: they are not measured any more."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from surepick.algorithms.base import Pulls
from surepick.algorithms.pooled.fit import Scales
from surepick.algorithms.pooled.lacking import Lacking
from surepick.algorithms.pooled.parts import Parts
from surepick.algorithms.pooled.planner import BlockDesign, Planner
from surepick.arrays.types import BoolArray, FloatArray, IntArray
from surepick.problem import Problem
from surepick.problem.grown import some_of


class OfferedPlanner(Planner):
    """As :class:`Planner`, by one that knows nothing of the retired options.

    Weights and shares are those of the other options; whole pulls are numbered as all options are.

    Parameters
    ----------
    problem
        All options.
    retired
        Which of them were retired, (K,).
    make
        Makes a planner for a problem.
    """

    def __init__(
        self, problem: Problem, retired: BoolArray, make: Callable[[Problem], Planner]
    ) -> None:
        self._arms = np.flatnonzero(~retired)
        self._n = problem.n_arms
        self._inner = make(some_of(problem, self._arms))
        same = problem.same_as[self._arms]  # the first member of a group may be retired
        _, first = np.unique(same, return_index=True)
        #: places among all candidates, in the order in which the others see them
        self._places = np.searchsorted(problem.distinct, same[np.sort(first)])

    def gaps(self) -> list[float]:
        return self._inner.gaps()

    @property
    def measured(self) -> Problem:
        return self._inner.measured

    def weigh(self, scales: Scales) -> None:
        by_arm = None if scales.by_arm is None else scales.by_arm[self._arms]
        self._inner.weigh(Scales(scales.variance, by_arm))

    def first_shares(self) -> FloatArray:
        return self._inner.first_shares()

    def first(self) -> BlockDesign:
        return self._inner.first()

    def next(
        self, leader: int, missing: Lacking, weights: FloatArray, shares: FloatArray
    ) -> BlockDesign:
        own = int(np.flatnonzero(self._places == leader)[0])
        less = Lacking(missing.pulls[self._places], missing.nats[self._places])
        if missing.counts is not None:
            less = less._replace(counts=missing.counts[self._places])
        return self._inner.next(own, less, weights, shares)

    def pulls(self, weights: FloatArray, n: int, judges: BlockDesign, parts: Parts) -> Pulls:
        found = self._inner.pulls(weights, n, judges, parts)
        return Pulls(self._arms[found.arms], found.counts, found.parts)

    def whole_pulls(
        self, weights: FloatArray, n: int, judges: BlockDesign, must_span: bool
    ) -> IntArray:
        return self._all(self._inner.whole_pulls(weights, n, judges, must_span))

    def pulls_in_parts(
        self, weights: FloatArray, n: int, judges: BlockDesign
    ) -> tuple[IntArray, int]:
        counts, parts = self._inner.pulls_in_parts(weights, n, judges)
        return self._all(counts), parts

    def by_arm(self, weights: FloatArray) -> FloatArray:
        found = np.zeros(self._n)
        found[self._arms] = weights
        return found

    def _all(self, counts: Any) -> IntArray:
        found = np.zeros(self._n, dtype=np.int64)
        found[self._arms] = counts
        return found
