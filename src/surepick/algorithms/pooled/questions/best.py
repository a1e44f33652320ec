"""Which candidate is the best?

Against each candidate x some capital is bet on "a rival beats x"; x is dropped when it reaches
1/delta, and the question is answered when one is left. With epsilon a share of the capital is for
bets on closeness (:mod:`surepick.proof.closeness`); it may be moved there on the way.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from surepick.algorithms.pooled.lacking import BetsSoFar, Lacking, lacking
from surepick.algorithms.pooled.leaders import Leaders
from surepick.algorithms.pooled.leads import Interval
from surepick.algorithms.pooled.ledger import losses
from surepick.algorithms.pooled.market import Market
from surepick.algorithms.pooled.questions.base import Ground, Question
from surepick.arrays.grid import first_best, reached
from surepick.arrays.types import BoolArray, FloatArray, IntArray
from surepick.proof.accepting import Shares
from surepick.proof.closeness import Closeness
from surepick.proof.purses import total

_MOVED = ("capital", "dropped_at")  # arrays that live where the features are


class Best(Question):
    """Capital against every candidate, and who was dropped."""

    def __init__(self, ground: Ground) -> None:
        super().__init__(ground)
        self._b, M = ground.backend, ground.candidates
        self.finished = M == 1
        self.goal = -math.log(ground.config.delta)
        self.dropped_at: Any = np.zeros(
            M, dtype=np.int64
        )  # after so many pulls; 0: still in, below 0: retired
        self.capital: Any = np.tile(np.log(ground.ways.accounts), (M, 1))  # logs, (M, J)
        self.shares = Shares(self.epsilon)
        self.closeness = Closeness(  # with epsilon
            M, ground.ways.accounts, self.shares, backend=self._b
        )
        #: for intervals, where a table of all pairs with the leader is small
        tabled = not ground.problem.large and ground.config.items is None
        self.leaders = Leaders(ground.ways, M) if tabled else None
        self._to_device()

    def _to_device(self) -> None:
        for name in _MOVED:
            setattr(self, name, self._b.put(getattr(self, name)))

    def save(self) -> dict[str, Any]:
        own: dict[str, Any] = {name: self._b.host(getattr(self, name)) for name in _MOVED}
        if self.leaders is not None:
            own["led"] = self.leaders.save()
        racing, behind = self.shares.save()
        own["behind"] = [racing, self._b.host(behind) if np.ndim(behind) else behind]
        return own | {"finished": self.finished, "_best": self.best} | self.closeness.save()

    def load(self, memory: dict[str, Any]) -> None:
        for name in _MOVED:
            setattr(self, name, memory[name])
        self.finished, self.best = memory["finished"], memory["_best"]
        self.closeness.load(memory)
        racing, behind = memory["behind"]
        self.shares.load([racing, self._b.put(behind) if np.ndim(behind) else behind])
        if self.leaders is not None:
            self.leaders.load(memory["led"])
        self._to_device()

    # -- bets ------------------------------------------------------------------------------
    def bet(self, market: Market, blocks: list[Any], pulls: int) -> dict[str, Any]:
        """Multiply the capital against everyone still in by what this block paid."""
        ground, alive = self.ground, self.dropped_at == 0
        found = {"rivals": [self._name(r) for r in market.rivals], "dropped": []}
        if self.leaders is not None:
            self.leaders.take(market, blocks)
        ground.ways.settle(market, self.capital, alive, blocks)
        found["dropped"] = self._drop(alive, pulls)
        if self.epsilon > 0:
            leader, others = int(market.rivals[0]), self._b.xp.asarray(alive, copy=True)
            others[leader] = False
            place = self.closeness.opened(leader)
            spare = self.closeness.logs[place]
            ground.ways.settle(market, spare, others, blocks, closeness=self.epsilon)
            self.closeness.note(leader, self.against(), self.goal)
            winner = self.closeness.winner(self.dropped_at == 0)
            if winner is not None:
                self.finished, self.best = True, winner
        return found

    def _drop(self, alive: Any, pulls: int) -> Any:
        """Drop those of a mask against whom there is enough; who they are, for the record."""
        evidence = self.against()
        lost = self._b.nonzero(alive & reached(evidence, self.goal))
        if not lost.shape[0]:
            return []
        self.dropped_at[lost] = pulls
        return losses(self.ground.problem, self._b, lost, evidence)

    def conclude(self, market: Any) -> None:
        if int(self._b.xp.sum(self.dropped_at == 0)) <= 1:  # who is left may be very many
            self.finished = True
            self.best = next(iter(self._alive().tolist()), self.best)
        elif not self.finished:
            self.look(market().means)

    # -- options that come and go ----------------------------------------------------------
    def offered(self) -> BoolArray | None:
        gone = self.dropped_at < 0
        return ~self._b.host(gone) if bool(self._b.xp.any(gone)) else None

    def rivals(self) -> BoolArray | None:
        left = self._only_left()
        return self.offered() if left is None else left

    def accept(self) -> None:
        self.shares.accept(total(self.capital, self._b.xp))
        self.closeness.forget()

    def _only_left(self) -> BoolArray | None:
        """Where the best is who usually wins: who is left, if somebody is not; nobody else counts.

        Who was beaten by some may beat others. Estimates, of one number for each candidate, cannot
        say so: bets on such a one, and looks at it, would go on for ever.
        """
        left = self._b.host(self.dropped_at == 0)
        if self.ground.ways.reading.about_means or left.all() or not left.any():
            return None
        return left

    def reconsider(self, market: Any) -> None:
        winner = self.closeness.winner(self.dropped_at == 0) if self.epsilon > 0 else None
        self.finished = winner is not None
        if winner is not None:
            self.best = winner
        elif market is not None or len(self._alive()) == 1:
            self.conclude(market)
        else:
            self.best = int(self._alive()[0])

    # -- where it stands -------------------------------------------------------------------
    def lacking(self, market: Market, pulls: int) -> Lacking:
        at = BetsSoFar(
            self.against(), self.dropped_at, self.goal, pulls, self.epsilon, self.closeness
        )
        found, left = lacking(self._b, market, at), self._only_left()
        if left is None:
            return found
        return found._replace(pulls=np.where(left, found.pulls, 0.0))

    def against(self) -> Any:
        """Log capital against each candidate, all accounts together."""
        return total(self.capital, self._b.xp) + self.shares.racing

    def look(self, means: Any) -> None:
        """The highest of those still in."""
        xp = self._b.xp
        still = xp.where(self.dropped_at == 0, means, xp.full_like(means, -math.inf))
        self.best = first_best(still, xp)

    def open(self) -> IntArray:
        alive = self._alive()
        return alive if len(alive) else np.array([self.best])

    def progress(self) -> FloatArray:
        xp = self._b.xp
        share = xp.clip(self.against() / self.goal, 0.0, 1.0)
        return self._b.host(xp.where(self.dropped_at > 0, xp.ones_like(share), share))

    def p_values(self) -> FloatArray:
        return np.exp(-np.maximum(self._b.host(self.against()), 0.0))

    def doubts(self) -> FloatArray:
        """P-values of "this one is more than epsilon better than the one named", at any time.

        With x the best, and a named that is more than epsilon below it: the capital against x and
        that on "x is not more than epsilon better than a", summed over all a that ever lead, are
        both bets against what is true, of a capital that begins with 1
        (:mod:`surepick.proof.accepting`). It reaches 1/p with probability p at most.
        """
        share = self.progress()
        if self.epsilon > 0:
            near = self._b.host(self.closeness.together(self.best, self.against())) / self.goal
            near[self._b.host(self.closeness.shown(self.best))] = 1.0
            share = np.maximum(share, np.clip(near, 0.0, 1.0))
        return self.ground.config.delta**share

    def leads(self) -> Interval | None:
        if self.leaders is None:
            return None
        return self.leaders.interval(self.best, self.ground.config.delta)

    def _alive(self) -> IntArray:
        return self._b.host(self._b.nonzero(self.dropped_at == 0))

    def _name(self, place: int | np.integer) -> int:
        return int(self.ground.problem.distinct[place])
