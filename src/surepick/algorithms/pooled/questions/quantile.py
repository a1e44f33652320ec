"""Which candidate has the best quantile?

As :mod:`surepick.algorithms.pooled.questions.best`, with the bets of
:mod:`surepick.proof.payoffs.quantiles` against each candidate. They are paid out on all
measurements but those of blocks without bets. When options come or go, everybody keeps their
capital, by the rules of :mod:`surepick.algorithms.pooled.options`, and goes on betting with it as
at the beginning.

What to measure is chosen so that the evidence grows: at each number between the quantile of a
candidate that is in and that of the leader, measurements of both together have to tell enough.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from surepick.algorithms.base import Known
from surepick.algorithms.pooled.lacking import LEAST, Lacking
from surepick.algorithms.pooled.ledger import Rows
from surepick.algorithms.pooled.market import Market
from surepick.algorithms.pooled.questions.base import Ground
from surepick.algorithms.pooled.questions.best import Best
from surepick.arrays.grid import coarse
from surepick.arrays.types import BoolArray, FloatArray, IntArray
from surepick.proof.payoffs.quantiles import (
    counts_below,
    counts_upto,
    interval,
    log_capital,
    payoffs,
    place_of,
    quantile,
)
from surepick.statistics.spending import Spent, parts_of_all

_CUTS = np.linspace(0.0, 1.0, 9)  # ways from a candidate's quantile to the leader's
_LEADS = 2.0 ** np.arange(0, 24, 0.5)  # pulls of the leader that are tried


class Series(NamedTuple):
    """Measurements of options, as users count them."""

    arms: IntArray
    values: FloatArray

    @classmethod
    def none(cls) -> Series:
        """No measurements."""
        return cls(np.zeros(0, dtype=np.int64), np.zeros(0))

    def plus(self, other: Series) -> Series:
        """Both."""
        arms, values = np.append(self.arms, other.arms), np.append(self.values, other.values)
        return Series(arms, values)

    def by_arm(self, n: int) -> list[FloatArray]:
        """Those of each option, ascending."""
        order = np.lexsort((self.values, self.arms))
        ends = np.cumsum(np.bincount(self.arms, minlength=n))
        return np.split(self.values[order], ends[:-1])


class LargestQuantile(Best):
    """Capital against "this one has the largest quantile", and who was dropped."""

    decides_each = True  # nobody who is ruled out is measured any more

    def __init__(self, ground: Ground) -> None:
        super().__init__(ground)
        asked = ground.config.asked.quantile
        assert asked is not None
        self.p, self.smallest = asked, ground.problem.minimise
        self.leaders = None
        self.base = self.capital.copy()  # what bets began with
        self.before, self.told = Series.none(), Series.none()  # without bets, and with them
        #: what only guides: sums of measurements that somebody may have chosen by their results
        self.guide, self.guides = Series.none(), False
        self.first = self._n  # options at first; more may have come since

    def save(self) -> dict[str, Any]:
        own = {"base": self.base, "before": list(self.before), "told": list(self.told)}
        own |= {"guide": list(self.guide), "guides": self.guides, "first": self.first}
        return super().save() | {"led": [], "quantiles": own}

    def load(self, memory: dict[str, Any]) -> None:
        super().load(memory)
        own = memory["quantiles"]
        self.base = own["base"]
        self.before, self.told = Series(*own["before"]), Series(*own["told"])
        self.guide, self.guides = Series(*own["guide"]), own["guides"]
        self.first = own["first"]

    # -- bets ------------------------------------------------------------------------------
    def guided(self) -> None:
        self.guides = True

    def begin(self, rows: Rows) -> None:
        # Those that only guide are sums of several: their means will do.
        own = Series(rows.arms, self._turned(rows.sums / rows.counts))
        if self.guides:
            self.guide, self.guides = own, False
        else:
            self.before = self.before.plus(own)

    def bet(self, market: Market, blocks: list[Any], pulls: int) -> dict[str, Any]:
        singles, alive = blocks[0].facts, self.dropped_at == 0
        arms = np.repeat(np.arange(len(singles.starts) - 1), np.diff(singles.starts))
        self.told = self.told.plus(Series(arms, self._turned(singles.values)))
        self.capital = np.where(alive[:, None], self.base + self._paid()[:, None], self.capital)
        return {"rivals": [], "dropped": self._drop(alive, pulls)}

    def _turned(self, rewards: FloatArray) -> FloatArray:
        """Rewards, of which more is always better, as users count."""
        return -rewards if self.smallest else rewards

    def _paid(self) -> FloatArray:
        """Log of what bets came to, of all candidates; 0 where they are not there."""
        there, values = np.flatnonzero(self._there()), self.told.by_arm(self._n)
        paid = np.zeros(self._n)
        if len(there) > 1:
            paid[there] = log_capital([values[k] for k in there], self.p, self.smallest)
        return paid

    def _there(self) -> BoolArray:
        offered = self.offered()
        return np.ones(len(self.dropped_at), dtype=bool) if offered is None else offered

    def reconsider(self, market: Any) -> None:
        self.base = self.capital.copy()
        self.before, self.told = self.before.plus(self.told), Series.none()
        super().reconsider(market)

    def evidence(self) -> dict[str, Any]:
        return {"question": {"quantile": self.p}}

    # -- where it stands -------------------------------------------------------------------
    def look(self, means: Any) -> None:
        """The best quantile of those still in, by their own measurements."""
        alive = np.flatnonzero(self.dropped_at == 0)
        self.best = int(alive[np.argmax(self._quantiles()[alive])])

    def _quantiles(self) -> FloatArray:
        """Of each option's measurements, more being better; −inf where it has none."""
        found = [
            quantile(own, self.p) if len(own) else math.nan for own in self._all().by_arm(self._n)
        ]
        return np.nan_to_num(self._turned(np.array(found)), nan=-math.inf)

    @property
    def _n(self) -> int:
        return len(self.dropped_at)

    def _all(self) -> Series:
        return self.guide.plus(self.before).plus(self.told)

    def risks(self) -> list[Spent]:
        """Of how far an option is behind: its own interval, and those of all that come to lead."""
        delta = self.ground.config.delta
        shares = 0.5 * delta * parts_of_all(self.first, self._n)
        leads = {str(i): float(share) for i, share in enumerate(shares)}
        return [
            Spent("how far an option is behind", delta, {"itself": 0.5 * delta} | leads, own=True)
        ]

    def known(self) -> Known | None:
        """Quantiles of options' own measurements, and how far they are behind.

        The interval of an option holds at all times with probability 1 − δ/2, those of all that may
        come to lead with 1 − δ/2 together, those that are still to come among them. They are about
        what nobody chose by its results.
        """
        values, (spent,) = self._all().by_arm(self._n), self.risks()
        leads = spent[str(self.best)]
        own = self._quantiles()
        estimates = np.where(np.isinf(own), math.nan, own)
        errors = np.array([_error(one, self.p) for one in values])
        fair = self.before.plus(self.told).by_arm(self._n)
        ends = [self._ends(one, spent["itself"]) for one in fair]
        low, high = self._ends(fair[self.best], leads)
        least = np.array([low - end[1] for end in ends])
        most = np.array([high - end[0] for end in ends])
        least[self.best] = most[self.best] = 0.0
        apart = np.sqrt(errors**2 + errors[self.best] ** 2)
        apart[self.best] = 0.0
        behind = estimates[self.best] - estimates
        return Known(estimates, behind, apart, least, most, p_value=self.p_values())

    def _ends(self, values: FloatArray, alpha: float) -> tuple[float, float]:
        low, high = interval(values, self.p, alpha)
        return (-high, -low) if self.smallest else (low, high)

    # -- what to measure -------------------------------------------------------------------
    def lacking(self, market: Market, pulls: int) -> Lacking:
        """Pulls that the evidence against each candidate, and for the leader, seems to lack."""
        alive, counts = np.flatnonzero(self.dropped_at == 0), np.zeros(self._n)
        others = alive[alive != self.best]
        if len(others):
            costs = self.ground.problem.costs
            prices = np.ones(self._n) if costs is None else np.asarray(costs)
            counts[others], counts[self.best] = _cheapest(
                *self._rates(others), prices, others, self.best
            )
        counts[alive] = np.maximum(counts[alive], 1.0)
        nats = np.where(self.dropped_at == 0, np.maximum(self.goal - self.against(), LEAST), 0.0)
        return Lacking(coarse(counts), coarse(nats), counts=coarse(counts))

    def _rates(self, others: IntArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """At some numbers between each candidate and the leader, (n, V) each.

        How much log capital is missing there, and how much a pull of each of the two adds.
        """
        known, told = self._all().by_arm(self._n), self.told.by_arm(self._n)
        best = _Option(known[self.best], told[self.best], self.p)
        rivals = math.log(max(int(self._there().sum()) - 1, 1))
        goals = self.goal + rivals - np.logaddexp.reduce(self.base[others], axis=1)
        missing, ours, leads = np.empty((3, len(others), len(_CUTS)))
        for i, x in enumerate(others):
            own = _Option(known[x], told[x], self.p)
            first = best.middle if math.isnan(own.middle) else own.middle
            cuts = first + _CUTS * (best.middle - first)
            (ours[i], mine), (leads[i], its) = own.below(cuts), best.above(cuts)
            if self.smallest:
                (ours[i], mine), (leads[i], its) = own.above(cuts), best.below(cuts)
            missing[i] = np.maximum(goals[i] - mine - its, LEAST)
        return coarse(missing), coarse(ours), coarse(leads)


class _Option:
    """What is known of an option: all of its measurements, and those on which was bet."""

    def __init__(self, known: FloatArray, told: FloatArray, p: float) -> None:
        self._known, self._told, self._p = known, told, p
        self._paid = payoffs(len(told), p)
        self.middle = quantile(known, p) if len(known) else math.nan

    def below(self, cuts: FloatArray) -> tuple[FloatArray, FloatArray]:
        """How fast bets grow on its quantile being below each number; and what they paid."""
        paid = self._paid.up[counts_below(self._told, cuts)]
        return self._rate(counts_below(self._known, cuts), 1.0), paid

    def above(self, cuts: FloatArray) -> tuple[FloatArray, FloatArray]:
        """How fast bets grow on its quantile being above each number; and what they paid."""
        paid = self._paid.down[counts_upto(self._told, cuts)]
        return self._rate(counts_upto(self._known, cuts), -1.0), paid

    def _rate(self, counted: IntArray, sign: float) -> FloatArray:
        """Log capital per pull: that of a share this far from p, which may be so by chance."""
        n, p = len(self._known), self._p
        share = (counted + p) / (n + 1.0)
        known = share * np.log(share / p) + (1 - share) * np.log((1 - share) / (1 - p))
        return np.where(sign * (share - p) > 0, known, 0.0) + 0.5 / (n + 1.0)


def _cheapest(
    missing: FloatArray,
    ours: FloatArray,
    leads: FloatArray,
    prices: FloatArray,
    others: IntArray,
    leader: int,
) -> tuple[FloatArray, float]:
    """Pulls of candidates and of the leader that are enough at all numbers, for least money."""
    best, found = math.inf, (np.ones(len(others)), 1.0)
    for lead in _LEADS:
        counts = np.maximum((missing - lead * leads) / ours, 0.0).max(axis=1)
        cost = float(coarse(float(prices[leader] * lead + prices[others] @ counts)))
        if cost < best:
            best, found = cost, (counts, float(lead))
    return found


def _error(values: FloatArray, p: float) -> float:
    """Standard error of a quantile: half of how far order statistics one error away are apart."""
    n = len(values)
    if n < 2:
        return math.inf
    off = math.sqrt(p * (1.0 - p) / n)
    low, high = (place_of(n, min(max(p + end, 0.0), 1.0)) for end in (-off, off))
    return 0.5 * float(values[high] - values[low])
