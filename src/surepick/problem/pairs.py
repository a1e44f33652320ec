"""Options that are compared two at a time: an arm is a pair of them, in its order.

A measurement of the arm (a, b) shows a first and b second, and says who is better. Candidates are
the options. So records, studies and certificates hold pairs like any other arms; what they mean
is known from their numbers (:class:`Pairing`). Pairs are numbered by the later of their two
options, so that with one option more all other pairs keep their numbers. Rows of features only tell
options apart: that of option k is (k, k²), with its own features behind, less those of option 0,
and that of a pair is the difference of two. Nothing is fitted to them.
"""

from __future__ import annotations

from collections.abc import Sized
from typing import Any, NamedTuple

import numpy as np

from surepick.arrays.types import FloatArray, IntArray
from surepick.arrays.validate import as_labels, as_numbers, whole
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
    [(0, 1), (1, 0), (0, 2), (2, 0), (1, 2), (2, 1)]
    >>> pairing.arms(np.array([2]), np.array([1])).tolist()
    [5]
    """

    options: int

    @property
    def ordered(self) -> int:
        return self.options * (self.options - 1)

    def firsts(self, arms: IntArray) -> IntArray:
        return self._both(arms)[0]

    def seconds(self, arms: IntArray) -> IntArray:
        return self._both(arms)[1]

    def arms(self, firsts: IntArray, seconds: IntArray) -> IntArray:
        early, late = np.minimum(firsts, seconds), np.maximum(firsts, seconds)
        return late * (late - 1) + 2 * early + (firsts > seconds)

    @staticmethod
    def _both(arms: IntArray) -> tuple[IntArray, IntArray]:
        arms = np.asarray(arms)
        # Of pairs (early, late) there are 2 late; 4 arms + 1 lies between two odd squares.
        late = ((np.sqrt(4.0 * arms + 1.0) + 1.0) // 2).astype(np.int64)
        early, turned = np.divmod(arms - late * (late - 1), 2)
        return np.where(turned == 1, late, early), np.where(turned == 1, early, late)

    def of(self, arm: int) -> tuple[int, int]:
        one = np.array([arm])
        return int(self.firsts(one)[0]), int(self.seconds(one)[0])


def paired(labels: Any, features: Any, costs: Any = None) -> dict[str, Any]:
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
    prices = None if costs is None else as_numbers(costs, "costs")
    if prices is not None and len(prices) != count:
        raise InvalidInputError(
            f"costs must be one number for each of the {count} options; got {len(prices)}"
        )
    first, second = _all_pairs(count)
    both = None if prices is None else prices[first] + prices[second]
    return of_rows(named, rows - rows[0], both)


def of_rows(named: tuple[str, ...], rows: FloatArray, costs: FloatArray | None) -> dict[str, Any]:
    """What a problem of pairs is made of, from the rows of options and what each pair costs."""
    first, second = _all_pairs(len(named))
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
        "costs": costs,
    }


def with_options(
    named: tuple[str, ...],
    rows: FloatArray,
    costs: FloatArray | None,
    labels: list[str],
    new_costs: FloatArray | None,
) -> dict[str, Any]:
    """What a problem of pairs is made of once options join, of whose features nothing is known.

    ``costs`` are of pairs, ``new_costs`` of the new options.
    """
    n, count = len(named), len(named) + len(labels)
    if count > MOST_OPTIONS:
        raise InvalidInputError(f"options: pairs take at most {MOST_OPTIONS} options; got {count}")
    own = np.arange(n, count, dtype=np.float64)
    like = np.tile(rows[:, _OWN:].mean(axis=0), (len(labels), 1))
    prices = None
    if costs is not None and new_costs is not None:
        each = np.append(costs_of_options(costs, n), new_costs)
        first, second = _all_pairs(count)
        prices = np.append(costs, (each[first] + each[second])[len(costs) :])
    more = np.vstack([rows, np.column_stack([own, own**2, like])])
    return of_rows((*named, *labels), more, prices)


def costs_of_options(costs: FloatArray, n: int) -> FloatArray:
    """What each of n options costs, from what pairs of them cost.

    Examples
    --------
    >>> costs_of_options(np.array([3.0, 3.0, 6.0, 6.0, 7.0, 7.0]), 3).tolist()
    [1.0, 2.0, 5.0]
    """
    if n == 2:
        return np.full(2, costs[0] / 2)
    with_first = costs[Pairing(n).arms(np.zeros(n - 1, dtype=np.int64), np.arange(1, n))]
    one_two = costs[int(Pairing(n).arms(np.array([1]), np.array([2]))[0])]
    first = (with_first[0] + with_first[1] - one_two) / 2
    return np.append(first, with_first - first)


def _all_pairs(count: int) -> tuple[IntArray, IntArray]:
    pairing = Pairing(count)
    arms = np.arange(pairing.ordered)
    return pairing.firsts(arms), pairing.seconds(arms)


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
    found = found - found.mean(axis=0)
    lengths = np.abs(found).max(axis=0, initial=0.0)
    return found[:, lengths > 0] / lengths[lengths > 0]
