"""Reward draws: families of noise around the true means.

Each family draws the *sum* of the rewards of each pulled arm. Gaussian and two-point sums have a
distribution of their own, so a batch of any size costs one draw per arm; the others are drawn pull
by pull and added up.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from surepick.arrays import cutoffs
from surepick.arrays.types import FloatArray
from surepick.arrays.validate import as_numbers, positive, real
from surepick.errors import InvalidInputError
from surepick.problem import Problem

ROUNDING = 1e-9  # of the range, by which a mean may miss the bounds
Scale = float | FloatArray  # of all rows, or of each


class Noise(ABC):
    """A family of reward distributions with given means.

    Examples
    --------
    >>> Gaussian().reach(np.zeros(1), 1.0)
    (-inf, inf)
    """

    #: whether rewards are 0 or 1
    yes_no: ClassVar[bool] = False

    def check(self, means: FloatArray, scale: Scale) -> None:
        """Refuse means this family cannot have."""
        return None

    def reach(self, means: FloatArray, scale: Scale) -> tuple[float, float]:
        """Bounds between which all rewards lie."""
        return -math.inf, math.inf

    def scales(self, problem: Problem) -> Scale:
        """Scale of the noise of each arm, or of all: what the problem says."""
        return problem.noise_kind.units(np.arange(problem.n_arms))

    def sums(
        self, rng: np.random.Generator, means: FloatArray, counts: NDArray[np.int64], scale: Scale
    ) -> FloatArray:
        """Sum of ``counts`` rewards of each arm, with these means and noise scales."""
        return self.totals(rng, means, counts, scale)[0]

    def totals(
        self, rng: np.random.Generator, means: FloatArray, counts: NDArray[np.int64], scale: Scale
    ) -> tuple[FloatArray, FloatArray]:
        """The sums, and Σ (reward − mean of the rewards)² of each arm."""
        sums, spreads = np.empty(len(means)), np.empty(len(means))
        scales = np.broadcast_to(scale, len(means)).tolist()
        for i, (mean, count) in enumerate(zip(means.tolist(), counts.tolist())):
            left, seen, total, spread = count, 0, 0.0, 0.0
            while left:
                n = min(left, cutoffs.DRAWS)
                rewards = self.draw(rng, mean, n, scales[i])
                new = float(rewards.sum())
                spread += float(((rewards - new / n) ** 2).sum())
                if seen:  # how far this lot's mean is from that of the others
                    spread += seen * n / (seen + n) * (new / n - total / seen) ** 2
                total, seen, left = total + new, seen + n, left - n
            sums[i], spreads[i] = total, spread
        return sums, spreads

    @abstractmethod
    def draw(self, rng: np.random.Generator, mean: float, n: int, scale: float) -> FloatArray:
        """Single rewards."""


@dataclass(frozen=True)
class Scaled(Noise):
    """Families with a scale: the problem's, unless they bring their own."""

    #: None: the problem's unit; a number: for all arms; several: one for each arm
    scale: Any = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if self.scale is None:
            return
        if np.ndim(self.scale) == 0:
            object.__setattr__(self, "scale", positive(self.scale, "scale"))
            return
        scales = as_numbers(self.scale, "scale").tolist()
        for i, value in enumerate(scales):
            positive(value, f"scale[{i}]")
        object.__setattr__(self, "scale", tuple(scales))  # a tuple can be compared and hashed

    def scales(self, problem: Problem) -> Scale:
        if self.scale is None:
            return super().scales(problem)
        if isinstance(self.scale, float):
            return self.scale
        if len(self.scale) != problem.n_arms:
            raise InvalidInputError(
                f"scale must be one number, or one for each of the {problem.n_arms} arms; got "
                f"{len(self.scale)}"
            )
        return np.array(self.scale)


@dataclass(frozen=True)
class Gaussian(Scaled):
    """N(mean, scale²).

    Parameters
    ----------
    scale
        Standard deviation, or one for each arm; by default the problem's (1 where it has none).

    Examples
    --------
    >>> import surepick as sp
    >>> instance = sp.simulate.instances.standard(0.9)
    >>> table = sp.simulate.trials(sp.algorithms.Peleg(delta=0.1), instance, n=2, noise=Gaussian())
    >>> table["correct"].tolist()
    [True, True]
    """

    def sums(self, rng, means, counts, scale):
        return counts * means + scale * np.sqrt(counts) * rng.standard_normal(len(means))

    def totals(self, rng, means, counts, scale):
        sums = self.sums(rng, means, counts, scale)
        return sums, scale**2 * np.where(counts > 1, rng.chisquare(np.maximum(counts - 1, 1)), 0.0)

    def draw(self, rng, mean, n, scale):
        return rng.normal(mean, scale, size=n)


@dataclass(frozen=True)
class Bounded(Scaled):
    """Uniform on mean ± scale (bounded in an interval of width 2·scale: scale-sub-Gaussian).

    Examples
    --------
    >>> total = Bounded().sums(np.random.default_rng(0), np.array([3.0]), np.array([100]), 0.5)
    >>> bool(250 < total[0] < 350)
    True
    """

    def reach(self, means: FloatArray, scale: Scale) -> tuple[float, float]:
        return float((means - scale).min()), float((means + scale).max())

    def draw(self, rng, mean, n, scale):
        return rng.uniform(mean - scale, mean + scale, size=n)


@dataclass(frozen=True)
class StudentT(Scaled):
    """Student's t with ``freedom`` degrees: tails that are heavier than Gaussian ones.

    Above two degrees it is scaled to variance scale²; with two or fewer, where the variance is
    infinite, the scale is the unit of t itself. No guarantee for a known scale covers it; that for
    symmetric noise of unknown scale does.

    Examples
    --------
    >>> StudentT(freedom=2).freedom
    2
    """

    freedom: float = 3.0

    def __post_init__(self) -> None:
        super().__post_init__()
        positive(self.freedom, "freedom")

    def draw(self, rng, mean, n, scale):
        unit = math.sqrt((self.freedom - 2) / self.freedom) if self.freedom > 2 else 1.0
        return mean + scale * unit * rng.standard_t(self.freedom, size=n)


@dataclass(frozen=True)
class Exponential(Scaled):
    """mean − scale + an exponential reward of mean scale: skewed, with variance scale².

    For measuring what is not covered: neither symmetric nor bounded nor sub-Gaussian.

    Examples
    --------
    >>> bool((Exponential().draw(np.random.default_rng(0), 5.0, 99, 1.0) >= 4.0).all())
    True
    """

    def reach(self, means: FloatArray, scale: Scale) -> tuple[float, float]:
        return float((means - scale).min()), math.inf

    def draw(self, rng, mean, n, scale):
        return mean - scale + rng.exponential(scale, size=n)


@dataclass(frozen=True)
class OnInterval(Noise):
    """Families of rewards between two bounds, whatever the scale."""

    low: float = 0.0
    high: float = 1.0

    def __post_init__(self) -> None:
        if not real(self.low, "low") < real(self.high, "high"):
            raise InvalidInputError(f"low must be below high; got {self.low!r} and {self.high!r}")

    def check(self, means: FloatArray, scale: Scale) -> None:
        slack = ROUNDING * (self.high - self.low)
        bad = np.flatnonzero((means < self.low - slack) | (means > self.high + slack))
        if len(bad):
            raise InvalidInputError(
                f"{type(self).__name__} rewards need means between {self.low:g} and "
                f"{self.high:g}; arm {bad[0]} has {means[bad[0]]:g}"
            )

    def reach(self, means: FloatArray, scale: Scale) -> tuple[float, float]:
        return self.low, self.high

    def _share(self, means: Any) -> Any:
        """Where means lie between the bounds, 0 to 1."""
        return np.clip((means - self.low) / (self.high - self.low), 0.0, 1.0)


@dataclass(frozen=True)
class TwoPoint(OnInterval):
    """The lower or the higher bound: of all rewards between them, those that vary most.

    Examples
    --------
    >>> TwoPoint(1, 3).sums(np.random.default_rng(0), np.array([1.0, 3.0]), np.array([5, 5]), 1.0)
    array([ 5., 15.])
    """

    def totals(self, rng, means, counts, scale):
        ones = rng.binomial(counts, self._share(means))
        width = self.high - self.low
        return 1.0 * counts * self.low + width * ones, width**2 * ones * (1.0 - ones / counts)

    def draw(self, rng, mean, n, scale):
        return np.where(rng.binomial(1, self._share(mean), size=n), 1.0 * self.high, self.low)


@dataclass(frozen=True)
class Bernoulli(TwoPoint):
    """0 or 1, with the mean as the probability of 1 (so 1/2-sub-Gaussian).

    Examples
    --------
    >>> Bernoulli().sums(np.random.default_rng(0), np.array([0.0, 1.0]), np.array([5, 5]), 0.5)
    array([0., 5.])
    """

    low: float = field(default=0.0, init=False)
    high: float = field(default=1.0, init=False)
    yes_no: ClassVar[bool] = True


@dataclass(frozen=True)
class Beta(OnInterval):
    """Beta distributed between the bounds.

    The variance is m·(1 − m)/(concentration + 1) for a mean m between 0 and 1, and as many squared
    ranges for other bounds.

    Examples
    --------
    >>> rewards = Beta(0, 10).draw(np.random.default_rng(0), 4.0, 1000, 1.0)
    >>> bool(0 <= rewards.min() < 4 < rewards.max() <= 10)
    True
    """

    concentration: float = 4.0

    def __post_init__(self) -> None:
        super().__post_init__()
        positive(self.concentration, "concentration")

    def draw(self, rng, mean, n, scale):
        share = float(self._share(mean))
        if not 0.0 < share < 1.0:
            return np.full(n, float(mean))
        own = rng.beta(self.concentration * share, self.concentration * (1.0 - share), size=n)
        return self.low + (self.high - self.low) * own


#: by name
@dataclass(frozen=True)
class Correlated(Gaussian):
    """N(mean, scale²), but each error leans on the one before: 0 of it, up to nearly all.

    Pulls of a batch are measured in random order. No theorem here allows it: to see what it does.

    Examples
    --------
    >>> Correlated(0.9).share
    0.9
    """

    share: float = 0.5  #: correlation of an error with the one before
    _last: list[Any] = field(
        default_factory=lambda: [None, 0.0], init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= real(self.share, "share") < 1:
            raise InvalidInputError(f"share must be at least 0 and below 1; got {self.share!r}")

    def totals(self, rng, means, counts, scale):
        from scipy.signal import lfilter

        if self._last[0] is not rng:  # another trial
            self._last[:] = rng, rng.standard_normal()
        n, rest = int(counts.sum()), math.sqrt(1 - self.share**2)
        start = [self.share * self._last[1]]
        errors, _ = lfilter([rest], [1.0, -self.share], rng.standard_normal(n), zi=start)
        self._last[1] = float(errors[-1])
        rows = np.repeat(np.arange(len(counts)), counts)
        rng.shuffle(rows)
        total = np.bincount(rows, errors, len(counts))
        spread = np.bincount(rows, errors**2, len(counts)) - total**2 / counts
        return counts * means + scale * total, scale**2 * np.maximum(spread, 0.0)

    def sums(self, rng, means, counts, scale):
        return self.totals(rng, means, counts, scale)[0]


@dataclass(frozen=True)
class Misfit(Gaussian):
    """N(mean, scale²), around means that are off from what features say by up to ``zeta``.

    Each trial draws how far the mean of each option is off, evenly between −zeta and zeta.

    Examples
    --------
    >>> Misfit(0.1).zeta
    0.1
    """

    zeta: float

    def __post_init__(self) -> None:
        super().__post_init__()
        positive(self.zeta, "zeta")


FAMILIES: dict[str, type[Noise]] = {
    "gaussian": Gaussian,
    "bernoulli": Bernoulli,
    "bounded": Bounded,
    "student-t": StudentT,
    "exponential": Exponential,
    "beta": Beta,
    "two-point": TwoPoint,
    "correlated": Correlated,
    "misfit": Misfit,
}
