"""Bets on few enough candidates to write all their differences out, by compiled kernels."""

from __future__ import annotations

from typing import Any

import numpy as np

from surepick.algorithms.pooled.compiled.kernels import add_payoffs, pairs
from surepick.algorithms.pooled.fit import BlockFit
from surepick.algorithms.pooled.market import DOUBT, NEARNESS, RIVALS, Market, Pairs
from surepick.algorithms.pooled.payoff import Bets, News, Payoff
from surepick.algorithms.pooled.values import Values, allowances
from surepick.arrays.grid import coarse, level
from surepick.arrays.tables import read_only
from surepick.arrays.types import BoolArray, FloatArray, IntArray
from surepick.statistics.estimate import LeastSquares


class CompiledMarket(Market):
    """As :class:`Market`.

    Parameters
    ----------
    points
        All candidates, (M, d).
    past
        What all earlier blocks suggest.
    first
        What the first block could tell.
    scale
        Turns its information into the unit.
    about
        The candidate that leads are measured from; by default the one that looks best.
    offered
        Who can be a rival, where some cannot, as a mask.
    """

    def __init__(
        self,
        points: FloatArray,
        past: Values,
        first: Values,
        scale: float,
        about: int | None = None,
        offered: BoolArray | None = None,
    ) -> None:
        self._points, self._past, self._first, self._scale = points, past, first, scale
        self.means = past.means
        alike = level(self.means)  # for what is decided
        open_to_bets = alike if offered is None else np.where(offered, alike, -np.inf)
        leader = int(np.argmax(open_to_bets)) if about is None else about
        self.gaps: FloatArray = self.means[leader] - self.means
        self.variances: FloatArray = self._apart(leader)
        per_variance = 1.0 / np.where(self.variances > 0, self.variances, 1.0)
        order = coarse((alike[leader] - alike) ** 2 * coarse(per_variance))
        order[leader] = -1.0
        rivals = RIVALS
        if offered is not None:
            order[~offered] = np.inf
            rivals = min(RIVALS, int(offered.sum()))
        self.rivals: IntArray = np.argsort(order, kind="stable")[:rivals]
        self._doubt = DOUBT * self.gaps[self.rivals] ** 2 * per_variance[self.rivals]

    def _apart(self, leader: int) -> FloatArray:
        past = self._past
        shared = ((past.white[leader] - past.white) ** 2).sum(axis=1)
        found = shared + past.own[leader] + past.own
        found[leader] = 0.0
        return found

    def errors(self, leader: int) -> FloatArray:
        return np.sqrt(self._apart(leader))

    @classmethod
    def by_features(
        cls,
        points: FloatArray,
        past: LeastSquares,
        first: BlockFit,
        scale: float,
        about: int | None = None,
        offered: BoolArray | None = None,
    ) -> CompiledMarket:
        """After least squares on all earlier blocks."""
        values = Values(points @ past.theta, past.white(points), np.zeros(len(points)))
        return cls(points, values, first.seen(points).values, scale, about, offered)

    def _pay(
        self,
        capital: FloatArray,
        against: np.ndarray,
        block: Any,
        payoff: Payoff,
        rivals: int,
        shift: float,
    ) -> None:
        places, bet_on = np.nonzero(against)[0], self.rivals[:rivals]
        seen = block.seen(self._points)
        bets, news = self._pairs(places, bet_on, self._doubt[:rivals], seen, shift)
        add_payoffs(capital, places, bets.shares, payoff.compiled(bets, news, seen))

    def pairs(self, places: IntArray, rivals: IntArray, block: Any, payoff: Payoff) -> Pairs:
        seen = block.seen(self._points)
        bets, news = self._pairs(places, rivals, np.zeros(len(rivals)), seen, -block.rounding)
        return Pairs(bets, news, seen, payoff)

    def _pairs(
        self,
        places: IntArray,
        rivals: IntArray,
        doubt: FloatArray,
        seen: Any,
        shift: float,
    ) -> tuple[Bets, News]:
        """Stakes on each of the rivals against each of the candidates, and what a block says."""
        found = pairs(
            places,
            rivals,
            doubt,
            NEARNESS,
            read_only(self._points),
            tuple(self._past),
            (tuple(seen.values), seen.outside),
            (tuple(self._first), self._scale),
        )
        off = allowances(seen.allowance, places, rivals)
        shifts = np.full(found[1].shape, shift - off)
        shares, lead, information, unit, new_lead, told = found
        columns = None
        if seen.columns is not None:
            columns = seen.columns[rivals] - seen.columns[places][:, None]
        bets = Bets(shares, lead + shifts, information, unit)
        return bets, News(new_lead + shifts, told, shifts, columns, (places, rivals))
