"""Which m are the best: m purses against each candidate, the least of which counts.

Against each candidate x some capital is bet on "x is not among the m best"; x is dropped when it
reaches m/δ, and the question is answered when m are left. An answer is wrong only if one of the m
best was dropped: m events, each of probability δ/m at most.

m − 1 candidates that look best are *sure*: each has a purse of its own, bet on "it beats x". One
more is bet, as where m is 1, on "another one beats x", among all that are not sure. The least of
these m counts. While x is among the m best, one of the m never has a positive expectation: that of
a sure candidate that is none of the m best, or, where all of the sure ones are, the last, as then
no other candidate beats x. When a sure candidate no longer looks like one of the m best, another
takes its place; it, and the last one, go on with the least of the m, and those that stay keep no
more than who left had: else luck could choose which of two counts. Against sure candidates nothing
is bet.

What is close enough may be named on the way (:mod:`surepick.proof.accepting`): W(t) is then the
least of the m, which is at most what the one holds that never has a positive expectation.

That much is needed of "beats": there are m candidates none of which is beaten by any other. Means
have that; who usually wins has it where m options each beat all the rest.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from surepick.arrays.types import FloatArray
from surepick.proof.purses import begun, handed_down, least, total


class Several:
    """The m purses against each of M candidates."""

    def __init__(self, candidates: int, m: int, shares: FloatArray) -> None:
        self.m, self._shares = m, np.log(shares)
        #: logs, (m, M, J): on the others, and on each one that is sure
        self.logs: FloatArray = begun((m, candidates), shares)
        self.sure: list[int] = []

    def make_sure(self, leading: Sequence[int]) -> None:
        """Before a block: candidates take the places of those that no longer look good."""
        if not self.sure:
            self.sure = [int(one) for one in leading[: self.m - 1]]
            return
        stay = [k for k, one in enumerate(self.sure) if one in leading]
        missing = self.m - 1 - len(stay)
        if not missing:
            return
        fresh = self.against()[:, None] + self._shares
        kept = [self.sure[k] for k in stay]
        new = [int(one) for one in leading if one not in kept][:missing]
        most = least(*(self.on(k) for k in range(self.m - 1) if k not in stay))
        rest = [handed_down(self.logs[1 + k], most) for k in stay]
        self.logs = np.stack([fresh, *rest, *([fresh] * missing)])
        self.sure = kept + new

    def on(self, k: int) -> FloatArray:
        """Log capital bet on the k-th sure candidate, against each other one."""
        found = total(self.logs[1 + k])
        found[self.sure[k]] = math.inf  # nobody is its own rival
        return found

    def against(self) -> FloatArray:
        """Log capital against each candidate."""
        found = total(self.logs[: 1 + len(self.sure)])
        for k, one in enumerate(self.sure):
            found[1 + k, one] = math.inf  # nobody is its own rival
        return least(*found)
