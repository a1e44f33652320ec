"""Capital against "x is the best of those that keep the limits", and for "somebody keeps them".

G_k is capital bet on "k keeps limit l", fair or worse where it does not; B_k on "k breaks it"; E_rx
on "r is better than x". Over several limits the smallest G counts and the average B.

    W_x = 0.8 P_x + 0.1 B_x + 0.1 average over r ≠ x of min(G_r, E_rx)

P_x is a purse that bets in each block on what looks surest, from what was known before: a share f
on "x breaks a limit", the rest on "r keeps all limits and is better than x", r the one that seems
to be the best of those that keep them. With b, g and e what these bets pay in a block,

    P_x = Π over r of min(Π (f b + (1 − f) g_r), Π (f b + (1 − f) e_rx)),   each Π over the blocks
                                                                     in which x's rival was r

**W_x is capital against what is true if x is the best of those that keep the limits.** Then B_x is
an average of bets that are fair or worse, and so is b. Of each other r one thing is true: r breaks
a limit, so the bets that make up its G for that limit are fair or worse, or r is not better than x,
and those of E_rx are. Call these T_r, and t_r what they pay in a block. Whichever it is,
min(G_r, E_rx) ≤ T_r, and an average of supermartingales is one. P_x is at most the product, over
all blocks, of f b + (1 − f) t_r with that block's f and r, which are chosen from the past: of mean
1 at most, given the past, whatever b and t_r have to do with each other. So P_x is below a
supermartingale as well. ∎ x is thus ruled out wrongly with probability δ at most (Ville), however y
and the further numbers depend on each other, and no union over options is paid. (One rival at a
time saves the log of their number that the average pays; one purse for both ways saves the log 4
that a quarter for each would cost. The rest insures against a purse that was misled early.)

    S = 0.2 average over k of G_k + 0.8 Π over k of G_k over the blocks in which k led

**S is capital against "nobody keeps the limits"**: each k then breaks one, and G_k is at most the
bets on that limit. Either somebody keeps them, and only the best of those has to be protected from
W; or nobody does, and only S can lead to a wrong answer: δ is not split. One left and S ≥ 1/δ: the
one left is the answer. None left: nobody keeps the limits.

With a tolerance η or ε, an answer x̂ is also accepted when for each x that is in, x̂ among them,
min(capital on "x̂ keeps the limits up to η", capital on "x̂ is better than x less ε") reaches K/(sδ)
(for x̂ itself the first alone). The others are ruled out, and S is reached, at 1/((1 − s)δ); s is a
share (:mod:`surepick.proof.accepting`). If x is the best of those that keep the limits, it is
ruled out with probability (1 − s)δ; and each x̂ that misses a limit by more than η, or is worse than
x by more than ε, is accepted with sδ/K. If nobody keeps the limits, S or one of the K acceptances
errs. ∎
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar, NamedTuple

import numpy as np

from surepick.algorithms.limits.marks import Mark, OnMarks, Sides
from surepick.algorithms.limits.measured import Bets
from surepick.arrays.types import BoolArray, FloatArray
from surepick.proof.payoffs.stakes import ACCOUNTS
from surepick.proof.purses import begun, longer, total

_START = np.log(ACCOUNTS)

PURSE, BROKEN, AVERAGE = 0.8, 0.1, 0.1  # shares of W
LED = 0.8  # of S: what is bet on who leads
NOBODY = -1  # in the place of a rival, where nobody else is left


class Surest(NamedTuple):
    """Where purses go in a block, as logs."""

    first: int  #: who leads; the rival of all others
    second: int  #: its own rival
    broken: FloatArray  #: (K,): share on "x breaks a limit"
    beaten: FloatArray  #: (K,): the rest, on "x's rival keeps all limits and is better"
    by_limit: FloatArray  #: (L, K): shares of limits in the former


class Paid(NamedTuple):
    """Log payoffs of a block."""

    marks: OnMarks
    ahead: FloatArray  #: of "r is better than x", (x, r, J)
    close: FloatArray | None  #: the same up to epsilon; None: nothing asks for it

    @classmethod
    def of(
        cls, marks: Sequence[Mark], measured: Sequence[Bets], epsilon: float, loose: bool
    ) -> Paid:
        """By the bets on every number, that on the reward first."""
        reward = measured[0]
        close = reward.ahead(epsilon) if loose else None
        return cls(OnMarks.of(marks, measured, loose), reward.ahead(), close)


class Capital(Sides):
    """All accounts, as logs."""

    names: ClassVar[tuple[str, ...]] = (
        *("met", "ahead", "close", *Sides.names),
        *("led_keeps", "led_ahead", "alone", "somebody"),
    )

    def __init__(
        self, marks: Sequence[Mark], epsilon: float, loose: bool, there: BoolArray
    ) -> None:
        K, L = len(there), len(marks)
        super().__init__(K, marks, loose)
        self.epsilon = epsilon
        self.met: BoolArray = there.copy()  #: whom averages are over: who is there at its start
        self.ahead: FloatArray = begun((K, K), np.array(ACCOUNTS))  # r better than x: (x, r, J)
        self.close: FloatArray = self.ahead.copy()  # r better than x less epsilon
        # the two sides of each factor of a purse, over the blocks in which r was x's rival
        self.led_keeps: FloatArray = np.zeros((K, K, L))
        self.led_ahead: FloatArray = np.zeros((K, K))
        self.alone: FloatArray = np.zeros(K)  # over those in which it had none
        self.somebody: FloatArray = np.zeros((K, L))

    def grow(self, count: int) -> None:
        """So many options more, behind all others."""
        self.met = np.append(self.met, np.zeros(count, dtype=bool))
        for name in ("ahead", "close"):
            setattr(self, name, longer(getattr(self, name), count, (0, 1), _START))
        for name in Sides.names:
            setattr(self, name, longer(getattr(self, name), count, (1,), _START))
        for name, axes in (("led_keeps", (0, 1)), ("led_ahead", (0, 1)), ("alone", (0,))):
            setattr(self, name, longer(getattr(self, name), count, axes, 0.0))
        self.somebody = longer(self.somebody, count, (0,), 0.0)

    def settle(self, paid: Paid, surest: Surest) -> None:
        """Pay out a block."""
        ahead = total(self.ahead)
        self.ahead += paid.ahead
        if paid.close is not None:
            self.close += paid.close
        kept, breaks = self.pay(paid.marks)
        lead = total(self.ahead) - ahead
        broken = np.logaddexp.reduce(surest.by_limit + breaks, axis=0)
        first, second = surest.first, surest.second
        for x in range(len(lead)):
            r = second if x == first else first
            if r == NOBODY:
                self.alone[x] += broken[x]
                continue
            stake, rest = surest.broken[x] + broken[x], surest.beaten[x]
            self.led_keeps[x, r] += np.logaddexp(stake, rest + kept[:, r])
            self.led_ahead[x, r] += np.logaddexp(stake, rest + lead[x, r])
        self.somebody[first] += kept[:, first]

    # -- what they come to -----------------------------------------------------------------
    def against(self) -> FloatArray:
        """log W of each option."""
        broken = np.logaddexp.reduce(self.all_break(), axis=0)
        broken += math.log(BROKEN / len(self.marks))
        purse = self.purse() + math.log(PURSE)
        both = np.minimum(self.all_keep().min(axis=0), total(self.ahead))  # (x, r)
        both[~(self.met[:, None] & self.met)] = -math.inf
        np.fill_diagonal(both, -math.inf)
        rivals = max(int(self.met.sum()) - 1, 1)
        average = np.logaddexp.reduce(both, axis=1) + math.log(AVERAGE / rivals)
        return np.logaddexp(broken, np.logaddexp(average, purse))

    def sides(self) -> tuple[FloatArray, FloatArray]:
        """Log of both sides of each factor of P: (L, x, r), where r keeps, and (x, r)."""
        return self.sure(np.moveaxis(self.led_keeps, 2, 0), True), self.led_ahead

    def purse(self) -> FloatArray:
        """log P of each option."""
        keeps, ahead = self.sides()
        return np.minimum(keeps.min(axis=0), ahead).sum(axis=1) + self.alone

    def shown_to_keep(self, r: int) -> FloatArray:
        """Log of what was bet on "r keeps a limit" while it led, (L,)."""
        return self.sure(self.somebody.T, True)[:, r]

    def somebody_keeps(self) -> float:
        """log S."""
        average = float(np.logaddexp.reduce(self.all_keep().min(axis=0)[self.met]))
        average += math.log((1.0 - LED) / int(self.met.sum()))
        purse = float(self.sure(self.somebody.T, True).min(axis=0).sum())
        return float(np.logaddexp(average, purse + math.log(LED)))

    def accepted(self, alive: BoolArray, goal: float) -> FloatArray:
        """By how much each option exceeds what it takes to be accepted; negative: it does not."""
        kept = self.all_within().min(axis=0)
        close = total(self.close).T.copy()  # (x̂, x): x̂ better than x less epsilon
        np.fill_diagonal(close, math.inf)
        least = np.minimum(kept, np.where(alive, close, math.inf).min(axis=1))
        return np.where(alive, least - goal, -math.inf)
