"""Options that come and go while the best that keeps limits is looked for.

What is true may change with the options: who is the best of those that keep the limits, or that
nobody does. One thing can be true all along, another become true when an option comes or goes. Each
such course is a history, and an option is ruled out once there is enough against every history
that ends with it:

- **x since the beginning**, or since x and others came: W_x, as it ever was.
- **A newcomer n.** Whatever was true before it came, an option that is left or nobody, n may be
  true from then on. W_n begins with the least that there is, at that time, against any option that
  is left, and against nobody, and with no more than 1.
- **After w is retired**, if w had not been ruled out, anyone may be true who was not before: all
  accounts begin anew beside the old ones, with what there is against w at that time. They are an
  epoch of their own; what the old ones hold, and whom they rule out, stays for the histories in
  which w was not true. If w had been ruled out, nothing changes.

**Why.** Take the true history, and let M be what it says there is against what is true. Between
changes M is below a supermartingale (:mod:`surepick.algorithms.limits.capital`): of each option
that is there one thing is true, and it does not depend on who else is. When what is true changes,
the accounts that follow begin anew, so what bounds them begins with what M is then, or less. (That
M itself were less would not do: the smaller of two sides may catch up.) So M ever reaches 1/δ with
probability δ at most (Ville), whatever the changes react to. ∎ An option that a history has ruled
out stays out there: had that been the true one, it would have been the error.

Weights are those of the options that are there when an epoch begins, and none is shared out anew.
On newcomers as rivals, and as those who keep the limits, only purses bet; against a newcomer bets a
purse, and what there is on limits that it breaks. Tolerances and epsilon need accounts of another
kind, and are refused.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from surepick.algorithms.limits.capital import Capital, Paid, Surest
from surepick.arrays.grid import reached
from surepick.arrays.types import BoolArray, FloatArray


class Epoch:
    """Accounts that began at the same time, and what was against whom then."""

    names: ClassVar[tuple[str, ...]] = ("head", "nobody", "member", "most", "somebody")

    def __init__(self, capital: Capital, member: BoolArray, head: float = 0.0) -> None:
        self.capital = capital
        self.member = member  #: whom a history of this epoch ends with
        self.head: FloatArray = np.full(len(member), head)  #: log of what it began with, (K,)
        self.nobody = head  #: the same where nobody keeps the limits
        self.most: FloatArray = self.head.copy()  #: log capital against each, at the most
        self.somebody = head  #: the same against nobody

    def save(self) -> list[Any]:
        """Its memory."""
        return [self.capital.save(), *(getattr(self, name) for name in self.names)]

    def load(self, memory: list[Any]) -> None:
        """Take on a saved memory."""
        self.capital.load(memory[0])
        for name, value in zip(self.names, memory[1:], strict=True):
            setattr(self, name, value)

    def grow(self, count: int) -> None:
        """So many options more, behind all others; none is a member yet."""
        self.capital.grow(count)
        self.member = np.append(self.member, np.zeros(count, dtype=bool))
        self.head = np.append(self.head, np.zeros(count))
        self.most = np.append(self.most, np.zeros(count))

    def against(self) -> FloatArray:
        """log W of each, with what it began with."""
        return self.head + self.capital.against()

    def against_nobody(self) -> float:
        """log S, with what it began with."""
        return self.nobody + self.capital.somebody_keeps()

    def settle(self, paid: Paid, surest: Surest) -> None:
        """Pay out a block."""
        self.capital.settle(paid, surest)
        self.most = np.maximum(self.most, self.against())
        self.somebody = max(self.somebody, self.against_nobody())


class Histories:
    """All epochs, and who is left by them."""

    def __init__(self, made: Callable[[BoolArray], Capital], there: BoolArray) -> None:
        self._made, self.there = made, there
        self.epochs = [Epoch(made(there), there.copy())]

    def save(self) -> list[Any]:
        """Its memory."""
        return [self.there, *(epoch.save() for epoch in self.epochs)]

    def load(self, memory: list[Any]) -> None:
        """Take on a saved memory."""
        self.there = memory[0]
        self.epochs = []
        for own in memory[1:]:
            epoch = Epoch(self._made(self.there), self.there)
            epoch.load(own)
            self.epochs.append(epoch)

    def settle(self, paid: Paid, surest: Surest) -> None:
        """Pay out a block."""
        for epoch in self.epochs:
            epoch.settle(paid, surest)

    @property
    def last(self) -> Epoch:
        """The youngest epoch, which usually has the least."""
        return self.epochs[-1]

    def against(self) -> FloatArray:
        """Log capital that there ever was against each option, by the history with the least."""
        found = [np.where(epoch.member, epoch.most, math.inf) for epoch in self.epochs]
        return np.where(self.there, np.min(found, axis=0), math.inf)

    def against_nobody(self) -> float:
        """Log capital that there ever was against "nobody keeps the limits"."""
        return min(epoch.somebody for epoch in self.epochs)

    def now(self, goal: float) -> tuple[FloatArray, float]:
        """Log capital against each option, and nobody, by histories that are not refuted; or ∞."""
        found, nobody = np.full(len(self.there), math.inf), math.inf
        for epoch in self.epochs:
            left = epoch.member & self.there & np.logical_not(reached(epoch.most, goal))
            found = np.minimum(found, np.where(left, epoch.against(), math.inf))
            if not reached(epoch.somebody, goal):
                nobody = min(nobody, epoch.against_nobody())
        return found, nobody

    # -- options that come and go ----------------------------------------------------------
    def enter(self, count: int, goal: float) -> None:
        """Newcomers, behind all others."""
        new = np.arange(len(self.there) + count) >= len(self.there)
        self.there = np.append(self.there, np.zeros(count, dtype=bool))
        for epoch in self.epochs:
            epoch.grow(count)
        against, nobody = self.now(goal)
        least = min(0.0, float(against.min()), nobody)
        for epoch in self.epochs:
            epoch.head[new], epoch.most[new] = least, least
        self.last.member[new], self.there[new] = True, True

    def leave(self, option: int, goal: float) -> None:
        """An option is retired."""
        against = float(self.now(goal)[0][option])
        self.there = self.there.copy()
        self.there[option] = False
        if math.isfinite(against):
            began = Epoch(self._made(self.there), self.there.copy(), min(against, 0.0))
            self.epochs.append(began)
