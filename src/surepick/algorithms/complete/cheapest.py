"""Which is the cheapest option whose total is at most so much below the largest?

The formula, and why nobody is ruled out wrongly: :mod:`surepick.proof.cheapest`. Bets are those of
:mod:`surepick.proof.payoffs.table`, on all pairs of options. All options meet all items until it is
decided, as one that is out may still be what others are too far below. What nothing to come can
change needs no bets: an option is out for certain where it ends too far below somebody, or where a
cheaper one is good enough.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from surepick.algorithms.base import Claims
from surepick.algorithms.complete.grid import Grid
from surepick.algorithms.complete.settings import CompleteSettings
from surepick.algorithms.remembered import Remembered
from surepick.arrays.grid import reached
from surepick.arrays.types import BoolArray, FloatArray, IntArray
from surepick.problem import Problem
from surepick.proof.cheapest import Cheapest
from surepick.proof.payoffs.table import WEIGHTS, walk


class CheapestOnTable(Remembered):
    """Capital of all pairs of options, and who is in."""

    saved: ClassVar[tuple[str, ...]] = ("alive", "against", "best")

    def __init__(self, config: CompleteSettings, problem: Problem, grid: Grid) -> None:
        K, self.asked = problem.n_arms, config.within
        assert self.asked is not None
        self.grid, self.slack = grid, grid.scale.slack(self.asked, grid.items)
        order = np.argsort(np.asarray(problem.costs), kind="stable")
        self.purses = Cheapest(K, WEIGHTS, order)
        self.alive: BoolArray = np.ones(K, dtype=bool)
        self.against: FloatArray = np.zeros(K)  # log capital; what it was, for those that are out
        self.best = int(order[0])
        self.goal = -math.log(config.delta)

    def save(self) -> dict[str, Any]:
        return super().save() | self.purses.save()

    def load(self, memory: dict[str, Any]) -> None:
        super().load(memory)
        self.purses.load(memory)

    # -- bets ------------------------------------------------------------------------------
    def measured(self) -> IntArray:
        """Who meets the next items."""
        return np.arange(len(self.alive))

    def settle(self, arms: IntArray, first: int, bets: bool) -> dict[str, Any]:
        """Bets on the items from this one on, if these have met all; who is out, for the record."""
        if bets:
            self._bet(first)
        certain = self.alive & self._certain()
        lost = self.alive & (certain | (reached(self.against, self.goal) if bets else False))
        self.alive = self.alive & ~lost
        self.look()
        logs = np.where(certain, math.inf, self.against)[lost]
        return {
            "dropped": {
                "candidate": np.flatnonzero(lost).tolist(),
                "log_capital": np.minimum(logs, 1e300).tolist(),
                "certain": certain[lost].tolist(),
            }
        }

    def _bet(self, first: int) -> None:
        grid = self.grid
        own, unit = grid.scores[:, : grid.met], grid.scale.unit
        leads, slack = (own[None] - own[:, None]) / unit, self.slack / unit
        leader, head = self._leader(first), self._head(first)
        far, close = (
            np.sum([paid for _, paid in walk(leads, first, grid.items, by)], axis=0)
            for by in (-slack, slack)
        )
        for paid in (far, close):  # nothing is bet on how far options are from themselves
            paid[self.measured(), self.measured()] = 0.0
        self.purses.pay(far, close, None, leader, head)
        self.against = np.where(self.alive, self.purses.against(), self.against)

    def _leader(self, met: int) -> int:
        """Who has the largest total after so many items, the first of them."""
        return int(np.argmax(self.grid.scores[:, :met].sum(axis=1)))

    def _head(self, met: int) -> int:
        """The cheapest that is in and seems good enough then; if none does, the best that is in."""
        if not self.alive.any():
            return self.best
        totals = self.grid.scores[:, :met].sum(axis=1).tolist()
        most, in_turn = max(totals), [int(x) for x in self.purses.order if self.alive[x]]
        share = self.slack * met
        seems = [x for x in in_turn if (most - totals[x]) * self.grid.items <= share]
        return seems[0] if seems else max(in_turn, key=lambda x: (totals[x], -x))

    def _certain(self) -> BoolArray:
        """Who cannot be the answer any more, whatever is to come."""
        low, high = self.grid.reach()
        too_far = low.max() - high > self.slack
        good = np.array(
            [np.delete(high, x).max(initial=0) - low[x] <= self.slack for x in self.measured()]
        )
        order = self.purses.order
        before = np.zeros(len(order), dtype=bool)  # somebody cheaper is good enough
        before[order[1:]] = np.logical_or.accumulate(good[order])[:-1]
        return too_far | before

    def look(self) -> None:
        """Who would be named now."""
        self.best = self._head(self.grid.met)

    # -- where it stands -------------------------------------------------------------------
    @property
    def finished(self) -> bool:
        """Whether one is left at most."""
        return int(self.alive.sum()) <= 1

    @property
    def active(self) -> IntArray:
        """Options that are in."""
        return np.flatnonzero(self.alive) if self.alive.any() else np.array([self.best])

    def left(self) -> int:
        """How many are not decided."""
        return len(self.active)

    def named(self) -> list[int]:
        """The one that would be named."""
        return [self.best]

    def tied(self) -> list[int]:
        """Nobody has the same place in the order of costs."""
        return []

    def certain(self, retired: BoolArray) -> bool:
        """Nothing is said of that."""
        return False

    def p_value(self, retired: BoolArray) -> float | None:
        """Of "another one is the answer"."""
        return float(np.delete(self.p_values(), self.best).max(initial=0.0))

    def p_values(self) -> FloatArray:
        """Of "this one is the cheapest that is good enough"."""
        return np.exp(-np.maximum(self.against, 0.0))

    def progress(self, retired: BoolArray) -> FloatArray:
        """How much of the evidence that rules each out is there."""
        return np.where(self.alive, np.clip(self.against / self.goal, 0.0, 1.0), 1.0)

    def compared(self, retired: BoolArray) -> tuple[int, list[int], int]:
        """Nobody's lead on new items is looked at: the answer need not lead."""
        return self.best, [], 1

    def spent(self) -> dict[str, float]:
        """The answer has all of it."""
        return {}

    def claims(self) -> Claims | None:
        """None are made of each."""
        return None

    def evidence(self) -> dict[str, Any]:
        """What a certificate has to say beside the blocks."""
        return {"question": {"cheapest": self.asked}}
