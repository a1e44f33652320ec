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

    @abstractmethod
    def sums(
        self, rng: np.random.Generator, means: FloatArray, counts: NDArray[np.int64], scale: float
    ) -> FloatArray:
        """Sum of ``counts`` rewards of each arm, with these means and noise scale."""

    def _one_by_one(self, means: FloatArray, counts: NDArray[np.int64], draw) -> FloatArray:
        totals = np.empty(len(means))
        for i, (mean, count) in enumerate(zip(means, counts)):
            left, total = int(count), 0.0
            while left:
                n = min(left, limits.DRAWS)
                total += float(draw(mean, n).sum())
                left -= n
            totals[i] = total
        return totals


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


@dataclass(frozen=True)
class Bounded(Noise):
    """Uniform on mean ± scale (bounded in an interval of width 2·scale: scale-sub-Gaussian).

    Examples
    --------
    >>> total = Bounded().sums(np.random.default_rng(0), np.array([3.0]), np.array([100]), 0.5)
    >>> bool(250 < total[0] < 350)
    True
    """

    def sums(self, rng, means, counts, scale):
        return self._one_by_one(
            means, counts, lambda mean, n: rng.uniform(mean - scale, mean + scale, size=n)
        )


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

    def sums(self, rng, means, counts, scale):
        unit = scale * np.sqrt((self.freedom - 2) / self.freedom)
        return self._one_by_one(
            means, counts, lambda mean, n: mean + unit * rng.standard_t(self.freedom, size=n)
        )


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
