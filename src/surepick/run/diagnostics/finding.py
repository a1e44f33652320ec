"""What a check says, and what the checks share."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from surepick.arrays.types import FloatArray, IntArray
from surepick.arrays.validate import positive
from surepick.errors import InvalidInputError
from surepick.problem import Problem
from surepick.statistics.gamma import upper_quantile


@dataclass(frozen=True)
class Finding:
    """What a check has to say."""

    alarm: bool
    log_evidence: float  #: natural logarithm; an alarm is log(1/level) or more
    level: float  #: probability of ever raising a false alarm, at most
    message: str  #: for the user
    arms: tuple[int, ...] = ()  #: arms that do not fit, worst first
    blind: bool = False  #: the pulls so far could not show a violation, however large
    #: size of a violation (per arm, root mean square) that would have raised the alarm by now
    noticeable: float = math.inf
    unclear: bool = False  #: a violation that matters would not have been noticed yet
    harmless: bool = False  #: something was seen, but no guarantee rests on the contrary

    def __bool__(self) -> bool:
        return self.alarm


def noise_scale(
    problem: Problem, noise: float | NoiseEstimate | None, arms: IntArray
) -> tuple[FloatArray, str]:
    """The noise scale to use for each of these arms, and what to add to a message."""
    remark = ""
    if noise is None:
        scale = problem.noise_kind.units(arms)
    elif isinstance(noise, NoiseEstimate):
        scale = noise.high if noise.of_arms is None else noise.of_arms[arms]
        remark = " (The noise scale is an estimate, so this check is approximate.)"
    else:
        scale = positive(noise, "noise")
    return np.broadcast_to(np.asarray(scale, dtype=float), len(arms)), remark


def typical(scales: FloatArray) -> float:
    """One number for all of them."""
    return float(scales[0] if (scales == scales[0]).all() else np.sqrt((scales**2).mean()))


def log_mean(logs: FloatArray) -> float:
    """log of the mean of exp(logs)."""
    return float(np.logaddexp.reduce(logs)) - math.log(len(logs))


_AS_MANY = 3.0  # measurements of an arm that those of all arms count for


@dataclass(frozen=True, eq=False)
class ArmSummary:
    """Counts, sums and spread of the rewards of each arm; summaries of parts can be added."""

    counts: IntArray
    sums: FloatArray
    spread: FloatArray  #: Σ (reward − mean of its arm)²

    @classmethod
    def of(cls, n_arms: int, arms: Any, rewards: Any) -> ArmSummary:
        arms, rewards = np.asarray(arms, dtype=np.int64), np.asarray(rewards, dtype=float)
        counts = np.bincount(arms, minlength=n_arms)
        sums = np.bincount(arms, rewards, n_arms).astype(float)
        means = sums / np.maximum(counts, 1)
        spread = np.bincount(arms, (rewards - means[arms]) ** 2, n_arms).astype(float)
        return cls(counts, sums, spread)

    def __add__(self, other: ArmSummary) -> ArmSummary:
        both = self.counts + other.counts
        a, b = np.maximum(self.counts, 1), np.maximum(other.counts, 1)
        between = (self.sums / a - other.sums / b) ** 2
        between *= self.counts * other.counts / np.maximum(both, 1)
        return ArmSummary(both, self.sums + other.sums, self.spread + other.spread + between)


@dataclass(frozen=True)
class NoiseEstimate:
    """Noise scale from replicates: arms that were measured more than once."""

    scale: float  #: pooled standard deviation
    freedom: int  #: replicates it rests on (degrees of freedom)
    low: float  #: 95 % interval, for Gaussian noise
    high: float  #: the end to use: with too little noise, mere chance looks like a finding
    #: the same for each arm, where scales may differ
    of_arms: FloatArray | None = field(default=None, repr=False, compare=False)

    def __str__(self) -> str:
        return (
            f"noise {self.scale:.3g} (95 % interval {self.low:.3g} to {self.high:.3g}, from "
            f"{self.freedom} replicates); results that use it are approximate"
        )


def estimate_noise(summary: ArmSummary) -> NoiseEstimate:
    """Pooled standard deviation around the mean of each arm.

    No model is involved, so that misfit does not count as noise; drift does. The noise is taken to
    be the same for all arms.
    """
    freedom = int(np.maximum(summary.counts - 1, 0).sum())
    if freedom < 1:
        raise InvalidInputError(
            "noise cannot be estimated yet: no arm has been measured twice; give noise as a "
            "number, or measure some arms again first"
        )
    total = float(summary.spread.sum())
    if total <= 0:
        raise InvalidInputError(
            "noise cannot be estimated: all measurements of the same arm are equal; if "
            "measurements are exact, one of each arm is enough"
        )
    low, high = (math.sqrt(total / upper_quantile(freedom, p)) for p in (0.025, 0.975))
    return NoiseEstimate(math.sqrt(total / freedom), freedom, low, high)


def by_arm(noise: NoiseEstimate, summary: ArmSummary) -> NoiseEstimate:
    """The noise of each arm: arms that vary more than all together have their own scale.

    With few measurements an arm's own variance says little; that of all of them then counts as
    much as a few of its own.

    Examples
    --------
    >>> told = ArmSummary.of(2, [0] * 40 + [1] * 40, [0.0, 1.0] * 20 + [0.0, 9.0] * 20)
    >>> by_arm(estimate_noise(told), told).of_arms.round(1).tolist()
    [3.8, 4.5]
    """
    freedom = np.maximum(summary.counts - 1, 0)
    own = (_AS_MANY * noise.high**2 + summary.spread) / (_AS_MANY + freedom)
    return replace(noise, of_arms=np.maximum(np.sqrt(own), noise.high))
