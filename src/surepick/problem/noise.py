"""What is known about the noise of one measurement: nothing but symmetry, a scale, or bounds.

Each kind says in which unit algorithms see the rewards, which rewards are impossible, and how files
write it down. :class:`surepick.Problem` explains the choice.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from surepick.arrays.types import FloatArray, IntArray
from surepick.arrays.validate import as_numbers, in_reach, positive, real
from surepick.errors import FormatError, InvalidInputError, InvalidTypeError

Kind = Literal["symmetric", "equal", "known", "yes-no", "bounded"]
#: what to do instead of what 0.1.0 had for noise that is not known
INSTEAD_OF_ESTIMATE = (
    "noise: 'estimate' no longer exists, because nothing needs to be estimated beforehand. Leave "
    "noise out: the guarantee then holds however large the noise is"
)
_CHOICES = (
    "None (nothing is known), 'equal' (normal, one unknown scale), a scale above 0, one scale per "
    "arm, 'yes-no', or a pair (lowest, highest) of bounds"
)


@dataclass(frozen=True, eq=False)
class NoiseKind(ABC):
    """One kind of noise; made by :func:`noise_kind`."""

    kind: ClassVar[Kind]

    @property
    def unit(self) -> float:
        """What estimates and epsilon are divided by for algorithms."""
        return 1.0

    def units(self, arms: Any) -> float | FloatArray:
        """What the rewards of these arms are divided by for algorithms."""
        return self.unit

    @property
    @abstractmethod
    def given(self) -> Any:
        """As it was given: what :func:`noise_kind` takes."""

    @property
    def written(self) -> Any:
        """As files have it: what :func:`read_kind` takes."""
        return self.given

    @property
    def scale_known(self) -> bool:
        """Whether rewards, in these units, are 1-sub-Gaussian."""
        return True

    @property
    def provided(self) -> str:
        """What a guarantee rests on, for its sentence; empty where the numbers given say it."""
        return ""

    def impossible(self, rewards: FloatArray) -> IntArray:
        """Numbers of the rewards that cannot occur."""
        return np.empty(0, dtype=np.int64)

    def impossible_sums(self, counts: Any, sums: FloatArray) -> IntArray:
        """Numbers of the sums, of so many rewards each, that cannot occur."""
        return np.empty(0, dtype=np.int64)

    @property
    def rule(self) -> str:
        """Which rewards can occur, for a message."""
        return ""

    @property
    def words(self) -> str:
        """What a measurement gives, for people who need not know what a scale is."""
        return "numbers"

    @abstractmethod
    def __str__(self) -> str: ...


@dataclass(frozen=True, eq=False)
class SymmetricNoise(NoiseKind):
    """Each reward as likely to be above its mean as below, by the same amounts; no scale known."""

    kind = "symmetric"

    @property
    def given(self) -> None:
        return None

    @property
    def scale_known(self) -> bool:
        return False

    @property
    def provided(self) -> str:
        return (
            "provided that each reward is as likely to be above its mean as below it by the same "
            "amount"
        )

    def __str__(self) -> str:
        return "noise not known"


@dataclass(frozen=True, eq=False)
class EqualNoise(NoiseKind):
    """Normal, with one scale for all arms, which nobody knows."""

    kind = "equal"

    @property
    def given(self) -> str:
        return "equal"

    @property
    def scale_known(self) -> bool:
        return False

    @property
    def words(self) -> str:
        return "numbers, with the same noise for all options"

    @property
    def provided(self) -> str:
        return "provided that the noise is normal and of one scale for all options"

    def __str__(self) -> str:
        return "noise equal for all"


@dataclass(frozen=True, eq=False)
class KnownNoise(NoiseKind):
    """Sub-Gaussian with a known scale."""

    kind = "known"
    scale: float

    @property
    def unit(self) -> float:
        return self.scale

    @property
    def given(self) -> float:
        return self.scale

    @property
    def words(self) -> str:
        return f"numbers, with noise {self.scale:g}"

    def __str__(self) -> str:
        return f"noise {self.scale:g}"


@dataclass(frozen=True, eq=False)
class NoiseByArm(NoiseKind):
    """Sub-Gaussian with a known scale of its own for each arm."""

    kind = "known"
    scales: FloatArray

    def units(self, arms: Any) -> FloatArray:
        return self.scales[arms]

    @property
    def given(self) -> FloatArray:
        return self.scales

    @property
    def written(self) -> list[float]:
        return self.scales.tolist()

    @property
    def words(self) -> str:
        return f"numbers, with {self}"

    def __str__(self) -> str:
        return f"noise {self.scales.min():g} to {self.scales.max():g}"


@dataclass(frozen=True, eq=False)
class Between(NoiseKind):
    """Rewards between two bounds, which may be anything there."""

    kind = "bounded"
    low: float
    high: float

    @property
    def unit(self) -> float:
        return 0.5 * (self.high - self.low)

    @property
    def given(self) -> Any:
        return self.low, self.high

    @property
    def written(self) -> Any:
        return {"low": self.low, "high": self.high}

    def impossible(self, rewards: FloatArray) -> IntArray:
        return np.flatnonzero(~((rewards >= self.low) & (rewards <= self.high)))

    def impossible_sums(self, counts: Any, sums: FloatArray) -> IntArray:
        slack = 1e-9 * counts * (self.high - self.low)  # sums are rounded
        low, high = counts * self.low - slack, counts * self.high + slack
        return np.flatnonzero(~((sums >= low) & (sums <= high)))

    @property
    def rule(self) -> str:
        return f"rewards of this problem lie between {self.low:g} and {self.high:g}"

    @property
    def words(self) -> str:
        return f"numbers between {self.low:g} and {self.high:g}"

    def __str__(self) -> str:
        return f"rewards between {self.low:g} and {self.high:g}"


@dataclass(frozen=True, eq=False)
class YesNo(Between):
    """Rewards 0 or 1."""

    kind = "yes-no"
    low: float = 0.0
    high: float = 1.0

    @property
    def given(self) -> str:
        return "yes-no"

    @property
    def written(self) -> str:
        return "yes-no"

    def impossible(self, rewards: FloatArray) -> IntArray:
        return np.flatnonzero((rewards != 0.0) & (rewards != 1.0))

    def impossible_sums(self, counts: Any, sums: FloatArray) -> IntArray:
        return np.flatnonzero(~((sums >= 0) & (sums <= counts) & (sums == np.floor(sums))))

    @property
    def rule(self) -> str:
        return "rewards of this problem are 0 (no) or 1 (yes)"

    @property
    def words(self) -> str:
        return "yes or no"

    def __str__(self) -> str:
        return "yes/no rewards"


def noise_kind(noise: Any, n_arms: int) -> NoiseKind:
    """The kind that users mean.

    Examples
    --------
    >>> str(noise_kind((0, 10), 3)), str(noise_kind([1.0, 2.0, 1.0], 3))
    ('rewards between 0 and 10', 'noise 1 to 2')
    """
    if noise is None:
        return SymmetricNoise()
    if isinstance(noise, str):
        if noise not in ("equal", "yes-no"):
            if noise == "estimate":
                raise InvalidInputError(INSTEAD_OF_ESTIMATE)
            raise InvalidInputError(f"noise must be {_CHOICES}; got {noise!r}")
        return EqualNoise() if noise == "equal" else YesNo()
    if isinstance(noise, tuple) and len(noise) == 2:
        low, high = real(noise[0], "noise: the lowest reward"), real(noise[1], "noise: the highest")
        if not low < high:
            raise InvalidInputError(
                f"noise: the lowest reward must be below the highest; got {noise!r} (for one "
                "scale per arm, give a list, not a tuple)"
            )
        for end, name in ((low, "the lowest reward"), (high, "the highest")):
            in_reach(end, f"noise: {name}")
        in_reach(high - low, "noise: the distance of the bounds")
        return Between(low, high)
    if np.ndim(noise) == 0:
        return KnownNoise(in_reach(positive(noise, "noise"), "noise"))
    scales = as_numbers(noise, "noise")
    if len(scales) != n_arms:
        raise InvalidInputError(
            f"noise must be {_CHOICES}; got {len(scales)} numbers for {n_arms} arms"
        )
    bad = np.flatnonzero(~(np.isfinite(scales) & (scales > 0)))
    if len(bad):
        raise InvalidInputError(
            f"noise[{bad[0]}] must be a finite number above 0; got {scales[bad[0]]}"
        )
    for arm, scale in enumerate(scales.tolist()):
        in_reach(scale, f"noise[{arm}]")
    scales.setflags(write=False)
    return NoiseByArm(scales)


def as_given(noise: Any) -> Any:
    """As users give it, from what JSON has: bounds are a pair."""
    if not isinstance(noise, Mapping):
        return noise
    if set(noise) != {"low", "high"}:
        raise FormatError(f"noise: bounds are called low and high; got {dict(noise)!r:.80}")
    return noise["low"], noise["high"]


def read_kind(written: Any, n_arms: int) -> NoiseKind:
    """The kind that a file has."""
    if isinstance(written, tuple):
        raise InvalidTypeError(f"saved noise is {written!r:.80}, a tuple")
    return noise_kind(as_given(written), n_arms)
