"""Bets on very many candidates: in blocks of rows, on any array library.

Rivals and stakes are the same numbers as those of the compiled market. No table of candidates
beside the features is ever made.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from surepick.algorithms.pooled.fit import BlockFit
from surepick.algorithms.pooled.market import DOUBT, NEARNESS, RIVALS, Market, Pairs
from surepick.algorithms.pooled.payoff import ArrayPayoff, Bets, News, Payoff
from surepick.arrays.backend import Backend
from surepick.arrays.grid import coarse, level
from surepick.arrays.types import FloatArray, IntArray
from surepick.statistics.estimate import LeastSquares


class LargeMarket(Market):
    """As :class:`Market`, without a table of its own."""

    def __init__(
        self, backend: Backend, points: Any, past: LeastSquares, first: BlockFit, scale: float
    ) -> None:
        self._b, self._points, self._past, self._first = backend, points, past, first
        self._scale = scale
        xp = backend.xp
        self.means = backend.product(points, past.theta)
        alike = level(self.means, xp)  # for what is decided
        leader = int(xp.argmax(alike))
        centre = backend.rows(points, np.array([leader]))[0]
        self.gaps = self.means[leader] - self.means
        self.variances = backend.quadratic(points, past.root, centre)
        known = xp.where(self.variances > 0, self.variances, xp.ones_like(self.variances))
        trailing = (alike[leader] - alike) ** 2 / coarse(known, xp)
        trailing[leader] = -1.0
        self.rivals, _ = backend.largest(-trailing, RIVALS, alike=True)
        behind, errors = (backend.rows(part, self.rivals) for part in (self.gaps, known))
        self._doubt = DOUBT * behind**2 / errors
        self._rows = backend.rows(points, self.rivals)  # (R, d)

    def errors(self, leader: int) -> Any:
        centre = self._b.rows(self._points, np.array([leader]))[0]
        return self._b.xp.sqrt(self._b.quadratic(self._points, self._past.root, centre))

    def pairs(self, places: IntArray, rivals: IntArray, block: Any, payoff: Payoff) -> Pairs:
        from surepick.algorithms.pooled.compiled.market import CompiledMarket

        own = (self._b.host(self._points), self._past, self._first, self._scale)
        return CompiledMarket.by_features(*own).pairs(places, rivals, block, payoff)

    def _pay(
        self,
        capital: Any,
        against: Any,
        block: BlockFit,
        payoff: Payoff,
        rivals: int,
        shift: float,
    ) -> None:
        assert isinstance(payoff, ArrayPayoff)  # options with items live in memory
        b = self._b
        against = b.nonzero(against)
        everybody = against.shape[0] == self._points.shape[0]
        for part in b.blocks(self._points, against.shape[0]):
            places = against[part]
            rows = part if everybody else places
            x = self._points[part] if everybody else b.take(self._points, places)
            bets, news = self._pairs(x, places, block, rivals, shift)
            capital[rows] += self._paid(bets.shares, payoff.on(b, bets, news, block))

    def _pairs(
        self, x: Any, places: Any, block: BlockFit, rivals: int, shift: float
    ) -> tuple[Bets, News]:
        """Stakes and news about candidates x, as the compiled ``pairs`` has them."""
        b, xp = self._b, self._b.xp
        r = self._rows[:rivals]
        own = places[:, None] == b.put(self.rivals[:rivals])[None, :]
        first, past = (b.distances(x, one.root, r) for one in (self._first, self._past))
        unit = self._scale / xp.where(own, xp.ones_like(first), first)
        information = 1.0 / xp.where(own, xp.ones_like(past), past)
        least = xp.min(xp.where(own, xp.full_like(unit, math.inf), unit), axis=1)
        told_of = xp.minimum(unit, (NEARNESS * least)[:, None])
        shares = xp.log(told_of) - b.put(self._doubt[:rivals])[None, :]
        shares = xp.where(own, xp.full_like(shares, -math.inf), shares)
        lead = self._lead(x, r, self._past.theta) + shift
        told, columns = self._told(x, r, block, own), None
        if block.columns is not None:
            columns = [self._lead(x, r, column) for column in block.columns.T]
        news = News(self._lead(x, r, block.theta) + shift, told, shift, columns)
        return Bets(shares, lead, information, unit), news

    def _paid(self, shares: Any, payoffs: list[Any]) -> Any:
        """Log of what a block paid to each account, (n, J): payoffs averaged by the shares."""
        b, xp = self._b, self._b.xp
        whole = log_sum(b, shares)
        alone = whole == -math.inf  # x has no rival but itself
        whole = xp.where(alone, xp.zeros_like(whole), whole)
        gained = [log_sum(b, shares + payoff) - whole for payoff in payoffs]
        return xp.stack([xp.where(alone, xp.zeros_like(g), g) for g in gained], axis=1)

    def _told(self, x: Any, r: FloatArray, block: BlockFit, own: Any) -> Any:
        """Information of the block about r − x; none where it is blind to part of that."""
        xp = self._b.xp
        apart = self._b.distances(x, block.root, r)
        blind = own | (apart == 0)
        if block.blind.shape[1]:
            blind = blind | self._unseen(x, r, block.blind)
        seen = 1.0 / xp.where(blind, xp.ones_like(apart), apart)
        return xp.where(blind, xp.zeros_like(apart), seen)

    def _unseen(self, x: Any, r: FloatArray, blind: FloatArray) -> Any:
        """Where r − x sticks out of what the block measured.

        One projection shows it for nearly all; the others are looked at in full.
        """
        b, xp = self._b, self._b.xp
        generic = blind @ np.cos(1.0 + np.arange(blind.shape[1]))
        across = self._lead(x, r, generic) ** 2
        length = b.squares(x)[:, None] + b.put((r**2).sum(axis=1))[None, :]
        clear = across > 2e-18 * float(generic @ generic) * length
        doubtful = b.nonzero(~xp.all(clear, axis=1))
        if doubtful.shape[0]:
            rows = b.take(x, doubtful)
            outside = b.distances(rows, blind, r)
            apart = b.distances(rows, np.eye(blind.shape[0]), r)
            clear[doubtful] = outside > 1e-18 * apart
        return clear

    def _lead(self, x: Any, r: FloatArray, theta: FloatArray) -> Any:
        """(r − x)ᵀθ, (n, R)."""
        b, xp = self._b, self._b.xp
        return b.put(r @ theta)[None, :] - xp.matmul(x, b.put(theta))[:, None]


def log_sum(backend: Backend, logs: Any) -> Any:
    """log Σ exp over the last axis; −inf where all are."""
    xp = backend.xp
    top = xp.max(logs, axis=-1)
    safe = xp.where(xp.isfinite(top), top, xp.zeros_like(top))
    with np.errstate(divide="ignore"):
        return safe + xp.log(xp.sum(xp.exp(logs - safe[..., None]), axis=-1))
