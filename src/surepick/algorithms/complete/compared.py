"""Which options have a larger total than a baseline, and which a smaller one?

The baseline is one of the options, or a number that stands in each of its cells. Of each other
option x there is capital against "x is not better" and against "x is not worse"; with epsilon also
against "x is epsilon better, or more" and "epsilon worse, or more", the smaller of which counts
against "x is at least epsilon away". The bets are those of :mod:`surepick.proof.payoffs.table`, on
the lead of x over the baseline and on the opposite. Where a lead cannot be made up any more, the
claim is certain.

How sure claims are: :mod:`surepick.proof.claims`, with equal weights (here bets begin with the
first item). Who is decided meets no further items, so that its capital stays and its
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
from surepick.algorithms.pooled.questions.baseline import CLAIMS
from surepick.algorithms.questions import candidate_of
from surepick.algorithms.remembered import Remembered
from surepick.arrays.grid import level
from surepick.arrays.types import BoolArray, FloatArray, IntArray
from surepick.problem import Problem
from surepick.proof.claims import BETTER, CLOSE, WORSE, ClaimsMade
from surepick.proof.payoffs.table import WEIGHTS, walk
from surepick.proof.purses import begun, least, total

_SURE = 1e6  # log capital where nothing is left to chance
_ROUNDING = 1e-9  # of a total: this near to a number times all items it is the same


class Compared(Remembered):
    """Capital on both sides of the baseline, and what was claimed."""

    saved: ClassVar[tuple[str, ...]] = ("capital", "near", "certain_of", "blocks")

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
        share = config.claims == "fdr"
        self.said = ClaimsMade(self.others, CLAIMS, config.delta, share=share, lasting=True)
        self.capital: FloatArray = begun((2, K), WEIGHTS)  #: logs: better and worse
        self.near: FloatArray = self.capital.copy()  #: not epsilon worse, and not epsilon better
        self.certain_of: BoolArray = np.zeros((3, K), dtype=bool)  #: each of ``CLAIMS``
        self.blocks = 0

    def spent(self) -> dict[str, float]:
        """As that of :class:`surepick.algorithms.base.State`."""
        return {}

    def save(self) -> dict[str, Any]:
        return super().save() | {"made": self.said.made}

    def load(self, memory: dict[str, Any]) -> None:
        super().load(memory)
        self.said.made = memory["made"]

    # -- bets ------------------------------------------------------------------------------
    def measured(self) -> IntArray:
        """Who meets the next items: the undecided, and the baseline."""
        found = self.said.undecided()
        return found if self.about is None else np.sort(np.append(found, self.about))

    def settle(self, arms: IntArray, first: int, bets: bool) -> dict[str, Any]:
        """Bets on the items from this one on, if these have met all; what can be claimed now."""
        self.blocks += 1
        grid, unit = self.grid, self.grid.scale.unit
        rows = self.said.undecided()
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
        self.said.settle(self.sides()[:, self.others], self._record)
        return {}

    def _record(self, kind: int, number: int) -> dict[str, Any]:
        """What a claim says of its evidence."""
        arm = self.others[number]
        held = total(self.capital)[kind, arm] if kind != CLOSE else total(self.near)[:, arm].min()
        certain = bool(self.certain_of[kind, arm])
        return {"log_capital": float(held), "certain": certain, "block": self.blocks}

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
        found = [*total(self.capital)]
        if self.config.epsilon > 0:
            found.append(least(*total(self.near)))
        logs = np.stack(found)
        return np.where(self.certain_of[: len(logs)], _SURE, logs)

    # -- where it stands -------------------------------------------------------------------
    def look(self) -> None:
        """Nothing to note."""

    @property
    def finished(self) -> bool:
        """Whether all are decided, or all items were met."""
        return self.said.finished or self.grid.whole(self.measured())

    def open(self) -> list[int]:
        """Nothing is known about these; at the end, who has the same total is known."""
        return [] if self.finished else self.said.undecided().tolist()

    def tied(self) -> list[int]:
        """With the same total as the baseline, all items met."""
        return self.said.undecided().tolist() if self.finished else []

    @property
    def active(self) -> IntArray:
        """Who is not decided; when all are, the one that would be named."""
        return np.array(self.open() or self.named(), dtype=np.int64)

    def left(self) -> int:
        """How many are not decided."""
        return len(self.open())

    def named(self) -> list[int]:
        """The one furthest ahead of those that are better, or the baseline."""
        better = self.said.of(BETTER).tolist()
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
        kinds = self.said.by_number()
        if self.about is None:
            words = f"{config.threshold:.12g}"
        else:
            words = repr(self.problem.candidate_labels[self.about])
            low[self.about] = high[self.about] = 0.0
        return Claims(
            words,
            self.others[kinds == BETTER],
            self.others[kinds == WORSE],
            self.others[kinds == CLOSE],
            self.others[~np.isin(kinds, (BETTER, WORSE))],
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
        return {"question": asked, "claims": self.said.made}
