"""Counts of yes and no, dealt into two parts after they came in.

Let S of n visitors have said yes, S binomial with some rate p, and let m of the visitors be drawn
at random, J of whom said yes. Given S, J is hypergeometric, whoever they were. Then

    P(J = j, S − J = k) = C(n, j + k) p^(j+k) (1 − p)^(n−j−k) · C(m, j) C(n − m, k) / C(n, j + k):

J and S − J are independent, binomial with m and n − m visitors and the same p. So nobody has to
know who the m were: J is drawn, given n, m and S alone, and what is bet on the n − m others may
use J as if it had come in earlier. It needs that visitors are independent and have one rate; that
m depends on n alone; and that the draw has nothing to do with S.

The rule is fixed, and uses whole numbers alone, so that it is the same everywhere and for ever:

- m = ⌈n/10⌉;
- the weight of the most likely j, ⌊(m + 1)(S + 1)/(n + 2)⌋, is 2^128. The weight of its neighbour
  is that times the ratio of their probabilities, rounded down, and so on in both directions up to
  the first weight that is 0, or the last j that is possible;
- U is the sum of all weights times the SHA-256 of "surepick deal 1|seed|option", as a number below
  2^256, over 2^256, rounded down;
- J is the smallest j for which the weights of all up to it sum to more than U.

Rounding moves each probability by less than 2^-90. A report that is corrected by a few is dealt
nearly as it was before: the same U stands for the same part of what is likely.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from itertools import accumulate

_TENTH = 10
_ONE = 1 << 128


def guiding(visits: int) -> int:
    """How many of so many visitors guide."""
    return -(-visits // _TENTH)


def dealt(seed: str, option: int, visits: int, successes: int) -> int:
    """How many of the successes of an option are with those that guide."""
    drawn = guiding(visits)
    low, high = max(0, successes - (visits - drawn)), min(drawn, successes)
    likely = (drawn + 1) * (successes + 1) // (visits + 2)
    rest = visits - successes - drawn  # at j, so many and j more of those left said no
    up, weight = [_ONE], _ONE
    for j in range(likely, high):
        weight = weight * (successes - j) * (drawn - j) // ((j + 1) * (rest + j + 1))
        if not weight:
            break
        up.append(weight)
    down, weight = list[int](), _ONE
    for j in range(likely, low, -1):
        weight = weight * j * (rest + j) // ((successes - j + 1) * (drawn - j + 1))
        if not weight:
            break
        down.append(weight)
    sums = list(accumulate(down[::-1] + up))
    text = f"surepick deal 1|{seed}|{option}"
    number = int.from_bytes(hashlib.sha256(text.encode()).digest(), "big")
    return likely - len(down) + bisect_right(sums, sums[-1] * number >> 256)
