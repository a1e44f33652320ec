"""By how much options are better than a control, with intervals that hold at every look.

Bets that the lead of an option over the control is more than d pay, in expectation, at most 1 while
it is not; those not refuted yet are the interval. Both options of a pair are looked at within each
period, so a level that differs from period to period cancels. Stakes are fixed before a period is
seen, and do not depend on d: a few sizes of leads, in standard deviations of a reward, share the
capital.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from surepick.arrays.types import FloatArray
from surepick.proof.payoffs.bounded import CAP
from surepick.statistics.reported import rounded_off

_SIZES = np.geomspace(1e-4, 2.0, 28)  # of leads that are bet on, in standard deviations
_SUCCESSES = 10.0  # that the mean of all options counts for in the prediction for one
_HALVINGS = 40


class Sums(NamedTuple):
    """What a period says: one entry for each option."""

    counts: FloatArray
    sums: FloatArray
    spreads: FloatArray  #: Σ (reward − mean)²


class Lifts:
    """Intervals for the lead of each option over the control, for rewards between two bounds."""

    def __init__(self, n: int, control: int, low: float, high: float, yes_no: bool) -> None:
        self.control, self._low, self._high, self._yes_no = control, low, high, yes_no
        self._past = Sums(np.zeros(n), np.zeros(n), np.zeros(n))
        sizes = len(_SIZES)
        # For leads above and below d: Σ log F, and Σ λ by which d counts against it.
        self._paid: FloatArray = np.zeros((2, sizes, n))
        self._staked: FloatArray = np.zeros((2, sizes, n))
        self._leads: FloatArray = np.zeros(n)  # Σ of leads within periods, by their weights
        self._weights: FloatArray = np.zeros(n)

    def add(self, seen: Sums) -> None:
        n, k = seen.counts, self.control
        if n[k]:
            weights = n * n[k] / (n + n[k])
            means = seen.sums / np.maximum(n, 1.0)
            self._leads += weights * (means - means[k])
            self._weights += weights
        if self._past.counts.any():
            self._bet(seen)
        counts, sums, spreads = (
            mine + new for mine, new in zip(self._past, (seen.counts, seen.sums, seen.spreads))
        )
        self._past = Sums(counts, sums, spreads)

    def _bet(self, seen: Sums) -> None:
        k, means = self.control, self._predicted()
        both = np.flatnonzero((seen.counts > 0) & (np.arange(len(means)) != k))
        if not seen.counts[k] or not len(both):
            return
        variances = self._variances(means)
        noise = variances[both] / seen.counts[both] + variances[k] / seen.counts[k]
        scale = math.sqrt(float(np.average(variances, weights=self._past.counts)))
        wanted = _SIZES[:, None] * (scale / noise)
        squares = seen.spreads + np.where(
            seen.counts > 0, (seen.sums - seen.counts * means) ** 2, 0.0
        ) / np.maximum(seen.counts, 1.0)
        everyone = (seen.counts, seen.sums, squares, means)
        own, other = ([column[who] for column in everyone] for who in (both, k))
        for side, (up, down) in enumerate(((own, other), (other, own))):
            stakes = np.minimum(wanted, CAP / self._worst(up, down))
            paid = self._log_paid(stakes, up, 1.0) + self._log_paid(stakes, down, -1.0)
            paid -= stakes * (self._rounding(up[0]) + self._rounding(down[0]))
            self._paid[side][:, both] += paid
            self._staked[side][:, both] += stakes

    def _worst(self, up: list[FloatArray], down: list[FloatArray]) -> FloatArray:
        """The largest loss on one visitor, for a stake of one."""
        loss = np.maximum((up[3] - self._low) / up[0], (self._high - down[3]) / down[0])
        return np.maximum(loss, 1e-300)

    def _log_paid(self, stakes: FloatArray, of: list[FloatArray], sign: float) -> FloatArray:
        n, total, square, mean = of
        each = sign * stakes / n
        if self._yes_no:
            yes, no = total, n - total
            found = sign * stakes * mean
            return found + yes * np.log1p(each * (1.0 - mean)) + no * np.log1p(-each * mean)
        loss = mean - self._low if sign > 0 else self._high - mean
        bet = np.abs(each) * loss
        exact = -np.log1p(-bet) - bet
        return sign * stakes * (total / n) - square / loss**2 * np.where(
            bet < 1e-3, bet * bet * (0.5 + bet * (1 / 3 + bet / 4)), exact
        )

    def _rounding(self, n: FloatArray) -> FloatArray:
        """By how much a mean of so many rewards may be off; numbers of successes are exact."""
        largest = 0.0 if self._yes_no else max(abs(self._low), abs(self._high))
        return rounded_off(n) * largest

    def _predicted(self) -> FloatArray:
        """Mean reward of each option from earlier periods, never at a bound."""
        n, width = float(self._past.counts.sum()), self._high - self._low
        overall = (float(self._past.sums.sum()) - n * self._low) / width
        overall = (overall + 0.5) / (n + 1.0)
        rarer = _SUCCESSES / min(overall, 1.0 - overall)
        share = (self._past.sums - self._past.counts * self._low) / width
        found = (np.clip(share, 0.0, self._past.counts) + rarer * overall) / (
            self._past.counts + rarer
        )
        return self._low + width * found

    def _variances(self, means: FloatArray) -> FloatArray:
        most = (means - self._low) * (self._high - means)
        if self._yes_no:
            return most
        n = self._past.counts
        overall = float(self._past.spreads.sum()) / max(float(n.sum()), 1.0)
        own = (self._past.spreads + 10.0 * overall) / (n + 10.0)
        return np.maximum(np.minimum(most, own), 1e-9 * (self._high - self._low) ** 2)

    def estimates(self) -> FloatArray:
        """How far each option is ahead of the control, both within the same periods; or nan.

        Means over all periods would mix up options with days: shares move, and so do levels.
        """
        with np.errstate(invalid="ignore"):
            return np.where(self._weights > 0, self._leads, np.nan) / self._weights

    def intervals(self, level: float | FloatArray) -> tuple[FloatArray, FloatArray]:
        """Lower and upper ends; each pair leaves its interval, ever, with this probability."""
        goal = np.log(2.0 / np.asarray(level))
        return self._end(0, goal), -self._end(1, goal)

    def _end(self, side: int, goal: FloatArray) -> FloatArray:
        """The largest d that is refuted, for every option."""
        paid, staked, width = self._paid[side], self._staked[side], self._high - self._low
        n = paid.shape[1]
        below, above = np.full(n, -width), np.full(n, width)
        for _ in range(_HALVINGS):
            middle = 0.5 * (below + above)
            logs = paid - staked * middle
            top = logs.max(axis=0)
            total = top + np.log(np.exp(logs - top).mean(axis=0))
            refuted = total >= goal
            below, above = np.where(refuted, middle, below), np.where(refuted, above, middle)
        return below
