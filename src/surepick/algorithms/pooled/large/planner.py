"""Designs of PooledPeleg's blocks for very many arms: certified first-order steps, few arms."""

from __future__ import annotations

from typing import Any

import numpy as np

from surepick.algorithms.base import Pulls
from surepick.algorithms.pooled.fit import Scales
from surepick.algorithms.pooled.lacking import Lacking
from surepick.algorithms.pooled.large.few import FewWeights
from surepick.algorithms.pooled.large.rounding import round_many, round_many_in_parts
from surepick.algorithms.pooled.pace import USUAL
from surepick.algorithms.pooled.parts import Parts, dealt
from surepick.algorithms.pooled.planner import BlockDesign, Planner
from surepick.arrays import cutoffs
from surepick.arrays.cache import PlanCache
from surepick.arrays.grid import coarse
from surepick.arrays.types import FloatArray, IntArray
from surepick.design import Leads, minimax
from surepick.problem import Problem

_FIRST_DESIGNS = PlanCache(4)


class LargePlanner(Planner):
    """As :class:`Planner`."""

    def __init__(self, problem: Problem, points: Any, looks: int = USUAL.looks) -> None:
        super().__init__(problem, points)
        self._looks = looks  # after which a later block has to do
        self._b, self._count = problem.backend, problem.n_arms
        self._gaps: list[float] = []
        self._shared: tuple[FloatArray, IntArray] | None = None  # shares, and where they are not 0

    def gaps(self) -> list[float]:
        return self._gaps

    def first_shares(self) -> FloatArray:
        return np.zeros(self._points.shape[0])

    def first(self) -> BlockDesign:
        """For the candidates around their centre, and a little for all that arms span."""

        def compute() -> BlockDesign:
            centre = self._b.host(self._b.xp.mean(self._points, axis=0))
            if self.problem.rank == self._count and not self.problem.transductive:
                return self._even(centre)
            found = self._solve(centre, None, None, np.zeros(0), USUAL.looks)
            spanning = np.sort(self.problem.spanning_arms)
            even = FewWeights(spanning, np.full(len(spanning), 0.1 / len(spanning)), self._count)
            return found._replace(weights=0.9 * found.weights + even)

        return _FIRST_DESIGNS.get(self.problem.key, compute)

    def _even(self, centre: FloatArray) -> BlockDesign:
        """The first block with equal weights: the best where no arm says anything about another.

        Variances are then sums over arms of squared coefficients over weights, and the directions
        to the centre have the same coefficients, in another order.
        """
        count = self._count
        weights = FewWeights(np.arange(count), np.full(count, 1.0 / count), count)
        judges = np.arange(min(count, cutoffs.ROUNDING_DIRECTIONS))
        vectors, own = Leads(self._points, centre, None).vectors(judges), np.ones(len(judges))
        self._gaps.append(0.0)
        return BlockDesign(weights, count - 1.0, vectors, own / len(own), np.zeros(len(own)))

    def weigh(self, scales: Scales) -> None:
        """A table of arms per standard deviation would be a second one: their mean has to do."""
        own = scales.by_arm
        self._variance = coarse(scales.variance if own is None else float(own.mean()))

    def next(
        self, leader: int, missing: Lacking, weights: FloatArray, shares: FloatArray
    ) -> BlockDesign:
        start = FewWeights.of(weights)
        start = start if start.any() else self.first().weights
        scales = self._b.xp.sqrt(2.0 * self._variance * self._b.xp.clip(missing.pulls, 0.0, None))
        centre = self._b.rows(self._points, np.array([leader]))[0]
        return self._solve(centre, scales, start, shares, self._looks, missing.nats)

    def _solve(
        self,
        centre: FloatArray,
        scales: Any,
        start: Any,
        shares: FloatArray,
        looks: int,
        nats: Any = None,
    ) -> BlockDesign:
        """A design for the directions to ``centre``; ``shares`` are those of the last one."""
        known = self._shared is not None and self._shared[0] is shares
        old = self._shared[1] if self._shared and known else np.flatnonzero(shares)
        leads = Leads(self._points, centre, scales)
        result = minimax(
            self.problem.features,
            leads,
            tol=cutoffs.BLOCK_GAP,
            start=None if start is None else (start.indices, start.values),
            seed=(old, shares[old]) if len(old) else None,
            max_rounds=looks,
        )
        self._gaps.append(result.gap)
        if len(shares):
            shares[old] = 0.0
            shares[result.directions] = coarse(result.direction_weights)
            self._shared = shares, result.directions
        told = coarse(result.direction_weights)
        heavy = np.argsort(-told, kind="stable")[: cutoffs.ROUNDING_DIRECTIONS]
        chosen = result.directions[heavy]
        vectors, own = leads.vectors(chosen), told[heavy]
        lacked = np.zeros(len(chosen)) if nats is None else self._b.rows(nats, chosen)
        weights = FewWeights(result.support, coarse(result.weights[result.support]), self._count)
        return BlockDesign(weights, coarse(float(result.value)), vectors, own, lacked)

    def pulls(self, weights: Any, n: int, judges: BlockDesign, parts: Parts) -> Pulls:
        at_work, own, spanning = self._at_work(weights)
        rows = self.problem.feature_rows(at_work)
        if parts == "same":
            found = Pulls.in_parts(*round_many_in_parts(rows, own, n, judges, spanning))
        else:
            told = (judges.directions, judges.shares, spanning)
            found = dealt(round_many(rows, own, n, *told, must_span=False), parts)
        return Pulls(at_work[found.arms], found.counts, found.parts)

    def _at_work(self, weights: Any) -> tuple[IntArray, FloatArray, IntArray]:
        """Arms that may be pulled, their weights, and which of them span."""
        few, spanning = FewWeights.of(weights), self.problem.spanning_arms
        at_work = np.union1d(few.indices, spanning)
        return at_work, few.at(at_work), np.searchsorted(at_work, spanning)

    def whole_pulls(self, weights: Any, n: int, judges: BlockDesign, must_span: bool) -> IntArray:
        at_work, own, spanning = self._at_work(weights)
        rows, told = self.problem.feature_rows(at_work), (judges.directions, judges.shares)
        counts = np.zeros(self._count, dtype=np.int64)
        counts[at_work] = round_many(rows, own, n, *told, spanning, must_span=must_span)
        return counts

    def pulls_in_parts(self, weights: Any, n: int, judges: BlockDesign) -> tuple[IntArray, int]:
        at_work, own, spanning = self._at_work(weights)
        counts = np.zeros(self._count, dtype=np.int64)
        rows = self.problem.feature_rows(at_work)
        counts[at_work], parts = round_many_in_parts(rows, own, n, judges, spanning)
        return counts, parts
