"""With epsilon: bets on "x is not more than epsilon better than the leader".

A share of the capital is for these (:mod:`surepick.statistics.accepting`), from the start or from
some moment on, of which the k-th candidate to lead since gets 1/(k(k+1)) against every x; x is
close to it for good once that and the capital against x reach 1/delta together.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from surepick.algorithms.pooled.evidence import Evidence
from surepick.algorithms.pooled.market import Market, all_accounts
from surepick.arrays.backend import Backend
from surepick.arrays.grid import reached
from surepick.statistics.accepting import Shares, of_leader, together


class Closeness:
    """Capital on closeness to everyone who ever led; arrays live where the features are."""

    def __init__(
        self, backend: Backend, candidates: int, evidence: Evidence, shares: Shares
    ) -> None:
        self._b, self._M, self._evidence, self._shares = backend, candidates, evidence, shares
        self.forget()

    def forget(self) -> None:
        """Begin anew: nobody has led, and nobody is close to anybody."""
        self.leaders: list[int] = []
        shape = (0, self._M, len(self._evidence.accounts))
        self.spare: Any = self._b.put(np.zeros(shape))  # log capital
        self.close: Any = self._b.put(np.zeros(shape[:2], dtype=bool))

    def save(self) -> dict[str, Any]:
        """Its memory, as NumPy arrays and plain values."""
        spare, close = self._b.host(self.spare), self._b.host(self.close)
        return {"leaders": self.leaders, "spare": spare, "close": close}

    def load(self, memory: dict[str, Any]) -> None:
        """Take on a saved memory."""
        self.leaders = memory["leaders"]
        self.spare, self.close = self._b.put(memory["spare"]), self._b.put(memory["close"])

    def bet(
        self,
        market: Market,
        alive: Any,
        blocks: list[Any],
        epsilon: float,
        goal: float,
        against: Any,
    ) -> None:
        """Settle the bets on closeness to the market's leader, against those of a mask.

        ``against`` is the log capital against each candidate at this moment.
        """
        xp, leader = self._b.xp, int(market.rivals[0])
        k = self._number(leader)
        if k == len(self.leaders):
            self.leaders.append(leader)
            fresh = self._b.put(np.tile(np.log(self._evidence.accounts), (1, self._M, 1)))
            self.spare = xp.concat([self.spare, fresh])
            self.close = xp.concat([self.close, self._b.full((1, self._M), False, "bool")])
        others = xp.asarray(alive, copy=True)
        others[leader] = False
        self._evidence.settle(market, self.spare[k], others, blocks, closeness=epsilon)
        self.close[k] |= reached(self.together(leader, against), goal)

    def winner(self, alive: Any) -> int | None:
        """A leader that everyone still in is close to."""
        xp, found = self._b.xp, None
        for k, leader in enumerate(self.leaders):
            if leader < 0:  # it led before somebody was retired: that counts no more
                continue
            far = alive & ~self.close[k]
            far[leader] = False
            if bool(alive[leader]) and not bool(xp.any(far)):
                found = leader
        return found

    def evidence(self, leader: int) -> Any:
        """Log capital on closeness of each candidate to ``leader``."""
        k = self._number(leader)
        if k == len(self.leaders):
            total = self._b.full((self._M,), 0.0)
        else:
            total = all_accounts(self._b, self.spare[k])
        return total + of_leader(k) + self._shares.behind

    def together(self, leader: int, against: Any) -> Any:
        """The same, and the log capital against each candidate."""
        return together(against, self.evidence(leader), self._b.xp)

    def shown(self, leader: int) -> Any:
        """Who is close to ``leader``, as a mask."""
        k = self._number(leader)
        if k < len(self.leaders):
            return self.close[k]
        return self._b.full((self._M,), False, "bool")

    def _number(self, leader: int) -> int:
        return self.leaders.index(leader) if leader in self.leaders else len(self.leaders)
