"""Whole numbers that look random: the same on every machine, and in every release of a library."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from surepick.arrays.types import IntArray


def scrambled(values: NDArray[Any]) -> NDArray[np.uint64]:
    """Scrambled values (the finishing steps of the splitmix64 generator); no two become the same.

    Examples
    --------
    >>> len(set(scrambled(np.arange(1000)).tolist()))
    1000
    """
    z = np.asarray(values).astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def shuffled(values: IntArray, seed: int) -> IntArray:
    """These values in an order that depends on the seed alone.

    Examples
    --------
    >>> sorted(shuffled(np.arange(5), seed=3).tolist())
    [0, 1, 2, 3, 4]
    """
    start = scrambled(scrambled(np.array([seed])))
    keys = scrambled(start + np.arange(len(values), dtype=np.uint64))
    return values[np.argsort(keys, kind="stable")]
