"""Which options have a larger total than a baseline, and which a smaller one?

The baseline is one of the options, or a number that stands in each of its cells; the question is
that of measurements, with equal weights (here bets begin with the first item). Where a lead cannot
be made up any more, the claim is certain. Who is decided meets no further items, so that its
capital stays and its claim with it. At the end everything is known; who then has the same total as
the baseline is neither better nor worse.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from surepick.algorithms.complete.grid import Grid
from surepick.algorithms.complete.question import OnTable
from surepick.algorithms.complete.round import Round
from surepick.algorithms.pooled.questions.baseline import AgainstBaseline
from surepick.algorithms.pooled.settings import BlockSettings
from surepick.arrays.grid import level
from surepick.arrays.types import BoolArray, FloatArray, IntArray
from surepick.problem import Problem
from surepick.proof.claims import BETTER

_SURE = 1e6  # log capital where nothing is left to chance
_ROUNDING = 1e-9  # of a total: this near to a number times all items it is the same


class Compared(OnTable, AgainstBaseline):
    """Capital on both sides of the baseline, and what was claimed."""

    lasting = True

    def __init__(self, config: BlockSettings, problem: Problem, grid: Grid) -> None:
        super().__init__(config, problem, grid)
        K, unit = problem.n_arms, grid.scale.unit
        self._level: float | None = None  # in units, in each cell of the baseline
        self._number = 0.0  # leads over a number that stands in cells are leads like all others
        self._down = self._up = float(unit)  # by how much a lead may change with one item
        if config.threshold is not None:
            self._level = grid.scale.share(problem.sign * config.threshold) * unit
            self._down, self._up = self._level, unit - self._level
        self.certain_of: BoolArray = np.zeros((3, K), dtype=bool)  #: each of ``CLAIMS``

    def save(self) -> dict[str, Any]:
        return super().save() | {"certain_of": self.certain_of}

    def load(self, memory: dict[str, Any]) -> None:
        super().load(memory)
        self.certain_of = memory["certain_of"]

    @property
    def epsilon(self) -> float:
        """What is close enough, in items."""
        return self._slack / self.grid.scale.unit

    @property
    def _slack(self) -> int:
        return self.grid.scale.slack(self.ground.config.epsilon, self.grid.items)

    # -- bets ------------------------------------------------------------------------------
    def measured(self) -> IntArray:
        """Who meets the next items: the undecided, and the baseline."""
        found = self.said.undecided()
        return found if self._level is not None else np.sort(np.append(found, self.about))

    def settle(self, arms: IntArray, first: int, bets: bool) -> dict[str, Any]:
        rows = self.said.undecided()
        if bets:
            self.pay(Round(self.grid, first, self._level), rows)
        low, high, rounding = self._reach()
        slack = self._slack + rounding
        close = (low >= -slack) & (high <= slack) & (self.ground.config.epsilon > 0)
        self.certain_of[:, rows] = np.stack([low > rounding, high < -rounding, close])[:, rows]
        self.claim()
        return {}

    def recorded(self, kind: int, number: int) -> dict[str, Any]:
        arm = self.others[number]
        held, certain = super().sides()[kind, arm], bool(self.certain_of[kind, arm])
        return {"log_capital": float(held), "certain": certain, "block": self.blocks}

    def _reach(self) -> tuple[FloatArray, FloatArray, float]:
        """Between which numbers of units leads lie in the end; and how exactly."""
        grid, own = self.grid, self.grid.scores
        base = self._level if self._level is not None else own[self.about]
        known, rounding = (own >= 0) & (np.asarray(base) >= 0), 0.0
        if self._level is not None:
            rounding = _ROUNDING * max(1.0, self._level * grid.items)
        lead = np.where(known, own - base, 0).sum(axis=1)
        left = grid.items - known.sum(axis=1)
        return lead - left * self._down, lead + left * self._up, rounding

    def sides(self) -> FloatArray:
        logs = super().sides()
        return np.where(self.certain_of[: len(logs)], _SURE, logs)

    # -- where it stands -------------------------------------------------------------------
    @property
    def finished(self) -> bool:
        """Whether all are decided, or all items were met."""
        return self.said.finished or self.grid.whole(self.measured())

    def undecided(self) -> BoolArray:
        """About whom nothing is known; at the end, who has the same total is known."""
        return super().undecided() & (not self.finished)

    def tied(self) -> list[int]:
        """With the same total as the baseline, all items met."""
        return self.said.undecided().tolist() if self.finished else []

    def open(self) -> IntArray:
        still = np.flatnonzero(self.undecided())
        return still if len(still) else np.array(self.named())

    def named(self) -> list[int]:
        """The one furthest ahead of those that are better, or the baseline."""
        better = self.said.of(BETTER).tolist()
        if not better and self._level is None:
            return [self.about]
        some = better or self.others.tolist()
        lift = level(np.nan_to_num(self.seems(), nan=-math.inf))
        return [max(some, key=lambda arm: float(lift[arm]))]

    def seems(self) -> FloatArray:
        """How far each is ahead of the baseline on the items both have met, on average."""
        scale = self.grid.scale
        base = self._level if self._level is not None else self.grid.scores[self.about]
        leads, both = self.grid.leads(base)
        with np.errstate(invalid="ignore"):
            return (scale.high - scale.low) * (-leads.sum(axis=1) / both.sum(axis=1))

    def ends(self) -> tuple[FloatArray, FloatArray]:
        """Between which ends that is over all items."""
        scale, (low, high, _) = self.grid.scale, self._reach()
        better, worse = self.sides()[:2] >= math.log(2.0 / self.ground.config.delta)
        low = np.where(better, np.maximum(low, 0), low)
        high = np.where(worse, np.minimum(high, 0), high)
        if self._level is None:
            low[self.about] = high[self.about] = 0.0
        per_item = (scale.high - scale.low) / scale.unit / self.grid.items
        return low * per_item, high * per_item

    def compared(self) -> tuple[int, list[int], int]:
        (one,) = self.named()
        rivals = [] if self._level is not None or self.about == one else [self.about]
        return one, rivals, max(1, len(self.others))
