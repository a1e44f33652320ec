"""What every run of the tests tries of many combinations; ``make validate`` tries the rest."""

import itertools
from collections.abc import Sequence
from typing import Any

import pytest


def each_value(*axes: Sequence[Any]) -> list[Any]:
    """All combinations of the values of some parameters, for ``pytest.mark.parametrize``.

    As many as the longest axis has values are tried in every run, and among these every value of
    every axis; two axes that are as long as each other do not go through their values in step.
    """
    sizes = [len(axis) for axis in axes]
    always = {
        tuple((i + i // size * j) % size for j, size in enumerate(sizes)) for i in range(max(sizes))
    }
    return [
        pytest.param(
            *(axis[i] for axis, i in zip(axes, place)),
            marks=() if place in always else pytest.mark.validation,
        )
        for place in itertools.product(*map(range, sizes))
    ]


def first(n: int, values: Sequence[Any]) -> list[Any]:
    """Some values, of which the first ``n`` are tried in every run: repetitions, such as seeds."""
    rest = [pytest.param(value, marks=pytest.mark.validation) for value in values[n:]]
    return [*values[:n], *rest]


def first_rows(n: int, rows: Sequence[Sequence[Any]]) -> list[Any]:
    """Rows with values of several parameters, of which the first ``n`` are tried in every run."""
    return [*rows[:n], *(pytest.param(*row, marks=pytest.mark.validation) for row in rows[n:])]
