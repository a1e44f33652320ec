"""What bets pay: one object for each kind of noise, given to the state.

Everything is about pairs of a candidate x and a rival r, in arrays with a row per candidate and a
column per rival. A payoff turns stakes that were fixed before a block (:class:`Bets`) and what the
block says (:class:`News`) into the log of what each bet pays, for each account. The guarantee
needs one thing of it: while x is the best, every payoff has mean at most 1 given the past.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np

from surepick.arrays.backend import Backend
from surepick.arrays.types import FloatArray
from surepick.statistics.payoffs import array_log_payoff


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


class Payoff(ABC):
    """What bets pay under some assumption about the noise."""

    def __init__(self, precisions: tuple[float, ...]) -> None:
        self.precisions = precisions  #: of the accounts, in units of ``bets.unit``

    @abstractmethod
    def compiled(self, bets: Bets, news: News) -> FloatArray:
        """Log payoffs, (n, R, J), of NumPy arrays."""

    @abstractmethod
    def on(self, backend: Backend, bets: Bets, news: News) -> list[Any]:
        """The same on arrays of any library: an array (n, R) for each account."""


class GaussianPayoff(Payoff):
    """Noise of known scale: the Gaussian bets of :mod:`surepick.statistics.payoffs`.

    Stakes are normal around the past's estimate, cut at 0. Rewards are in units of the noise.
    """

    def __init__(self, precisions: tuple[float, ...]) -> None:
        super().__init__(precisions)
        self._precisions = np.array(precisions)

    def compiled(self, bets: Bets, news: News) -> FloatArray:
        from surepick.statistics.payoff_kernels import gaussian_payoffs

        return gaussian_payoffs(bets[1:], news, self._precisions)

    def on(self, backend: Backend, bets: Bets, news: News) -> list[Any]:
        score, told = bets.information * bets.lead, news.information * news.lead
        return [
            array_log_payoff(
                backend, score, bets.information + precision * bets.unit, told, news.information
            )
            for precision in self.precisions
        ]
