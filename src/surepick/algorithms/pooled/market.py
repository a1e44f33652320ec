"""Whom to bet on, and with how much of the capital: what every market shares.

A market works out the pairs of candidates and rivals, a payoff says what each bet pays, and the
market adds that to the capital. There are two: :mod:`surepick.algorithms.pooled.compiled.market`
and, for very many candidates, :mod:`surepick.algorithms.pooled.large.market`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

from surepick.algorithms.pooled.payoff import Bets, News, Payoff
from surepick.arrays.types import FloatArray, IntArray

# A rival that trails the leader by z standard errors gets exp(−DOUBT z²) of its share.
DOUBT = 4.0
RIVALS = 8  # the leader and those who trail it least
# A rival's share grows with what a block tells about it, up to so many times that about the one it
# tells least of: where many candidates are alike, a twin would take nearly all, and prove nothing.
NEARNESS = 10.0


class Pairs(NamedTuple):
    """Stakes on rivals (columns) against candidates (rows), and what a block says about them."""

    bets: Bets
    news: News
    seen: Any  #: the block
    payoff: Any  #: a payoff; where intervals are worked out, the one that their sums know

    def raised(self, by: float) -> Pairs:
        """With all leads raised."""
        bets = self.bets._replace(lead=self.bets.lead + by)
        news = self.news._replace(lead=self.news.lead + by, shift=self.news.shift + by)
        return self._replace(bets=bets, news=news)

    def wider(self, prior: float) -> Pairs:
        """With a prior of so many times the precision."""
        return self._replace(bets=self.bets._replace(unit=prior * self.bets.unit))

    def paid(self) -> FloatArray:
        """Log of what bets pay, (n, R, J)."""
        return self.payoff.compiled(self.bets, self.news, self.seen)

    def staked(self, stakes: FloatArray) -> FloatArray:
        """Log of what each of these stakes (n, R, J, 1) pays, (n, R, J)."""
        return self.payoff.staked(stakes, self.news, self.seen)

    def contrasts(self) -> tuple[FloatArray, IntArray]:
        """Estimates of leads from parts of the block (n, R, m), and in how many there are any."""
        return self.payoff.contrasts(self.news._replace(shift=0.0 * self.news.lead), self.seen)


class Market(ABC):
    """Rivals and stakes of a block, from least squares on all earlier ones.

    Everything is fixed before the block is seen: the rivals, in the order of how far they trail
    the leader in standard errors (``rivals[0]`` is the leader), and pooled estimates.
    """

    rivals: IntArray
    means: Any  #: estimated values of all candidates
    gaps: Any  #: how far they trail the leader
    variances: Any  #: of these gaps

    @abstractmethod
    def errors(self, leader: int) -> Any:
        """Standard errors of the leads of all candidates over this one, (M,)."""

    def settle(
        self,
        capital: Any,
        against: Any,
        block: Any,
        payoff: Payoff,
        *,
        closeness: Any = None,
    ) -> None:
        """Multiply the capital against those of a mask by what their bets on all rivals paid.

        With ``closeness`` the bets are on the leader alone, and on "x is not more than this much
        better than the leader".
        """
        if closeness is None:
            self._pay(capital, against, block, payoff, len(self.rivals), -block.rounding)
        else:
            self._pay(capital, against, block, payoff, 1, closeness - block.rounding)

    @abstractmethod
    def pairs(self, places: IntArray, rivals: IntArray, block: Any, payoff: Payoff) -> Pairs:
        """Any candidates with any rivals: by a table of all of them."""

    @abstractmethod
    def _pay(
        self,
        capital: Any,
        against: Any,
        block: Any,
        payoff: Payoff,
        rivals: int,
        shift: float,
    ) -> None:
        """Add to the log capital (M, J) what bets on the first few rivals paid."""
