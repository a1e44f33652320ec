"""Quantiles as measured: what an answer shows where the best one was asked for."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from surepick.algorithms.questions import percentile
from surepick.arrays.types import FloatArray
from surepick.proof.payoffs.quantiles import quantile


def quantiles_of(batches: Iterable[dict[str, Any]], p: float, n_arms: int) -> FloatArray:
    """The p-quantile of each arm's measurements; not a number where it has none.

    Examples
    --------
    >>> batch = {"arms": np.array([0, 0, 1]), "counts": np.ones(3), "sums": np.array([2.0, 5, 4])}
    >>> quantiles_of([batch], 0.5, 3).tolist()
    [2.0, 4.0, nan]
    """
    own: list[list[float]] = [[] for _ in range(n_arms)]
    for batch in batches:
        for arm, count, total in zip(batch["arms"], batch["counts"], batch["sums"]):
            own[int(arm)] += [float(total) / int(count)] * int(count)
    return np.array([quantile(np.sort(some), p) if some else math.nan for some in own])


def in_words(
    label: str, measured: dict[str, float], p: float, proven: bool = True, minimise: bool = False
) -> str:
    """The quantile of the answer, and of the option that comes next.

    Examples
    --------
    >>> in_words("tea", {"tea": 3.2, "milk": 2.5, "water": 1.0}, 0.95)
    'tea has the largest 95th percentile: 3.2 in its own measurements; next is milk with 2.5.'
    >>> in_words("tea", {"tea": 3.2, "milk": 4.5}, 0.5, proven=False, minimise=True)
    'tea seems to have the smallest median: 3.2 in its own measurements; next is milk with 4.5.'
    """
    if label not in measured:
        return ""
    has = "has" if proven else "seems to have"
    most, next_ = ("smallest", min) if minimise else ("largest", max)
    said = (
        f"{label} {has} the {most} {percentile(p)}: {measured[label]:.6g} in its own measurements"
    )
    others = {name: value for name, value in measured.items() if name != label}
    if others:
        second = next_(others, key=lambda name: others[name])
        said += f"; next is {second} with {others[second]:.6g}"
    return f"{said}."
