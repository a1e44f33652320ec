"""Measurements that were summed up by block: what is known of them, and what a block pays."""

from __future__ import annotations

import math

import numpy as np

from surepick.verifier.blocks import Block
from surepick.verifier.check import Check
from surepick.verifier.estimate import ByArm, ByFeatures, Field, Leaning, View, log_sum
from surepick.verifier.guide import Guide, Outlook
from surepick.verifier.payoffs import payoff_of
from surepick.verifier.payoffs.base import News, Pairs

_NEARNESS = 10.0  # how much more than others a near rival gets at most


class Measurements:
    """One number that was measured, and all that came of it."""

    def __init__(self, check: Check, ways: list[str], precisions: list[float]) -> None:
        paired = ways == ["paired"]
        self.check, self.ways = check, ways
        self.guide = Guide(check, paired or "direct" in ways)
        self.payoff = payoff_of(check.kind, items=paired)(self.guide, precisions)
        self.past: Block | None = None  # all blocks so far, by arm, without their levels
        self.first: Block | None = None  # of which nothing was bet on

    def look(self) -> Outlook:
        """How single measurements vary, as far as the past says."""
        assert self.past is not None
        return self.payoff.look(self.past)

    def add(self, told: Block) -> None:
        self.past = told if self.past is None else self.past.plus(told)

    def unit(self, outlook: Outlook, rank: int) -> View:
        """What the first block would tell with one pull per dimension, or a pull of each arm."""
        if outlook.leads is not None:
            outlook = outlook._replace(variances=outlook.leads)
        if self.guide.deviations:
            everyone = np.arange(len(self.guide.units))
            single = outlook.variances(everyone) * self.guide.units**2
            return ByArm(0.0 * single, np.zeros((len(single), 0)), single)
        assert self.first is not None
        share = rank / self.first.pulls
        counts, sums = self.first.counts * share, self.first.sums * share
        return ByFeatures(self.guide.fit(self.first._replace(counts=counts, sums=sums), outlook))


class Round:
    """One block, and what was known before it: what bets on it pay.

    Candidates are numbered by their place among ``candidates``; the place behind the last is that
    of a number that they are compared with, where they are (``numbered``). Their rows are counted
    from that of the leader on: differences of large numbers that all share would cost digits.
    """

    def __init__(
        self,
        known: Measurements,
        outlook: Outlook,
        candidates: np.ndarray,
        leader: int | None,
        rank: int = 0,
        numbered: bool = False,
    ) -> None:
        assert known.past is not None
        self.known, self.outlook, self.candidates = known, outlook, candidates
        self.before, self.unit = known.guide.view(known.past, outlook), known.unit(outlook, rank)
        self.numbered, self.news = numbered, list[News]()
        if numbered:
            self.before, self.unit = self.before.with_number(), self.unit.with_number()
        self._origin = np.zeros(known.check.candidates.shape[1])
        if leader is not None:
            self._origin = self._rows(np.array([leader]))[0]
        self.size = self.before.size(self._origin)  #: of the leader's estimate

    def read(self, block: Block, parts: int) -> Round:
        """Take in the block, in every way in which it is read."""
        read, number = self.known.payoff.read, self.known.payoff.with_number
        news = [read(way, block, self.outlook, parts) for way in self.known.ways]
        self.news = [number(told) for told in news] if self.numbered else news
        return self

    def _rows(self, places: np.ndarray) -> np.ndarray:
        if not self.numbered:
            return self.known.check.candidates[self.candidates[places]] - self._origin
        found = np.zeros((len(places), len(self._origin)))
        there = places < len(self.candidates)
        found[there] = self.known.check.candidates[self.candidates[places[there]]]
        return found - self._origin

    def _field(self, x: np.ndarray, rivals: np.ndarray) -> Field:
        return Field(self._rows(x), x, self._rows(rivals), rivals)

    # -- what was known before -------------------------------------------------------------
    def seems(self, x: np.ndarray, over: int) -> tuple[np.ndarray, np.ndarray]:
        """How far some are ahead of one, before the block; and the variances of that."""
        field = self._field(x, np.array([over]))
        return -self.before.leads(field)[:, 0], self.before.variances(field)[:, 0]

    def tells(self, x: np.ndarray, over: int) -> np.ndarray:
        """What a pull of each would tell about that."""
        return 1.0 / self.unit.variances(self._field(x, np.array([over])))[:, 0]

    # -- what it pays ----------------------------------------------------------------------
    def beats(
        self, x: np.ndarray, rivals: np.ndarray, by: float = 0.0, prior: float = 1.0
    ) -> np.ndarray:
        """On "r is more than x, less by": logs, (n, R, accounts); 0 for r against itself."""
        field, own = self._field(x, rivals), x[:, None] == rivals[None, :]
        paid = []
        for told in self.news:
            pairs = self._pairs(field, own, told).raised(by)
            pairs = pairs._replace(unit=prior * pairs.unit)
            paid += self.known.payoff.log_paid(pairs, told)
        return np.where(own[..., None], 0.0, np.stack(paid, axis=-1))

    def somebody(
        self, x: np.ndarray, rivals: np.ndarray, shares: np.ndarray, near: bool
    ) -> np.ndarray:
        """On "somebody beats x": a mixture over rivals, by how much they trail; (n, accounts).

        ``near``: whether a near rival gets no more than some multiple of what others do.
        """
        field, own = self._field(x, rivals), x[:, None] == rivals[None, :]
        found = []
        for told in self.news:
            pairs = self._pairs(field, own, told)
            units = np.where(own, math.inf, pairs.unit)  # nobody is its own rival
            if near:
                units = np.minimum(units, _NEARNESS * units.min(axis=1, keepdims=True))
            logs = np.where(own, -math.inf, shares + np.log(units))
            for paid in self.known.payoff.log_paid(pairs, told):
                found.append(log_sum(np.where(own, -math.inf, logs + paid)) - log_sum(logs))
        return np.stack(found, axis=-1)

    def _pairs(self, field: Field, own: np.ndarray, told: News) -> Pairs:
        """What is known about pairs; where both are the same (``own``), any numbers."""
        unit, information, new = (
            1.0 / np.where(own, 1.0, view.variances(field))  # 0 where nothing is said
            for view in (self.unit, self.before, told.view)
        )
        lead, new_lead = (view.leads(field) for view in (self.before, told.view))
        pairs = Pairs(field, lead, information, unit, new_lead, new, np.zeros(own.shape))
        if isinstance(told.view, Leaning):
            check = self.known.check
            pairs = pairs.raised(-(check.misfit / check.noise) * told.view.allowances(field))
        return pairs.raised(-told.rounding)
