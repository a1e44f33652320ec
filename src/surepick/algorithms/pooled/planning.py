"""What to ask next: the pulls of a block, as a function of what is known.

Nothing is drawn at random, and nothing is remembered here: the same settled blocks, with as many
pulls out, give the same block.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from surepick.algorithms.base import Pulls
from surepick.algorithms.pooled.evidence import Evidence
from surepick.algorithms.pooled.guessing import shared_out
from surepick.algorithms.pooled.lacking import evenly
from surepick.algorithms.pooled.pace import Pace
from surepick.algorithms.pooled.parts import dealt
from surepick.algorithms.pooled.planner import BlockDesign, Planner
from surepick.algorithms.pooled.prices import in_pulls, prices, within
from surepick.algorithms.pooled.questions.base import Question
from surepick.algorithms.pooled.settings import (
    FEWEST_PULLS,
    BlockSettings,
    block_size,
    guess_size,
    too_far,
    whole_batches,
)
from surepick.algorithms.pooled.suggested import Suggested
from surepick.arrays.grid import coarse
from surepick.arrays.types import FloatArray
from surepick.problem import Problem


@dataclass(frozen=True)
class Situation:
    """What is known when a block is planned, and by whom it is planned."""

    config: BlockSettings
    problem: Problem
    ways: Evidence
    planner: Planner
    pace: Pace
    question: Question
    suggested: Suggested  #: what the settled blocks suggest
    weights: FloatArray  #: the last design, and the shares of its directions
    shares: FloatArray
    strata: int = 1  #: how many the block will have to be enough for
    opening: bool = False  #: whether it has to make newcomers known, without bets
    funds: float = math.inf  #: what its pulls may cost

    @property
    def settled(self) -> int:
        """Pulls of settled blocks."""
        return self.suggested.totals.pulls

    @property
    def least(self) -> float:
        """Pulls that a block of all options must have."""
        return FEWEST_PULLS * self.problem.rank * self.strata


class NextBlock(NamedTuple):
    """A block to ask for, and the design that it was made from."""

    pulls: Pulls
    weights: FloatArray
    shares: FloatArray


class _Reach(NamedTuple):
    """Over how many options a block is spread."""

    width: int  #: dimensions that matter
    guided: bool  #: features only guide, so there is a pull for everyone who is not decided
    open_only: bool  #: nothing for those that are decided
    least: float  #: pulls that the block must have


def next_block(at: Situation, budget: int, out: int = 0) -> NextBlock | None:
    """The block to ask for now, of at most ``budget`` pulls, while ``out`` others are measured.

    None where that would be too far ahead; in turn, with nothing out, it never is.
    """
    if at.settled == 0 or at.opening:
        # Nothing is known: this cannot be better than the first block.
        return None if out and too_far(0, out, 0.0, at.least) else _opening_block(at, budget)
    return _later_block(at, budget, out)


def _opening_block(at: Situation, budget: int) -> NextBlock:
    first = at.planner.first()
    arm, extra = at.question.first_extra()
    size = min(whole_batches(at.config, at.least * (1.0 + extra)), budget)
    weights, _ = in_pulls(at.planner.measured, first.weights, 1.0)
    if extra:
        weights = weights / (1.0 + extra)
        weights[arm] += extra / (1.0 + extra)

    def block(pulls: int) -> Pulls:
        counts = at.planner.whole_pulls(weights, pulls, first, must_span=True)
        return dealt(counts, at.ways.parts)

    return NextBlock(within(at.problem, at.funds, size, block), at.weights, at.shares)


def _later_block(at: Situation, budget: int, out: int) -> NextBlock | None:
    config, planner, n = at.config, at.planner, at.settled
    first, reach = planner.first(), _reach(at)
    scales, market = at.suggested.scales, at.suggested.market
    missing, leader = at.question.lacking(market, n + out), int(market.rivals[0])
    missing = evenly(missing) if config.guess else missing
    planner.weigh(scales)
    shares = at.shares.copy()
    design = planner.next(leader, missing, at.weights, shares)
    in_all = partial(in_pulls, planner.measured)
    if out and too_far(n, out, in_all(design.weights, design.value)[1], reach.least):
        return None
    if config.guess and at.ways.ways == ("linear",) and not at.problem.large:
        left = budget * float(np.mean(prices(at.problem)))
        # Designs know nothing of options that were retired, estimates do.
        arms = np.flatnonzero(planner.by_arm(np.ones(len(design.weights))))
        start = planner.by_arm(0.5 * (design.weights + first.weights))
        offered = at.question.offered()
        if offered is not None:
            missing = missing._replace(pulls=np.where(offered, missing.pulls, 0.0))
        own = (at.suggested.totals.counts, min(left, at.funds), scales, start)
        found = shared_out(at.problem, at.suggested.points, missing, leader, *own)
        design = design._replace(weights=found[arms])
    weights, rate = in_all(_explored(at, design, first, reach, out), 1.0)  # for a unit of money
    spent = n
    if at.problem.costs is not None:
        spent = at.problem.cost_of(at.suggested.totals.counts)
    size = min(
        block_size(config, at.pace, spent * rate, out, design.value * rate, reach.least), budget
    )
    if config.guess and not out:
        left = budget if math.isinf(at.funds) else min(budget, int(coarse(at.funds * rate)))
        size = max(1, min(whole_batches(config, guess_size(size, left, reach.least)), budget))

    def block(pulls: int) -> Pulls:
        return planner.pulls(weights, pulls, design, at.ways.parts)

    return NextBlock(within(at.problem, at.funds, size, block), design.weights, shares)


def _reach(at: Situation) -> _Reach:
    """Where each is decided by its own pulls, those that are decided need no more of them.

    And where features only guide, there is a pull in a block for everyone who is not.
    """
    direct, width = at.ways.ways == ("direct",), at.problem.rank
    guided = direct and width < at.problem.n_arms
    decided = at.question.decides_each or at.suggested.by_wins
    if not (guided or (direct and decided)):
        return _Reach(width, guided, False, at.least)
    undecided = min(at.problem.n_arms, len(at.question.open()) + 1)
    width = min(width, undecided)
    if guided:
        width = max(width, math.ceil(undecided / FEWEST_PULLS))
    return _Reach(width, guided, True, FEWEST_PULLS * width * at.strata)


def _explored(
    at: Situation, design: BlockDesign, first: BlockDesign, reach: _Reach, out: int
) -> Any:
    """The design, with a part of the first one, as estimates may be wrong."""
    explore = min(0.5, at.pace.explore * math.sqrt(reach.width / (at.settled + out)))
    even = first.weights
    if reach.guided:  # a design for features would measure some options only
        even = np.sqrt(prices(at.planner.measured)) * np.ones(len(design.weights))
    if reach.open_only:
        even = np.where(design.weights > 0, even, 0.0)
        even = even / even.sum()
    return (1 - explore) * design.weights + explore * even
