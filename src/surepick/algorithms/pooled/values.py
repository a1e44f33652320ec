"""Estimated values of candidates, and how uncertain their differences are."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from surepick.arrays.types import FloatArray, IntArray


class Values(NamedTuple):
    """Of each candidate; the lead of r over x has variance |white_r − white_x|² + own_r + own_x."""

    means: FloatArray  #: (M,)
    white: FloatArray  #: (M, q): what candidates share
    own: FloatArray  #: (M,): what they do not; infinite where nothing is known

    def with_number(self) -> Values:
        """With one more candidate, which is worth exactly 0."""
        return Values(*(with_zero(column) for column in self))


class Allowance(NamedTuple):
    """How far misfit may move the estimated lead of r over x: ``misfit`` · Σ_k |lean_r − lean_x|.

    An estimate leans on the mean rewards of arms; where features prove nothing, only on its own.
    """

    misfit: float  #: how far each mean may lie from what features say
    leans: FloatArray  #: (M, s): on each arm of the block, less one on itself
    unpulled: FloatArray  #: (M,): 1 where a candidate was not pulled in the block, else 0


class Seen(NamedTuple):
    """What a block says about candidates, in one way of reading it."""

    values: Values
    outside: FloatArray  #: (M, q): pairs that differ here are pairs that it says nothing about
    #: (M, q): for each pair a payoff gets the difference of two rows, where it needs that
    columns: FloatArray | None = None
    facts: Any = None  #: what else the payoff needs
    allowance: Allowance | None = None
    rounding: float = 0.0  #: that a lead may be too large by

    def seen(self, points: FloatArray) -> Seen:
        """As :meth:`BlockFit.seen`."""
        return self

    def with_number(self) -> Seen:
        """With one more candidate, which is worth exactly 0; facts are left as they are."""
        allowed = self.allowance
        if allowed is not None:
            rows = with_zero(allowed.leans), with_zero(allowed.unpulled)
            allowed = Allowance(allowed.misfit, *rows)
        columns = None if self.columns is None else with_zero(self.columns)
        values, outside = self.values.with_number(), with_zero(self.outside)
        return self._replace(values=values, outside=outside, columns=columns, allowance=allowed)


def with_zero(rows: Any) -> Any:
    """One more row, of zeros."""
    return np.concatenate([rows, np.zeros((1, *rows.shape[1:]), dtype=rows.dtype)])


def allowances(allowed: Allowance | None, places: IntArray, rivals: IntArray) -> FloatArray | float:
    """What to take off the leads of pairs, (n, R)."""
    if allowed is None:
        return 0.0
    found = np.empty((len(places), len(rivals)))
    for a, r in enumerate(rivals):
        apart = np.abs(allowed.leans[places] - allowed.leans[r]).sum(axis=1)
        found[:, a] = apart + allowed.unpulled[places] + allowed.unpulled[r]
    return allowed.misfit * found


def alone(means: FloatArray, variances: FloatArray) -> Values:
    """Values that have nothing in common."""
    return Values(means, np.zeros((len(means), 0)), variances)
