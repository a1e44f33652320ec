"""Log capital, and the five operations after which it still is a bet's.

Purses are arrays (…, J) of logs, accounts last; totals are (…). A product over rounds is a sum of
logs, and needs no function.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from surepick.arrays.types import FloatArray


def begun(shape: tuple[int, ...], shares: FloatArray) -> FloatArray:
    """Purses that begin with these shares for each account, (*shape, J)."""
    return np.tile(np.log(shares), (*shape, 1))


def total(logs: Any, xp: Any = np) -> Any:
    """Log capital of all accounts together; of arrays of any library.

    Examples
    --------
    >>> np.exp(total(np.log([[0.25, 0.75], [1.0, 2.0]]))).round(9).tolist()
    [1.0, 3.0]
    """
    accounts = logs.shape[-1]
    if accounts == 1:
        return xp.asarray(logs[..., 0], copy=True)
    found = xp.logaddexp(logs[..., 0], logs[..., 1])
    for account in range(2, accounts):
        found = xp.logaddexp(found, logs[..., account])
    return found


def mixture(logs: FloatArray, weights: Any = 0.0, axis: int = -1) -> Any:
    """Log of a mixture; ``weights`` are logs, fixed beforehand, that add up to 1 at most."""
    return np.logaddexp.reduce(logs + weights, axis=axis)


def average(logs: FloatArray, axis: int = -1) -> Any:
    """Log of the average: a bet where all of the statements are true."""
    return np.logaddexp.reduce(logs, axis=axis) - math.log(logs.shape[axis])


def least(*logs: FloatArray) -> FloatArray:
    """The least of several: a bet where at least one of the statements is true."""
    return np.minimum.reduce(logs)


def least_of_others(logs: FloatArray) -> FloatArray:
    """Of each column the least against any other row, (K, K) to (K,)."""
    logs = logs.copy()
    np.fill_diagonal(logs, math.inf)
    return logs.min(axis=0)


def handed_down(logs: FloatArray, most: FloatArray) -> FloatArray:
    """Purses that keep no more than this much in all, (…, J) from totals (…).

    Examples
    --------
    >>> np.exp(handed_down(np.log([[1.0, 3.0], [1.0, 1.0]]), np.log([2.0, 8.0]))).round(9).tolist()
    [[0.5, 1.5], [1.0, 1.0]]
    """
    return logs + np.minimum(most - total(logs), 0.0)[..., None]


def longer(logs: FloatArray, count: int, axes: tuple[int, ...], begin: Any = 0.0) -> FloatArray:
    """With so many more along these axes, which begin with this."""
    shape = [n + count * (axis in axes) for axis, n in enumerate(logs.shape)]
    found = np.empty(shape, dtype=logs.dtype)
    found[...] = begin
    found[tuple(slice(n) for n in logs.shape)] = logs
    return found
