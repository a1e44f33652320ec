"""Reward draws: families of noise around the true means.

Each family draws the *sum* of the rewards of each pulled arm. Gaussian and Bernoulli sums have a
distribution of their own, so a batch of any size costs one draw per arm; the others are drawn
pull by pull and added up.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from surepick.arrays import limits
from surepick.arrays.types import FloatArray
from surepick.arrays.validate import real
from surepick.errors import InvalidInputError, InvalidTypeError, UnknownNameError

_ROUNDING = 1e-9  # by which the mean of a Bernoulli arm may miss [0, 1]


class Noise(ABC):
    """A family of reward distributions with given means.

    Examples
    --------
    >>> noise_family("gaussian") == Gaussian()
    True
    """

    def check(self, means: FloatArray, scale: float) -> None:
        """Refuse means this family cannot have."""
        return None

    def sums(
        self, rng: np.random.Generator, means: FloatArray, counts: NDArray[np.int64], scale: float
    ) -> FloatArray:
        """Sum of ``counts`` rewards of each arm, with these means and noise scale."""
        return self.totals(rng, means, counts, scale)[0]

    def totals(
        self, rng: np.random.Generator, means: FloatArray, counts: NDArray[np.int64], scale: float
    ) -> tuple[FloatArray, FloatArray]:
        """The sums, and Σ (reward − mean of the rewards)² of each arm."""
        sums, spreads = np.empty(len(means)), np.empty(len(means))
        for i, (mean, count) in enumerate(zip(means.tolist(), counts.tolist())):
            left, seen, total, spread = count, 0, 0.0, 0.0
            while left:
                n = min(left, limits.DRAWS)
                rewards = self.draw(rng, mean, n, scale)
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
class Gaussian(Noise):
    """N(mean, scale²).

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
class Bernoulli(Noise):
    """0 or 1, with the mean as the probability of 1 (so 1/2-sub-Gaussian).

    Examples
    --------
    >>> Bernoulli().sums(np.random.default_rng(0), np.array([0.0, 1.0]), np.array([5, 5]), 0.5)
    array([0., 5.])
    """

    def check(self, means: FloatArray, scale: float) -> None:
        bad = np.flatnonzero((means < -_ROUNDING) | (means > 1 + _ROUNDING))
        if len(bad):
            raise InvalidInputError(
                f"Bernoulli rewards need means between 0 and 1; arm {bad[0]} has {means[bad[0]]:g}"
            )

    def sums(self, rng, means, counts, scale):
        return rng.binomial(counts, np.clip(means, 0.0, 1.0)).astype(float)

    def totals(self, rng, means, counts, scale):
        sums = self.sums(rng, means, counts, scale)
        return sums, sums * (1.0 - sums / counts)

    def draw(self, rng, mean, n, scale):
        return rng.binomial(1, min(max(mean, 0.0), 1.0), size=n).astype(float)


@dataclass(frozen=True)
class Bounded(Noise):
    """Uniform on mean ± scale (bounded in an interval of width 2·scale: scale-sub-Gaussian).

    Examples
    --------
    >>> total = Bounded().sums(np.random.default_rng(0), np.array([3.0]), np.array([100]), 0.5)
    >>> bool(250 < total[0] < 350)
    True
    """

    def draw(self, rng, mean, n, scale):
        return rng.uniform(mean - scale, mean + scale, size=n)


@dataclass(frozen=True)
class StudentT(Noise):
    """Student's t with ``freedom`` degrees, scaled to variance scale²: heavier than assumed.

    A stress test: no guarantee covers it.

    Examples
    --------
    >>> StudentT(freedom=4).freedom
    4
    """

    freedom: float = 3.0

    def __post_init__(self) -> None:
        if not real(self.freedom, "freedom") > 2:
            raise InvalidInputError(f"freedom must be above 2; got {self.freedom!r}")

    def draw(self, rng, mean, n, scale):
        unit = scale * np.sqrt((self.freedom - 2) / self.freedom)
        return mean + unit * rng.standard_t(self.freedom, size=n)


_FAMILIES: dict[str, type[Noise]] = {
    "gaussian": Gaussian,
    "bernoulli": Bernoulli,
    "bounded": Bounded,
    "student-t": StudentT,
}


def noise_family(noise: str | Noise) -> Noise:
    """A family by name, or the one handed in."""
    if isinstance(noise, Noise):
        return noise
    if not isinstance(noise, str):
        raise InvalidTypeError(f"noise must be a name or a family of noise; got {noise!r:.80}")
    if noise not in _FAMILIES:
        raise UnknownNameError.among("noise family", noise, _FAMILIES)
    return _FAMILIES[noise]()
