"""Truths for a forecast: drawn at random, with the lead that was asked about.

Nobody knows the truth before measuring. An effect vector comes from a normal distribution in which
all directions of the (whitened) features are alike, however they are coded, and is scaled so that
the best candidate leads the second best by exactly the gap.

Where rewards have bounds, so have their means. Of many draws the first is taken that uses half of
the room, else the first that uses some more: near a bound rewards hardly vary, so that options
there would tell more about effects than real ones do.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from surepick.arrays.types import FloatArray
from surepick.errors import InvalidInputError
from surepick.problem import Problem
from surepick.simulate.instance import Instance

_MOST_DRAWS, _FEWEST_DRAWS = 4000, 200  # of truths, where options are few, where they are many
_MEANS = 10**7  # worked out at most
_AT_ONCE = 200
_SHARES = (0.5, 0.75, 0.9, 0.99)  # of the room that means may use


def draw(problem: Problem, gap: float, rng: np.random.Generator) -> Instance:
    """The problem with random effects, the best candidate leading by exactly ``gap``.

    Examples
    --------
    >>> instance = draw(Problem(np.eye(3)), 0.5, np.random.default_rng(0))
    >>> round(float(np.sort(instance.gaps)[1]), 9)
    0.5
    """
    while True:
        means = problem.features @ rng.standard_normal(problem.rank)
        theta = np.linalg.lstsq(problem.arms, means, rcond=None)[0]
        values = np.sort(problem.candidates[problem.distinct] @ theta)
        lead = float(values[-1] - values[-2])
        if lead > 1e-9 * float(np.ptp(values)):  # nearly always; ties are drawn again
            return Instance(problem, problem.sign * theta * (gap / lead), name=f"gap {gap:g}")


class Room(NamedTuple):
    """Where mean rewards can be."""

    low: float
    high: float
    second: float | None = None  #: where the second best is; None: wherever it fits

    def turned(self) -> Room:
        """Of the same means with the other sign."""
        return Room(-self.high, -self.low, None if self.second is None else -self.second)


def draw_within(problem: Problem, gap: float, room: Room, rng: np.random.Generator) -> Instance:
    """A truth drawn at random with all mean rewards within bounds.

    Examples
    --------
    >>> rates = draw_within(
    ...     Problem.unstructured(4, noise="yes-no"),
    ...     0.01,
    ...     Room(0, 1, second=0.02),
    ...     np.random.default_rng(0),
    ... ).values
    >>> np.sort(rates)[-2:].round(3).tolist(), bool(rates.min() > 0)
    ([0.02, 0.03], True)
    """
    level, features = level_of(problem), problem.features[problem.distinct]
    room = room.turned() if problem.minimise else room  # the truth is turned back in the end
    draws = min(max(_MEANS // len(features), _FEWEST_DRAWS), _MOST_DRAWS)
    effects = np.concatenate(
        [rng.standard_normal((_AT_ONCE, problem.rank)) for _ in range(draws // _AT_ONCE)]
    )
    below = np.concatenate(
        [_below(features @ some.T, gap) for some in np.split(effects, len(effects) // _AT_ONCE)]
    )
    for share in _SHARES:
        used = below if room.second is not None else below + gap
        there = room.high if room.second is None else room.second
        fitting = np.flatnonzero(used <= share * (there - room.low))
        if len(fitting):
            first = int(fitting[0])
            means = features @ effects[first]
            second, best = np.partition(means, -2)[-2:]
            place = room.second
            if place is None:  # best and worst about the middle
                place = 0.5 * (room.low + room.high + float(below[first]) - gap)
            away = (means - second) * (gap / (best - second))
            theta = np.linalg.lstsq(problem.arms[problem.distinct], away, rcond=None)[0]
            truth = problem.sign * (theta + place * level)
            return Instance(problem, truth, name=f"gap {gap:g}")
    ends = sorted(problem.sign * end for end in (room.low, room.high))
    raise InvalidInputError(
        f"with a lead of {gap:g} the features would put other options outside the bounds "
        f"({ends[0]:g} to {ends[1]:g}): ask about a smaller lead, or leave features out"
    )


def _below(means: FloatArray, gap: float) -> FloatArray:
    """For each column, how far the worst is below the second best when the best leads by ``gap``.

    Infinite where the best two tie.
    """
    second, best = np.partition(means, -2, axis=0)[-2:]
    lead = best - second
    lead[lead <= 1e-9 * (best - means.min(axis=0))] = 1e-300
    return (second - means.min(axis=0)) * (gap / lead)


def level_of(problem: Problem) -> FloatArray:
    """The effects that give every option the mean 1; refused where there are none."""
    level: Any = np.linalg.lstsq(problem.arms, np.ones(problem.n_arms), rcond=None)[0]
    if problem.transductive or np.abs(problem.arms @ level - 1.0).max() > 1e-6:
        raise InvalidInputError(
            "with bounded rewards a forecast needs features with an intercept (tables have one), "
            "and no separate candidates"
        )
    return level


def shrunk(instance: Instance, share: float, around: float | None) -> Instance:
    """All effects times ``share``; where rewards have bounds, around this mean."""
    theta = share * instance.theta
    if around is not None:
        theta = theta + (1.0 - share) * around * level_of(instance.problem)
    return Instance(instance.problem, theta, name=instance.name)
