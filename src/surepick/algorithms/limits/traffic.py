"""Shares of the next visitors, where options have to keep limits.

As for pulls, what is missing is served (:mod:`surepick.algorithms.limits.plan`); nothing of it is
remembered. An option that others are compared with keeps a share whatever became of itself:
without its visitors nothing could be shown of a margin to it.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from surepick.algorithms.limits.decision import Decision
from surepick.arrays.types import BoolArray, FloatArray


class GuardedTraffic:
    """The shares of the next visitors: a function of what is known.

    ``planned`` gives the weights of the next block, and about how many pulls are missing.
    """

    def __init__(
        self,
        decision: Decision,
        samples: int,
        planned: Callable[[], tuple[FloatArray, float]],
    ) -> None:
        self._decision, self._samples, self._planned = decision, samples, planned

    def compared(self) -> BoolArray:
        """The undecided options, and those that others are compared with, as a mask."""
        return self._decision.compared()

    def wanted_shares(self) -> FloatArray:
        """One share per option, 0 for those that are out; they sum to 1."""
        compared = self.compared()
        weights = np.where(compared, self._planned()[0], 0.0)
        total = float(weights.sum())
        return weights / total if total > 0 else compared / compared.sum()

    def visits_missing(self) -> float | None:
        """About so many more will decide, if the estimates are right; None: nothing is known."""
        if self._decision.finished:
            return 0.0
        missing = self._planned()[1]
        return missing if self._samples and math.isfinite(missing) else None  # of newcomers

    def doubts(self) -> FloatArray:
        """p-values of what still speaks against naming another option."""
        return self._decision.doubts()
