"""What one block pays, in every way in which it is read: accounts of the ways behind each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from surepick.algorithms.pooled.compiled.kernels import add_payoffs
from surepick.algorithms.pooled.evidence import Evidence
from surepick.algorithms.pooled.market import Market, Pairs
from surepick.arrays.types import FloatArray, IntArray


class Round:
    """A block, with the stakes of a market that knew all blocks before it."""

    def __init__(self, market: Market, ways: Evidence, blocks: Sequence[Any]) -> None:
        self.market, self.blocks, self._ways = market, list(blocks), ways

    def between(self, xs: IntArray, rs: IntArray) -> Between:
        """Bets on each of ``rs`` (columns) against each of ``xs`` (rows)."""
        read = zip(self._ways.ways, self.blocks)
        return Between(
            [self.market.pairs(xs, rs, block, self._ways.payoff(way)) for way, block in read],
            xs[:, None] == rs,
        )

    def beats(self, xs: IntArray, rs: IntArray, by: float = 0.0) -> FloatArray:
        """Log payoffs of "r is more than x less ``by``", (xs, rs, accounts)."""
        return self.between(xs, rs).paid(by)

    def pay_on_any(self, logs: FloatArray, xs: IntArray, rs: IntArray, doubt: FloatArray) -> None:
        """Add to purses (M, J) what bets on some of ``rs``, the less the more doubt, paid."""
        for number, pairs in enumerate(self.between(xs, rs).pairs):
            own = logs[:, self._ways.own(number)]
            add_payoffs(own, xs, pairs.bets.shares - doubt, pairs.paid())


class Between:
    """Bets between some candidates, before it is said how much more one has to be."""

    def __init__(self, pairs: list[Pairs], same: Any) -> None:
        self.pairs, self._same = pairs, same

    def paid(self, by: float = 0.0, prior: float = 1.0) -> FloatArray:
        """Log payoffs with leads raised by so much, and a prior of so many times the precision.

        Nothing is bet on how far candidates are from themselves.
        """
        each = [pairs.raised(by) if by else pairs for pairs in self.pairs]
        each = [pairs.wider(prior) if prior != 1.0 else pairs for pairs in each]
        found = np.concatenate([pairs.paid() for pairs in each], axis=-1)
        found[self._same] = 0.0
        return found
