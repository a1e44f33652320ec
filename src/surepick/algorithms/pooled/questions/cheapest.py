"""Which is the cheapest of the candidates that are good enough: within ε of the best?

What candidates cost is known. x is the answer if it is good enough and none before it is, where
candidates stand in the order of their costs (and of their numbers, where these are the same): there
is exactly one. C_rs is capital bet on "r is not more than ε below s", F_sx on "s is more than ε
above x"; each is a supermartingale where what is bet on is not so.

    W_x = ¼ average over s of F_sx + ¼ Π of F over blocks, with the leader of each as s
        + ¼ average over r before x of G_r + ¼ Π over r before x of G_r over the blocks r headed
    G_r = least C_rs over all s ≠ r, ruled out or not

**W_x is capital against what is true if x is the answer.** Nobody is then more than ε above x, so
all F_sx are bets against what is true, one by one and multiplied, one s per block, chosen from the
past. And each r before x is not good enough: some s is more than ε above it, so C_rs for that s is
such a bet, and G_r is not above it, over all blocks or over those that r headed. Averages of
supermartingales are supermartingales, and so is money that is all on one of them at a time. ∎ x is
ruled out at 1/δ, so the answer is lost with probability δ at most, and who is left alone is the
answer; no union over candidates is paid. (For the first candidate the halves of F count twice.)

With a tolerance η (``epsilon``) a share h of the capital is for that
(:mod:`surepick.proof.accepting`), and the first that is in is accepted once capital on "it is
not more than ε + η below s" is K/(hδ) for every s. All before it were ruled out, the answer among
them with probability (1 − h)δ at most; and any of K candidates that is farther below the best is
accepted with probability hδ/K.
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
from surepick.proof.accepting import ACCEPTING, for_racing
from surepick.proof.claims import CAUTION
from surepick.proof.purses import begun, least_of_others, total

_CAPITAL = ("far", "close", "near", "led_far", "headed", "against", "dropped_at")
_NEARLY = 1e-9  # of a lead: what seems to be exactly at the edge is good enough


class CheapestGood(Question):
    """Capital of all pairs of candidates, and who was dropped."""

    def __init__(self, ground: Ground) -> None:
        super().__init__(ground)
        M, config, problem = ground.candidates, ground.config, ground.problem
        asked, costs = config.asked.within, problem.costs
        assert asked is not None
        assert costs is not None
        self.asked, self.within = asked, asked / problem.unit
        self.order: IntArray = np.argsort(np.asarray(costs), kind="stable")  #: the cheapest first
        self.place: IntArray = np.argsort(self.order, kind="stable")
        self.finished, self.taken = M == 1, False
        self.goal = -math.log(config.delta)
        start = begun((M, M), ground.ways.accounts)
        self.far: FloatArray = start  # logs of F, (x, s, J)
        self.close: FloatArray = start.copy()  # of C, (s, r, J)
        self.near: FloatArray = start.copy()  # the same up to the tolerance
        self.led_far: FloatArray = np.zeros(M)  # of F with the leader of each block
        self.headed: FloatArray = np.zeros((M, M))  # of C over the blocks r headed, (s, r)
        self.against: FloatArray = np.zeros(M)  # log of W; what it was, for those dropped
        self.dropped_at: IntArray = np.zeros(M, dtype=np.int64)  # after so many pulls; 0: in
        self.leaders = Leaders(ground.ways, M)  # for intervals
        self.best = int(self.order[0])

    def save(self) -> dict[str, Any]:
        own = {name: getattr(self, name) for name in _CAPITAL}
        rest = {"taken": self.taken, "finished": self.finished, "_best": self.best}
        return own | rest | {"led": self.leaders.save()}

    def load(self, memory: dict[str, Any]) -> None:
        for name in (*_CAPITAL, "taken", "finished"):
            setattr(self, name, memory[name])
        self.best = memory["_best"]
        self.leaders.load(memory["led"])

    # -- bets ------------------------------------------------------------------------------
    def bet(self, market: Market, blocks: list[Any], pulls: int) -> dict[str, Any]:
        ground, alive = self.ground, self.dropped_at == 0
        leader, head = int(market.rivals[0]), self._head(market.means, alive)
        self.leaders.take(market, blocks)
        far, close, everyone = total(self.far), total(self.close), np.arange(len(alive))
        all_pairs = Round(market, ground.ways, blocks).between(everyone, everyone)
        self.far += all_pairs.paid(-self.within)
        self.close += all_pairs.paid(self.within)
        if self.epsilon > 0:
            self.near += all_pairs.paid(self.within + self.epsilon)
        self.led_far += (total(self.far) - far)[:, leader]
        self.headed[:, head] += (total(self.close) - close)[:, head]
        self.against = np.where(alive, self._capital(), self.against)
        lost = np.flatnonzero(alive & reached(self.against, self.goal))
        self.dropped_at[lost] = pulls
        if self.epsilon > 0 and (self.dropped_at == 0).any():
            first = self._first(self.dropped_at == 0)
            if reached(self._accepting(first).min(), self.goal):
                self.finished, self.taken, self.best = True, True, first
        distinct = ground.problem.distinct
        return {
            "rivals": distinct[[leader, head]].tolist(),
            "dropped": losses(ground.problem, HOST, lost, self.against),
        }

    def _capital(self) -> FloatArray:
        """Log of W, of all candidates; with a tolerance of its share."""
        M = len(self.against)
        far = total(self.far)
        np.fill_diagonal(far, -math.inf)
        own = np.logaddexp(np.logaddexp.reduce(far, axis=1) - math.log(M - 1), self.led_far)
        own = own - math.log(2.0)
        good, headed = least_of_others(total(self.close)), least_of_others(self.headed)
        found = np.empty(M)
        for number, x in enumerate(self.order):
            before = self.order[:number]
            found[x] = own[x]
            if number:
                several = float(np.logaddexp.reduce(good[before])) - math.log(number)
                cheaper = np.logaddexp(several, float(headed[before].sum()))
                found[x] = np.logaddexp(own[x], cheaper - math.log(2.0)) - math.log(2.0)
        return found + for_racing(self.epsilon)

    def _accepting(self, head: int) -> FloatArray:
        """Log capital on closeness of this one to everybody, up to the tolerance, (M,)."""
        logs = total(self.near)[:, head] + math.log(ACCEPTING / len(self.against))
        logs[head] = math.inf
        return logs

    def _first(self, some: BoolArray) -> int:
        """The cheapest of a mask."""
        return int(self.order[np.flatnonzero(some[self.order])[0]])

    def _head(self, means: Any, alive: BoolArray) -> int:
        """The cheapest of those in that seems to be good enough; if none does, the best of them."""
        if not alive.any():
            return self.best
        means = level(np.asarray(means))[: len(alive)]
        seems = alive & (means.max() - means <= self._apart * (1.0 + _NEARLY))
        return self._first(seems if seems.any() else alive & (means == means[alive].max()))

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
        lacks = self.goal + loose + math.log(4.0) - self.headed[others, head]
        gaps = means[head] - means[others] + self._apart
        if self.epsilon > 0:
            lacks = np.minimum(lacks, self.goal - self._accepting(head)[others])
            gaps = means[head] - means[others] + wide
        more = self.goal + loose + math.log(4.0) - self.led_far[cheaper]
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
