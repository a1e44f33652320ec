"""How rewards are drawn under each kind of noise: for trials, forecasts and what lies ahead."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from surepick.ahead.noise import (
    FAMILIES,
    ROUNDING,
    Bernoulli,
    Beta,
    Gaussian,
    Noise,
    OnInterval,
    Scale,
    TwoPoint,
)
from surepick.arrays.backend import HOST
from surepick.arrays.types import FloatArray, IntArray
from surepick.errors import InvalidInputError, InvalidTypeError, UnknownNameError
from surepick.problem import Problem
from surepick.problem.layers import Layer
from surepick.problem.noise import NoiseKind
from surepick.run import Run
from surepick.statistics.scores import normal_scores
from surepick.text import parse


class Drawing:
    """Numbers whose noise is normal, of a scale that nobody knows."""

    told_scale: ClassVar[bool] = False  #: whether the problem says how much rewards vary
    rates: ClassVar[bool] = False  #: whether a lead is given as a rate and how much it is raised
    by_scale: ClassVar[bool] = True  #: whether how much rewards vary is the state's to say
    gaussian: ClassVar[bool] = True  #: whether what holds for normal noise holds here, too

    def __init__(self, no_reports: str = "") -> None:
        self.no_reports = no_reports  #: why reports of periods cannot be drawn, if so

    def family(self, kind: NoiseKind) -> Noise:
        """Where nobody says more."""
        return Gaussian()

    def possible(self, kind: NoiseKind, family: Noise, reach: tuple[float, float]) -> bool:
        """Whether rewards of this family, which lie between these ends, can occur."""
        return True

    # -- before a study: forecasts ---------------------------------------------------------
    def deviation(self, problem: Problem, guess: float | None) -> float:
        """How much measurements of one option vary: as it is known, or guessed."""
        return 1.0 if guess is None else guess

    def check_guess(self, kind: NoiseKind, guess: float) -> None:
        """Refuse a guess of how much they vary."""
        if self.told_scale:
            raise InvalidInputError(f"noise: leave it out, the problem already has {kind}")

    def guessed(self, kind: NoiseKind, deviation: float) -> Noise | None:
        """Rewards that vary by so much; None: as the problem says."""
        return None if self.told_scale else Gaussian(scale=deviation)

    # -- within a study: what lies ahead ---------------------------------------------------
    def ahead(self, run: Run) -> Noise:
        """Rewards as they were so far."""
        return self.family(run.problem.noise_kind)

    def seen(self, run: Run) -> tuple[IntArray, FloatArray]:
        """How often each arm was measured, and the sums of what was, as truths are drawn by it."""
        return run.totals()

    def scales(self, run: Run) -> FloatArray:
        """How much a single reward of each arm varies, in the same units.

        Options that wait to come in are taken to vary as the others do.
        """
        counts, sums = totals_ahead(run)
        everyone, scale = np.arange(len(counts)), run.state.reward_scale()
        assert scale is not None
        if isinstance(scale, np.ndarray):
            more = len(counts) - len(scale)
            scale = np.append(scale, np.full(more, np.sqrt((scale**2).mean())))
        units = run.problem_ahead.noise_kind.units(everyone)
        found = np.broadcast_to(scale * units, len(everyone)).astype(float)
        least = 1e-9 * (1.0 + float(np.abs(sums / np.maximum(counts, 1)).max()))
        return np.maximum(found, least)


class OfAnyKind(Drawing):
    """Numbers of which only the order counts: what lies ahead is drawn by normal scores."""

    by_scale = False

    def ahead(self, run: Run) -> Noise:
        return AsMeasured(np.sort(_single(run)[1]))

    def seen(self, run: Run) -> tuple[IntArray, FloatArray]:
        arms, numbers = _single(run)
        n = run.problem.n_arms
        sums = np.zeros(n)
        np.add.at(sums, arms, normal_scores(numbers))
        return np.bincount(arms, minlength=n).astype(np.int64), sums

    def scales(self, run: Run) -> FloatArray:
        arms, numbers = _single(run)
        scores, n = normal_scores(numbers), run.problem_ahead.n_arms
        counts = np.bincount(arms, minlength=n)
        means = np.bincount(arms, scores, minlength=n) / np.maximum(counts, 1)
        # One more residual, as large as they differ altogether: few may be small by chance.
        within = float(((scores - means[arms]) ** 2).sum()) + float(scores.var())
        freedom = len(arms) - np.count_nonzero(counts) + 1
        return np.full(n, max(math.sqrt(within / freedom), 1e-3))


@dataclass(frozen=True)
class AsMeasured(Noise):
    """Numbers as those that were measured: normal scores, each in place of the number it had.

    Means and scales are those of the scores.
    """

    numbers: FloatArray  #: in order

    def sums(
        self, rng: np.random.Generator, means: FloatArray, counts: Any, scale: Scale
    ) -> FloatArray:
        if (counts > 1).any():
            return super().sums(rng, means, counts, scale)
        return self._of(rng.normal(means, scale))

    def draw(self, rng: np.random.Generator, mean: float, n: int, scale: float) -> FloatArray:
        return self._of(rng.normal(mean, scale, n))

    def _of(self, scores: FloatArray) -> FloatArray:
        n = len(self.numbers)
        return self.numbers[np.minimum((HOST.special("ndtr")(scores) * n).astype(int), n - 1)]


def _single(run: Run) -> tuple[IntArray, FloatArray]:
    """Arms and rewards of a run that was told every single one."""
    told = run.told()
    arms = np.concatenate([one.pulls.arms for one in told])
    return arms, np.concatenate([one.sums / one.pulls.counts for one in told])


class OfKnownScale(Drawing):
    """Numbers whose noise is normal, of the scale that the problem says."""

    told_scale = True

    def deviation(self, problem: Problem, guess: float | None) -> float:
        return float(np.max(problem.noise_kind.units(np.arange(problem.n_arms))))


class WithinBounds(Drawing):
    """Numbers between bounds, of any variance that goes with their means."""

    gaussian = False

    def family(self, kind: NoiseKind) -> Noise:
        return Beta(*bounds_of(kind))

    def possible(self, kind: NoiseKind, family: Noise, reach: tuple[float, float]) -> bool:
        low, high = bounds_of(kind)
        slack = ROUNDING * (high - low)
        return reach[0] >= low - slack and reach[1] <= high + slack

    def deviation(self, problem: Problem, guess: float | None) -> float:
        return guess if guess is not None else 0.5 * problem.noise_kind.unit

    def check_guess(self, kind: NoiseKind, guess: float) -> None:
        super().check_guess(kind, guess)
        if not guess < kind.unit:
            low, high = bounds_of(kind)
            raise InvalidInputError(
                f"noise: rewards between {low:g} and {high:g} have a standard deviation "
                f"below {kind.unit:g}; got {guess:g}"
            )

    def guessed(self, kind: NoiseKind, deviation: float) -> Noise | None:
        """Of this deviation in the middle of the range, less at its ends."""
        return Beta(*bounds_of(kind), (kind.unit / deviation) ** 2 - 1.0)

    def ahead(self, run: Run) -> Noise:
        kind, scale = run.problem.noise_kind, run.state.reward_scale()
        assert scale is not None
        unit = float(np.mean(scale * kind.units(np.arange(run.problem.n_arms))))
        spread = (kind.unit / max(unit, 1e-6 * kind.unit)) ** 2 - 1.0
        return Beta(*bounds_of(kind), max(spread, 0.1))


class YesOrNo(WithinBounds):
    """0 or 1."""

    told_scale = rates = True

    def family(self, kind: NoiseKind) -> Noise:
        return Bernoulli()

    def possible(self, kind: NoiseKind, family: Noise, reach: tuple[float, float]) -> bool:
        return family.yes_no or family == TwoPoint()

    def guessed(self, kind: NoiseKind, deviation: float) -> Noise | None:
        return None

    def ahead(self, run: Run) -> Noise:
        return Bernoulli()

    def scales(self, run: Run) -> FloatArray:
        counts, sums = totals_ahead(run)
        rates = (sums + sums.sum() / counts.sum()) / (counts + 1.0)
        return np.sqrt(np.maximum(rates * (1.0 - rates), 1e-6))


#: how rewards are drawn under each kind of noise
DRAWINGS: Layer[Drawing] = Layer(
    "way to draw rewards",
    {
        "symmetric": Drawing("reports are given by bucket"),
        "any": OfAnyKind("single rewards are compared"),
        "equal": Drawing(),
        "known": OfKnownScale(),
        "yes-no": YesOrNo(),
        "segments": YesOrNo("how visitors of each segment will respond is not drawn"),
        "bounded": WithinBounds(),
        "pairs": YesOrNo("options are compared two at a time"),
    },
)


def bounds_of(kind: NoiseKind) -> tuple[float, float]:
    """Those of a kind that has some."""
    assert kind.bounds is not None
    return kind.bounds


def totals_ahead(run: Run) -> tuple[FloatArray, FloatArray]:
    """Counts and sums of all arms, also of those that wait to come in."""
    more = run.problem_ahead.n_arms - run.problem.n_arms
    counts, sums = run.totals()
    return np.append(counts.astype(float), np.zeros(more)), np.append(sums, np.zeros(more))


def noise_family(noise: str | Noise | None, kind: NoiseKind | None = None) -> Noise:
    """A family by name (``student-t:freedom=4``), or the one handed in; None: what goes with this
    kind of noise.
    """
    if isinstance(noise, Noise):
        return noise
    if noise is None and kind is not None:
        return DRAWINGS.of(kind).family(kind)
    if not isinstance(noise, str):
        raise InvalidTypeError(f"noise must be a name or a family of noise; got {noise!r:.80}")
    name, settings = parse(noise, "noise")
    if name not in FAMILIES:
        raise UnknownNameError.among("noise family", name, FAMILIES)
    family: Any = FAMILIES[name]
    try:
        if kind is not None and kind.bounds is not None and issubclass(family, OnInterval):
            return family(**settings) if family.yes_no else family(*kind.bounds, **settings)
        return family(**settings)
    except TypeError as error:
        raise InvalidInputError(f"noise {noise!r}: {error}") from None


def check_rewards(family: Noise, problem: Problem, means: FloatArray) -> None:
    """Refuse a family whose rewards could not occur in this problem."""
    kind = problem.noise_kind
    scales: Scale = family.scales(problem)
    family.check(means, scales)
    if not DRAWINGS.of(kind).possible(kind, family, family.reach(means, scales)):
        raise InvalidInputError(
            f"noise: {kind.rule}, and those of {family} would not; leave noise out for some that do"
        )
