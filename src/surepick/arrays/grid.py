"""Numbers that decide, rounded so coarsely that every processor decides alike.

Pulls must not depend on the machine that works them out. Additions, multiplications, divisions and
square roots are the same everywhere, one by one; but libraries add up in an order that suits the
processor, and logarithms differ in the last digit. So whatever a decision rests on (who leads, who
comes first, how many pulls) is made of sums in a fixed order where that is quick enough, and is
rounded to a grid before it is compared. Where two numbers are the same on the grid, the lower index
comes first. The grid is far coarser than rounding errors and far finer than anything that matters.
Its lines are dyadic fractions, and numbers are rounded to the nearest: what is natural (whole
numbers, simple fractions) lies on a line or well away from the middle between two.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

# Veltkamp's splitting: x·(2²⁴ + 1) less what exceeds x leaves 29 digits, rounded to the nearest.
SPLIT = 2.0**24 + 1.0
_HALF, _KEPT = np.int64(1 << 23), np.int64(-1 << 24)
_OF_SPREAD = 2.0**-30  # width of a common grid: this share of how far values are apart, or
_OF_SIZE = 2.0**-42  # this share of the largest, if that is more: below, rounding may reach
TIED = 2.0**-30  # values that far apart, relative to them, are the same


def coarse(values: Any, xp: Any = np) -> Any:
    """Each value to 29 binary digits; arrays of any library, or a number.

    Examples
    --------
    >>> coarse(0.1 + 0.2) == coarse(0.3), coarse(30.000000000000004)
    (True, 30.0)
    """
    if isinstance(values, float | int):
        split = values * SPLIT
        found = split - (split - values)
        return found if math.isfinite(found) else float(values)
    if xp is np:  # the same by the digits themselves, which is quicker
        bits = np.asarray(values, dtype=np.float64).view(np.int64)
        return ((bits + _HALF) & _KEPT).view(np.float64)
    split = values * SPLIT
    found = split - (split - values)
    return xp.where(xp.isfinite(found), found, values)


def level(values: Any, xp: Any = np) -> Any:
    """All values to one grid: differences of what is the same up to rounding are exactly 0.

    For values that are compared with each other, and that may have much in common; those that are
    not finite stay as they are.

    Examples
    --------
    >>> found = level(np.array([0.1 + 0.2, 0.3, 0.5]))
    >>> bool(found[0] == found[1]), int(np.argmax(found))
    (True, 2)
    """
    low, high = float(xp.min(values)), float(xp.max(values))
    if math.isfinite(low) and math.isfinite(high):
        step = _step(low, high)
        return xp.round(values / step) * step if step else values
    finite = xp.isfinite(values)
    if not bool(xp.any(finite)):
        return values
    # Not finite ones are put where they change neither end.
    some = float(xp.max(xp.where(finite, values, xp.full_like(values, -math.inf))))
    known = xp.where(finite, values, xp.full_like(values, some))
    low, high = float(xp.min(known)), float(xp.max(known))
    step = _step(low, high)
    return xp.where(finite, xp.round(known / step) * step, values) if step else values


def _step(low: float, high: float) -> float:
    """Width of the grid for values between two, a power of two; 0: none is needed, or possible."""
    unit = max(_OF_SPREAD * (high - low), _OF_SIZE * max(abs(low), abs(high)))
    if unit == 0.0 or not math.isfinite(unit):
        return 0.0
    return math.ldexp(1.0, math.frexp(coarse(unit))[1])


def first_best(values: Any, xp: Any = np) -> int:
    """Index of the largest value; of those that are the same up to rounding, the first.

    Examples
    --------
    >>> first_best(np.array([0.3, 0.1 + 0.2, 0.1]))
    0
    """
    return int(xp.argmax(level(values, xp)))


def reached(evidence: Any, goal: Any) -> Any:
    """Whether log capital is at least the goal: clearly, so that no last digit decides.

    What is short of the goal never passes, and capital that equals it by nature (such as 2⁵ for
    1/delta = 32) does not pass on one processor and fail on the other: it needs a little more.
    """
    return evidence >= goal + TIED * abs(goal)
