"""Judges whose taste is known: what they prefer, with which bias for a position and how many ties.

For trials of what compares options two at a time. No algorithm can see them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from surepick.algorithms.pairs.comparing import Comparing
from surepick.arrays.types import FloatArray, IntArray
from surepick.errors import InvalidInputError
from surepick.run import Run


class Judge:
    """Prefers each option to each other one with a fixed probability.

    Parameters
    ----------
    chances
        Of "the row is preferred to the column", in a random order; two that mirror each other sum
        to 1. One table for each item where there are items.
    left
        How likely the first of two equal ones is preferred; ½ is no bias. It moves the log-odds.
    ties
        Share of comparisons that end in a tie.
    rng
        Where chance comes from.

    Examples
    --------
    >>> judge = Judge(bradley_terry([2.0, 0.0]), ties=0.2, rng=1)
    >>> sum(judge(0, 1) for _ in range(100)) > 60
    True
    """

    def __init__(
        self, chances: Any, *, left: float = 0.5, ties: float = 0.0, rng: Any = None
    ) -> None:
        self.chances: FloatArray = np.asarray(chances, dtype=np.float64)
        K = self.chances.shape[-1] if self.chances.ndim else 0
        mirrored = np.swapaxes(self.chances, -1, -2) if self.chances.ndim in (2, 3) else math.nan
        whole = self.chances.shape[-2:] == (K, K)
        if not whole or not np.abs(self.chances + mirrored - 1).max() <= 1e-9:
            raise InvalidInputError(
                "chances must be a square table in which entries that mirror each other sum to 1, "
                "or one such table for each item"
            )
        self._rng = np.random.default_rng(rng)
        self._ties, inner = ties, np.clip(self.chances, 1e-12, 1 - 1e-12)
        odds = np.log(inner / (1 - inner)) + math.log(left / (1 - left))
        self._first = 1 / (1 + np.exp(-odds))  # of the row, if it is shown first

    def __call__(self, first: int, second: int, *item: int) -> float:
        """1 if the first is preferred, 0 if the second is, ½ for a tie."""
        if self._ties and self._rng.random() < self._ties:
            return 0.5
        return float(self._rng.random() < self._first[(*item, first, second)])

    def many(self, first: IntArray, second: IntArray, items: IntArray | None = None) -> FloatArray:
        """As many results at once."""
        where = (first, second) if items is None else (items, first, second)
        found = (self._rng.random(len(first)) < self._first[where]).astype(np.float64)
        if self._ties:
            found[self._rng.random(len(first)) < self._ties] = 0.5
        return found

    @property
    def preferred(self) -> FloatArray:
        """How often each option (row) is preferred to each other one, in a random order."""
        both = 0.5 * (self._first + 1 - np.swapaxes(self._first, -1, -2))
        return both if both.ndim == 2 else both.mean(axis=0)

    @property
    def winner(self) -> int | None:
        """The option that is preferred to every other one, if there is one, in a random order."""
        both = self.preferred
        np.fill_diagonal(both, 1.0)
        found = np.flatnonzero((both > 0.5 + 1e-12).all(axis=1))
        return int(found[0]) if len(found) else None


class Likely:
    """Judges that are likely by what a run has measured: strengths of a Bradley–Terry model."""

    def __init__(self, run: Run) -> None:
        state = run.state
        assert isinstance(state, Comparing)
        self._fitted = state.fitted
        results = np.concatenate([told.sums for told in run.told()])
        self._ties = float((results == 0.5).mean())

    def draw(self, rng: np.random.Generator) -> Judge:
        fitted = self._fitted
        strengths = rng.multivariate_normal(fitted.values, fitted.covariance, method="eigh")
        left = 1 / (1 + math.exp(-fitted.bias))
        return Judge(bradley_terry(strengths), left=left, ties=self._ties, rng=rng)


def bradley_terry(strengths: Sequence[float] | FloatArray) -> FloatArray:
    """Chances by the logistic function of differences."""
    s = np.asarray(strengths, dtype=np.float64)
    return 1 / (1 + np.exp(s - s[:, None]))
