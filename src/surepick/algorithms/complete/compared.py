"""Which options have a larger total than a baseline, and which a smaller one?

The baseline is one of the options, or a number that stands in each of its cells. Of each other
option x there is capital against "x is not better" and against "x is not worse"; with epsilon also
against "x is epsilon better, or more" and "epsilon worse, or more", the smaller of which counts
against "x is at least epsilon away". The bets are those of :mod:`surepick.statistics.complete`, on
the lead of x over the baseline and on the opposite. Where a lead cannot be made up any more, the
claim is certain.

How sure claims are: all of them together with probability 1 − delta, by the steps of
:mod:`surepick.algorithms.pooled.questions.steps` with equal weights (here bets begin with the first
item); or a share, by e-BH. Who is decided meets no further items, so that its capital stays and its
claim with it. At the end everything is known; who then has the same total as the baseline is
neither better nor worse.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from surepick.algorithms.base import Claims
from surepick.algorithms.complete.grid import Grid
from surepick.algorithms.complete.settings import CompleteSettings
from surepick.algorithms.pooled.questions import steps
from surepick.algorithms.pooled.questions.baseline import CLAIMS, CLOSE, SIDES
from surepick.algorithms.questions import candidate_of
from surepick.algorithms.remembered import Remembered
from surepick.arrays.grid import coarse, first_best, level, reached
from surepick.arrays.types import BoolArray, FloatArray, IntArray
from surepick.problem import Problem
from surepick.statistics.complete import WEIGHTS, log_sum, walk

_START = np.log(WEIGHTS)
_SURE = 1e6  # log capital where nothing is left to chance
_ROUNDING = 1e-9  # of a total: this near to a number times all items it is the same


class Compared(Remembered):
    """Capital on both sides of the baseline, and what was claimed."""

    saved: ClassVar[tuple[str, ...]] = ("capital", "near", "certain_of", "made", "blocks")

    def __init__(self, config: CompleteSettings, problem: Problem, grid: Grid) -> None:
        self.config, self.problem, self.grid = config, problem, grid
        K, unit = problem.n_arms, grid.scale.unit
        self.about: int | None = None
        self.number = 0.0  # in units, in each cell of the baseline
        self.down = self.up = float(unit)  # by how much a lead may change with one item
        self.others = np.arange(K)
        if config.threshold is None:
            self.about = candidate_of(problem, config.baseline)
            self.others = np.delete(self.others, self.about)
        else:
            self.number = grid.scale.share(problem.sign * config.threshold) * unit
            self.down, self.up = self.number, unit - self.number
        self.capital: FloatArray = np.tile(_START, (2, K, 1))  #: logs: better and worse
        self.near: FloatArray = self.capital.copy()  #: not epsilon worse, and not epsilon better
        self.certain_of: BoolArray = np.zeros((3, K), dtype=bool)  #: each of ``CLAIMS``
        self.made: list[dict[str, Any]] = []  #: claims
        self.blocks = 0

    # -- bets ------------------------------------------------------------------------------
    def measured(self) -> IntArray:
        """Who meets the next items: the undecided, and the baseline."""
        found = self._undecided()
        return found if self.about is None else np.sort(np.append(found, self.about))

    def _undecided(self) -> IntArray:
        claimed = {claim["candidate"] for claim in self.made}
        return np.array([x for x in self.others.tolist() if x not in claimed], dtype=np.int64)

    def settle(self, arms: IntArray, first: int, bets: bool) -> dict[str, Any]:
        """Bets on the items from this one on, if these have met all; what can be claimed now."""
        self.blocks += 1
        grid, unit = self.grid, self.grid.scale.unit
        rows = self._undecided()
        own = grid.scores[:, : grid.met]
        if bets:
            base = self.number if self.about is None else own[self.about]
            up = (own[rows] - base) / unit
            leads, slack = np.stack([up, -up]), self._slack / unit
            for _, paid in walk(leads, first, grid.items):
                self.capital[:, rows] += paid
            if self.config.epsilon > 0:
                for _, paid in walk(leads, first, grid.items, slack):
                    self.near[:, rows] += paid
        self._see_certain(rows)
        if self.config.claims == "fdr":
            self._discover()
        else:
            self._claim()
        return {}

    @property
    def _slack(self) -> int:
        return self.grid.scale.slack(self.config.epsilon, self.grid.items)

    def _see_certain(self, rows: IntArray) -> None:
        """What nothing that is to come can change."""
        low, high, rounding = self._ends(rows)
        found = self.certain_of
        found[0, rows], found[1, rows] = low > rounding, high < -rounding
        if self.config.epsilon > 0:
            slack = self._slack + rounding
            found[2, rows] = (low >= -slack) & (high <= slack)

    def _ends(self, rows: IntArray) -> tuple[FloatArray, FloatArray, float]:
        """Between which numbers of units the leads of these lie in the end; and how exactly."""
        grid, own = self.grid, self.grid.scores[rows]
        known = own >= 0
        if self.about is None:
            lead = np.where(known, own - self.number, 0.0).sum(axis=1)
            rounding = _ROUNDING * max(1.0, self.number * grid.items)
        else:
            base = grid.scores[self.about]
            known &= base >= 0
            lead, rounding = np.where(known, own - base, 0).sum(axis=1), 0.0
        left = grid.items - known.sum(axis=1)
        return lead - left * self.down, lead + left * self.up, rounding

    def sides(self) -> FloatArray:
        """Log capital on each side, and with epsilon on being close, (2 or 3, K)."""
        found = [*log_sum(self.capital)]
        if self.config.epsilon > 0:
            found.append(np.minimum(*log_sum(self.near)))
        logs = np.stack(found)
        return np.where(self.certain_of[: len(logs)], _SURE, logs)

    def _kinds(self) -> IntArray:
        """What was claimed about the others, by number; −1 for nothing."""
        claimed = {claim["candidate"]: claim["claim"] for claim in self.made}
        return steps.claimed_by_number(claimed, self.others, CLAIMS)

    def _claim(self) -> None:
        """Whatever may be claimed; each claim may be what another one has waited for."""
        if not len(self.others):
            return
        sides, claimed = self.sides()[:, self.others], self._kinds()
        weights = np.ones_like(sides)
        while True:
            needed = steps.needed(weights, sides, claimed, self.config.delta)
            spare = np.where(claimed < 0, sides - needed, -math.inf)
            kind, number = np.unravel_index(first_best(spare.ravel()), spare.shape)
            if claimed[number] >= 0 or not reached(sides[kind, number], needed[kind, number]):
                break
            claimed[number] = kind
            self._make(int(kind), int(self.others[number]))

    def _discover(self) -> None:
        """e-BH: as many claims as have the capital that so many take."""
        sides = self.sides()[:, self.others]
        kinds = np.argmax(coarse(sides), axis=0)
        top = sides[kinds, np.arange(len(kinds))]
        order = np.argsort(-level(top), kind="stable")
        k = np.arange(1, len(order) + 1)
        enough = reached(top[order], np.log(2 * len(order) / (k * self.config.delta)))
        known = self._kinds()
        for i in order[: int(k[enough].max(initial=0))]:
            if known[i] < 0:
                self._make(int(kinds[i]), int(self.others[i]))

    def _make(self, kind: int, arm: int) -> None:
        logs = log_sum(self.capital)[:, arm]
        held = float(logs[kind] if kind < 2 else log_sum(self.near)[:, arm].min())
        self.made.append(
            {
                "candidate": arm,
                "claim": CLAIMS[kind],
                "log_capital": held,
                "certain": bool(self.certain_of[kind, arm]),
                "block": self.blocks,
            }
        )

    # -- where it stands -------------------------------------------------------------------
    def look(self) -> None:
        """Nothing to note."""

    def _claimed(self, kind: str) -> list[int]:
        return sorted(claim["candidate"] for claim in self.made if claim["claim"] == kind)

    @property
    def finished(self) -> bool:
        """Whether all are decided, or all items were met."""
        return not len(self._undecided()) or self.grid.whole(self.measured())

    def open(self) -> list[int]:
        """Nothing is known about these; at the end, who has the same total is known."""
        return [] if self.finished else self._undecided().tolist()

    def tied(self) -> list[int]:
        """With the same total as the baseline, all items met."""
        return self._undecided().tolist() if self.finished else []

    @property
    def active(self) -> IntArray:
        """Who is not decided; when all are, the one that would be named."""
        return np.array(self.open() or self.named(), dtype=np.int64)

    def left(self) -> int:
        """How many are not decided."""
        return len(self.open())

    def named(self) -> list[int]:
        """The one furthest ahead of those that are better, or the baseline."""
        better = self._claimed(SIDES[0])
        if not better and self.about is not None:
            return [self.about]
        some = better or self.others.tolist()
        lift = level(np.nan_to_num(self.lifts(), nan=-math.inf))
        return [max(some, key=lambda arm: float(lift[arm]))]

    def lifts(self) -> FloatArray:
        """How far each is ahead of the baseline on the items both have met, on average."""
        grid = self.grid
        base = self.number if self.about is None else grid.scores[self.about]
        leads, both = grid.leads(base)
        with np.errstate(invalid="ignore"):
            return -leads.sum(axis=1) / both.sum(axis=1)

    def certain(self, retired: BoolArray) -> bool:
        """Claims say it of themselves."""
        return False

    def p_value(self, retired: BoolArray) -> float | None:
        """There is one for each claim."""
        return None

    def p_values(self) -> FloatArray:
        """Of "this one is as good as the baseline": neither better nor worse."""
        found = np.exp(-np.maximum(self.sides()[:2].max(axis=0) - math.log(2.0), 0.0))
        if self.about is not None:
            found[self.about] = 1.0
        return found

    def progress(self, retired: BoolArray) -> FloatArray:
        """How much of the evidence for the nearest claim about each is there."""
        share = np.clip(self.sides().max(axis=0) / math.log(2.0 / self.config.delta), 0.0, 1.0)
        found = np.ones_like(share)
        found[self.open()] = share[self.open()]
        return found

    def compared(self, retired: BoolArray) -> tuple[int, list[int], int]:
        """Whose lead over whom is looked at on new items, and out of how many such pairs."""
        one = self.named()[0]
        rivals = [] if self.about in (None, one) else [self.about]
        return one, rivals, max(1, len(self.others))

    def claims(self) -> Claims:
        """What is claimed, and how far options seem to be from the baseline."""
        grid, config = self.grid, self.config
        arms = np.arange(len(grid.scores))
        width, unit = grid.scale.high - grid.scale.low, grid.scale.unit
        low, high, _ = self._ends(arms)
        per_item = width / unit / grid.items
        better, worse = self.sides()[:2] >= math.log(2.0 / config.delta)
        low = np.where(better, np.maximum(low, 0.0), low) * per_item
        high = np.where(worse, np.minimum(high, 0.0), high) * per_item
        found = {name: np.array(self._claimed(name), dtype=np.int64) for name in CLAIMS}
        decided = np.isin(self.others, np.concatenate([found[name] for name in SIDES]))
        if self.about is None:
            words = f"{config.threshold:.12g}"
        else:
            words = repr(self.problem.candidate_labels[self.about])
            low[self.about] = high[self.about] = 0.0
        return Claims(
            words,
            found[SIDES[0]],
            found[SIDES[1]],
            found[CLOSE],
            self.others[~decided],
            width * self.lifts(),
            low,
            high,
            len(self.open()),
        )

    def evidence(self) -> dict[str, Any]:
        """What a certificate has to say beside the blocks."""
        asked: dict[str, Any] = {"claims": self.config.claims}
        if self.about is None:
            asked["threshold"] = self.config.threshold
        else:
            asked["baseline"] = self.about
        return {"question": asked, "claims": self.made}
