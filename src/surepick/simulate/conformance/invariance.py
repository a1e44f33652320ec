"""What must not matter: basis of features, order of arms, unit of rewards, which way is better."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np

from surepick.ahead.noise import Gaussian
from surepick.problem import Problem
from surepick.run import verify
from surepick.simulate.conformance.tools import (
    MOST_PULLS,
    Make,
    Tape,
    configure,
    demand,
    generic,
    play,
    played,
)
from surepick.simulate.instance import Instance
from surepick.simulate.trials import trial

_ORDER = np.array([3, 0, 4, 2, 1])  # the arm of the generic instance in each place
_SCALE = 8.0  # a power of two: multiplying by it is exact


def check_rotation(make: Make, *, seeds: int = 3) -> dict[str, Any]:
    """Rotating the features (and theta) changes neither pulls nor answer."""
    rng = np.random.default_rng(11)
    rotation = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    original = generic(noise=0.5)
    problem = Problem(original.problem.arms @ rotation, noise=original.problem.noise)
    rotated = Instance(problem, original.theta @ rotation)
    for seed in range(seeds):
        plain, expected = played(make, original, seed)
        turned = configure(make, rotated).start(rotated.problem, seed=seed)
        asks = play(turned, Tape(original, seed))
        where = next((i for i, pair in enumerate(zip(expected, asks)) if pair[0] != pair[1]), None)
        demand(
            asks == expected,
            f"seed {seed}: rotated features change batch "
            f"{min(len(asks), len(expected)) if where is None else where} of {len(expected)}",
        )
        demand(turned.answer.arm == plain.answer.arm, "rotated features change the answer")
    return {}


def check_permutation(
    make: Make, *, seeds: int = 3, exact: bool = True, trials: int = 100
) -> dict[str, Any]:
    """Listing the arms in another order changes nothing but their numbers.

    ``exact=False`` is for algorithms that draw arms at random, whose first choices are ties
    broken by index, or that solve for a design up to a tolerance: then the number of pulls (up
    to 2 %) and how often the answer is right must agree in distribution, over ``trials``.
    """
    original = generic(noise=0.5)
    problem = Problem(original.problem.arms[_ORDER], noise=original.problem.noise)
    shuffled = Instance(problem, original.theta)
    if not exact:
        return _same_distribution(make, original, shuffled, trials)
    for seed in range(seeds):
        plain, _ = played(make, original, seed)
        other = configure(make, shuffled).start(shuffled.problem, seed=seed)
        play(other, Tape(original, seed, order=_ORDER))
        demand(
            (other.pulls == plain.pulls[_ORDER]).all(),
            f"seed {seed}: in another order the arms get {other.pulls.tolist()} pulls instead of "
            f"{plain.pulls[_ORDER].tolist()}",
        )
        demand(
            _ORDER[other.answer.arm] == plain.answer.arm,
            f"seed {seed}: in another order arm {_ORDER[other.answer.arm]} is the answer instead "
            f"of {plain.answer.arm}",
        )
    return {}


def _same_distribution(make: Make, one: Instance, two: Instance, trials: int) -> dict[str, Any]:
    """Mean pulls equal up to 2 % and four standard errors, and equally often right."""
    pulls, right = [], []
    for seed, instance in enumerate((one, two)):
        algorithm = configure(make, instance, max_samples=MOST_PULLS)
        rows = [
            trial(algorithm, instance, np.random.SeedSequence(seed, spawn_key=(i,)), Gaussian())
            for i in range(trials)
        ]
        pulls.append(np.array([float(row["samples"]) for row in rows]))
        right.append(sum(row["correct"] for row in rows))
    difference = pulls[0].mean() - pulls[1].mean()
    error = math.sqrt((pulls[0].var() + pulls[1].var()) / trials)
    demand(
        abs(difference) <= 4 * error + 0.02 * pulls[0].mean(),
        f"in another order the arms take {pulls[1].mean():.1f} pulls instead of "
        f"{pulls[0].mean():.1f} (standard error {error:.1f})",
    )
    spread = math.sqrt(max(sum(right) * (2 * trials - sum(right)) / (2 * trials), 1.0))
    demand(
        abs(right[0] - right[1]) <= 4 * spread,
        f"in another order {right[1]} of {trials} are right instead of {right[0]}",
    )
    return {"mean_pulls": [float(p.mean()) for p in pulls], "standard_error": error}


def check_direction(make: Make, *, seeds: int = 1) -> dict[str, Any]:
    """Where smaller is better, all is as with the rewards turned: what is asked, and the answer."""
    original = generic(noise=0.5)
    turned = Instance(original.problem.with_direction(True), -original.theta)
    for seed in range(seeds):
        for epsilon in (0.0, 0.25):
            plain = configure(make, original, epsilon=epsilon).start(original.problem, seed=seed)
            other = configure(make, turned, epsilon=epsilon).start(turned.problem, seed=seed)
            expected = play(plain, Tape(original, seed))
            asks = play(other, Tape(original, seed, scale=-1.0))
            demand(
                asks == expected,
                f"seed {seed}, epsilon {epsilon:g}: where smaller is better other pulls are asked "
                f"for ({other.samples} instead of {plain.samples})",
            )
            demand(
                other.answer.arm == plain.answer.arm,
                "where smaller is better the answer is another one",
            )
            verify(other.answer.certificate())
    return {}


def check_scaling(make: Make, *, seeds: int = 3) -> dict[str, Any]:
    """Rewards, noise and everything else in units of the reward, all eightfold: nothing changes."""
    original = generic(noise=0.5)
    scaled = Instance(
        Problem(original.problem.arms, noise=_SCALE * original.problem.noise),
        _SCALE * original.theta,
    )
    for seed in range(seeds):
        for epsilon in (0.0, 0.25):
            large = configure(make, scaled, epsilon=_SCALE * epsilon)
            bound = getattr(large, "norm_bound", None)  # on the length of theta: in that unit too
            if bound is not None:
                large = dataclasses.replace(large, **{"norm_bound": _SCALE * bound})
            plain, expected = played(make, original, seed, epsilon)
            other = large.start(scaled.problem, seed=seed)
            asks = play(other, Tape(original, seed, scale=_SCALE))
            demand(
                asks == expected,
                f"seed {seed}, epsilon {epsilon:g}: rewards and noise in another unit change what "
                f"is asked ({other.samples} pulls instead of {plain.samples})",
            )
            demand(other.answer.arm == plain.answer.arm, "another unit changes the answer")
    return {}
