"""The part of a PooledPeleg state that asks: which pulls make up the next block."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from surepick.algorithms.base import Pulls
from surepick.algorithms.pooled.fit import Scales
from surepick.algorithms.pooled.guessing import shared_out
from surepick.algorithms.pooled.lacking import evenly
from surepick.algorithms.pooled.market import Market
from surepick.algorithms.pooled.parts import dealt, dealt_again
from surepick.algorithms.pooled.prices import in_pulls, prices, within
from surepick.algorithms.pooled.settings import (
    FEWEST_PULLS,
    BlockSettings,
    block_size,
    guess_size,
    too_far,
    whole_batches,
)
from surepick.algorithms.pooled.turning import TurningState
from surepick.arrays.grid import coarse
from surepick.arrays.types import IntArray

_EXPLORE = 1.0  # share of the first design in later ones: this times sqrt(dimension / pulls so far)


class AskingState(TurningState):
    """What it needs of the state beside the blocks, and what it asks for."""

    config: BlockSettings
    _points: Any  #: the candidates that differ
    strata: int  #: of the last block: how many the next one will have to be enough for
    minds_costs = True

    def _now(self) -> Scales:
        raise NotImplementedError

    def _open_market(self) -> Market:
        raise NotImplementedError

    def propose(self, budget: int) -> Pulls:
        if not self.block.left.total:
            planned = self.propose_ahead(budget, out=0)
            assert planned is not None  # in turn it never is too early
            self.block.begin(planned)
        most = min(budget, self.config.max_batch or budget, self.block.left.total)
        return within(self.problem, self.funds, most, self._next)

    def _next(self, size: int) -> Pulls:
        """So many pulls of the block under way."""
        if self.piece is None:
            return self.block.left.capped(size)
        first = self.block.asked
        return self.piece(len(self.blocks), self.block.whole, first, first + size)

    def replace(self, pulls: Pulls) -> None:
        self.block.begin(pulls)

    def fewer(self, pulls: Pulls, counts: IntArray) -> Pulls:
        return dealt_again(self.problem, pulls, counts, self.ways.parts)

    def propose_ahead(self, budget: int, out: int) -> Pulls | None:
        first, least = self._planner.first(), FEWEST_PULLS * self.problem.rank * self.strata
        n = spent = self.totals.pulls
        if self.problem.costs is not None:
            spent = self.problem.cost_of(self.totals.counts)
        if n == 0 or self.opening:  # nothing is known: this cannot be better than the first block
            if out and too_far(0, out, 0.0, least):
                return None
            arm, extra = self.question.first_extra()
            size = min(whole_batches(self.config, least * (1.0 + extra)), budget)
            weights, _ = in_pulls(self._planner.measured, first.weights, 1.0)
            if extra:
                weights = weights / (1.0 + extra)
                weights[arm] += extra / (1.0 + extra)

            def opening(pulls: int) -> Pulls:
                counts = self._planner.whole_pulls(weights, pulls, first, must_span=True)
                return dealt(counts, self.ways.parts)

            return within(self.problem, self.funds, size, opening)
        # Where each is decided by its own pulls, those that are decided need no more of them; and
        # where features only guide, there is a pull in a block for everyone who is not.
        direct, width = self.ways.ways == ("direct",), self.problem.rank
        guided = direct and self.ways.guide > 1 and width < self.problem.n_arms
        open_only = guided or (direct and self.question.decides_each)
        if open_only:
            undecided = min(self.problem.n_arms, len(self.question.open()) + 1)
            width = min(width, undecided)
            if guided:
                width = max(width, math.ceil(undecided / FEWEST_PULLS))
            least = FEWEST_PULLS * width * self.strata
        scales, market = self._now(), self._open_market()
        missing, leader = self.question.lacking(market, n + out), int(market.rivals[0])
        missing = evenly(missing) if self.config.guess else missing
        self._planner.weigh(scales)
        shares = self.shares.copy() if out else self.shares
        design = self._planner.next(leader, missing, self.weights, shares)
        if out and too_far(
            n, out, in_pulls(self._planner.measured, design.weights, design.value)[1], least
        ):
            return None  # and nothing has changed
        if self.config.guess and self.ways.ways == ("linear",) and not self.problem.large:
            left = budget * float(np.mean(prices(self.problem)))
            start = 0.5 * (design.weights + first.weights)
            own = (self.totals.counts, min(left, self.funds), scales, start)
            found = shared_out(self.problem, self._points, missing, leader, *own)
            design = design._replace(weights=found)
        self.weights, self.shares = design.weights, shares
        explore = min(0.5, _EXPLORE * math.sqrt(width / (n + out)))
        even = first.weights
        if guided:  # a design for features would measure some options only
            even = np.sqrt(prices(self._planner.measured)) * np.ones(len(design.weights))
        if open_only:
            even = np.where(design.weights > 0, even, 0.0)
            even = even / even.sum()
        weights = (1 - explore) * design.weights + explore * even
        weights, rate = in_pulls(self._planner.measured, weights, 1.0)  # pulls for a unit of money
        size = min(block_size(self.config, spent * rate, out, design.value * rate, least), budget)
        if self.config.guess and not out:
            left = budget if math.isinf(self.funds) else min(budget, int(coarse(self.funds * rate)))
            size = max(1, min(whole_batches(self.config, guess_size(size, left, least)), budget))

        def block(pulls: int) -> Pulls:
            return self._planner.pulls(weights, pulls, design, self.ways.parts)

        return within(self.problem, self.funds, size, block)
