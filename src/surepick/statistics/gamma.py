"""The gamma function, and quantiles of chi-squared, without SciPy.

Every look at a study needs a few of these numbers, and SciPy takes a third of a second to load.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from surepick.arrays.types import FloatArray

_CLOSE = 1e-15
_STEPS = 200
_LOG_GAMMA = np.frompyfunc(lambda x: math.lgamma(x) if x else math.inf, 1, 1)


def log_gamma(x: Any) -> FloatArray:
    """The logarithm of the gamma function, of numbers above 0; infinite at 0.

    One by one, by Python's own: there are a few at a time.
    """
    return np.asarray(_LOG_GAMMA(np.asarray(x, dtype=np.float64)), dtype=np.float64)


@functools.lru_cache(maxsize=1024)
def upper_quantile(freedom: int, p: float) -> float:
    """The number that a chi-squared variable exceeds with probability p."""
    half = freedom / 2.0
    low, high = 0.0, max(1.0, half)
    while _upper(half, high) > p:
        low, high = high, 2.0 * high
    for _ in range(_STEPS):
        middle = 0.5 * (low + high)
        if not low < middle < high:
            break
        low, high = (middle, high) if _upper(half, middle) > p else (low, middle)
    return low + high


def _upper(a: float, x: float) -> float:
    """The upper regularised incomplete gamma function: a series where x is small, or a fraction."""
    if x <= 0:
        return 1.0
    scale = math.exp(a * math.log(x) - x - math.lgamma(a))
    if x < a + 1.0:
        term = total = 1.0 / a
        n = a
        while term > _CLOSE * total:
            n += 1.0
            term *= x / n
            total += term
        return 1.0 - scale * total
    b = x + 1.0 - a  # Lentz's way through the continued fraction
    c, d = 1e300, 1.0 / b
    found, n = d, 0
    while True:
        n += 1
        top = -n * (n - a)
        b += 2.0
        d, c = 1.0 / (top * d + b), b + top / c
        found *= d * c
        if abs(d * c - 1.0) < _CLOSE or n > 10_000:
            return scale * found
