"""Where close enough will do: bets on "x is not more than ε better than a".

A share s of the capital is for these (:mod:`surepick.proof.accepting`), from the start or from some
moment on. For every candidate a that led since, one of the m that look best, there is a purse
against every x. With j = 1 for the first m of them, 2 for the next m and so on, it starts at s/(m ·
j(j+1)), and x is close to a for good once that and the capital against x reach m/δ together.

When everyone still in, outside of m candidates, is close to each of these, none of them is more
than ε below the m-th best: else one of the m best is outside of them, more than ε better than one
of them. It was dropped or shown to be close, both by a capital of its own that begins with 1 at
most and reached m/δ: with probability δ/m for each of the m best.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from surepick.arrays.backend import HOST, Backend
from surepick.arrays.grid import reached
from surepick.arrays.types import FloatArray
from surepick.proof.accepting import Shares, of_leader, together
from surepick.proof.purses import begun, longer, total

NOBODY = -1  #: in the place of a leader whose purses count no more


class Closeness:
    """Capital on closeness to everyone who ever led; arrays live where the candidates do."""

    def __init__(
        self,
        candidates: int,
        accounts: FloatArray,
        shares: Shares,
        m: int = 1,
        backend: Backend = HOST,
    ) -> None:
        self._b, self._M, self._m = backend, candidates, m
        self._accounts, self._shares = accounts, shares
        self.forget()

    def forget(self) -> None:
        """Begin anew: nobody has led, and nobody is close to anybody."""
        self.leaders: list[int] = []
        self.logs: Any = self._b.put(begun((0, self._M), self._accounts))  #: (leaders, M, J)
        self.close: Any = self._b.full((0, self._M), False, "bool")

    def save(self) -> dict[str, Any]:
        """Its memory, as NumPy arrays and plain values."""
        logs, close = self._b.host(self.logs), self._b.host(self.close)
        return {"leaders": self.leaders, "spare": logs, "close": close}

    def load(self, memory: dict[str, Any]) -> None:
        """Take on a saved memory."""
        self.leaders = memory["leaders"]
        self.logs, self.close = self._b.put(memory["spare"]), self._b.put(memory["close"])

    def opened(self, leader: int) -> int:
        """The place of the purses on closeness to this one; new ones where it never led before."""
        if leader not in self.leaders:
            xp = self._b.xp
            self.leaders = [*self.leaders, leader]
            fresh = self._b.put(begun((1, self._M), self._accounts))
            self.logs = xp.concat([self.logs, fresh])
            self.close = xp.concat([self.close, self._b.full((1, self._M), False, "bool")])
        return self.leaders.index(leader)

    def grow(self, count: int, begin: FloatArray) -> None:
        """So many candidates more; ``begin`` is what purses hold against each, (leaders, 1, J)."""
        self._M += count
        self.logs = longer(self.logs, count, (1,), begin)
        self.close = longer(self.close, count, (1,), False).astype(bool)

    def begin_anew(self) -> None:
        """What was shown counts no more, and purses begin again under new numbers."""
        self.leaders = [NOBODY] * len(self.leaders)
        self.close[:] = False

    def note(self, leader: int, against: Any, goal: float, alive: Any = True) -> None:
        """Note who is close by now, given the log capital against each at this moment."""
        k = self.leaders.index(leader)
        self.close[k] |= alive & reached(self.together(leader, against), goal)

    def evidence(self, leader: int) -> Any:
        """Log capital on closeness of each candidate to this one."""
        known = leader in self.leaders
        k = self.leaders.index(leader) if known else len(self.leaders)
        held = total(self.logs[k], self._b.xp) if known else self._b.full((self._M,), 0.0)
        held = held + of_leader(k, self._m) + self._shares.behind
        held[leader] = -math.inf
        return held

    def together(self, leader: int, against: Any) -> Any:
        """Log capital on closeness of each to this one, and that against each, together."""
        return together(against, self.evidence(leader), self._b.xp)

    def shown(self, leader: int) -> Any:
        """Who is close to this one, as a mask."""
        if leader in self.leaders:
            return self.close[self.leaders.index(leader)]
        return self._b.full((self._M,), False, "bool")

    def all_close(self, some: Iterable[int], alive: Any) -> bool:
        """Whether everyone of a mask, outside of these, is close to each of these."""
        xp, some = self._b.xp, [int(one) for one in some]
        far = xp.asarray(alive, copy=True)
        for one in some:
            far[one] = False
        return all(not bool(xp.any(far & ~self.shown(one))) for one in some)

    def winner(self, alive: Any) -> int | None:
        """The last leader that is in, and that everyone else who is in is close to."""
        found = None
        for leader in self.leaders:
            if leader != NOBODY and bool(alive[leader]) and self.all_close([leader], alive):
                found = leader
        return found
