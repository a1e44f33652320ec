"""Normal scores: numbers replaced by what normal ones of the same ranks would be, about."""

from __future__ import annotations

import numpy as np

from surepick.arrays.backend import HOST
from surepick.arrays.types import FloatArray


def normal_scores(numbers: FloatArray) -> FloatArray:
    """Normal quantiles of ranks; numbers that are alike share theirs.

    Examples
    --------
    >>> normal_scores(np.array([3.0, 900.0, 3.0])).round(2).tolist()
    [-0.43, 0.97, -0.43]
    """
    order = np.sort(numbers)
    below, upto = (np.searchsorted(order, numbers, side=side) for side in ("left", "right"))
    return HOST.special("ndtri")((below + upto) / (2.0 * len(numbers)))
