"""What a check says, and what the checks share."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from surepick.arrays.types import FloatArray, IntArray
from surepick.arrays.validate import positive
from surepick.problem import Problem
from surepick.run.diagnostics.noise import NoiseEstimate


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
    top = float(logs.max())
    return top + math.log(float(np.exp(logs - top).mean()))
