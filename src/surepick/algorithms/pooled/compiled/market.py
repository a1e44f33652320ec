"""Bets on few enough candidates to write all their differences out, by compiled kernels."""

from __future__ import annotations

from typing import Any

import numpy as np

from surepick.algorithms.pooled.compiled.kernels import add_payoffs, pairs
from surepick.algorithms.pooled.fit import BlockFit
from surepick.algorithms.pooled.market import DOUBT, RIVALS, Market
from surepick.algorithms.pooled.payoff import Bets, News, Payoff
from surepick.algorithms.pooled.values import Values, allowances
from surepick.arrays.tables import read_only
from surepick.arrays.types import FloatArray, IntArray
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
    """

    def __init__(self, points: FloatArray, past: Values, first: Values, scale: float) -> None:
        self._points, self._past, self._first, self._scale = points, past, first, scale
        self.means = past.means
        leader = int(np.argmax(self.means))
        self.gaps: FloatArray = self.means[leader] - self.means
        shared = ((past.white[leader] - past.white) ** 2).sum(axis=1)
        self.variances: FloatArray = shared + past.own[leader] + past.own
        self.variances[leader] = 0.0
        trailing = self.gaps**2 / np.where(self.variances > 0, self.variances, 1.0)
        trailing[leader] = -1.0
        self.rivals: IntArray = np.argsort(trailing, kind="stable")[:RIVALS]
        self._doubt = DOUBT * np.maximum(trailing[self.rivals], 0.0)

    @classmethod
    def by_features(
        cls, points: FloatArray, past: LeastSquares, first: BlockFit, scale: float
    ) -> CompiledMarket:
        """After least squares on all earlier blocks."""
        values = Values(points @ past.theta, past.white(points), np.zeros(len(points)))
        return cls(points, values, first.seen(points).values, scale)

    def _pay(
        self,
        capital: FloatArray,
        against: np.ndarray,
        block: Any,
        payoff: Payoff,
        rivals: int,
        shift: float,
    ) -> None:
        places, seen, bet_on = (
            np.nonzero(against)[0],
            block.seen(self._points),
            self.rivals[:rivals],
        )
        found = pairs(
            places,
            bet_on,
            self._doubt[:rivals],
            read_only(self._points),
            tuple(self._past),
            (tuple(seen.values), seen.outside),
            (tuple(self._first), self._scale),
        )
        off = allowances(seen.allowance, places, bet_on)
        shifts = shift - np.broadcast_to(off, found[1].shape)
        shares, lead, information, unit, new_lead, told = found
        columns = None
        if seen.columns is not None:
            columns = seen.columns[bet_on] - seen.columns[places][:, None]
        bets = Bets(shares, lead + shifts, information, unit)
        news = News(new_lead + shifts, told, shifts, columns, (places, bet_on))
        add_payoffs(capital, places, bets.shares, payoff.compiled(bets, news, seen))
