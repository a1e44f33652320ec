"""Linear algebra that comes out the same on every processor, digit by digit, without a compiler.

BLAS and LAPACK add up in an order that depends on the processor, and where singular values are
equal the vectors that they find are any. Here are elementwise operations, which are rounded in one
way only, and sums in a fixed order: slower, and for tables that are small.
"""

from __future__ import annotations

import numpy as np

from surepick.arrays.grid import coarse
from surepick.arrays.types import FloatArray, IntArray


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
    """Of an upper triangle."""
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
