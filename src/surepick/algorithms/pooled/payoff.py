"""What bets pay: one object for each kind of noise, given to the state.

Everything is about pairs of a candidate x and a rival r, in arrays with a row per candidate and a
column per rival. A payoff turns stakes that were fixed before a block (:class:`Bets`) and what the
block says (:class:`News`) into the log of what each bet pays, for each account. The guarantee
needs one thing of it: while x is the best, every payoff has mean at most 1 given the past.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np

from surepick.arrays.backend import Backend
from surepick.arrays.types import FloatArray
from surepick.proof.payoffs.stakes import array_stakes, normal_stakes


class Bets(NamedTuple):
    """What is staked on "r beats x", fixed before the block is seen; arrays (n, R)."""

    shares: Any  #: log of the rival's part of the capital, up to a factor; −inf where r is x
    lead: Any  #: of r over x, as the past estimates it (and the shift)
    information: Any  #: of the past about it
    unit: Any  #: what the first block would tell about it with one pull per dimension


class News(NamedTuple):
    """What a block says about the same pairs; arrays (n, R)."""

    lead: Any  #: estimated lead of r over x (and the shift)
    information: Any  #: 0 where the block says nothing about the pair
    shift: Any = 0.0  #: that leads were raised by: (n, R), or on a backend one number
    columns: Any = None  #: (r − x)ᵀ of the block's columns: (n, R, q), or on a backend q arrays
    pairs: Any = None  #: places of the candidates (n,) and of the rivals (R,); not on a backend


class Payoff(ABC):
    """What bets pay under some assumption about the noise."""

    def __init__(self, precisions: tuple[float, ...]) -> None:
        self.precisions = precisions  #: of the accounts, in units of ``bets.unit``
        self._precisions = np.array(precisions)

    @abstractmethod
    def compiled(self, bets: Bets, news: News, block: Any) -> FloatArray:
        """Log payoffs, (n, R, J), of NumPy arrays; ``block`` has the ``facts`` of the block."""

    def stakes(self, bets: Bets) -> FloatArray:
        """A few stakes for each account, (n, R, J, S), where a payoff has no closed form."""
        score = bets.information * bets.lead
        precisions = bets.information[..., None] + self._precisions * bets.unit[..., None]
        return normal_stakes(score[..., None], precisions)


class HalfKept(Payoff):
    """Half of each bet is not staked, but in intervals, which have stakes of their own."""

    def __init__(self, payoff: Payoff) -> None:
        super().__init__(payoff.precisions)
        self._other = payoff

    def compiled(self, bets: Bets, news: News, block: Any) -> FloatArray:
        return np.logaddexp(self._other.compiled(bets, news, block), 0.0) - math.log(2.0)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._other, name)


class ArrayPayoff(Payoff):
    """What bets pay, also on arrays of any library: for very many candidates."""

    @abstractmethod
    def on(self, backend: Backend, bets: Bets, news: News, block: Any) -> list[Any]:
        """Log payoffs on arrays of any library: an array (n, R) for each account."""

    def stakes_on(self, backend: Backend, bets: Bets) -> list[list[Any]]:
        """Stakes on arrays of any library: for each account an array (n, R) for each stake."""
        score = bets.information * bets.lead
        return [
            array_stakes(backend, score, bets.information + precision * bets.unit)
            for precision in self.precisions
        ]


def log_mean(backend: Backend, logs: list[Any]) -> Any:
    """log of the mean of exp, of arrays."""
    xp, total = backend.xp, logs[0]
    for other in logs[1:]:
        total = xp.logaddexp(total, other)
    return total - float(np.log(len(logs)))
