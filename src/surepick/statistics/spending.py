"""How an error probability is divided among options of which more may come, without end.

Nobody knows beforehand how many there will be. So every option has a part of its own when it comes,
and the parts of all that may ever come add up to 1 at most.
"""

from __future__ import annotations

import numpy as np

from surepick.arrays.types import FloatArray


def parts_of_all(first: int, n: int, among: int | None = None) -> FloatArray:
    """The part of each of n options, of which so many were there at first.

    Those share first/(first + 1), or ``among`` so many of them do, if not all need a part. The k-th
    of all, which came later, has that of 1/(k(k − 1)), which sums up to 1/first over all k > first:
    all that may ever come have 1/(first + 1).

    Examples
    --------
    >>> parts_of_all(2, 4).round(3).tolist()
    [0.333, 0.333, 0.111, 0.056]
    >>> bool(parts_of_all(2, 100_000).sum() < 1.0)
    True
    """
    later = np.arange(first, n, dtype=np.float64)  # so many came before it
    whole = first / (first + 1.0)
    own = np.full(first, whole / (first if among is None else among))
    return np.append(own, whole / (later * (later + 1.0)))
