"""A problem with more options than it had, or with some of them only."""

from __future__ import annotations

from typing import Any

import numpy as np

from surepick.arrays.types import FloatArray, IntArray
from surepick.arrays.validate import as_numbers
from surepick.errors import InvalidInputError
from surepick.problem.pairs import of_rows, with_options
from surepick.problem.problem import Problem


def with_more(
    problem: Problem, rows: Any, labels: Any, scales: Any = None, costs: Any = None
) -> Problem:
    """The problem with these options behind its own.

    Parameters
    ----------
    rows
        Their features. What stands behind the features that the problem has are new ones, which
        are 0 for all options so far.
    labels
        What they are called.
    scales
        Where every option has a noise scale of its own: theirs.
    costs
        Where a measurement of each option costs something else: theirs.

    Examples
    --------
    >>> more = with_more(Problem([[1.0], [2.0]], labels=["a", "b"]), [[1.0, 1.0]], ["c"])
    >>> more.arms.tolist(), more.labels
    ([[1.0, 0.0], [2.0, 0.0], [1.0, 1.0]], ('a', 'b', 'c'))
    """
    if problem.pairing is not None:
        own = (tuple(problem.candidate_labels), np.asarray(problem.candidates), problem.costs)
        prices = _costs(problem, len(labels), costs)
        return Problem(**with_options(*own, list(labels), prices))
    new = np.atleast_2d(np.asarray(rows, dtype=np.float64))
    width = new.shape[1]
    old = np.zeros((problem.n_arms, max(width, problem.n_features)))
    old[:, : problem.n_features] = problem.arms
    if width < problem.n_features:
        raise InvalidInputError(
            f"options: {width} features were given, but the existing options have "
            f"{problem.n_features}; give all of them, in the same order"
        )
    prices = _costs(problem, len(new), costs)
    if prices is not None and problem.costs is not None:
        prices = np.append(problem.costs, prices)
    noise = _noise(problem, len(new), scales)
    return _like(problem, np.vstack([old, new]), noise, [*problem.labels, *labels], prices)


def _like(problem: Problem, rows: FloatArray, noise: Any, labels: Any, costs: Any) -> Problem:
    """Other options of which the same is known."""
    return Problem(
        rows,
        noise=noise,
        labels=labels,
        misfit=problem.misfit,
        costs=costs,
        minimise=problem.minimise,
        numbers={name: kind.given for name, kind in problem.numbers.items()} or None,
    )


def _costs(problem: Problem, count: int, costs: Any) -> FloatArray | None:
    if problem.costs is None:
        if costs is not None:
            raise InvalidInputError(
                "costs: all options of this study cost the same; leave costs out"
            )
        return None
    own = np.zeros(0) if costs is None else as_numbers(costs, "costs")
    if len(own) != count:
        raise InvalidInputError(
            "costs: options of this study have different costs; give the cost of measuring each "
            f"of the {count} new ones (a column of the table, or costs= of a problem)"
        )
    return own


def _noise(problem: Problem, count: int, scales: Any) -> Any:
    kind = problem.noise_kind
    if kind.scales is None:
        if scales is not None:
            raise InvalidInputError("noise: the study already has its noise; leave it out here")
        return kind.given
    own = np.zeros(0) if scales is None else as_numbers(scales, "noise")
    if len(own) != count:
        raise InvalidInputError(
            f"noise: every option of this study has a scale of its own; give one for each of the "
            f"{count} new options"
        )
    return np.append(kind.scales, own)


def some_of(problem: Problem, arms: IntArray) -> Problem:
    """The problem with some of its options only."""
    kind = problem.noise_kind
    noise: FloatArray | Any = kind.given if kind.scales is None else kind.scales[arms]
    labels = [problem.labels[arm] for arm in arms]
    costs = None if problem.costs is None else problem.costs[arms]
    return _like(problem, problem.arms[arms], noise, labels, costs)


def first_of(problem: Problem, arms: int, features: int) -> Problem:
    """The problem as it was with its first options and features only."""
    if problem.pairing is not None:
        named, rows = tuple(problem.candidate_labels)[:arms], np.asarray(problem.candidates)[:arms]
        costs = None if problem.costs is None else problem.costs[: arms * (arms - 1)]
        return Problem(**of_rows(named, rows, costs))
    found = some_of(problem, np.arange(arms))
    if features == found.n_features:
        return found
    rows = np.ascontiguousarray(found.arms[:, :features])
    return _like(found, rows, found.noise, found.labels, found.costs)
