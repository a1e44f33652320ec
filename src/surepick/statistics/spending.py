"""How an error probability is divided among options of which more may come, without end.

Nobody knows beforehand how many there will be. So every option has a part of its own when it comes,
and the parts of all that may ever come add up to 1 at most.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from surepick.arrays.types import FloatArray


@dataclass(frozen=True)
class Spent:
    """What is said together at one risk, and the share of that risk which each part of it has.

    Shares that add up to more than the risk are refused: so it is looked at whenever something is
    said.

    Examples
    --------
    >>> Spent("who keeps a limit", 0.05, {"verdict": 0.04, "by how much": 0.01}).total
    0.05
    """

    said: str
    risk: float
    shares: Mapping[str, float]
    #: whether what is said states that this risk is its own, beside that of the answer
    own: bool = False

    def __post_init__(self) -> None:
        if not self.total <= self.risk * (1.0 + 1e-12):
            listed = ", ".join(f"{what} {share:g}" for what, share in self.shares.items())
            raise ArithmeticError(f"{self.said}: shares of {self.risk:g} are more ({listed})")

    def __getitem__(self, what: str) -> float:
        return self.shares[what]

    @property
    def total(self) -> float:
        return math.fsum(self.shares.values())


def parts_of_all(first: int, n: int, among: int | None = None) -> FloatArray:
    """The part of each of n options, of which so many were there at first.

    Those share first/(first + 1), or ``among`` so many of them do, if not all need a part. The k-th
    of all, which came later, has that of 1/(k(k − 1)), which sums up to 1/first over all k > first:
    all that may ever come have 1/(first + 1).
    """
    later = np.arange(first, n, dtype=np.float64)  # so many came before it
    whole = first / (first + 1.0)
    own = np.full(first, whole / (first if among is None else among))
    return np.append(own, whole / (later * (later + 1.0)))


def shares_of_leads(delta: float, first: int, n: int, control: int | None) -> FloatArray:
    """The share of delta that the lead of each option over the control has; all hold at once.

    The control has none to itself. It is one of those that were there at first.
    """
    shares = delta * parts_of_all(first, n, max(first - 1, 1))
    others = {str(i): float(share) for i, share in enumerate(shares) if i != control}
    Spent("leads over the control", delta, others)
    return shares


def each_of_the_best(m: int, delta: float) -> dict[str, float]:
    """The share of each of the m best: that it is ruled out is what can go wrong."""
    return {f"best {i + 1}": delta / m for i in range(m)}
