"""Where an answer may also be accepted as close enough: what of the capital is for which.

Two things can go wrong with the best option x. It may be ruled out, though nobody beats it; or a,
which is named, is more than epsilon below it, and x was shown to be close to a. Bets on either are
bets against what is true of x, so an average of them is one as well: with W for the capital that
rules x out and V_a for that on "x is not more than epsilon better than a",

    M = (1 − s) W + s Σ_a w_a V_a,    Σ_a w_a <= 1, over all a that are too far below x,

begins with 1 at most, and reaches 1/delta with a probability of at most delta. So x is ruled out at
(1 − s) W >= 1/delta, and settled beside a at

    (1 − s) W + s w_a V_a >= 1/delta,

both of the same moment: a sum of two largest values of different times is no such average.

The share s decides who pays. Without anybody near, what ruling out takes grows by −log(1 − s), a
sixtieth of log(1/delta) at delta = 0.05, and less where V_a grows, too, as it does with the lead
plus epsilon. Where options are alike, the log(1/s) more that closeness takes is little beside what
telling them apart would take (``benchmarks/results/epsilon.md``).
"""

from __future__ import annotations

import math
from typing import Any

from surepick.arrays.types import FloatArray

ACCEPTING = 0.05  #: s, the share for showing that somebody is close enough
RACING = 1.0 - ACCEPTING  #: for ruling options out


def for_racing(epsilon: float) -> float:
    """Logarithm of the share of the capital that rules options out.

    Examples
    --------
    >>> for_racing(0.0)
    0.0
    """
    return math.log(RACING) if epsilon > 0 else 0.0


def for_closeness(number: int, to: int = 1) -> float:
    """Logarithm of the share of the capital on closeness to the ``number``-th that ever led.

    Shares of all that may ever lead add up to ``ACCEPTING``: there is no end to them. Where one
    has to be close to each of ``to`` others, so many have the same share.
    """
    group = number // to + 1
    return math.log(ACCEPTING) - math.log(to * group * (group + 1))


def together(racing: FloatArray, closeness: FloatArray, xp: Any) -> Any:
    """Log capital that settles options beside one that may be named, of both kinds together."""
    return xp.logaddexp(racing, closeness)
