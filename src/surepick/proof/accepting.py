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

*Accepted from now on.* Who finds two options nearly equal may say so while it goes on, with any
epsilon, after having looked at everything; nothing has to be set aside for that beforehand. Let t
be that moment. Of what is held against each x then, W(t), which differs from x to x, a share q is
moved to closeness, on bets that begin with 1 at that moment and look at later data only:

    M = W(t) ((1 − q) W/W(t) + q Σ_a w_a V_a),    Σ_a w_a <= 1

For x the best, and whatever is true, M is W up to t, is no more than W(t) at t, as V_a = 1 there,
and from then on is an average of bets against what is true of x, with weights that were known at t:
a supermartingale that begins with 1 at most, all the way. Neither t nor epsilon is a matter of
proof: both may depend on anything that was seen by then. So x is ruled out at (1 − q) W >= 1/delta,
settled beside a at (1 − q) W + q W(t) w_a V_a >= 1/delta, and with probability delta at most
anything wrong is ever named, before that moment or after it. It may be done again, with a larger
epsilon: what is on closeness then is given up, and a share of what rules out is moved anew.

What it costs is log 2 of what ruling out takes, where q = 1/2; what it brings: W(t), which is large
for the runner-up, is not lost, as it would be for a study that begins anew.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from surepick.arrays.types import BoolArray, FloatArray

ACCEPTING = 0.05  #: s, the share for showing that somebody is close enough
MOVED = 0.5  #: q, what is moved to that where it is accepted from now on
RACING = 1.0 - ACCEPTING  #: for ruling options out


def for_racing(epsilon: float) -> float:
    """Logarithm of the share of the capital that rules options out.

    Examples
    --------
    >>> for_racing(0.0)
    0.0
    """
    return math.log(RACING) if epsilon > 0 else 0.0


def of_leader(number: int, to: int = 1) -> float:
    """Logarithm of the part of what is for closeness that the ``number``-th that ever led has.

    The parts of all that may ever lead add up to 1: there is no end to them. Where one has to be
    close to each of ``to`` others, so many have the same part.
    """
    group = number // to + 1
    return -math.log(to * group * (group + 1))


class Shares:
    """Logarithms of what rules options out, and of what is behind closeness against each.

    Examples
    --------
    >>> import numpy as np
    >>> shares = Shares(0.0)
    >>> shares.accept(np.log([4.0, 1.0]))
    >>> np.exp(shares.racing), np.exp(shares.behind).tolist()
    (0.5, [2.0, 0.5])
    """

    def __init__(self, epsilon: float) -> None:
        self.racing = for_racing(epsilon)
        self.behind: Any = math.log(ACCEPTING)  #: one for all, until it is accepted from now on

    def accept(self, capital: Any) -> None:
        """From now on: move a share of this log capital against each option to closeness."""
        self.behind = capital + (self.racing + math.log(MOVED))
        self.racing += math.log(1.0 - MOVED)

    def enter(self, count: int, left: BoolArray) -> None:
        """So many options come, behind whom is no more than behind anybody left."""
        if np.ndim(self.behind):
            least = self.behind[left].min(initial=0.0)
            self.behind = np.append(self.behind, np.full(count, least))

    def leave(self, place: int) -> None:
        """An option goes; behind nobody is more than was behind it."""
        if np.ndim(self.behind):
            self.behind = np.minimum(self.behind, self.behind[place])

    def save(self) -> list[Any]:
        """As plain values, and an array where options differ."""
        return [self.racing, self.behind]

    def load(self, saved: list[Any]) -> None:
        """What :meth:`save` wrote."""
        self.racing, self.behind = saved


def together(racing: FloatArray, closeness: FloatArray, xp: Any) -> Any:
    """Log capital that settles options beside one that may be named, of both kinds together."""
    return xp.logaddexp(racing, closeness)
