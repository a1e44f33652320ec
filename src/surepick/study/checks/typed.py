"""Numbers that somebody may have mistyped: further out than all others, or in another unit.

A question, and nothing rests on it: numbers are recorded as they are told. From the third reading
of an option on, how far it is from the median of the others is set beside how far all readings are
from the medians of their options. Medians and not means, so that what was mistyped before does not
hide what is mistyped now. It is asked about where it is

- further out than the noise (1.4826 times the median distance) explains, by as much as hardly ever
  happens by chance even with few readings; and three times as far as any other, but for the
  furthest few; and the first also in logarithms, where all are positive. Times, amounts and other
  numbers with long tails are not asked about for being what they are; or
- over eight times, or under an eighth of, what its option had before, where no other is twice, or
  half, what is usual: then two others are enough.

Of a report the rate of each option, or its mean, is set beside its median so far, less what the
others changed in that period: it is asked about from a fourfold change on, where chance (of
successes by their number) and three times the largest change before do not explain it.

Where more than half are the same (no purchase, mostly), those that differ are compared among
themselves. If nearly all that come together are 10, 100 or 1,000 times what was there before, or
so many parts of it, that is said once: perhaps they are in another unit.

Until an option has that many, what is predicted for it (:class:`Expected`) asks instead: plain
least squares on the features, with as much noise as its residuals have, misfit included. Where
features predict badly, hardly anything is unusual. Both sides are looked at alike.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from surepick.algorithms.rows import Rows
from surepick.arrays.types import BoolArray, FloatArray, IntArray
from surepick.problem import Problem
from surepick.run import Run
from surepick.run.diagnostics import ArmSummary
from surepick.statistics.estimate import LeastSquares

KEPT = 2_000  #: the last readings that are looked at
FEWEST = 2  #: others of the same option
_FREE = 2  # readings beyond one for each option
_CHANCE = 1e-5  # of a normal reading; decides where there are few
_FAR, _FAR_COUNTED = 8.0, 5.0  # standard deviations: estimated, and of numbers of successes
_SEVERAL, _MANY = 4, 12  # readings of options that have more than one
_TIMES = 3.0  # as far as any other
_FURTHEST = 0.03  # share of the others that may be as far
_TWICE = math.log(2.0)
_NORMAL = 1.4826  # standard deviations in a median distance
_TOGETHER, _NEARLY_ALL, _UNIT_NEAR, _UNIT_SPREAD = 4, 0.8, 0.2, 0.35
_UNITS = 3  # powers of ten


_Counted = tuple[IntArray, FloatArray, FloatArray]  # options, their visits, and sums


class Readings(NamedTuple):
    """One number of several measurements."""

    pulls: IntArray
    arms: IntArray
    values: FloatArray


def questions(known: Readings, new: Readings, labels: Mapping[int, str], what: str = "") -> Asked:
    """What to ask about new numbers, by their pulls; ``what`` they are, if it is a further number.

    Examples
    --------
    >>> arms = np.array([0, 0, 1, 1, 2, 2])
    >>> known = Readings(np.arange(6), arms, np.array([0.7, 0.9, 0.8, 0.75, 0.9, 0.7]))
    >>> new = Readings(np.array([6]), np.array([0]), np.array([8.1]))
    >>> questions(known, new, {0: "a"})
    {6: 'measurement 6 (a): 8.1, others 0.7 to 0.9: typed right?'}
    """
    named = f", {what}" if what else ""
    unit = _unit(known, new)
    if unit is not None:
        few = [f"{value:g}" for value in new.values[:3].tolist()]
        more = ", …" if len(new.values) > len(few) else ""
        low, high = known.values.min(), known.values.max()
        text = (
            f"{len(new.values)} results{named} ({', '.join(few)}{more}) are about {unit} what was "
            f"measured before ({low:g} to {high:g}): in the right unit?"
        )
        return {int(new.pulls[0]): text}
    arms = np.concatenate([known.arms, new.arms])
    values = np.concatenate([known.values, new.values])
    found: Asked = {}
    for place in len(known.arms) + np.flatnonzero(_suspects(arms, values)[len(known.arms) :]):
        others = np.arange(len(values)) != place
        own = values[others & (arms == arms[place])]
        if _is_far(arms[others], values[others], own, float(values[place])):
            at = int(place) - len(known.arms)
            pull, label = int(new.pulls[at]), labels[int(arms[place])]
            found[pull] = (
                f"measurement {pull} ({label}){named}: {values[place]:g}, others {own.min():g} to "
                f"{own.max():g}: typed right?"
            )
    return found


def rates(
    before: Sequence[_Counted],
    now: _Counted,
    labels: Mapping[int, str] | Sequence[str],
    what: str = "",
    successes: bool = False,
) -> list[str]:
    """What to ask about a report: options, their visits, and the sums of what they brought.

    Examples
    --------
    >>> week = [(np.array([0, 1]), np.array([500.0, 500.0]), np.array([50.0, s])) for s in (52, 47)]
    >>> rates(week, (np.array([0, 1]), np.array([500.0, 500.0]), np.array([51.0, 480.0])), "ab")
    ['b: 0.96 on average, 0.094 to 0.104 in other periods: typed right?']
    """
    earlier = [_by_option(one) for one in before]
    own_rates = {arm: [one[arm][0] for one in earlier if arm in one] for arm in _by_option(now)}
    usual = {arm: _median(np.array(own)) for arm, own in own_rates.items() if len(own) >= FEWEST}
    usual = {arm: rate for arm, rate in usual.items() if rate > 0}
    past = np.array([away for one in earlier for away, _ in _changes(one, usual).values()])
    today = _by_option(now)
    asked, named = list[str](), f", {what}" if what else ""
    for arm, (away, common) in _changes(today, usual).items():
        alone = abs(math.log(max(today[arm][0], 0.5 / today[arm][1]) / usual[arm]))
        mean, n = today[arm]
        by_chance = away <= _FAR * _NORMAL * _median(past)
        if successes:  # whose scatter is known: that of their square root is a half
            found, expected = n * mean, n * usual[arm] * math.exp(common)
            by_chance = abs(math.sqrt(found) - math.sqrt(expected)) <= _FAR_COUNTED / math.sqrt(2.0)
        few = math.ceil(_FURTHEST * len(past)) if len(past) > _MANY else 0
        furthest = float(np.sort(past)[-1 - few])
        if by_chance or min(away, alone) <= 2.0 * _TWICE or away <= _TIMES * furthest:
            continue
        own = own_rates[arm]
        asked.append(
            f"{labels[arm]}{named}: {mean:.3g} on average, {min(own):.3g} to {max(own):.3g} in "
            "other periods: typed right?"
        )
    return asked


def _by_option(report: _Counted) -> dict[int, tuple[float, float]]:
    """The rate or mean of each option that had visits, and how many."""
    rows = zip(report[0].tolist(), report[1].tolist(), report[2].tolist())
    return {arm: (total / visits, visits) for arm, visits, total in rows if visits > 0}


def _changes(
    report: Mapping[int, tuple[float, float]], usual: Mapping[int, float]
) -> dict[int, tuple[float, float]]:
    """How far each is from what is usual for it, beside the others, and how far these are; logs.

    All options may sell more at the weekend: that is no reason to ask.
    """
    least = {arm: 0.5 / n for arm, (_, n) in report.items()}
    logs = {
        arm: math.log(max(rate, least[arm]) / usual[arm])
        for arm, (rate, _) in report.items()
        if arm in usual
    }
    found = {}
    for arm, own in logs.items():
        several = len(logs) > 2  # then the median is that of all: one mistake does not move it
        others = [log for other, log in logs.items() if several or other != arm]
        common = _median(np.array(others)) if others else 0.0
        found[arm] = abs(own - common), common
    return found


Asked = dict[int, str]


def _suspects(arms: IntArray, values: FloatArray) -> BoolArray:
    """Which of these are worth a closer look: of the others nothing would be asked."""
    away = np.abs(values - _medians(arms, values))
    usual = np.median(away)
    return away > max(2.0 * usual, 0.0)


def _medians(arms: IntArray, values: FloatArray) -> FloatArray:
    """The median of its option, for each."""
    found = np.empty(len(values))
    for arm in np.unique(arms):
        own = arms == arm
        found[own] = np.median(values[own])
    return found


def _is_far(arms: IntArray, values: FloatArray, own: FloatArray, value: float) -> bool:
    """Whether a value is asked about, beside all others and those of its own option."""
    if len(own) < FEWEST:
        return False
    plain, in_logs = _away(arms, values), None
    if value > 0 and bool((values > 0).all()):
        in_logs, away = _away(arms, np.log(values)), abs(math.log(value) - _median(np.log(own)))
        usual = len(in_logs.away) >= _SEVERAL and in_logs.away.max() <= _TWICE
        if usual and away > _TIMES * _TWICE:
            return True
        if not in_logs.explains_not(away, times=0.0):
            return False
    return plain.explains_not(abs(value - _median(own)))


class _Away(NamedTuple):
    """How far readings are from the medians of their options, where these have several."""

    away: FloatArray
    freedom: int

    def explains_not(self, away: float, times: float = _TIMES) -> bool:
        """Whether so far away is further than chance and other readings explain."""
        from scipy.special import stdtrit  # here: most are told before it would be loaded

        found, freedom = self.away, self.freedom
        if freedom >= FEWEST and np.median(found) == 0.0:  # beside those that differ at all
            found = found[found > 0]
            freedom = len(found) - 1
        if freedom < _FREE:
            return False
        few = math.ceil(_FURTHEST * len(found)) if len(found) > _MANY else 0
        scale = _NORMAL * _median(found)
        chance = float(stdtrit(freedom, 1 - _CHANCE / 2))
        return away > max(times * float(np.sort(found)[-1 - few]), max(_FAR, chance) * scale)


def _away(arms: IntArray, values: FloatArray) -> _Away:
    kinds, counts = np.unique(arms, return_counts=True)
    n = counts[np.searchsorted(kinds, arms)]
    several = n > 1
    away = np.abs(values - _medians(arms, values))[several]
    # Medians follow few readings.
    return _Away(
        away * np.sqrt(n[several] / (n[several] - 1.0)), int(several.sum() - (counts > 1).sum())
    )


def _median(values: FloatArray) -> float:
    return float(np.median(values))


def _unit(known: Readings, new: Readings) -> str | None:
    """How many times what was there before nearly all new ones are; None: they are not."""
    if len(new.values) < _TOGETHER or len(known.values) < _TOGETHER:
        return None
    if not (known.values > 0).all() or not (new.values > 0).all():
        return None
    before, now = np.log10(known.values), np.log10(new.values)
    apart = before - _medians(known.arms, before)
    if _NORMAL * float(np.median(np.abs(apart))) > _UNIT_NEAR:
        return None
    usual = {int(arm): float(np.median(before[known.arms == arm])) for arm in np.unique(known.arms)}
    middle = float(np.median(before))
    steps = now - np.array([usual.get(int(arm), middle) for arm in new.arms])
    step = float(np.median(steps))
    power = round(step)
    fits = np.abs(steps - power) <= _UNIT_SPREAD
    if not 1 <= abs(power) <= _UNITS or abs(step - power) > _UNIT_NEAR:
        return None
    if float(fits.mean()) < _NEARLY_ALL:
        return None
    times = f"{10 ** abs(power):,}"
    return f"{times} times" if power > 0 else f"a {times}th of"


_FEWEST = 2  # residuals
_FAR_FROM_PREDICTED = 8.0  # standard errors of a prediction
_CHANCE_PREDICTED = 1e-6  # of a normal reward; decides where there are few residuals


class Expected:
    """What the rewards so far lead one to expect.

    Parameters
    ----------
    problem
        What is measured.
    summary
        What was measured, arm by arm. Where the scale of the noise is known, spreads are not used.

    Examples
    --------
    >>> problem = Problem([[1.0, 0.0], [1.0, 1.0]], labels=["a", "b"])
    >>> told = ArmSummary.of(2, [0, 0, 0, 1, 1, 1], [1.0, 1.2, 1.1, 2.0, 2.2, 2.1])
    >>> expected = Expected(problem, told)
    >>> expected.complaint(3, 0, 1.4)
    >>> expected.complaint(3, 0, 42.0)
    'measurement 3 (a): 42 is far from what was measured before (about 1.1)'
    """

    def __init__(self, problem: Problem, summary: ArmSummary) -> None:
        self._labels = problem.labels
        self._errors: FloatArray | None = None
        n, kind = int(summary.counts.sum()), problem.noise_kind
        freedom = n - problem.rank
        if problem.large or kind.bounds is not None or freedom < _FEWEST:
            return
        every = np.arange(problem.n_arms)
        features, units = problem.feature_rows(every), kind.units(every) * np.ones(len(every))
        pulled, own = np.flatnonzero(summary.counts), summary.sums / units
        counts = summary.counts[pulled]
        fit = LeastSquares(features[pulled], counts, own[pulled])
        if not fit.spans:
            return
        predicted = features @ fit.theta
        apart = counts * (own[pulled] / counts - predicted[pulled]) ** 2
        within = 0.0 if kind.scale_known else float((summary.spread / units**2).sum())
        variance = (within + float(apart.sum())) / freedom
        if kind.scale_known:  # what options are off the features is no noise, but may be
            variance = max(1.0, variance)
        if not variance > 0:  # coarse readings may all have been the same: any other is far
            return
        self._freedom = freedom
        self._means: FloatArray = predicted * units
        self._errors = units * np.sqrt(variance * (1.0 + fit.variances(features)))

    @property
    def says_something(self) -> bool:
        """Whether enough was measured to expect anything."""
        return self._errors is not None

    def complaint(self, pull: int, arm: int, value: float) -> str | None:
        """Why a reward may be wrong; None: it may well be right."""
        if self._errors is None:
            return None
        away = abs(value - self._means[arm])
        if (
            away <= _FAR_FROM_PREDICTED * self._errors[arm]
            or away <= self._far() * self._errors[arm]
        ):
            return None
        return (
            f"measurement {pull} ({self._labels[arm]}): {value:g} is far from what was measured "
            f"before (about {self._means[arm]:.3g})"
        )

    def _far(self) -> float:
        """How many standard errors hardly any reward is away by chance."""
        from scipy.special import stdtrit  # here: most rewards are told before it would be loaded

        return float(stdtrit(self._freedom, 1 - _CHANCE_PREDICTED / 2))


def measured(run: Run) -> ArmSummary:
    """What the complete batches of a run have measured, arm by arm."""
    K = run.problem.n_arms
    found = ArmSummary.of(K, [], [])
    for told in run.told():
        rows = Rows.of(told).by_arm()
        part = [np.zeros(K) for _ in range(3)]
        for column, values in zip(part, (rows.counts, rows.sums, rows.spreads)):
            column[rows.arms] = values
        found += ArmSummary(part[0].astype(np.int64), part[1], part[2])
    return found
