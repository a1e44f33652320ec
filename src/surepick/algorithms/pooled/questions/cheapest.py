"""Which is the cheapest of the candidates that are good enough: within ε of the best?

Candidates stand in the order of their costs; what is bet, and why, is in
:mod:`surepick.proof.cheapest`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from surepick.algorithms.pooled.kinds.wins import PER_LEAD
from surepick.algorithms.pooled.lacking import LEAST, Lacking
from surepick.algorithms.pooled.leaders import Leaders
from surepick.algorithms.pooled.leads import Interval
from surepick.algorithms.pooled.ledger import losses
from surepick.algorithms.pooled.market import Market
from surepick.algorithms.pooled.questions.base import Ground, Question
from surepick.algorithms.pooled.round import Round
from surepick.arrays.backend import HOST
from surepick.arrays.grid import coarse, level, reached
from surepick.arrays.types import BoolArray, FloatArray, IntArray
from surepick.proof.accepting import for_racing
from surepick.proof.cheapest import Cheapest
from surepick.proof.claims import CAUTION

_SAVED = ("against", "dropped_at")
_NEARLY = 1e-9  # of a lead: what seems to be exactly at the edge is good enough


class CheapestGood(Question):
    """Capital of all pairs of candidates, and who was dropped."""

    meets_all = True  # to be good enough is to be so beside everybody

    def __init__(self, ground: Ground, costs: FloatArray | None = None) -> None:
        super().__init__(ground)
        M, config, problem = ground.candidates, ground.config, ground.problem
        asked = config.asked.within
        costs = problem.costs if costs is None else costs
        assert asked is not None
        assert costs is not None
        self.asked, self.within = asked, asked / problem.unit
        self.order: IntArray = np.argsort(np.asarray(costs), kind="stable")  #: the cheapest first
        self.place: IntArray = np.argsort(self.order, kind="stable")
        self.finished, self.taken = M == 1, False
        self.goal = -math.log(config.delta)
        self.purses = Cheapest(M, ground.ways.accounts, self.order)
        self.against: FloatArray = np.zeros(M)  # log of W; what it was, for those dropped
        self.dropped_at: IntArray = np.zeros(M, dtype=np.int64)  # after so many pulls; 0: in
        self.leaders = Leaders(ground.ways, M)  # for intervals
        self.best = int(self.order[0])

    def save(self) -> dict[str, Any]:
        own = {name: getattr(self, name) for name in _SAVED} | self.purses.save()
        rest = {"taken": self.taken, "finished": self.finished, "_best": self.best}
        return own | rest | {"led": self.leaders.save()}

    def load(self, memory: dict[str, Any]) -> None:
        self.purses.load(memory)
        for name in (*_SAVED, "taken", "finished"):
            setattr(self, name, memory[name])
        self.best = memory["_best"]
        self.leaders.load(memory["led"])

    # -- bets ------------------------------------------------------------------------------
    def bet(self, market: Market, blocks: list[Any], pulls: int) -> dict[str, Any]:
        ground, alive = self.ground, self.dropped_at == 0
        leader, head = int(market.rivals[0]), self._head(market.means, alive)
        self.leaders.take(market, blocks)
        lost = np.flatnonzero(self.pay(Round(market, ground.ways, blocks), leader, head))
        self.dropped_at[lost] = pulls
        if self.epsilon > 0 and (self.dropped_at == 0).any():
            first = self._first(self.dropped_at == 0)
            if reached(self.purses.accepting(first).min(), self.goal):
                self.finished, self.taken, self.best = True, True, first
        distinct = ground.problem.distinct
        return {
            "rivals": distinct[[leader, head]].tolist(),
            "dropped": losses(ground.problem, HOST, lost, self.against),
        }

    def pay(self, block: Any, leader: Any, head: int) -> BoolArray:
        """Pay out the bets on a round of any shape, before which these two were chosen.

        Who of those that are in has lost.
        """
        alive = self.dropped_at == 0
        everyone = np.arange(len(alive))
        pairs = block.between(everyone, everyone)
        near = pairs.paid(self.within + self.epsilon) if self.epsilon > 0 else None
        self.purses.pay(pairs.paid(-self.within), pairs.paid(self.within), near, leader, head)
        logs = self.purses.against() + for_racing(self.epsilon)
        self.against = np.where(alive, logs, self.against)
        return alive & reached(self.against, self.goal)

    def _first(self, some: BoolArray) -> int:
        """The cheapest of a mask."""
        return int(self.order[np.flatnonzero(some[self.order])[0]])

    def head(self, means: Any, good: BoolArray, alive: BoolArray) -> int:
        """The cheapest of those in that seems to be good enough; if none does, the best of them."""
        if not alive.any():
            return self.best
        return self._first(alive & (good if good[alive].any() else means == means[alive].max()))

    def _head(self, means: Any, alive: BoolArray) -> int:
        means = level(np.asarray(means))[: len(alive)]
        return self.head(means, means.max() - means <= self._apart * (1.0 + _NEARLY), alive)

    @property
    def _apart(self) -> float:
        """What is good enough, in the units of estimates."""
        reading = self.ground.ways.reading
        return self.within if reading.about_means else self.within / PER_LEAD

    def conclude(self, market: Any) -> None:
        if int((self.dropped_at == 0).sum()) <= 1:
            self.finished = True
        self.look(market().means)

    # -- where it stands -------------------------------------------------------------------
    def look(self, means: Any) -> None:
        if not self.taken:
            self.best = self._head(means, self.dropped_at == 0)

    def lacking(self, market: Market, pulls: int) -> Lacking:
        """Of the head over everybody, less ε; and of the leader over all cheaper ones, plus ε."""
        alive, means = self.dropped_at == 0, level(np.asarray(market.means))
        leader, head = int(market.rivals[0]), self._head(market.means, alive)
        others = np.delete(np.arange(len(alive)), head)
        loose = -for_racing(self.epsilon)
        cheaper = np.flatnonzero(alive & (self.place < self.place[head]))
        cheaper = cheaper[cheaper != leader]
        wide = self._apart + self.epsilon / (self.within or 1.0) * self._apart
        lacks = self.goal + loose + math.log(4.0) - self.purses.headed[others, head]
        gaps = means[head] - means[others] + self._apart
        if self.epsilon > 0:
            lacks = np.minimum(lacks, self.goal - self.purses.accepting(head)[others])
            gaps = means[head] - means[others] + wide
        more = self.goal + loose + math.log(4.0) - self.purses.led_far[cheaper]
        far = means[leader] - means[cheaper] - self._apart
        nats = np.maximum(np.concatenate([lacks, more]), LEAST)
        squared = np.concatenate([market.errors(head)[others], market.errors(leader)[cheaper]]) ** 2
        gap = np.maximum(np.concatenate([gaps, far]), 0.0)
        need = nats / (gap**2 + np.maximum(CAUTION * squared, 1e-300))
        ahead = np.concatenate([np.full(len(others), head), np.full(len(cheaper), leader)])
        return Lacking(coarse(need), coarse(nats), (ahead, np.concatenate([others, cheaper])))

    def open(self) -> IntArray:
        alive = np.flatnonzero(self.dropped_at == 0)
        return alive if len(alive) else np.array([self.best])

    def progress(self) -> FloatArray:
        return np.where(self.dropped_at > 0, 1.0, np.clip(self.against / self.goal, 0.0, 1.0))

    def p_values(self) -> FloatArray:
        """Of "this one is the cheapest that is good enough"."""
        return np.exp(-np.maximum(self.against, 0.0))

    def leads(self) -> Interval | None:
        return self.leaders.interval(self.best, self.ground.config.delta)

    def evidence(self) -> dict[str, Any]:
        return {"question": {"cheapest": self.asked}}
