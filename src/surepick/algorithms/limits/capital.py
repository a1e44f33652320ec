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

**Which m are the best of those that keep them?** x is one of these if it keeps them and at most
m − 1 others keep them and are better. So of each r but m − 1 at most it is true that it breaks a
limit or is not better than x, which is what the purses of :mod:`surepick.proof.led` ask for: P_x is
the least of m, with sides "r keeps limit l" and "r is better than x", each beside the share on "x
breaks a limit". The average leaves out the m − 1 largest of its terms: those that are left are not
above the terms that are fair. Against one that is sure, and against everybody once no more than m
are left, bets are only on "x breaks a limit". S is against "fewer than p keep the limits", with p
the number of those left, m at most: p purses on "r keeps them", one of which is on one that does
not, and the average without its p − 1 largest terms. Everything takes m/δ: if p options keep the
limits, each of the min(p, m) best is ruled out with δ/m, and where p < m, S for p + 1 errs with δ/m
more. (Where more places are asked for, S is smaller: what refutes "fewer than p + 2 keep them"
refutes this, too.) ∎ With m left and S, these are the m best; with fewer left and S, these are all
that keep the limits; with none left, nobody does.

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
from typing import Any, ClassVar, NamedTuple

import numpy as np

from surepick.algorithms.limits.marks import Mark, OnMarks, Sides
from surepick.algorithms.limits.measured import Bets
from surepick.arrays.types import BoolArray, FloatArray, IntArray
from surepick.proof.led import NOBODY, Led
from surepick.proof.payoffs.stakes import ACCOUNTS
from surepick.proof.purses import begun, longer, total

_START = np.log(ACCOUNTS)

PURSE, BROKEN, AVERAGE = 0.8, 0.1, 0.1  # shares of W
LED = 0.8  # of S: what is bet on who leads


class Heading(NamedTuple):
    """What is bet on one option being good enough: beside s, or that s breaks a limit."""

    head: int
    broken: FloatArray  #: (K,): log share on "s breaks a limit"
    reached: FloatArray  #: (K,): the rest, on "the head is not too far below s"


class Surest(NamedTuple):
    """Where purses go in a block; shares are logs."""

    places: list[int]  #: who seem to be the best that keep the limits; the last is not sure
    second: int  #: who comes after them
    rivals: IntArray  #: (K,): of each x, who is not sure
    broken: FloatArray  #: (places, K): share on "x breaks a limit", beside that rival, or one sure
    beaten: FloatArray  #: (places, K): the rest, on "the rival keeps all limits and is better"
    by_limit: FloatArray  #: (L, K): shares of limits in the former
    heading: Heading | None = None  #: where the cheapest that is good enough is looked for

    @property
    def first(self) -> int:
        """The rival of all others that have one; nobody, where nobody is left."""
        return self.places[-1] if self.places else NOBODY


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

    names: ClassVar[tuple[str, ...]] = ("met", "ahead", "close", *Sides.names)

    def __init__(
        self, marks: Sequence[Mark], epsilon: float, loose: bool, there: BoolArray, m: int = 1
    ) -> None:
        K = len(there)
        super().__init__(K, marks, loose)
        self.epsilon, self.m = epsilon, m
        self.met: BoolArray = there.copy()  #: whom averages are over: who is there at its start
        self.ahead: FloatArray = begun((K, K), np.array(ACCOUNTS))  # r better than x: (x, r, J)
        self.close: FloatArray = self.ahead.copy()  # r better than x less epsilon
        surely = np.array([mark.certain & mark.itself for mark in marks]).T
        #: P, with a row for each x; the last side is "r is better than x"
        self.led = Led(K, np.pad(surely, ((0, 0), (0, 1))), K)
        self.somebody = Led(1, surely, K)  # the purses of S

    def save(self) -> list[Any]:
        """Its memory."""
        return [super().save(), self.led.save(), self.somebody.save()]

    def load(self, memory: list[Any]) -> None:
        """Take on a saved memory."""
        super().load(memory[0])
        self.led.load(memory[1])
        self.somebody.load(memory[2])

    def grow(self, count: int) -> None:
        """So many options more, behind all others."""
        self.met = np.append(self.met, np.zeros(count, dtype=bool))
        for name in ("ahead", "close"):
            setattr(self, name, longer(getattr(self, name), count, (0, 1), _START))
        for name in Sides.names:
            setattr(self, name, longer(getattr(self, name), count, (1,), _START))
        self.led.grow(count, count)
        self.somebody.grow(count, 0)

    def settle(self, paid: Paid, surest: Surest) -> tuple[FloatArray, FloatArray]:
        """Pay out a block; what it paid on limits being kept, (L, K), and broken, (K,)."""
        ahead = total(self.ahead)
        self.ahead += paid.ahead
        if paid.close is not None:
            self.close += paid.close
        kept, breaks = self.pay(paid.marks)
        lead = total(self.ahead) - ahead
        broken = np.logaddexp.reduce(surest.by_limit + breaks, axis=0)
        everyone, nothing = np.arange(len(lead)), np.zeros(1)
        if len(surest.places) == self.m:
            self.led.make_sure(surest.places)
        self.somebody.make_sure(surest.places)

        def against(place: int, rivals: IntArray) -> FloatArray:
            stake, rest = surest.broken[place] + broken, surest.beaten[place]
            on_rival = np.column_stack([kept[:, rivals].T, lead[everyone, rivals]])
            return np.logaddexp(stake[:, None], rest[:, None] + on_rival)

        self.led.pay(surest.rivals, broken, against)
        first = np.array([surest.first])
        self.somebody.pay(first, nothing, lambda _, rivals: kept[:, rivals].T)
        return kept, broken

    # -- what they come to -----------------------------------------------------------------
    def against(self) -> FloatArray:
        """log W of each option."""
        broken = np.logaddexp.reduce(self.all_break(), axis=0)
        broken += math.log(BROKEN / len(self.marks))
        purse = self.led.total() + math.log(PURSE)
        both = np.minimum(self.all_keep().min(axis=0), total(self.ahead))  # (x, r)
        both[~(self.met[:, None] & self.met)] = -math.inf
        np.fill_diagonal(both, -math.inf)
        rivals = max(int(self.met.sum()) - 1, 1)
        fair = np.sort(both, axis=1)[:, : len(both) - (self.m - 1)]
        average = np.logaddexp.reduce(fair, axis=1) + math.log(AVERAGE / rivals)
        return np.logaddexp(broken, np.logaddexp(average, purse))

    def somebody_keeps(self) -> float:
        """log S: of as many as there are places."""
        keeps = np.sort(self.all_keep().min(axis=0)[self.met])
        fair = keeps[: len(keeps) - len(self.somebody.sure)]
        average = float(np.logaddexp.reduce(fair)) + math.log((1.0 - LED) / len(keeps))
        return float(np.logaddexp(average, float(self.somebody.total()[0]) + math.log(LED)))

    def accepted(self, alive: BoolArray, goal: float) -> FloatArray:
        """By how much each option exceeds what it takes to be accepted; negative: it does not."""
        kept = self.all_within().min(axis=0)
        close = total(self.close).T.copy()  # (x̂, x): x̂ better than x less epsilon
        np.fill_diagonal(close, math.inf)
        least = np.minimum(kept, np.where(alive, close, math.inf).min(axis=1))
        return np.where(alive, least - goal, -math.inf)
