"""Ways to read a block as evidence about candidates, and the capital that each is given.

- ``linear``: least squares on the features of the block's arms. It proves something if rewards
  are linear in the features.
- ``direct``: an option's own rewards against its rival's. Features prove nothing; what was not
  measured itself, together with a rival, is never dropped.

- ``allowed``: estimates that trust features up to a misfit, which is allowed for.

- ``paired``: an option's rewards against its rival's on the same items.

Where features are trusted all capital goes the first way, where they are not all goes the second;
between the two half of it is for the second and half for the third. Where every option has a
feature of its own, the first and the second are the same, and the second is the faster.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from surepick.algorithms.pooled.fit import Scales
from surepick.algorithms.pooled.kinds.reading import Reading
from surepick.algorithms.pooled.ledger import Rows
from surepick.algorithms.pooled.market import NEARNESS, Market
from surepick.algorithms.pooled.parts import Parts
from surepick.algorithms.pooled.payoff import HalfKept, Payoff
from surepick.algorithms.pooled.rounding import rounding_of
from surepick.arrays.types import FloatArray
from surepick.problem import Problem
from surepick.proof.payoffs.stakes import ACCOUNTS


def ways_of(problem: Problem, items: int | None = None) -> tuple[str, ...]:
    """How blocks of this problem are read; with so many items, if options are measured on them."""
    if items is not None:
        return ("paired",)
    if problem.transductive:  # candidates that are not measured cannot be compared directly
        return ("allowed",) if problem.misfit else ("linear",)
    if 0 < problem.misfit < math.inf:
        return ("direct", "allowed")
    free = problem.rank == problem.n_arms and problem.backend.plain
    return ("direct",) if problem.misfit or free else ("linear",)


class Evidence:
    """Accounts for every way; columns of a table of capital, way after way.

    ``number``: behind all candidates there is one more, a number that they are compared with.
    """

    def __init__(
        self,
        reading: Reading,
        ways: tuple[str, ...],
        number: bool = False,
    ) -> None:
        self.reading, self.ways, self._number = reading, ways, number
        #: how the pulls of a block are dealt
        self.parts: Parts = "none"
        if reading.in_parts:
            self.parts = "same" if ways == ("linear",) else "own"
        if reading.singly:
            self.parts = "single"
        if ways == ("paired",):
            self.parts = "items"
        self.half_kept = False  #: whether half of each bet on the block that comes is not staked
        #: capital that the accounts begin with
        self.accounts: FloatArray = np.tile(ACCOUNTS, len(ways)) / len(ways)

    def written(self, levels: bool) -> dict[str, Any]:
        """What evidence says of it, and of whether levels are kept out of the guide."""
        return {
            "accounts": self.accounts.tolist(),
            "ways": list(self.ways),
            "nearness": NEARNESS,
            "levels": levels,
        }

    def read(self, rows: Rows, scales: Scales) -> list[Any]:
        """What a block says, in each way."""
        read, readers = self.reading, self.reading.readers()
        found = [readers[way](rows, scales) for way in self.ways]
        found = [one._replace(rounding=rounding_of(read.problem, rows, one)) for one in found]
        if self._number:  # least squares on features says 0 of a candidate without any
            found = [read.with_number(seen) for seen in found]
        return found

    def payoff(self, way: str) -> Payoff:
        """What bets pay in one way."""
        found = self.reading.direct_payoff if way == "direct" else self.reading.payoff
        return HalfKept(found) if self.half_kept else found

    def own(self, number: int) -> slice:
        """The accounts of one way."""
        return slice(number * len(ACCOUNTS), (number + 1) * len(ACCOUNTS))

    def settle(
        self, market: Market, capital: Any, against: Any, blocks: list[Any], **closeness: Any
    ) -> None:
        """Multiply the capital, as :meth:`Market.settle`, by what bets in each way paid."""
        for number, (way, block) in enumerate(zip(self.ways, blocks)):
            own = self.own(number)
            paid = self.payoff(way)
            market.settle(capital[:, own], against, block, paid, **closeness)
