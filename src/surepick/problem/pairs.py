"""Options that are compared two at a time: an arm is a pair of them, in its order.

A measurement of the arm (a, b) shows a first and b second, and says who is better. Candidates are
the options. So records, studies and certificates hold pairs like any other arms; what they mean
is known from their numbers (:class:`Pairing`). Rows of features only tell options apart: that of
option k is (k, k²), with its own features behind, less the mean over all options, and that of
a pair is the difference of two. Nothing is fitted to them.
"""

from __future__ import annotations

from collections.abc import Sized
from typing import Any, NamedTuple

import numpy as np

from surepick.arrays.types import FloatArray, IntArray
from surepick.arrays.validate import as_labels, whole
from surepick.errors import InvalidInputError

#: beyond these, a list of all pairs gets too long for people and files
MOST_OPTIONS = 200
_OWN = 2  # columns that tell options apart, before those with features
BETWEEN = " vs "  #: stands between the labels of the two options of a pair


class Pairing(NamedTuple):
    """Which arm is which ordered pair of so many options.

    Examples
    --------
    >>> pairing = Pairing(3)
    >>> [pairing.of(arm) for arm in range(6)]
    [(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)]
    >>> pairing.arms(np.array([2]), np.array([1])).tolist()
    [5]
    """

    options: int

    @property
    def ordered(self) -> int:
        """How many ordered pairs there are."""
        return self.options * (self.options - 1)

    def firsts(self, arms: IntArray) -> IntArray:
        """Who comes first in these pairs."""
        return arms // (self.options - 1)

    def seconds(self, arms: IntArray) -> IntArray:
        """Who comes second."""
        first, place = np.divmod(arms, self.options - 1)
        return place + (place >= first)

    def arms(self, firsts: IntArray, seconds: IntArray) -> IntArray:
        """The arms of these pairs."""
        return firsts * (self.options - 1) + seconds - (seconds > firsts)

    def of(self, arm: int) -> tuple[int, int]:
        """First and second of one pair."""
        one = np.array([arm])
        return int(self.firsts(one)[0]), int(self.seconds(one)[0])


def paired(labels: Any, features: Any) -> dict[str, Any]:
    """What :class:`surepick.Problem` takes for options that are compared two at a time."""
    if isinstance(labels, int | np.integer):
        count = whole(labels, "labels", least=1)
        named = tuple(str(i) for i in range(count))
    else:
        count = len(labels) if isinstance(labels, Sized) else 0
        named = as_labels(labels, count, "labels")
    if not 2 <= count <= MOST_OPTIONS:
        raise InvalidInputError(
            f"labels: pairs need 2 to {MOST_OPTIONS} options; got {count}"
            + (" (rule some out beforehand)" if count > 2 else "")
        )
    own = np.arange(count, dtype=np.float64)
    rows = np.column_stack([own, own**2, _features(features, count)])
    rows -= rows.mean(axis=0)
    pairing = Pairing(count)
    arms = np.arange(pairing.ordered)
    first, second = pairing.firsts(arms), pairing.seconds(arms)
    both = [f"{named[a]}{BETWEEN}{named[b]}" for a, b in zip(first, second)]
    if len(set(both)) < len(both):
        twice = next(name for name in both if both.count(name) > 1)
        raise InvalidInputError(
            f"labels: {twice!r} could be two different pairs; use labels without "
            f"{BETWEEN.strip()!r}"
        )
    return {
        "arms": rows[first] - rows[second],
        "candidates": rows,
        "noise": "pairs",
        "labels": both,
        "candidate_labels": named,
    }


def _features(features: Any, count: int) -> FloatArray:
    if features is None:
        return np.zeros((count, 0))
    found = np.asarray(features, dtype=np.float64)
    if found.ndim == 1:
        found = found[:, None]
    if found.ndim != 2 or len(found) != count:
        raise InvalidInputError(
            f"features must have one row for each of the {count} options; got an array of shape "
            f"{found.shape}"
        )
    if not np.isfinite(found).all():
        row, column = np.argwhere(~np.isfinite(found))[0]
        raise InvalidInputError(f"features: row {row}, column {column} is not a finite number")
    return found


def features_of(candidates: FloatArray) -> FloatArray:
    """Features of the options, as they were given, each column of mean 0 and largest length 1."""
    found = np.asarray(candidates)[:, _OWN:]
    lengths = np.abs(found).max(axis=0, initial=0.0)
    return found[:, lengths > 0] / lengths[lengths > 0]
