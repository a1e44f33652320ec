"""The state of a PooledPeleg run: blocks, bets, and the capital against every candidate.

What has an entry for each candidate lives where the features are, in memory or on a GPU. The state
holds a planner and a market, which are compiled, or made for very many candidates; all decisions
are taken here, once.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from surepick.algorithms.base import Pulls, State, Told
from surepick.algorithms.pooled.closeness import Closeness
from surepick.algorithms.pooled.evidence import Evidence, ways_of
from surepick.algorithms.pooled.fit import BlockFit, Scales, block_fit
from surepick.algorithms.pooled.guide import without_level
from surepick.algorithms.pooled.items import items_of
from surepick.algorithms.pooled.kinds.reading import Reading
from surepick.algorithms.pooled.lacking import Lacking, Standing, lacking
from surepick.algorithms.pooled.ledger import OpenBlock, Rows, Totals, losses
from surepick.algorithms.pooled.market import DOUBT, PRECISIONS, Market, all_accounts
from surepick.algorithms.pooled.memory import upgraded
from surepick.algorithms.pooled.parts import dealt
from surepick.algorithms.pooled.past import one_block, past_blocks, spans
from surepick.algorithms.pooled.planner import Planner
from surepick.algorithms.pooled.settings import BlockSettings, whole_batches
from surepick.algorithms.pooled.strata import NO_LEVEL, levelled, levels_cancel
from surepick.algorithms.pooled.tools import (
    make_direct_market,
    make_market,
    make_planner,
    make_reading,
    points_of,
)
from surepick.algorithms.pooled.values import Values
from surepick.arrays.backend import HOST, Backend
from surepick.arrays.types import FloatArray, IntArray
from surepick.errors import InvalidInputError
from surepick.problem import Problem

_FEWEST_PULLS = 2.0  # pulls per dimension in a block: fewer cannot be spread well
_MOST = 0.3  # a block makes at most this share of the pulls that seem to be missing
_LEAST = 0.03  # a block makes at least this share of the pulls so far
_EXPLORE = 1.0  # share of the first design in later ones: this times sqrt(dimension / pulls so far)
_MOVED = ("capital", "dropped_at")  # arrays that live where the features are


class PooledState(State):
    """Blocks, bets, and the capital against every candidate.

    Candidates are numbered by their place in ``problem.distinct``, except in what leaves the state.
    """

    saved: ClassVar[tuple[str, ...]] = (
        "finished",
        "first",
        "dropped_at",
        "capital",
        "weights",
        "shares",
        "blocks",
        "held",
        "follows_levels",
        "seed",
        "_best",
    )

    def __init__(self, config: BlockSettings, problem: Problem, seed: int = 0) -> None:
        self.config, self.problem, self.seed = config, problem, seed
        self._read_in(ways_of(problem, config.items))
        self.needs_spread = self.demands_spread = self._reading.demands_spread
        self.scale_estimated = problem.noise_kind.kind != "known"
        M, K = self._points.shape[0], problem.n_arms
        self.finished = M == 1
        #: whether a level that all rewards of a block share is kept out of later estimates
        self.follows_levels = self.ways.ways != ("linear",) or problem.has_level
        self.first = np.zeros(K, dtype=np.int64)  # pulls of the first block
        self.totals = Totals(K, self.demands_spread or config.items is not None)  # all settled ones
        self.block = OpenBlock()
        self.dropped_at: Any = np.zeros(M, dtype=np.int64)  # after so many pulls; 0: still in
        self.capital: Any = np.tile(np.log(self.ways.accounts), (M, 1))  # logs, (M, J)
        self.closeness = Closeness(self._b, M, self.ways)  # with epsilon
        self.weights = np.zeros(K)  # last design, and the shares of its directions
        self.shares = self._planner.first_shares()
        self.blocks: list[dict[str, Any]] = []
        self.held: list[Told] = []  # past measurements that wait for a first block to bet by
        self._best = 0
        self._spreads: FloatArray | None = None  # of the batch that is being told
        self._scales: Scales | None = None
        self._market: Market | None = None
        self._first_fit: BlockFit | None = None
        self._to_device()

    def _read_in(self, ways: tuple[str, ...]) -> None:
        """Choose what depends on how blocks are read."""
        problem = self.problem
        self._reading: Reading = make_reading(problem, ways)
        self.ways = Evidence(self._reading, ways)
        # Options compared directly have few numbers each: in memory, wherever features are.
        self._b: Backend = HOST if "direct" in ways or "paired" in ways else problem.backend
        self._points: Any = points_of(problem, self._b)
        self._planner: Planner = make_planner(problem, self._points, ways, self._reading.in_parts)

    def _to_device(self) -> None:
        for name in _MOVED:
            setattr(self, name, self._b.put(getattr(self, name)))

    def save(self) -> dict[str, Any]:
        memory = super().save() | self.closeness.save()
        memory["ways"] = list(self.ways.ways)
        memory["block"] = self.block.save()
        memory["totals"] = [self.totals.counts, self.totals.sums, self.totals.spreads]
        memory["held"] = [told.columns() for told in self.held]
        return memory | {name: self._b.host(memory[name]) for name in _MOVED}

    def load(self, memory: dict[str, Any]) -> None:
        memory = upgraded(memory)
        if tuple(memory["ways"]) != self.ways.ways:
            self._read_in(tuple(memory["ways"]))
            self.closeness = Closeness(self._b, len(memory["capital"]), self.ways)
        super().load(memory)
        self.held = [Told.from_columns(columns) for columns in memory["held"]]
        self.totals.counts, self.totals.sums, self.totals.spreads = memory["totals"]
        self.block.load(memory["block"])
        self.closeness.load(memory)
        self._to_device()
        self._market = self._scales = self._first_fit = None

    def _now(self) -> Scales:
        """How much rewards vary, as far as the settled blocks say."""
        if self._scales is None:
            self._scales = self._reading.scales(self.totals)
        return self._scales

    def _open_market(self) -> Market:
        """Rivals and stakes for the block under way, from least squares on all earlier ones."""
        if self._market is None:
            scales = self._now()
            past = self._reading.guide.estimate(self.totals, scales)
            if isinstance(past, Values):
                self._market = make_direct_market(self.problem, past, scales)
            else:
                first, pulls = self._first_block(scales), int(self.first.sum())
                share = self.problem.rank / pulls
                self._market = make_market(self.problem, self._points, past, first, share)
        return self._market

    def _first_block(self, scales: Scales) -> BlockFit:
        """What the first block can tell, rewards varying so."""
        if self._first_fit is None or scales.by_arm is not None:
            first = Rows.from_counts(self.first, np.zeros(self.problem.n_arms))
            self._first_fit = block_fit(self.problem, first, scales._replace(variance=1.0))
        if scales.variance == 1.0:
            return self._first_fit
        return self._first_fit._replace(root=self._first_fit.root * math.sqrt(scales.variance))

    @property
    def design_gaps(self) -> list[float]:
        """Certified gaps of the designs so far, where they have one; not saved."""
        return getattr(self._planner, "gaps", [])

    # -- asking ----------------------------------------------------------------------------
    def propose(self, budget: int) -> Pulls:
        if not self.block.left.total:
            self.block.left = self._plan(budget)
        return self.block.left.capped(min(budget, self.config.max_batch or budget))

    def _plan(self, budget: int) -> Pulls:
        """Fix the next block: its pulls, and the rivals that its evidence will be about."""
        first, least = self._planner.first(), _FEWEST_PULLS * self.problem.rank
        n = int(self.totals.counts.sum())
        if n == 0:
            size = min(whole_batches(self.config, least), budget)
            counts = self._planner.whole_pulls(first.weights, size, first, must_span=True)
            return dealt(counts, self.ways.parts)
        scales, missing = self._now(), self._lacking()
        leader = int(self._open_market().rivals[0])
        self._planner.weigh(scales)
        design = self._planner.next(leader, missing, self.weights, self.shares)
        self.weights = design.weights
        explore = min(0.5, _EXPLORE * math.sqrt(self.problem.rank / n))
        weights = (1 - explore) * design.weights + explore * first.weights
        size = max(_LEAST * n, min(self.config.batch_growth * n, _MOST * design.value), least)
        size = min(whole_batches(self.config, size), budget)
        return self._planner.pulls(weights, size, design, self.ways.parts)

    def _lacking(self) -> Lacking:
        at = Standing(
            self._evidence(),
            self.dropped_at,
            -math.log(self.config.delta),
            int(self.totals.counts.sum()),
            self._epsilon,
            self.closeness,
        )
        return lacking(self._b, self._open_market(), at)

    @property
    def _epsilon(self) -> float:
        return self.config.epsilon / self.problem.unit

    # -- telling ---------------------------------------------------------------------------
    def observe_spread(self, pulls: Pulls, spread: FloatArray) -> None:
        self._spreads = spread

    def observe(self, pulls: Pulls, sums: FloatArray) -> None:
        self.block.take(Told(pulls, sums, self._spreads))
        self._spreads = None
        if not self.block.left.total:
            self._settle()
        else:
            everything = self.totals.plus(self.block.told.by_arm())
            self._best = self._top(self._reading.guide.candidates(everything, self._points))

    def stratum(self, arms: IntArray, rewards: FloatArray) -> Told:
        if not levels_cancel(self.problem, self.ways.ways):
            raise InvalidInputError(NO_LEVEL)
        return one_block(self.problem, arms, rewards, self.ways.parts)

    def observe_strata(self, pulls: Pulls, strata: list[Told]) -> None:
        self.block.take_strata(strata, pulls)
        if not self.block.left.total:
            self._settle_strata()

    def _settle_strata(self) -> None:
        """Every stratum is a block of its own, but for the first block, which has no bets."""
        block = self.block
        if not self.blocks:
            rows = levelled(self.problem, block)
            self.block = OpenBlock.complete(rows, len(block.strata), block.pieces_of_past)
            self._settle()
            return
        for number, told in enumerate(block.strata):
            if self.finished:  # what is left decides nothing
                rest = len(block.strata) - number
                self.blocks.append({"batches": rest, "rivals": [], "dropped": []})
                break
            self.block = OpenBlock.complete(Rows.of(told), 1)
            self._settle()
        self.block = OpenBlock()

    def items_of(self, pulls: Pulls) -> IntArray | None:
        return items_of(pulls, self.config.items, self.seed, len(self.blocks))

    def split_past(self, arms: IntArray, rewards: FloatArray, evidence: bool) -> list[Told]:
        return past_blocks(self.problem, arms, rewards, evidence, self.ways.parts)

    def observe_past(self, batches: list[Told], evidence: bool) -> None:
        self.held = list(batches)
        if self.finished:
            return
        if spans(self.problem, batches[0].pulls.arms):
            self.block.take_past(self.held.pop(0))
            self._settle()
        elif not evidence:
            # with the pulls of the first block, on which nothing is bet
            self.block.take_past(self.held.pop(0))

    def _settle(self) -> None:
        """The block is complete: pay out the bets, drop who lost, stop where one is left."""
        block, told = self.block, self.ways.by_arm(self.block.told)
        record: dict[str, Any] = {"batches": block.pieces, "rivals": [], "dropped": []}
        if block.pieces_of_past:
            record["past"] = block.pieces_of_past
        if self.blocks:  # the first block has no past to choose rivals and stakes by
            self._bet(self.ways.read(block.told, self._now()), record)
        else:
            self.first[told.arms] = told.counts
        self.blocks.append(record)
        if len(self.blocks) > 1 and self.follows_levels:
            told = without_level(self._reading.guide, told, self.totals, self._now())
        self.totals.add(told)
        self.block = OpenBlock()
        self._market = self._scales = None
        alive = self._alive()
        if len(alive) <= 1:
            self.finished = True
            self._best = int(alive[0]) if len(alive) else self._best
        elif not self.finished:
            self._best = self._top(self._open_market().means)
        if self.held and not self.finished:
            self.block.take_past(self.held.pop(0))
            self._settle()

    def _bet(self, blocks: list[Any], record: dict[str, Any]) -> None:
        """Multiply the capital against everyone still in by what this block paid."""
        market, alive = self._open_market(), self.dropped_at == 0
        record["rivals"] = [self._name(r) for r in market.rivals]
        self.ways.settle(market, self.capital, alive, blocks)
        goal, evidence = -math.log(self.config.delta), self._evidence()
        lost = self._b.nonzero(alive & (evidence >= goal))
        if lost.shape[0]:
            pulls = self.totals.counts.sum() + self.block.told.counts.sum()
            self.dropped_at[lost] = int(pulls)
            record["dropped"] = losses(self.problem, self._b, lost, evidence)
        if self.config.epsilon > 0:
            self.closeness.bet(market, alive, blocks, self._epsilon, goal)
            winner = self.closeness.winner(self.dropped_at == 0)
            if winner is not None:
                self.finished, self._best = True, winner

    # -- where it stands -------------------------------------------------------------------
    def _alive(self) -> IntArray:
        return self._b.host(self._b.nonzero(self.dropped_at == 0))

    def _top(self, means: Any) -> int:
        """The highest of those still in."""
        xp = self._b.xp
        return int(xp.argmax(xp.where(self.dropped_at == 0, means, xp.full_like(means, -math.inf))))

    def _evidence(self) -> Any:
        """Log capital against each candidate, all accounts together."""
        total = all_accounts(self._b, self.capital)
        return total - math.log(2.0) if self.config.epsilon > 0 else total

    def _name(self, place: int | np.integer) -> int:
        return int(self.problem.distinct[place])

    @property
    def active(self) -> IntArray:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Candidates not dropped."""
        alive = self._alive()
        return self.problem.distinct[alive if len(alive) else np.array([self._best])]

    def leader(self) -> int:
        return self._name(self._best)

    def reward_scale(self) -> float | FloatArray | None:
        if self.scale_estimated and not self.totals.counts.any():
            return None
        scales = self._now()
        return math.sqrt(scales.variance) if scales.by_arm is None else np.sqrt(scales.by_arm)

    def progress(self) -> FloatArray:
        xp = self._b.xp
        share = xp.clip(self._evidence() / -math.log(self.config.delta), 0.0, 1.0)
        share = self._b.host(xp.where(self.dropped_at > 0, xp.ones_like(share), share))
        return share[np.searchsorted(self.problem.distinct, self.problem.same_as)]

    def evidence(self) -> dict[str, Any]:
        return {
            "rule": "pooled",
            "doubt": DOUBT,
            "precisions": list(PRECISIONS),
            **self.ways.written(self.follows_levels),
            "blocks": self.blocks,
        }
