"""Which m candidates are the best?

Whose purses these are, and why that is right: :mod:`surepick.proof.several`. With epsilon, a share
of the capital is for bets on "x is not more than epsilon better than a", for every a that was ever
among the m that look best (:mod:`surepick.proof.closeness`).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from surepick.algorithms.pooled.lacking import LEAST, RECHECK, Lacking
from surepick.algorithms.pooled.leaders import Leaders
from surepick.algorithms.pooled.leads import Interval
from surepick.algorithms.pooled.ledger import losses
from surepick.algorithms.pooled.market import DOUBT, RIVALS, Market
from surepick.algorithms.pooled.questions.base import Ground, Question
from surepick.algorithms.pooled.round import Round
from surepick.arrays import cutoffs
from surepick.arrays.backend import HOST
from surepick.arrays.grid import coarse, level, reached
from surepick.arrays.types import FloatArray, IntArray
from surepick.proof.accepting import Shares
from surepick.proof.claims import CAUTION
from surepick.proof.closeness import Closeness
from surepick.proof.purses import total
from surepick.proof.several import Several
from surepick.statistics.spending import each_of_the_best


class TopM(Question):
    """Capital on the sure candidates and on the others, and who was dropped."""

    def __init__(self, ground: Ground) -> None:
        super().__init__(ground)
        M, m = ground.candidates, ground.config.top
        self.m, self.accepted = m, False
        self.goal = -math.log(next(iter(self.spent().values())))
        self.dropped_at: IntArray = np.zeros(M, dtype=np.int64)  # after so many pulls; 0: still in
        self.purses = Several(M, m, ground.ways.accounts)
        self.shares = Shares(self.epsilon)
        self.near = Closeness(M, ground.ways.accounts, self.shares, m)  # with epsilon
        self.leaders = Leaders(ground.ways, M)  # for intervals
        self.chosen: list[int] = list(range(m))  #: that would be named now, best first

    def spent(self) -> dict[str, float]:
        """As much for each of the m best."""
        return each_of_the_best(self.m, self.ground.config.delta)

    def save(self) -> dict[str, Any]:
        return {
            "dropped_at": self.dropped_at,
            "sure": self.purses.sure,
            "purses": self.purses.logs,
            "chosen": self.chosen,
            "accepted": self.accepted,
            "near": self.near.save(),
            "behind": self.shares.save(),
            "led": self.leaders.save(),
        }

    def load(self, memory: dict[str, Any]) -> None:
        self.dropped_at = memory["dropped_at"]
        self.purses.sure, self.purses.logs = memory["sure"], memory["purses"]
        self.chosen, self.accepted = memory["chosen"], memory["accepted"]
        self.best = self.chosen[0]
        self.near.load(memory["near"])
        self.shares.load(memory["behind"])
        self.leaders.load(memory["led"])

    # -- bets ------------------------------------------------------------------------------
    def bet(self, market: Market, blocks: list[Any], pulls: int) -> dict[str, Any]:
        ground, alive = self.ground, self.dropped_at == 0
        leading = highest(market.means, self.m)
        self.purses.make_sure(leading.tolist())
        sure, logs = self.purses.sure, self.purses.logs
        self.leaders.take(market, blocks)
        rivals, doubt = self._others(market)
        bet_against = alive.copy()
        bet_against[sure] = False
        places = np.flatnonzero(bet_against)
        block = Round(market, ground.ways, blocks)
        if sure:
            logs[1:, places] += np.moveaxis(block.beats(places, np.array(sure)), 1, 0)
        block.pay_on_any(logs[0], places, rivals, doubt)
        evidence = self.against()
        lost = np.flatnonzero(alive & reached(evidence, self.goal))
        self.dropped_at[lost] = pulls
        if self.epsilon > 0:
            rows = [self.near.opened(one) for one in leading.tolist()]
            places = np.flatnonzero(alive)
            paid = block.beats(places, leading, self.epsilon)
            self.near.logs[np.array(rows)[:, None], places] += np.moveaxis(paid, 1, 0)
            for one in leading.tolist():
                self.near.note(one, evidence, self.goal, alive)
            if self.near.all_close(leading, self.dropped_at == 0):
                self.accepted, self.chosen = True, leading.tolist()
        distinct = ground.problem.distinct
        return {
            "sure": distinct[sure].tolist(),
            "rivals": distinct[rivals].tolist(),
            "dropped": losses(ground.problem, HOST, lost, evidence),
        }

    def _others(self, market: Market) -> tuple[IntArray, FloatArray]:
        """Rivals that are not sure: the highest, and those who trail it least; with our doubt."""
        outside = np.ones(len(market.means), dtype=bool)
        outside[self.purses.sure] = False
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

    def against(self) -> FloatArray:
        """Log capital against each candidate; with an epsilon, of the share meant for that."""
        return self.purses.against() + self.shares.racing

    @property
    def finished(self) -> bool:
        """Whether as many are left as were asked for, or those named are close enough."""
        return self.accepted or int((self.dropped_at == 0).sum()) <= self.m

    def accept(self) -> None:
        self.shares.accept(self.purses.against())
        self.near.forget()

    def conclude(self, market: Any) -> None:
        if self.accepted and int((self.dropped_at == 0).sum()) > self.m:
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
        aside = -self.shares.racing
        gone = self.dropped_at[out] > 0
        late = np.log(np.maximum(pulls / (RECHECK * np.maximum(self.dropped_at[out], 1)), 1.0))
        wanted, lacks = np.zeros((self.m, len(out))), np.zeros((self.m, len(out)))
        for row, place in enumerate(leading):
            gaps, squared = market.means[place] - market.means[out], market.errors(place)[out] ** 2
            sure = self.purses.sure
            capital = self.purses.logs[1 + sure.index(place) if place in sure else 0]
            nats = np.maximum(self.goal - total(capital[out]) + aside, LEAST)
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
        most = np.argsort(-wanted, kind="stable")[: cutoffs.COMPILED_DESIGN]
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
