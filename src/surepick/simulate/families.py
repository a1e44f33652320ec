"""More families of instances: many arms, separate candidates, layouts, near ties, a real table.

Where a family draws its truth at random, ``gap`` scales it: the runner-up is worse than the best
by ``gap``, in units of the reward. Everything is determined by the parameters and ``rng``.
"""

from __future__ import annotations

import csv
import itertools
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

import numpy as np

from surepick.arrays.types import FloatArray
from surepick.arrays.validate import positive, whole
from surepick.errors import InvalidInputError
from surepick.problem import Problem
from surepick.simulate.instance import Instance

_AT_ONCE = 1 << 14  # arms drawn at a time


def gaussian(d: int, k: int, gap: float = 0.3, rng: Any = 0, noise: float = 1.0) -> Instance:
    """``k`` arms and theta with independent normal entries; arms of length about 1.

    Parameters
    ----------
    d
        Number of features.
    k
        Number of arms.
    gap
        How far the best arm is ahead of the next.
    rng
        Seed, or generator.
    noise
        Scale of the noise of one measurement.

    Examples
    --------
    >>> gaussian(5, 30).problem.n_arms
    30
    """
    rng = np.random.default_rng(rng)
    whole(d, "d", least=1)
    arms = rng.normal(size=(whole(k, "k", least=2), d)) / np.sqrt(d)
    theta = _with_gap(arms, rng.normal(size=d), gap)
    return Instance(Problem(arms, noise=noise), theta, name=f"gaussian(d={d}, k={k})")


def catalogue(
    d: int = 64,
    k: int = 100_000,
    scale: float = 1.0,
    rng: Any = 0,
    noise: float = 1.0,
    backend: str | None = None,
) -> Instance:
    """``k`` arms uniform on the unit sphere; theta is one of them, times ``scale``.

    That arm is the best. In many dimensions all others are well behind it, however many there
    are: the number of pulls hardly grows with ``k``.

    Parameters
    ----------
    d
        Number of features.
    k
        Number of arms.
    scale
        Mean reward of the best arm.
    rng
        Seed, or generator.
    noise
        Scale of the noise of one measurement.
    backend
        Where the arms are worked on, as for :class:`surepick.Problem`.

    Examples
    --------
    >>> instance = catalogue(8, 500)
    >>> round(float(instance.values[instance.best]), 12)
    1.0
    """
    rng = np.random.default_rng(rng)
    arms = np.empty((whole(k, "k", least=2), whole(d, "d", least=1)))
    for start in range(0, k, _AT_ONCE):
        block = arms[start : start + _AT_ONCE]
        rng.standard_normal(out=block)
        block /= np.linalg.norm(block, axis=1, keepdims=True)
    theta = positive(scale, "scale") * arms[rng.integers(k)]
    problem = Problem(arms, noise=noise, backend=backend)
    return Instance(problem, theta, name=f"catalogue(d={d}, k={k})")


def nearly_tied(
    k: int = 2000, d: int = 8, gap: float = 0.1, rng: Any = 0, noise: float = 1.0
) -> Instance:
    """Two arms that differ in one direction and are nearly as good, among ``k`` that are not.

    theta = e_1; the two are e_1 + e_2/2 and (1 − gap) e_1 − e_2/2; the others lie on a sphere of
    radius 0.6, so none of them is better than 0.6.

    Parameters
    ----------
    k
        Number of arms.
    d
        Number of features.
    gap
        How far the best arm is ahead of the next.
    rng
        Seed, or generator.
    noise
        Scale of the noise of one measurement.

    Examples
    --------
    >>> instance = nearly_tied(50)
    >>> [round(float(g), 3) for g in instance.gaps[:2]]
    [0.0, 0.1]
    """
    rng = np.random.default_rng(rng)
    if not positive(gap, "gap") < 0.4:
        raise InvalidInputError(f"gap must be below 0.4, so that the two are the best; got {gap}")
    others = rng.normal(size=(whole(k, "k", least=3) - 2, whole(d, "d", least=2)))
    others *= 0.6 / np.linalg.norm(others, axis=1, keepdims=True)
    pair = np.zeros((2, d))
    pair[:, 0] = 1.0, 1.0 - gap
    pair[:, 1] = 0.5, -0.5
    theta = np.zeros(d)
    theta[0] = 1.0
    name = f"nearly_tied(k={k}, d={d}, gap={gap:g})"
    return Instance(Problem(np.vstack([pair, others]), noise=noise), theta, name=name)


def probes(
    d: int = 8, k: int = 40, parts: int = 3, gap: float = 0.3, rng: Any = 0, noise: float = 1.0
) -> Instance:
    """Single parts can be measured, ``k`` combinations of ``parts`` of them are the candidates.

    The arms are the ``d`` parts and all of them together; a candidate is a sum of parts.

    Parameters
    ----------
    d
        Number of parts.
    k
        Number of candidates.
    parts
        Parts of a candidate.
    gap
        How far the best candidate is ahead of the next.
    rng
        Seed, or generator.
    noise
        Scale of the noise of one measurement.

    Examples
    --------
    >>> problem = probes().problem
    >>> problem.n_arms, len(problem.candidates), problem.transductive
    (9, 40, True)
    """
    rng = np.random.default_rng(rng)
    if whole(parts, "parts", least=1) > whole(d, "d", least=2):
        raise InvalidInputError(f"parts must be at most d = {d}; got {parts}")
    combinations = np.array(list(itertools.combinations(range(d), parts)))
    if not 2 <= whole(k, "k") <= len(combinations):
        raise InvalidInputError(
            f"k must lie between 2 and {len(combinations)}, the combinations there are; got {k}"
        )
    chosen = combinations[np.sort(rng.choice(len(combinations), size=k, replace=False))]
    candidates = np.zeros((k, d))
    np.put_along_axis(candidates, chosen, 1.0, axis=1)
    arms = np.vstack([np.eye(d), np.full(d, d**-0.5)])
    theta = _with_gap(candidates, rng.normal(size=d), gap)
    name = f"probes(d={d}, k={k}, parts={parts})"
    return Instance(Problem(arms, candidates, noise=noise), theta, name=name)


def factorial(
    levels: Sequence[int] | str = "4x3x2x2",
    interactions: int = 2,
    gap: float = 0.3,
    rng: Any = 0,
    noise: float = 1.0,
) -> Instance:
    """All layouts of several factors; main effects, and few of the two-way interactions matter.

    The features are an intercept, the main effects and all two-way interactions, in effects
    coding. Every factor has main effects (otherwise layouts would tie); of the pairs of factors,
    ``interactions`` drawn at random interact.

    Parameters
    ----------
    levels
        Levels of each factor: ``"4x3x2x2"`` or ``[4, 3, 2, 2]``.
    interactions
        Pairs of factors that interact.
    gap
        How far the best arm is ahead of the next.
    rng
        Seed, or generator.
    noise
        Scale of the noise of one measurement.

    Examples
    --------
    >>> problem = factorial("3x2x2").problem
    >>> problem.n_arms, problem.n_features
    (12, 10)
    """
    sizes = _sizes(levels)
    rng = np.random.default_rng(rng)
    pairs = list(itertools.combinations(range(len(sizes)), 2))
    if not 0 <= whole(interactions, "interactions") <= len(pairs):
        raise InvalidInputError(
            f"interactions must lie between 0 and {len(pairs)}, the pairs of factors; "
            f"got {interactions}"
        )
    layouts = np.array(list(itertools.product(*(range(n) for n in sizes))))
    coded = [_effects(n)[layouts[:, i]] for i, n in enumerate(sizes)]
    active = set(rng.choice(len(pairs), size=interactions, replace=False).tolist())
    columns, theta = [np.ones((len(layouts), 1))], [rng.normal(size=1)]
    for block in coded:
        columns.append(block)
        theta.append(rng.normal(size=block.shape[1]))
    for number, (i, j) in enumerate(pairs):
        block = (coded[i][:, :, None] * coded[j][:, None, :]).reshape(len(layouts), -1)
        columns.append(block)
        effect = 0.5 * rng.normal(size=block.shape[1])
        theta.append(effect if number in active else np.zeros(block.shape[1]))
    arms = np.hstack(columns)
    labels = ["-".join(str(level + 1) for level in layout) for layout in layouts]
    return Instance(
        Problem(arms, noise=noise, labels=labels),
        _with_gap(arms, np.concatenate(theta), gap),
        name=f"factorial({'x'.join(map(str, sizes))}, interactions={interactions})",
    )


def wines(noise: float = 1.0) -> Instance:
    """178 real wines; the strongest is sought, alcohol being linear in twelve measurements.

    The table is in ``data/wine.csv``, which says where it comes from and how theta was fitted.

    Parameters
    ----------
    noise
        Scale of the noise of one measurement.

    Examples
    --------
    >>> wines().problem.n_arms
    178
    """
    text = (files("surepick.simulate") / "data" / "wine.csv").read_text(encoding="utf-8")
    rows = list(csv.reader(line for line in text.splitlines() if not line.startswith("#")))
    numbers = np.array([row[1:] for row in rows[1:]], dtype=float)
    problem = Problem(numbers[1:], noise=noise, labels=[row[0] for row in rows[2:]])
    return Instance(problem, numbers[0], name="wines")


def _with_gap(candidates: FloatArray, theta: FloatArray, gap: float) -> FloatArray:
    """``theta`` scaled so that the best candidate leads by ``gap``."""
    second, first = np.partition(candidates @ theta, -2)[-2:]
    if not first - second > 1e-12 * abs(first):
        raise InvalidInputError("the two best candidates tie; another rng draws another truth")
    return theta * (positive(gap, "gap") / (first - second))


def _sizes(levels: Sequence[int] | str) -> list[int]:
    pieces = levels.split("x") if isinstance(levels, str) else list(levels)
    try:
        sizes = [whole(int(n), "levels", least=2) for n in pieces]
    except (TypeError, ValueError):
        sizes = []
    if len(sizes) < 2:
        raise InvalidInputError(
            f"levels must give at least two factors of at least two levels, as in 4x3x2; "
            f"got {levels!r}"
        )
    return sizes


def _effects(n: int) -> FloatArray:
    """Effects coding of ``n`` levels, ``(n, n − 1)``: the last level is minus all others."""
    return np.vstack([np.eye(n - 1), -np.ones(n - 1)])
