"""The part of a PooledPeleg state that is about options that come and go between two blocks."""

from __future__ import annotations

from typing import Any

import numpy as np

from surepick.algorithms.base import State, Told
from surepick.algorithms.pooled.evidence import Evidence
from surepick.algorithms.pooled.ledger import OpenBlock, Totals
from surepick.algorithms.pooled.options import covers, turned
from surepick.algorithms.pooled.planner import Planner
from surepick.algorithms.pooled.questions.base import Question
from surepick.arrays.types import BoolArray, FloatArray
from surepick.problem import Problem


class TurningState(State):
    """What it needs of the state, and what it does with it."""

    problem: Problem
    ways: Evidence
    block: OpenBlock
    held: list[Told]  #: past measurements that have not been used yet
    totals: Totals
    blocks: list[dict[str, Any]]
    question: Question
    weights: FloatArray
    shares: FloatArray
    opening: bool  #: whether the next block has to make newcomers known, without bets
    _planner: Planner

    def _read_in(self, ways: tuple[str, ...], nearness: float | None, guide: int) -> None:
        raise NotImplementedError

    def _open_market(self) -> Any:
        raise NotImplementedError

    @property
    def at_rest(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Whether it stands between two blocks."""
        return self.block.empty and not self.held

    def turn(self, problem: Problem, retired: BoolArray) -> None:
        """Between two blocks: other options than before; see the module ``options``."""
        memory = turned(self.save(), self.problem, problem, retired, self.ways.accounts)
        self.problem, self.retired = problem, retired
        self._read_in(self.ways.ways, self.ways.nearness, self.ways.guide)
        self.load(memory)
        self.weights, self.shares = np.zeros(problem.n_arms), self._planner.first_shares()
        self.opening = bool(self.blocks) and not self._covered()
        self.question.reconsider(self._open_market if self.blocks else None)

    def _covered(self) -> bool:
        measured, offered = np.flatnonzero(self.totals.counts), np.flatnonzero(~self.retired)
        return covers(self.problem, measured, offered)
