"""What every run of the tests tries of many combinations; ``make validate`` tries the rest.

``@pytest.mark.some(n)`` above a test says that every run tries ``n`` of its cases.
"""

import itertools
from collections import Counter, defaultdict
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


def mark_the_rest(items: Sequence[Any]) -> None:
    """Of each test marked ``some(n)`` all cases but ``n`` become validation."""
    cases = defaultdict(list)
    for item in items:
        if item.get_closest_marker("some") and not item.get_closest_marker("validation"):
            cases[item.nodeid.split("[")[0]].append(item)
    for of_one_test in cases.values():
        (n,) = of_one_test[0].get_closest_marker("some").args
        tried = _most_varied(n, of_one_test)
        for item in of_one_test:
            if item not in tried:
                item.add_marker(pytest.mark.validation)


def _most_varied(n: int, items: list[Any]) -> list[Any]:
    """Case after case the one whose values of parameters were chosen least often before it.

    Where that leaves a choice, they are spread over the list: neighbours are alike.
    """
    chosen: list[Any] = []
    often: Counter[Any] = Counter()
    rest = [item for _, item in sorted(enumerate(items), key=lambda one: one[0] * 0.618034 % 1)]
    while rest and len(chosen) < n:
        chosen.append(min(rest, key=lambda item: sum(map(often.__getitem__, _values(item)))))
        rest.remove(chosen[-1])
        often.update(_values(chosen[-1]))
    return chosen


def _values(item: Any) -> Any:
    return item.callspec.indices.items()
