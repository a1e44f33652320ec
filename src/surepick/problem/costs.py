"""What measuring each arm costs, in any unit: money, minutes, grams."""

from __future__ import annotations

from typing import Any

import numpy as np

from surepick.arrays.types import FloatArray
from surepick.errors import InvalidInputError, InvalidTypeError


def as_costs(given: Any, n_arms: int) -> FloatArray | None:
    """One positive number per arm, checked; None where all cost the same."""
    if given is None:
        return None
    try:
        costs = np.array(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidTypeError(f"costs must be one number per arm; got {given!r:.80}") from None
    if costs.shape != (n_arms,):
        raise InvalidInputError(
            f"costs must be one number for each of the {n_arms} arms; got an array of shape "
            f"{costs.shape}"
        )
    wrong = np.flatnonzero(~(np.isfinite(costs) & (costs > 0)))
    if len(wrong):
        raise InvalidInputError(
            f"costs must be above 0 and finite; that of arm {wrong[0]} is {costs[wrong[0]]:g}"
        )
    costs.setflags(write=False)
    return costs
