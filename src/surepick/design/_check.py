"""Checks of what callers hand in, with errors that name the argument and the place."""

from __future__ import annotations

from typing import Any

import numpy as np

from surepick.arrays.types import FloatArray
from surepick.errors import InvalidInputError


def as_weights(values: Any, name: str, size: int | None = None) -> FloatArray:
    """Non-negative weights, scaled to sum one, or an error that says what is wrong."""
    try:
        weights = np.array(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"{name} must be a list of numbers: {error}") from None
    if weights.ndim != 1 or weights.size == 0 or (size is not None and weights.size != size):
        expected = "a non-empty list of numbers" if size is None else f"{size} numbers, one per arm"
        raise InvalidInputError(f"{name} must be {expected}; got shape {weights.shape}")
    bad = np.flatnonzero(~np.isfinite(weights) | (weights < 0))
    if bad.size:
        raise InvalidInputError(
            f"{name} must be finite and not negative; entry {bad[0]} is {weights[bad[0]]}"
        )
    total = float(weights.sum())
    if not 0 < total < np.inf:
        raise InvalidInputError(f"{name} must have a positive, finite sum; got {total}")
    return weights / total
