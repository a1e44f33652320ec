"""The state of a PooledPeleg run: blocks, bets, and the capital against every candidate."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from surepick.algorithms.base import Pulls, State
from surepick.algorithms.pooled.bets import ACCOUNTS, DOUBT, PRECISIONS, BlockFit, Market
from surepick.algorithms.pooled.design import block_design, first_design, whole_pulls
from surepick.algorithms.pooled.past import Block, past_blocks, spans
from surepick.arrays.types import FloatArray, IntArray
from surepick.problem import Problem
from surepick.statistics.estimate import LeastSquares

if TYPE_CHECKING:
    from surepick.algorithms.pooled.peleg import PooledPeleg

SMALLEST = 2.0  # pulls per dimension in a block: fewer cannot be spread well
_SHARE = 0.3  # of the pulls that seem to be missing, a block makes at most this share
_LEAST = 0.03  # of the pulls so far, a block makes at least this share
_EXPLORE = 1.0  # share of the first design in later ones: this times sqrt(dimension / pulls so far)
CAUTION = 1.5  # gap² counts for at least this many squared standard errors
RECHECK = 4.0  # after so many times the pulls, a drop should look more certain than it did
ENOUGH = 0.5  # evidence (log capital) that a design never counts on needing less than


class PooledState(State):
    """Blocks, bets, and the capital against every candidate.

    Candidates are numbered by their place in ``problem.distinct``, except in what leaves the state.
    """

    config: PooledPeleg
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
        "leaders",
        "spare",
        "close",
        "weights",
        "shares",
        "blocks",
        "held",
        "pieces_of_past",
        "_best",
    )

    def __init__(self, config: PooledPeleg, problem: Problem) -> None:
        self.config, self.problem = config, problem
        self._points: FloatArray = self._gather()
        M, K = len(self._points), problem.n_arms
        self.finished = M == 1
        self.first = np.zeros(K, dtype=np.int64)  # pulls of the first block
        self.total_counts = np.zeros(K, dtype=np.int64)  # of all settled blocks
        self.total_sums = np.zeros(K)
        self.counts = np.zeros(K, dtype=np.int64)  # the block under way
        self.sums = np.zeros(K)
        self.left = np.zeros(K, dtype=np.int64)  # its pulls still to be asked for
        self.pieces = 0  # batches it was told in so far
        self.dropped_at = np.zeros(M, dtype=np.int64)  # after so many pulls; 0: still in
        self.capital = np.tile(np.log(ACCOUNTS), (M, 1))  # log capital of each account, (M, J)
        self.leaders: list[int] = []  # with epsilon: rivals so far, and the capital bet on
        self.spare = np.zeros((0, M, len(ACCOUNTS)))  # "x is not more than epsilon better"
        self.close = np.zeros((0, M), dtype=bool)  # and where that was established
        self.weights = np.zeros(K)  # last design, and the shares of its directions
        self.shares = np.full(M, 1.0 / M)
        self.blocks: list[dict[str, Any]] = []
        self.held: list[Any] = []  # past measurements that wait for a first block to bet by
        self.pieces_of_past = 0  # of them, in the block under way
        self._best = 0
        self._market: Market | None = None
        self._first_fit: BlockFit | None = None

    def load(self, memory: dict[str, Any]) -> None:
        super().load({"held": [], "pieces_of_past": 0} | memory)
        self._market = self._first_fit = None

    def _gather(self) -> FloatArray:
        return np.ascontiguousarray(self.problem.targets[self.problem.distinct])

    # -- asking ----------------------------------------------------------------------------
    def propose(self, budget: int) -> Pulls:
        if not self.left.any():
            self.left[:] = self._plan(budget)
        return Pulls.from_counts(self.left).capped(min(budget, self.config.max_batch or budget))

    def _plan(self, budget: int) -> IntArray:
        """Fix the next block: its pulls, and the rivals that its evidence will be about."""
        first = first_design(self.problem)
        n, size = int(self.total_counts.sum()), 0.0
        if n == 0:
            weights, directions = first, self._points - self._points.mean(axis=0)
            shares = self.shares
        else:
            others, directions = self._lacking()
            weights, missing = self._design(others, directions, first)
            shares = self.shares[others]
            weights, size = self._blend(weights, first), self._size(missing)
        size = self._whole_batches(max(size, SMALLEST * self.problem.rank))
        size = min(size, budget)
        return whole_pulls(self.problem, weights, size, directions, shares, must_span=n == 0)

    def _blend(self, weights: FloatArray, first: FloatArray) -> FloatArray:
        """A design with some of the first one in it."""
        n = int(self.total_counts.sum())
        explore = min(0.5, _EXPLORE * math.sqrt(self.problem.rank / n))
        return (1 - explore) * weights + explore * first

    def _size(self, missing: float) -> float:
        """Pulls of a block when this many seem to be missing."""
        n = int(self.total_counts.sum())
        return max(_LEAST * n, min(self.config.batch_growth * n, _SHARE * missing))

    def _whole_batches(self, size: float) -> int:
        least, most = self.config.min_batch, self.config.max_batch
        size = max(math.ceil(size), least)
        if most is not None and size > most:
            size = most * math.ceil(size / most)
        return size

    def _lacking(self) -> tuple[IntArray, FloatArray]:
        """Whom the leader has yet to beat, and its leads, scaled to the pulls that this takes.

        With variance a per pull, a lead of g makes the log capital grow by g²/(2a) per pull.
        """
        market = self._open_market()
        leader = int(market.rivals[0])
        goal = -math.log(self.config.delta)
        lacking = np.maximum(goal - self._evidence(), ENOUGH)
        gone = np.flatnonzero(self.dropped_at)
        lacking[gone] = goal - self._assurance(market, gone)
        noise = np.maximum(CAUTION * market.variances, 1e-300)
        pulls = lacking / (market.gaps**2 + noise)
        if self.config.epsilon > 0 and not self.dropped_at[leader]:
            # showing that x is not more than epsilon better will do as well
            wide = market.gaps + self.config.epsilon / self.problem.noise
            lacking = np.maximum(goal - self._spare_evidence(leader), ENOUGH)
            lacking[self._is_close(leader)] = 0.0
            easier = lacking / (wide**2 + noise)
            pulls = np.where(self.dropped_at > 0, pulls, np.minimum(pulls, easier))
        pulls[leader] = 0.0
        others = np.flatnonzero(pulls > 0)
        directions = self._points[leader] - self._points[others]
        return others, directions * np.sqrt(2.0 * pulls[others])[:, None]

    def _assurance(self, market: Market, gone: IntArray) -> FloatArray:
        """Evidence that dropped candidates were dropped rightly, less what it should have grown.

        One of them is the best with probability up to delta. Unless it is measured now and
        then, the run would go on among the rest for very long, who may be all alike.
        """
        n = int(self.total_counts.sum())
        late = np.log(np.maximum(1.0, n / (RECHECK * self.dropped_at[gone])))
        seen = market.gaps[gone] ** 2 / np.maximum(2.0 * market.variances[gone], 1e-300)
        return seen - late

    def _design(
        self, others: IntArray, directions: FloatArray, first: FloatArray
    ) -> tuple[FloatArray, float]:
        """Weights for these directions, and the pulls it would take to settle them all."""
        start = self.weights if self.weights.any() else first
        start = 0.98 * start + 0.02 * first
        shares = self.shares[others] + 1e-3 / len(others)
        shares /= shares.sum()
        self.weights, value = block_design(self.problem.features, directions, start, shares)
        self.shares[others] = shares
        return self.weights, value

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
            fit = least_squares(self.problem, *everything)
            self._best = self._top(self._values(fit.theta))

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

    def _bet(self, block: BlockFit, record: dict[str, Any]) -> None:
        """Multiply the capital against everyone still in by what this block paid."""
        market, alive = self._open_market(), self._alive()
        record["rivals"] = [self._name(r) for r in market.rivals]
        market.settle(self.capital, alive, block)
        goal, evidence = -math.log(self.config.delta), self._evidence()
        for i in alive[evidence[alive] >= goal]:
            self.dropped_at[i] = self.total_counts.sum() + self.counts.sum()
            record["dropped"].append({"candidate": self._name(i), "log_capital": evidence[i]})
        if self.config.epsilon > 0:
            self._bet_on_closeness(alive, block)

    def _bet_on_closeness(self, alive: IntArray, block: BlockFit) -> None:
        """With epsilon: bets on "x is not more than epsilon better than the leader"."""
        leader, M = int(self._open_market().rivals[0]), len(self._points)
        k = self._leader_number(leader)
        if k == len(self.leaders):
            self.leaders.append(leader)
            fresh = np.tile(np.log(ACCOUNTS), (1, M, 1))
            self.spare = np.concatenate([self.spare, fresh])
            self.close = np.concatenate([self.close, np.zeros((1, M), dtype=bool)])
        epsilon = self.config.epsilon / self.problem.noise
        self._open_market().settle_close(self.spare[k], alive[alive != leader], block, epsilon)
        self.close[k] |= self._spare_evidence(leader) >= -math.log(self.config.delta)
        left = self._alive()
        for k, leader in enumerate(self.leaders):
            if not self.dropped_at[leader] and self.close[k, left[left != leader]].all():
                self.finished, self._best = True, leader

    # -- where it stands -------------------------------------------------------------------
    def _alive(self) -> IntArray:
        return np.flatnonzero(self.dropped_at == 0)

    def _top(self, means: FloatArray) -> int:
        """The highest of those still in."""
        alive = self._alive()
        return int(alive[np.argmax(means[alive])])

    def _values(self, theta: FloatArray) -> FloatArray:
        return self._points @ theta

    def _fit(self, counts: IntArray, sums: FloatArray) -> BlockFit:
        return BlockFit(self.problem, self._points, counts, sums)

    def _make_market(self, past: LeastSquares, first: BlockFit, scale: float) -> Market:
        return Market(self._points, past, first, scale)

    def _open_market(self) -> Market:
        """Rivals and stakes for the block under way, from least squares on all earlier ones."""
        if self._market is None:
            if self._first_fit is None:
                self._first_fit = self._fit(self.first, np.zeros(self.problem.n_arms))
            past = least_squares(self.problem, self.total_counts, self.total_sums)
            scale = self.problem.rank / int(self.first.sum())
            self._market = self._make_market(past, self._first_fit, scale)
        return self._market

    def _evidence(self) -> FloatArray:
        """Log capital against each candidate, all accounts together."""
        total = np.logaddexp.reduce(self.capital, axis=1)
        return total - math.log(2.0) if self.config.epsilon > 0 else total

    def _leader_number(self, rival: int) -> int:
        return self.leaders.index(rival) if rival in self.leaders else len(self.leaders)

    def _spare_evidence(self, rival: int) -> FloatArray:
        """Log capital on closeness to ``rival``: half of all there is, 1/(k(k+1)) of that each."""
        k = self._leader_number(rival)
        if k == len(self.leaders):
            total = np.zeros(len(self._points))
        else:
            total = np.logaddexp.reduce(self.spare[k], axis=1)
        return total - math.log(2.0 * (k + 1) * (k + 2))

    def _is_close(self, rival: int) -> np.ndarray:
        k = self._leader_number(rival)
        return self.close[k] if k < len(self.leaders) else np.zeros(len(self._points), dtype=bool)

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
        share = np.clip(self._evidence() / -math.log(self.config.delta), 0.0, 1.0)
        share[self.dropped_at > 0] = 1.0
        return share[np.searchsorted(self.problem.distinct, self.problem.same_as)]

    def evidence(self) -> dict[str, Any]:
        return {
            "rule": "pooled",
            "doubt": DOUBT,
            "precisions": list(PRECISIONS),
            "accounts": list(ACCOUNTS),
            "blocks": self.blocks,
        }


def least_squares(problem: Problem, counts: IntArray, sums: FloatArray) -> LeastSquares:
    """Least squares on the arms that were pulled."""
    pulled = np.flatnonzero(counts)
    return LeastSquares(problem.feature_rows(pulled), counts[pulled], sums[pulled])
