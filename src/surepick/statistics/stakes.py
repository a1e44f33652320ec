"""A few stakes in place of a normal distribution of them, for bets without a closed form.

The stakes of :mod:`surepick.statistics.payoffs` are normal, cut at 0. Its quantiles in the middle
of equal shares stand for it: whatever the stakes are, an average of bets is a bet.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from surepick.arrays.backend import HOST, Backend
from surepick.arrays.types import FloatArray

STAKES = 9
_LEAST = -5.0  # who expects to lose by more than this many standard errors bets as at this one


def normal_stakes(score: ArrayLike, precision: ArrayLike) -> FloatArray:
    """Stakes for N(score/precision, 1/precision) cut at 0, from large to small, along a new axis.

    Examples
    --------
    >>> normal_stakes(8.0, 4.0).round(2)[[0, 4, 8]].tolist()
    [2.8, 2.0, 1.2]
    >>> bool((normal_stakes(-100.0, 1.0) > 0).all())
    True
    """
    parts = (np.asarray(part, dtype=float) for part in (score, precision))
    return np.stack(array_stakes(HOST, *parts), axis=-1)


def array_stakes(backend: Backend, score: Any, precision: Any) -> list[Any]:
    """The same for arrays of any library: an array for each stake."""
    xp, ndtr, ndtri = backend.xp, backend.special("ndtr"), backend.special("ndtri")
    deviation = 1.0 / xp.sqrt(precision)
    z = xp.clip(score * deviation, _LEAST, None)
    above = ndtr(z)  # of the normal distribution, what is not cut off
    shares = (np.arange(STAKES) + 0.5) / STAKES
    return [xp.clip(z - ndtri(above * share), 0.0, None) * deviation for share in shares.tolist()]
