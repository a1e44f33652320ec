"""Which m candidates are the best?

Against each candidate x some capital is bet on "x is not among the m best"; x is dropped when it
reaches m/delta, and the question is answered when m are left. An answer is wrong only if one of
the m best was dropped: m events, each of probability at most delta/m.

m − 1 candidates that look best are *sure*: each has a capital of its own, bet on "it beats x". One
more is bet, as where m is 1, on "another one beats x", among all that are not sure. The smallest
of these m counts. While x is among the m best, one of the m never has a positive expectation: that
of a sure candidate that is none of the m best, or, where all of the sure ones are, the last, as
then no other candidate beats x. When a sure candidate no longer looks like one of the m best,
another takes its place; it, and the last one, go on with the smallest of the m, and those that stay
keep no more than who left had: else luck could choose which of two counts. Against sure candidates
nothing is bet.

That much is needed of "beats": there are m candidates none of which is beaten by any other. Means
have that; who usually wins has it where m options each beat all the rest.

With epsilon, a share of the capital is for bets on "x is not more than epsilon better than a", for
every a that was ever among the m that look best (:mod:`.near`).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from surepick.algorithms.pooled.compiled.kernels import add_payoffs
from surepick.algorithms.pooled.lacking import CAUTION, LEAST, RECHECK, Lacking
from surepick.algorithms.pooled.leaders import Leaders
from surepick.algorithms.pooled.leads import Interval
from surepick.algorithms.pooled.ledger import losses
from surepick.algorithms.pooled.market import DOUBT, RIVALS, Market, all_accounts
from surepick.algorithms.pooled.questions.base import Ground, Question
from surepick.algorithms.pooled.questions.near import Near
from surepick.arrays import limits
from surepick.arrays.backend import HOST
from surepick.arrays.grid import coarse, level, reached
from surepick.arrays.types import FloatArray, IntArray
from surepick.statistics.accepting import for_racing


class TopM(Question):
    """Capital on the sure candidates and on the others, and who was dropped."""

    def __init__(self, ground: Ground) -> None:
        super().__init__(ground)
        M, m = ground.candidates, ground.config.top
        self.m, self.finished = m, False
        self.goal = math.log(m / ground.config.delta)
        self._start = np.log(ground.ways.accounts)
        self.dropped_at: IntArray = np.zeros(M, dtype=np.int64)  # after so many pulls; 0: still in
        self.sure: list[int] = []
        self.by_sure: FloatArray = np.tile(self._start, (m - 1, M, 1))  # log capital
        self.by_others: FloatArray = np.tile(self._start, (M, 1))
        self.near = Near(ground.ways, M, m)  # with epsilon
        self.leaders = Leaders(ground.ways, M)  # for intervals
        self.chosen: list[int] = list(range(m))  #: that would be named now, best first

    def save(self) -> dict[str, Any]:
        return {
            "dropped_at": self.dropped_at,
            "sure": self.sure,
            "by_sure": self.by_sure,
            "by_others": self.by_others,
            "chosen": self.chosen,
            "finished": self.finished,
            "near": self.near.save(),
            "led": self.leaders.save(),
        }

    def load(self, memory: dict[str, Any]) -> None:
        self.dropped_at, self.sure = memory["dropped_at"], memory["sure"]
        self.by_sure, self.by_others = memory["by_sure"], memory["by_others"]
        self.chosen, self.finished = memory["chosen"], memory["finished"]
        self.best = self.chosen[0]
        self.near.load(memory["near"])
        self.leaders.load(memory["led"])

    # -- bets ------------------------------------------------------------------------------
    def bet(self, market: Market, blocks: list[Any], pulls: int) -> dict[str, Any]:
        ground, alive = self.ground, self.dropped_at == 0
        leading = highest(market.means, self.m)
        self._make_sure(leading)
        self.leaders.take(market, blocks)
        rivals, doubt = self._others(market)
        bet_against = alive.copy()
        bet_against[self.sure] = False
        places = np.flatnonzero(bet_against)
        for number, (way, block) in enumerate(zip(ground.ways.ways, blocks)):
            own, payoff = ground.ways.own(number), ground.ways.payoff(way)
            if self.sure:
                paid = market.pairs(places, np.array(self.sure), block, payoff).paid()
                self.by_sure[:, places, own] += np.moveaxis(paid, 1, 0)
            pairs = market.pairs(places, rivals, block, payoff)
            add_payoffs(self.by_others[:, own], places, pairs.bets.shares - doubt, pairs.paid())
        evidence = self.against()
        lost = np.flatnonzero(alive & reached(evidence, self.goal))
        self.dropped_at[lost] = pulls
        if self.epsilon > 0:
            self.near.bet(market, leading, alive, blocks, self.epsilon, self.goal, evidence)
            if self.near.all_close(leading, self.dropped_at == 0):
                self.finished, self.chosen = True, leading.tolist()
        distinct = ground.problem.distinct
        return {
            "sure": distinct[self.sure].tolist(),
            "rivals": distinct[rivals].tolist(),
            "dropped": losses(ground.problem, HOST, lost, evidence),
        }

    def _make_sure(self, leading: IntArray) -> None:
        """Before a block: let candidates take the places of those that no longer look good."""
        if not self.sure:
            self.sure = leading[: self.m - 1].tolist()
            return
        stay = [k for k, place in enumerate(self.sure) if place in leading]
        missing = self.m - 1 - len(stay)
        if not missing:
            return
        fresh = self._counted()[:, None] + self._start
        kept = [self.sure[k] for k in stay]
        new = [int(place) for place in leading if place not in kept][:missing]
        gone = [self._on(k) for k in range(self.m - 1) if k not in stay]
        least = np.minimum.reduce(gone)
        rest = [self.by_sure[k] for k in stay]
        rest = [own + np.minimum(least - all_accounts(HOST, own), 0.0)[:, None] for own in rest]
        self.by_sure = np.stack([*rest, *([fresh] * missing)])
        self.by_others = fresh.copy()
        self.sure = kept + new

    def _others(self, market: Market) -> tuple[IntArray, FloatArray]:
        """Rivals that are not sure: the highest, and those who trail it least; with our doubt."""
        outside = np.ones(len(market.means), dtype=bool)
        outside[self.sure] = False
        alike = level(market.means)
        edge = int(np.argmax(np.where(outside, alike, -math.inf)))
        errors = market.errors(edge)
        per_variance = 1.0 / np.where(errors > 0, errors**2, 1.0)
        order = coarse((alike[edge] - alike) ** 2 * coarse(per_variance))
        order[edge] = -1.0
        order = np.argsort(np.where(outside, order, math.inf), kind="stable")
        rivals = order[: min(RIVALS, int(outside.sum()))]
        behind = market.means[edge] - market.means[rivals]
        return rivals, DOUBT * behind**2 * per_variance[rivals]

    def _counted(self) -> FloatArray:
        """Log capital against each candidate: the smallest of all that is bet on rivals of it."""
        on_sure = [self._on(k) for k in range(len(self.sure))]
        return np.minimum.reduce([all_accounts(HOST, self.by_others), *on_sure])

    def _on(self, k: int) -> FloatArray:
        """Log capital bet on the k-th sure candidate, against each other one."""
        total = all_accounts(HOST, self.by_sure[k])
        total[self.sure[k]] = math.inf  # nobody is its own rival
        return total

    def against(self) -> FloatArray:
        """Log capital against each candidate; with an epsilon, of the share meant for that."""
        return self._counted() + for_racing(self.epsilon)

    def conclude(self, market: Any) -> None:
        if int((self.dropped_at == 0).sum()) <= self.m:
            self.finished = True
        elif self.finished:
            means = level(market().means)
            self.chosen.sort(key=lambda place: -float(means[place]))
            self.best = self.chosen[0]
            return
        self.look(market().means)

    # -- where it stands -------------------------------------------------------------------
    def lacking(self, market: Market, pulls: int) -> Lacking:
        """Of every one that looks to be in over every one that looks to be out."""
        leading = highest(market.means, self.m)
        out = np.setdiff1d(np.arange(self.ground.candidates), leading)
        aside = -for_racing(self.epsilon)
        gone = self.dropped_at[out] > 0
        late = np.log(np.maximum(pulls / (RECHECK * np.maximum(self.dropped_at[out], 1)), 1.0))
        wanted, lacks = np.zeros((self.m, len(out))), np.zeros((self.m, len(out)))
        for row, place in enumerate(leading):
            gaps, squared = market.means[place] - market.means[out], market.errors(place)[out] ** 2
            mine = self.sure.index(place) if place in self.sure else None
            capital = self.by_others if mine is None else self.by_sure[mine]
            nats = np.maximum(self.goal - all_accounts(HOST, capital[out]) + aside, LEAST)
            assurance = gaps**2 / np.maximum(2.0 * squared, 1e-300) - late
            nats = np.where(gone, self.goal - assurance, nats)
            noise = np.maximum(CAUTION * squared, 1e-300)
            need = nats / (gaps**2 + noise)
            if self.epsilon > 0:  # showing that x is not more than epsilon better will do as well
                both = self.near.together(int(place), self.against())
                spare = np.maximum(self.goal - both[out], LEAST)
                spare = np.where(self.near.shown(int(place))[out], 0.0, spare)
                closer = spare / ((gaps + self.epsilon) ** 2 + noise)
                easier = ~gone & (coarse(closer) < coarse(need))
                need, nats = np.where(easier, closer, need), np.where(easier, spare, nats)
            wanted[row], lacks[row] = need, nats
        ahead, behind = np.repeat(leading, len(out)), np.tile(out, self.m)
        wanted, lacks = coarse(wanted.ravel()), coarse(lacks.ravel())
        most = np.argsort(-wanted, kind="stable")[: limits.COMPILED_DESIGN]
        most = np.sort(most[wanted[most] > 0])
        return Lacking(wanted[most], lacks[most], (ahead[most], behind[most]))

    def look(self, means: Any) -> None:
        """The highest of those still in; where too few are, of the others."""
        alike = level(np.asarray(means))
        order = np.lexsort((-alike, self.dropped_at > 0))
        chosen = order[: self.m]
        self.chosen = chosen[np.lexsort((chosen, -alike[chosen]))].tolist()
        self.best = self.chosen[0]

    def named(self) -> list[int]:
        return self.chosen

    def open(self) -> IntArray:
        alive = np.flatnonzero(self.dropped_at == 0)
        return alive if len(alive) else np.array(sorted(self.chosen))

    def progress(self) -> FloatArray:
        share = np.clip(self.against() / self.goal, 0.0, 1.0)
        return np.where(self.dropped_at > 0, 1.0, share)

    def p_values(self) -> FloatArray:
        """Of "this one is among the m best": times m, as m of them have to survive, so that it is
        at most delta where it is dropped."""
        return np.exp(-np.maximum(self.against() - math.log(self.m), 0.0))

    def leads(self) -> Interval | None:
        return self.leaders.interval(self.best, self.ground.config.delta)

    def evidence(self) -> dict[str, Any]:
        return {"question": {"top": self.m}}


def highest(means: Any, m: int) -> IntArray:
    """The m candidates with the highest estimates, best first."""
    return np.argsort(-level(np.asarray(means)), kind="stable")[:m]
