"""Judges whose taste is known: what they prefer, with which bias for a position and how many ties.

For trials of what compares options two at a time. No algorithm can see them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from surepick.arrays.types import FloatArray
from surepick.errors import InvalidInputError


class Judge:
    """Prefers each option to each other one with a fixed probability.

    Parameters
    ----------
    chances
        Of "the row is preferred to the column", in a random order; two that mirror each other sum
        to 1.
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
        K = len(self.chances)
        if self.chances.shape != (K, K) or np.abs(self.chances + self.chances.T - 1).max() > 1e-9:
            raise InvalidInputError(
                "chances must be a square table in which entries that mirror each other sum to 1"
            )
        self._rng = np.random.default_rng(rng)
        self._ties, inner = ties, np.clip(self.chances, 1e-12, 1 - 1e-12)
        odds = np.log(inner / (1 - inner)) + math.log(left / (1 - left))
        self._first = 1 / (1 + np.exp(-odds))  # of the row, if it is shown first

    def __call__(self, first: int, second: int) -> float:
        """1 if the first is preferred, 0 if the second is, ½ for a tie."""
        if self._ties and self._rng.random() < self._ties:
            return 0.5
        return float(self._rng.random() < self._first[first, second])

    @property
    def winner(self) -> int | None:
        """The option that is preferred to every other one, if there is one, in a random order."""
        both = 0.5 * (self._first + 1 - self._first.T)
        np.fill_diagonal(both, 1.0)
        found = np.flatnonzero((both > 0.5 + 1e-12).all(axis=1))
        return int(found[0]) if len(found) else None


def bradley_terry(strengths: Sequence[float] | FloatArray) -> FloatArray:
    """Chances by the logistic function of differences."""
    s = np.asarray(strengths, dtype=np.float64)
    return 1 / (1 + np.exp(s - s[:, None]))


def thurstone(strengths: Sequence[float] | FloatArray) -> FloatArray:
    """Chances by the normal distribution of differences."""
    from scipy.special import ndtr

    s = np.asarray(strengths, dtype=np.float64)
    return ndtr(s[:, None] - s)


def with_cycle(chances: FloatArray, options: Sequence[int], chance: float = 0.7) -> FloatArray:
    """These chances, but each of some options beats the next one, and the last the first.

    Examples
    --------
    >>> Judge(with_cycle(bradley_terry([1, 1, 1, 0]), [0, 1, 2])).winner is None
    True
    """
    found = np.array(chances, dtype=np.float64)
    for one, other in zip(options, [*options[1:], options[0]]):
        found[one, other], found[other, one] = chance, 1 - chance
    return found
