"""The state of a PooledPeleg run: blocks, bets, and the capital against every candidate.

What has an entry for each candidate lives where the features are, in memory or on a GPU. The state
holds a planner and a market, which are compiled, or made for very many candidates; all decisions
are taken here, once.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar, Protocol

import numpy as np

from surepick.algorithms.base import Pulls, State
from surepick.algorithms.pooled.closeness import Closeness
from surepick.algorithms.pooled.market import (
    ACCOUNTS,
    DOUBT,
    PRECISIONS,
    BlockFit,
    Market,
    all_accounts,
    block_fit,
    least_squares,
)
from surepick.algorithms.pooled.past import Block, past_blocks, spans
from surepick.algorithms.pooled.payoff import GaussianPayoff, Payoff
from surepick.algorithms.pooled.planner import Planner
from surepick.algorithms.pooled.tools import make_market, make_planner
from surepick.arrays.backend import Backend
from surepick.arrays.tables import mark_checked
from surepick.arrays.types import FloatArray, IntArray
from surepick.problem import Problem

_FEWEST_PULLS = 2.0  # pulls per dimension in a block: fewer cannot be spread well
_MOST = 0.3  # a block makes at most this share of the pulls that seem to be missing
_LEAST = 0.03  # a block makes at least this share of the pulls so far
_EXPLORE = 1.0  # share of the first design in later ones: this times sqrt(dimension / pulls so far)
_CAUTION = 1.5  # squared standard errors added to a squared gap: it may seem small by chance
_RECHECK = 4.0  # after so many times the pulls, a drop should look more certain than it did
_LEAST_LACKING = 0.5  # log capital that each lead is taken to lack at least
_MOVED = ("capital", "dropped_at")  # arrays that live where the features are


class BlockSettings(Protocol):
    """What the state reads of the configuration."""

    @property
    def delta(self) -> float: ...
    @property
    def epsilon(self) -> float: ...
    @property
    def batch_growth(self) -> float: ...
    @property
    def min_batch(self) -> int: ...
    @property
    def max_batch(self) -> int | None: ...


class PooledState(State):
    """Blocks, bets, and the capital against every candidate.

    Candidates are numbered by their place in ``problem.distinct``, except in what leaves the state.
    """

    saved: ClassVar[tuple[str, ...]] = (
        "finished",
        "first",
        "total_counts",
        "total_sums",
        "counts",
        "sums",
        "left",
        "pieces",
        "dropped_at",
        "capital",
        "weights",
        "shares",
        "blocks",
        "held",
        "pieces_of_past",
        "_best",
    )

    def __init__(
        self, config: BlockSettings, problem: Problem, payoff: Payoff | None = None
    ) -> None:
        self.config, self.problem = config, problem
        self._payoff = GaussianPayoff(PRECISIONS) if payoff is None else payoff
        self._b: Backend = problem.backend
        self._points: Any = self._gather()
        self._planner: Planner = make_planner(problem, self._points)
        M, K = self._points.shape[0], problem.n_arms
        self.finished = M == 1
        self.first = np.zeros(K, dtype=np.int64)  # pulls of the first block
        self.total_counts = np.zeros(K, dtype=np.int64)  # of all settled blocks
        self.total_sums = np.zeros(K)
        self.counts = np.zeros(K, dtype=np.int64)  # the block under way
        self.sums = np.zeros(K)
        self.left = np.zeros(K, dtype=np.int64)  # its pulls still to be asked for
        self.pieces = 0  # batches it was told in so far
        self.dropped_at: Any = np.zeros(M, dtype=np.int64)  # after so many pulls; 0: still in
        self.capital: Any = np.tile(np.log(ACCOUNTS), (M, 1))  # log capital of each account, (M, J)
        self.closeness = Closeness(self._b, M)  # with epsilon
        self.weights = np.zeros(K)  # last design, and the shares of its directions
        self.shares = self._planner.first_shares()
        self.blocks: list[dict[str, Any]] = []
        self.held: list[Any] = []  # past measurements that wait for a first block to bet by
        self.pieces_of_past = 0  # of them, in the block under way
        self._best = 0
        self._market: Market | None = None
        self._first_fit: BlockFit | None = None
        self._to_device()

    def _to_device(self) -> None:
        for name in _MOVED:
            setattr(self, name, self._b.put(getattr(self, name)))

    def save(self) -> dict[str, Any]:
        memory = super().save() | self.closeness.save()
        return memory | {name: self._b.host(memory[name]) for name in _MOVED}

    def load(self, memory: dict[str, Any]) -> None:
        super().load({"held": [], "pieces_of_past": 0} | memory)
        self.closeness.load(memory)
        self._to_device()
        self._market = self._first_fit = None

    def _gather(self) -> Any:
        """The candidates that differ, (M, d)."""
        problem = self.problem
        if len(problem.distinct) == problem.n_candidates:
            return problem.targets
        points = self._b.take(problem.targets, problem.distinct)
        if problem.large:
            mark_checked(points)
        return points

    def _open_market(self) -> Market:
        """Rivals and stakes for the block under way, from least squares on all earlier ones."""
        if self._market is None:
            if self._first_fit is None:
                self._first_fit = self._fit(self.first, np.zeros(self.problem.n_arms))
            past = least_squares(self.problem, self.total_counts, self.total_sums)
            scale = self.problem.rank / int(self.first.sum())
            self._market = make_market(self.problem, self._points, past, self._first_fit, scale)
        return self._market

    @property
    def design_gaps(self) -> list[float]:
        """Certified gaps of the designs so far, where they have one; not saved."""
        return getattr(self._planner, "gaps", [])

    # -- asking ----------------------------------------------------------------------------
    def propose(self, budget: int) -> Pulls:
        if not self.left.any():
            self.left[:] = self._plan(budget)
        return Pulls.from_counts(self.left).capped(min(budget, self.config.max_batch or budget))

    def _plan(self, budget: int) -> IntArray:
        """Fix the next block: its pulls, and the rivals that its evidence will be about."""
        first = self._planner.first()
        n, size = int(self.total_counts.sum()), 0.0
        if n == 0:
            design, weights = first, first.weights
        else:
            leader = int(self._open_market().rivals[0])
            design = self._planner.next(leader, self._lacking(), self.weights, self.shares)
            self.weights = design.weights
            explore = min(0.5, _EXPLORE * math.sqrt(self.problem.rank / n))
            weights = (1 - explore) * design.weights + explore * first.weights
            size = max(_LEAST * n, min(self.config.batch_growth * n, _MOST * design.value))
        size = self._whole_batches(max(size, _FEWEST_PULLS * self.problem.rank))
        return self._planner.whole_pulls(weights, min(size, budget), design, must_span=n == 0)

    def _whole_batches(self, size: float) -> int:
        least, most = self.config.min_batch, self.config.max_batch
        size = max(math.ceil(size), least)
        if most is not None and size > most:
            size = most * math.ceil(size / most)
        return size

    def _lacking(self) -> Any:
        """Pulls, for a variance of one per pull, that the leader's lead over each one lacks, (M,).

        With variance a per pull, a lead of g makes the log capital grow by g²/(2a) per pull.
        """
        xp, market = self._b.xp, self._open_market()
        leader, goal = int(market.rivals[0]), -math.log(self.config.delta)
        gone = self.dropped_at > 0
        lacking = xp.clip(goal - self._evidence(), _LEAST_LACKING, None)
        if bool(xp.any(gone)):
            lacking = xp.where(gone, goal - self._assurance(market), lacking)
        noise = xp.clip(_CAUTION * market.variances, 1e-300, None)
        pulls = lacking / (market.gaps**2 + noise)
        if self.config.epsilon > 0 and not bool(gone[leader]):
            # showing that x is not more than epsilon better will do as well
            wide = market.gaps + self.config.epsilon / self.problem.noise
            spare = xp.clip(goal - self.closeness.evidence(leader), _LEAST_LACKING, None)
            spare = xp.where(self.closeness.shown(leader), xp.zeros_like(spare), spare)
            pulls = xp.where(gone, pulls, xp.minimum(pulls, spare / (wide**2 + noise)))
        pulls[leader] = 0.0
        return pulls

    def _assurance(self, market: Market) -> Any:
        """Evidence that dropped candidates were dropped rightly, less what it should have grown.

        One of them is the best with probability up to delta. Unless it is measured now and
        then, the run would go on among the rest for very long, who may be all alike.
        """
        xp, n = self._b.xp, float(self.total_counts.sum())
        dropped = xp.clip(xp.astype(self.dropped_at, xp.float64), 1.0, None)
        late = xp.log(xp.clip(n / (_RECHECK * dropped), 1.0, None))
        return market.gaps**2 / xp.clip(2.0 * market.variances, 1e-300, None) - late

    # -- telling ---------------------------------------------------------------------------
    def observe(self, pulls: Pulls, sums: FloatArray) -> None:
        self.counts[pulls.arms] += pulls.counts
        self.sums[pulls.arms] += sums
        self.left[pulls.arms] -= pulls.counts
        self.pieces += 1
        if not self.left.any():
            self._settle()
        else:
            everything = (self.total_counts + self.counts, self.total_sums + self.sums)
            theta = least_squares(self.problem, *everything).theta
            self._best = self._top(self._b.product(self._points, theta))

    def split_past(self, arms: IntArray, rewards: FloatArray, evidence: bool) -> list[Block]:
        return past_blocks(self.problem, arms, rewards, evidence)

    def observe_past(self, batches: list[Block], evidence: bool) -> None:
        self.held = [[pulls.arms, pulls.counts, sums] for pulls, sums in batches]
        if self.finished:
            return
        if spans(self.problem, batches[0][0].arms):
            self._take_held()
            self._settle()
        elif not evidence:
            self._take_held()  # with the pulls of the first block, on which nothing is bet

    def _take_held(self) -> None:
        arms, counts, sums = self.held.pop(0)
        self.counts[arms] += counts
        self.sums[arms] += sums
        self.pieces_of_past += 1

    def _settle(self) -> None:
        """The block is complete: pay out the bets, drop who lost, stop where one is left."""
        record: dict[str, Any] = {"batches": self.pieces, "rivals": [], "dropped": []}
        if self.pieces_of_past:
            record["past"] = self.pieces_of_past
        if self.blocks:  # the first block has no past to choose rivals and stakes by
            self._bet(self._fit(self.counts, self.sums), record)
        else:
            self.first[:] = self.counts
        self.blocks.append(record)
        self.total_counts += self.counts
        self.total_sums += self.sums
        self.counts[:], self.sums[:], self.pieces, self.pieces_of_past = 0, 0.0, 0, 0
        self._market = None
        alive = self._alive()
        if len(alive) <= 1:
            self.finished = True
            self._best = int(alive[0]) if len(alive) else self._best
        elif not self.finished:
            self._best = self._top(self._open_market().means)
        if self.held and not self.finished:
            self._take_held()
            self._settle()

    def _fit(self, counts: IntArray, sums: FloatArray) -> BlockFit:
        return block_fit(self.problem, counts, sums)

    def _bet(self, block: BlockFit, record: dict[str, Any]) -> None:
        """Multiply the capital against everyone still in by what this block paid."""
        market, alive = self._open_market(), self.dropped_at == 0
        record["rivals"] = [self._name(r) for r in market.rivals]
        market.settle(self.capital, alive, block, self._payoff)
        goal, evidence = -math.log(self.config.delta), self._evidence()
        lost = self._b.nonzero(alive & (evidence >= goal))
        if lost.shape[0]:
            self.dropped_at[lost] = int(self.total_counts.sum() + self.counts.sum())
            record["dropped"] = self._dropped(lost, evidence)
        if self.config.epsilon > 0:
            epsilon = self.config.epsilon / self.problem.noise
            self.closeness.bet(market, alive, block, self._payoff, epsilon, goal)
            winner = self.closeness.winner(self.dropped_at == 0)
            if winner is not None:
                self.finished, self._best = True, winner

    def _dropped(self, lost: Any, evidence: Any) -> Any:
        """Who was dropped, at which capital, for the record: a table where they may be many."""
        names = self.problem.distinct[self._b.host(lost)]
        capital = self._b.rows(evidence, lost)
        if self.problem.large:
            return {"candidate": names, "log_capital": capital}
        pairs = zip(names.tolist(), capital.tolist())
        return [{"candidate": name, "log_capital": logs} for name, logs in pairs]

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
            "accounts": list(ACCOUNTS),
            "blocks": self.blocks,
        }
