"""Numbers that decide, rounded so coarsely that every processor decides alike.

Pulls must not depend on the machine that works them out. Additions, multiplications, divisions and
square roots are the same everywhere, one by one; but libraries add up in an order that suits the
processor, and logarithms differ in the last digit. So whatever a decision rests on (who leads, who
comes first, how many pulls) is made of sums in a fixed order where that is quick enough, and is
rounded to a grid before it is compared. Where two numbers are the same on the grid, the lower index
comes first. The grid is far coarser than rounding errors and far finer than anything that matters.
Its lines are dyadic fractions, and numbers are rounded to the nearest: what is natural (whole
numbers, simple fractions) lies on a line or well away from the middle between two.

Beside it, linear algebra for tables that are small: BLAS and LAPACK add up in an order that depends
on the processor, and where singular values are equal the vectors that they find are any. Here are
elementwise operations, which are rounded in one way only, and sums in a fixed order.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surepick.arrays.types import FloatArray, IntArray

# Veltkamp's splitting: x·(2²⁴ + 1) less what exceeds x leaves 29 digits, rounded to the nearest.
SPLIT = 2.0**24 + 1.0
_HALF, _KEPT = np.int64(1 << 23), np.int64(-1 << 24)
_OF_SPREAD = 2.0**-30  # width of a common grid: this share of how far values are apart, or
_OF_SIZE = 2.0**-42  # this share of the largest, if that is more: below, rounding may reach
TIED = 2.0**-30  # values that far apart, relative to them, are the same


def scrambled(values: NDArray[Any]) -> NDArray[np.uint64]:
    """Scrambled values (the last steps of the splitmix64 generator); no two become the same."""
    z = np.asarray(values).astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


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


def product(a: FloatArray, b: FloatArray) -> FloatArray:
    """``a @ b`` of two tables, added up in the order of the columns of ``a``."""
    found = np.zeros((len(a), b.shape[1]))
    for j in np.flatnonzero(b.any(axis=1)):
        found += a[:, j, None] * b[j]
    return found


def whitening(table: FloatArray, rank: int) -> FloatArray:
    """T (d, rank) such that the rows x T of a table have Σ xxᵀ = K·I; so many columns span it.

    Columns are taken one after the other, each time the one that sticks out most, and made
    orthogonal to those before them (Gram and Schmidt, twice for the sake of rounding).
    """
    left, chosen = table.copy(), np.empty(rank, dtype=np.int64)
    units, upper = np.zeros((len(table), rank)), np.zeros((rank, rank))
    for i in range(rank):
        lengths = np.square(left).sum(axis=0)
        lengths[chosen[:i]] = -1.0
        chosen[i] = np.argmax(coarse(lengths))
        _append(table[:, chosen[i]], i, units, upper)
        along = (units[:, i, None] * left).sum(axis=0)
        left -= units[:, i, None] * along
    found = np.zeros((table.shape[1], rank))
    found[chosen] = _inverse(upper) * np.sqrt(len(table))
    return found


def orthonormal(columns: FloatArray) -> FloatArray:
    """An orthonormal basis of what these columns span, which are linearly independent."""
    units = np.zeros(columns.shape)
    upper = np.zeros((columns.shape[1], columns.shape[1]))
    for i in range(columns.shape[1]):
        _append(columns[:, i], i, units, upper)
    return units


def _append(column: FloatArray, i: int, units: FloatArray, upper: FloatArray) -> None:
    """The i-th unit vector: what of a column is orthogonal to those before, with its shares."""
    before = units[:, :i]
    for _ in range(2):
        shares = (before * column[:, None]).sum(axis=0)
        upper[:i, i] += shares
        column = column - (before * shares).sum(axis=1)
    upper[i, i] = np.sqrt(np.square(column).sum())
    units[:, i] = column / upper[i, i]


def _inverse(upper: FloatArray) -> FloatArray:
    found = np.eye(len(upper))
    for i in range(len(upper) - 1, -1, -1):
        found[i] -= (upper[i, i + 1 :, None] * found[i + 1 :]).sum(axis=0)
        found[i] /= upper[i, i]
    return found


def spread_rows(rows: FloatArray, count: int) -> IntArray:
    """``count`` rows, each as far as can be from the span of those before it; first on ties."""
    left = rows.copy()
    chosen = np.empty(count, dtype=np.int64)
    for i in range(count):
        lengths = np.square(left).sum(axis=1)
        lengths[chosen[:i]] = -1.0
        chosen[i] = np.argmax(coarse(lengths))
        unit = left[chosen[i]] / np.sqrt(lengths[chosen[i]])
        left -= (left * unit).sum(axis=1)[:, None] * unit
    return chosen


def shuffled(values: IntArray, seed: int) -> IntArray:
    """These values in an order that depends on the seed alone."""
    start = scrambled(scrambled(np.array([seed])))
    keys = scrambled(start + np.arange(len(values), dtype=np.uint64))
    return values[np.argsort(keys, kind="stable")]
