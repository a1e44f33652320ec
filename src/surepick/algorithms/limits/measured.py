"""One number of a measurement, the reward or another: what was told of it, and bets on it.

The bets are those of :mod:`surepick.algorithms.pooled`, on each option's own measurements: on "r is
above x", and on "x is above, or below, a mark".
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from surepick.algorithms.pooled.evidence import Evidence
from surepick.algorithms.pooled.fit import Scales
from surepick.algorithms.pooled.guide import squared_units
from surepick.algorithms.pooled.leads import Leads
from surepick.algorithms.pooled.ledger import Rows, Totals
from surepick.algorithms.pooled.make import make_direct_market, make_reading
from surepick.algorithms.pooled.market import Market
from surepick.algorithms.pooled.round import Round
from surepick.algorithms.pooled.values import Values, with_zero
from surepick.algorithms.pulls import Pulls, ToldPulls
from surepick.arrays.types import FloatArray
from surepick.problem import Problem
from surepick.proof.purses import longer

WAYS = ("direct",)


class Measured:
    """What is known of one number.

    ``number``: whether options are compared with marks, and not only with each other.
    """

    def __init__(self, problem: Problem, number: bool) -> None:
        self.problem, self.K = problem, problem.n_arms
        self.reading = make_reading(problem, WAYS)
        self.ways = Evidence(self.reading, WAYS, number)
        points = problem.backend.host(problem.targets)
        self._points = with_zero(points) if number else points
        self.totals = Totals(self.K, cells=self._cells)
        self._found: tuple[Scales, Values, Market] | None = None

    def rows(self, pulls: Pulls, sums: FloatArray, spreads: FloatArray | None) -> Rows:
        """A block, in the units that bets are made in."""
        units = np.asarray(self.problem.noise_kind.units(pulls.arms))
        own = None if spreads is None else spreads / units**2
        return Rows.of(ToldPulls(pulls, self.problem.standardised(pulls.arms, sums), own))

    @property
    def _cells(self) -> int:
        """Segments of visitors, where they are told apart."""
        return self.reading.cells if self.reading.cells > 1 else 0

    def add(self, rows: Rows) -> None:
        """Take in a settled block."""
        self.totals.note(rows, self.problem.seen(1.0))
        self.totals.add(self.reading.by_arm(rows))
        self._found = None

    def _outlook(self) -> tuple[Scales, Values, Market]:
        if self._found is None:
            # Stakes, on marks too, expect leads by how much single measurements vary.
            scales = self.reading.scales(self.totals)._replace(leads=None)
            past = self.reading.guide.estimate(self.totals, scales)
            about = self.K if len(self._points) > self.K else None
            market = make_direct_market(self.problem, self._points, past, scales, about)
            self._found = scales, past, market
        return self._found

    @property
    def means(self) -> FloatArray:
        """Estimated means of all options, in the units of bets."""
        return self._outlook()[1].means[: self.K]

    @property
    def errors(self) -> FloatArray:
        """Variances of these."""
        past = self._outlook()[1]
        return ((past.white**2).sum(axis=1) + past.own)[: self.K]

    @property
    def noise(self) -> FloatArray:
        """Variance of a single measurement of each option, as far as is known."""
        scales = self._outlook()[0]
        return squared_units(self.problem) * scales.of(np.arange(self.K))

    @property
    def scale(self) -> float | FloatArray | None:
        """How much a single measurement varies, in the units in which it arrives, where known."""
        reading = self.reading
        if not reading.about_means or (reading.estimates_scale and not self.totals.counts.any()):
            return None
        scales = self._outlook()[0]
        return math.sqrt(scales.variance) if scales.by_arm is None else np.sqrt(scales.by_arm)

    def bets(self, rows: Rows) -> Bets:
        """The bets on a block, by what was known before it."""
        scales, _, market = self._outlook()
        return Bets(self, market, self.ways.read(rows, scales)[0])

    def leads(self, about: int) -> Leads:
        """For intervals of how far options are above another one, or a mark."""
        return Leads(self.ways, self.K, about)

    def save(self) -> list[Any]:
        """Its memory."""
        own = [self.totals.counts, self.totals.sums, self.totals.spreads]
        return own if self.totals.cells is None else [*own, self.totals.cells]

    def grown(self, count: int) -> list[Any]:
        """Its memory, with so many options more behind all others."""
        return [longer(column, count, (min(column.ndim - 1, 1),)) for column in self.save()]

    def load(self, memory: list[Any]) -> None:
        """Take on a saved memory."""
        self.totals.load(*memory[:3])
        self.totals.cells = memory[3].copy() if self._cells else None
        self._found = None


class Bets(Round):
    """Bets on one block."""

    def __init__(self, measured: Measured, market: Market, block: Any) -> None:
        super().__init__(market, measured.ways, [block])
        self._everyone = np.arange(measured.K)

    def ahead(self, by: float = 0.0) -> FloatArray:
        """Log payoffs of "r is more than x less ``by``", (K, K, J): x first."""
        return self.beats(self._everyone, self._everyone, by)

    def above(self, reference: int, mark: float) -> FloatArray:
        """Log payoffs of "k is more than ``mark`` above the reference", (K, J)."""
        return self.beats(np.array([reference]), self._everyone, -mark)[0]

    def below(self, reference: int, mark: float) -> FloatArray:
        """Log payoffs of "k is less than ``mark`` above the reference", (K, J)."""
        return self.beats(self._everyone, np.array([reference]), mark)[:, 0]
