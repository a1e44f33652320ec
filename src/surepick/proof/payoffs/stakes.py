"""A few stakes in place of a normal distribution of them, for bets without a closed form.

The stakes of :mod:`surepick.proof.payoffs.normal` are normal, cut at 0. Its quantiles in the middle
of equal shares stand for it: whatever the stakes are, an average of bets is a bet.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from surepick.arrays.backend import HOST, Backend
from surepick.arrays.types import FloatArray

# Prior precisions of the stakes, as multiples of what the first block would tell about the same
# difference if it made one pull per dimension; and the capital that each account starts with. One
# account alone is best when the run takes 3 to 30 times as many pulls; two cover easy and hard.
PRECISIONS = (10.0, 150.0)
ACCOUNTS = (1 / 3, 2 / 3)
# The precisions where reports of many visitors are dealt: leads of sites are small beside how much
# single visitors differ, and a tenth of a report says little about them.
OF_REPORTS = (150.0, 1500.0)
STAKES = 9
_SHARES = (np.arange(STAKES) + 0.5) / STAKES
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
    z, above, deviation = (column[..., None] for column in _cut(HOST, *parts))
    return _stakes(HOST, z, above, deviation, _SHARES)


def array_stakes(backend: Backend, score: Any, precision: Any) -> list[Any]:
    """The stakes of :func:`normal_stakes` for arrays of any library: an array for each stake."""
    cut = _cut(backend, score, precision)
    return [_stakes(backend, *cut, share) for share in _SHARES.tolist()]


def _cut(backend: Backend, score: Any, precision: Any) -> tuple[Any, Any, Any]:
    """Means in standard deviations, what of each normal distribution is above 0, deviations."""
    xp = backend.xp
    deviation = 1.0 / xp.sqrt(precision)
    z = xp.clip(score * deviation, _LEAST, None)
    return z, backend.special("ndtr")(z), deviation


def _stakes(backend: Backend, z: Any, above: Any, deviation: Any, share: Any) -> Any:
    """The quantiles that such a share of what is above 0 lies above."""
    return backend.xp.clip(z - backend.special("ndtri")(above * share), 0.0, None) * deviation
