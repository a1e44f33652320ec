"""Bets on few enough candidates to write all their differences out, by compiled kernels."""

from __future__ import annotations

import numpy as np

from surepick.algorithms.pooled.compiled.kernels import add_payoffs, pairs
from surepick.algorithms.pooled.fit import BlockFit
from surepick.algorithms.pooled.market import DOUBT, RIVALS, Market
from surepick.algorithms.pooled.payoff import Bets, News, Payoff
from surepick.arrays.types import FloatArray, IntArray
from surepick.statistics.estimate import LeastSquares


class CompiledMarket(Market):
    """As :class:`Market`.

    Parameters
    ----------
    points
        All candidates, (M, d).
    past
        Least squares on all earlier blocks.
    first
        The first block.
    scale
        Dimension over pulls of the first block: turns its information into the unit.
    """

    def __init__(
        self, points: FloatArray, past: LeastSquares, first: BlockFit, scale: float
    ) -> None:
        self._points, self._first, self._scale = points, points @ first.root, scale
        self._white, self.means = past.white(points), points @ past.theta
        leader = int(np.argmax(self.means))
        self.gaps: FloatArray = self.means[leader] - self.means
        self.variances: FloatArray = ((self._white[leader] - self._white) ** 2).sum(axis=1)
        trailing = self.gaps**2 / np.where(self.variances > 0, self.variances, 1.0)
        trailing[leader] = -1.0
        self.rivals: IntArray = np.argsort(trailing, kind="stable")[:RIVALS]
        self._doubt = DOUBT * np.maximum(trailing[self.rivals], 0.0)

    def _pay(
        self,
        capital: FloatArray,
        against: np.ndarray,
        block: BlockFit,
        payoff: Payoff,
        rivals: int,
        shift: float,
    ) -> None:
        places, points = np.nonzero(against)[0], self._points
        found = pairs(
            places,
            self.rivals[:rivals],
            self._doubt[:rivals],
            points,
            (self._white, self.means),
            (points @ block.root, points @ block.theta, points @ block.blind),
            (self._first, self._scale),
            shift,
        )
        columns = None
        if block.columns is not None:
            image = points @ block.columns
            columns = image[self.rivals[:rivals]] - image[places][:, None]
        bets, news = Bets(*found[:4]), News(*found[4:], shift, columns)
        add_payoffs(capital, places, bets.shares, payoff.compiled(bets, news, block))
