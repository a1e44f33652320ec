"""The cheapest of those that keep limits and are good enough: within ε of the best that keeps them.

Options stand in the order of their costs (and of their numbers, where these are the same). If
anybody keeps the limits, there is exactly one such option. G, B are as in
:mod:`surepick.algorithms.limits.capital`; F_sx is bet on "s is more than ε above x", C_rs on "r is
not more than ε below s".

    V_x = W_x with F in the place of E, and with rivals that may have been ruled out
    D_r = min(G_r, least over s ≠ r of ½ C_rs + ½ B_s)
    U_x = ½ V_x + ¼ average over r before x of D_r + ¼ Π over r before x of H_r

H_r is D_r over the blocks in which r was the head, with a share fixed before each block in the
place of each ½. For the first option U_x = V_x.

**U_x is capital against what is true if x is the answer.** x keeps the limits then, so B_x is fair
or worse; and no s that keeps them is more than ε above x, so that of each s the G for a limit that
it breaks is, or F_sx: V_x is below a supermartingale as W_x is. Each r before x breaks a limit, and
G_r is not above what was bet on that; or some s keeps the limits and is more than ε above r. For
that s C_rs is fair or worse, and B_s, so any mixture of the two: D_r is below a supermartingale,
over all blocks or over those that r headed. So are averages of them, and money that is all on one
of them at a time. ∎ x is ruled out at 1/δ. Either somebody keeps the limits, and only the answer
has to be protected from U; or nobody does, and only S can err: δ is not split.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from surepick.algorithms.limits.best import BestThatKeeps
from surepick.algorithms.limits.capital import Capital, Paid, Surest
from surepick.algorithms.limits.decision import Ground
from surepick.algorithms.limits.marks import Mark, OnMarks
from surepick.algorithms.limits.measured import Bets
from surepick.algorithms.limits.plan import Seems, counts_of_cheapest, heading, leaders, surest
from surepick.algorithms.pooled.kinds.wins import PER_LEAD
from surepick.arrays.grid import level
from surepick.arrays.types import BoolArray, FloatArray, IntArray
from surepick.proof.led import Led
from surepick.proof.purses import average, least_of_others, total

_NEARLY = 1e-9  # of a lead: what seems to be exactly at the edge is good enough


class CheapestCapital(Capital):
    """All accounts, as logs; ``close`` is on C."""

    def __init__(self, marks: Sequence[Mark], there: BoolArray, order: IntArray) -> None:
        super().__init__(marks, 0.0, False, there)
        self.order = order  #: the cheapest first
        itself = np.eye(len(there), dtype=bool)
        self.headed = Led(1, np.hstack([self.somebody.certain, itself]))

    def save(self) -> list[Any]:
        return [*super().save(), self.headed.save()]

    def load(self, memory: list[Any]) -> None:
        super().load(memory)
        self.headed.load(memory[3])

    def settle(self, paid: Paid, surest: Surest) -> tuple[FloatArray, FloatArray]:
        assert surest.heading is not None
        head, *shares = surest.heading
        before = total(self.close)[:, head]
        kept, broken = super().settle(paid, surest)
        reached = total(self.close)[:, head] - before
        beside = np.logaddexp(shares[0] + broken, shares[1] + reached)
        sides = np.concatenate([kept[:, head], beside])[None]
        self.headed.pay(np.array([head]), np.zeros(1), lambda _, rivals: sides)
        return kept, broken

    def good_enough(self) -> FloatArray:
        """log D of each option, (K,)."""
        broken = average(self.all_break(), axis=0)
        beside = np.logaddexp(total(self.close), broken[:, None]) - math.log(2.0)  # (s, r)
        return np.minimum(self.all_keep().min(axis=0), least_of_others(beside))

    def against(self) -> FloatArray:
        found, good, headed = super().against(), self.good_enough(), self.headed.each()[0]
        for number, x in enumerate(self.order):
            before = self.order[:number]
            if number:
                cheaper = np.logaddexp(average(good[before]), float(headed[before].sum()))
                found[x] = np.logaddexp(found[x], cheaper - math.log(2.0)) - math.log(2.0)
        return found


class CheapestThatKeeps(BestThatKeeps):
    """Capital against each option being the cheapest good enough, and who is left."""

    def __init__(self, ground: Ground) -> None:
        problem, asked = ground.problem, ground.asked
        assert asked.within is not None
        self.within = asked.within / problem.unit
        costs = np.broadcast_to(np.asarray(problem.costs, dtype=np.float64), problem.n_arms)
        self.order: IntArray = np.argsort(costs, kind="stable")  #: the cheapest first
        super().__init__(ground)
        self.chosen = [int(self.order[0])]
        self.best = self.chosen[0]

    def _accounts(self, there: BoolArray) -> Capital:
        return CheapestCapital(self.ground.marks, there, self.order)

    @property
    def _apart(self) -> float:
        """What is good enough, in the units of estimates."""
        reading = self.ground.measured[0].reading
        return self.within if reading.about_means else self.within / PER_LEAD

    def _paid(self, measured: Sequence[Bets]) -> Paid:
        reward, marks = measured[0], OnMarks.of(self.ground.marks, measured, False)
        return Paid(marks, reward.ahead(-self.within), reward.ahead(self.within))

    def compared(self) -> BoolArray:
        """Everybody: to be good enough is to be so beside those who are out, too."""
        return self.histories.there

    def _surest(self, known: Seems) -> Surest:
        marks, reward = self.ground.marks, self.ground.measured[0]
        there, apart = self.histories.there, self._apart
        found = surest(marks, reward, known, there, self.capital.somebody, 1, apart)
        head = self._head(known, found.first)
        return found._replace(heading=heading(marks, reward, known, head, apart))

    def _head(self, known: Seems, leader: int) -> int:
        """The cheapest of those in that seems to be good enough and to keep the limits."""
        reward, alive = self.ground.measured[0], self.alive
        if not alive.any():
            return self.best
        means = level(reward.means)
        good = means[leader] - means <= self._apart * (1.0 + _NEARLY)
        good &= alive & known.kept
        if not good.any():
            return leaders(alive, reward.means, known.margins, 1)[0]
        return int(self.order[np.flatnonzero(good[self.order])[0]])

    def _rivals(self, bet_on: Surest) -> list[int]:
        assert bet_on.heading is not None
        return [*super()._rivals(bet_on), bet_on.heading.head]

    def _leading(self) -> list[int]:
        bet_on = self.outlook()[1]
        assert bet_on.heading is not None
        return [bet_on.heading.head] if self.alive.any() else []

    def missing(self, prices: FloatArray) -> FloatArray:
        capital = self.capital
        assert isinstance(capital, CheapestCapital)
        own = (
            capital,
            capital.headed,
            self.ground.measured[0],
            *self.outlook(),
            self.alive,
            self.goals,
        )
        return counts_of_cheapest(*own, prices, self.order, self._apart)

    def evidence(self) -> dict[str, Any]:
        return {"question": {"cheapest": self.ground.asked.within}}
