"""Betting on the sign of a mean when the noise is symmetric, and nobody knows its scales.

Let D_1, D_2, … be contrasts of groups of pulls, each of which estimates the mean without bias and
has symmetric noise given the groups before it, of whatever scale and with whatever tails. A stake
λ ≥ 0, fixed before the groups are seen, pays

    Π_j (1 + tanh(λ D_j)).

Where D is symmetric around 0, tanh(λD) has mean 0 and the bet is fair; where the mean is below
0, it pays less, as tanh increases. Where D is normal with a mean of g standard deviations s, the
stake g/s² is the best that any bet on the sign of the noise can do. Averages over stakes are bets
as well.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from surepick.arrays.backend import HOST, Backend
from surepick.arrays.types import FloatArray

# Share of the capital that is not staked in a block: what is staked may be lost nearly whole where
# the scale was guessed far too small.
KEPT = 0.002
_LOG_2 = math.log(2.0)


def log_symmetric_payoff(stakes: ArrayLike, contrasts: FloatArray) -> FloatArray:
    """Log of what each stake pays on contrasts along the last axis.

    Examples
    --------
    >>> round(float(log_symmetric_payoff(100.0, np.array([1.0, 1.0]))), 3)  # 2 · log 2 at most
    1.386
    """
    bets = np.multiply.outer(np.asarray(stakes, dtype=float), contrasts)
    return array_log_tanh_bet(HOST, bets).sum(axis=-1)


def array_log_tanh_bet(backend: Backend, bet: Any) -> Any:
    """log(1 + tanh(bet)) for an array of any library, without loss on either side."""
    xp = backend.xp
    return _LOG_2 + 2.0 * xp.clip(bet, None, 0.0) - xp.log1p(xp.exp(-2.0 * xp.abs(bet)))


def array_log_kept(backend: Backend, paid: Any) -> Any:
    """Log of what is left when all but ``KEPT`` of the capital was staked, and paid this."""
    kept = backend.xp.full_like(paid, math.log(KEPT))
    return backend.xp.logaddexp(paid + math.log1p(-KEPT), kept)
