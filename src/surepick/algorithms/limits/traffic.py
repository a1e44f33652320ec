"""Shares of the next visitors, where the best that keeps limits is looked for.

As for pulls, what is missing is served (:mod:`surepick.algorithms.limits.plan`); nothing of it is
remembered. An option that others are compared with keeps a share whatever became of itself:
without its visitors nothing could be shown of a margin to it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from surepick.algorithms.limits.capital import Capital
from surepick.arrays.types import BoolArray, FloatArray


class Held(NamedTuple):
    """What a run knows when shares are asked for."""

    alive: BoolArray
    against: FloatArray  #: log capital against each option, at the most
    capital: Capital
    shown: bool  #: whether somebody was shown to keep the limits
    samples: int
    finished: bool
    delta: float


class GuardedTraffic:
    """The shares of the next visitors: a function of what is known.

    ``planned`` gives the weights of the next block, and about how many pulls are missing.
    """

    def __init__(self, known: Held, planned: Callable[[], tuple[FloatArray, float]]) -> None:
        self._known, self._planned = known, planned

    def compared(self) -> BoolArray:
        """The undecided options, and those that limits compare them with, as a mask."""
        found = self._known.alive.copy()
        for mark in self._known.capital.marks:
            if mark.reference < len(found):
                found[mark.reference] = True
        return found

    def wanted_shares(self) -> FloatArray:
        """One share per option, 0 for those that are out; they sum to 1."""
        compared = self.compared()
        weights = np.where(compared, self._planned()[0], 0.0)
        total = float(weights.sum())
        return weights / total if total > 0 else compared / compared.sum()

    def visits_missing(self) -> float | None:
        """About so many more will decide, if the estimates are right; None: nothing is known."""
        if self._known.finished:
            return 0.0
        return self._planned()[1] if self._known.samples else None

    def doubts(self) -> FloatArray:
        """p-values of "this one is the best that keeps the limits", and of "nobody keeps them"."""
        known = self._known
        against = np.where(known.alive, known.against, np.inf)
        nobody = np.inf if known.shown else known.capital.somebody_keeps()
        price = 2.0 if known.capital.loose else 1.0
        p_value = price * np.exp(-np.maximum(np.minimum(against, nobody), 0.0))
        return np.clip(p_value, known.delta, 1.0)
