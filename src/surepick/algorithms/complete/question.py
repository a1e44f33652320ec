"""What only a table has of a question: items in turn, ties, and what nothing to come can change."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from surepick.algorithms.complete.grid import Grid
from surepick.algorithms.complete.round import Ways
from surepick.algorithms.pooled.questions.base import Ground, Question
from surepick.algorithms.pooled.settings import BlockSettings
from surepick.arrays.backend import HOST
from surepick.arrays.types import BoolArray, FloatArray, IntArray
from surepick.problem import Problem


class OnTable(Question):
    """Joined to a question of measurements, which has the purses and what follows from them."""

    def __init__(self, config: BlockSettings, problem: Problem, grid: Grid) -> None:
        self.grid = grid
        super().__init__(Ground(config, problem, HOST, Ways(), problem.n_arms))

    def measured(self) -> IntArray:
        """Who meets the next items."""
        return np.arange(self.ground.candidates)

    @abstractmethod
    def settle(self, arms: IntArray, first: int, bets: bool) -> dict[str, Any]:
        """Bets on the items from this one on, if these have met all; what the record is to say."""

    def tied(self) -> list[int]:
        """Those with the same total, all items met, where that decides."""
        return []

    @property
    def certain(self) -> bool:
        """Whether the answer is a matter of arithmetic by now."""
        return False

    def p_value(self) -> float | None:
        """Of what still speaks against the answer."""
        return None

    def compared(self) -> tuple[int, list[int], int]:
        """Whose lead over whom is looked at on new items, and out of how many such pairs."""
        return self.named()[0], [], 1


def dropped(arms: IntArray, logs: FloatArray, certain: BoolArray) -> dict[str, Any]:
    """Who is out after a block, for the record."""
    return {
        "dropped": {
            "candidate": arms.tolist(),
            "log_capital": np.minimum(logs, 1e300).tolist(),
            "certain": certain.tolist(),
        }
    }
