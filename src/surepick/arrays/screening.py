"""The longest of very many rows: single precision finds who may be, double precision says who is.

A processor multiplies numbers of single precision twice as fast. How far rounding can move a length
is known beforehand, so nobody that belongs to the longest is passed over, and what is handed on is
computed in double precision.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from surepick.arrays import cutoffs
from surepick.arrays.backend import Backend
from surepick.arrays.tables import kept_of
from surepick.arrays.types import FloatArray, IntArray

_UNIT = 2.0**-24  # relative rounding error of single precision
_RANGE = 1e12  # numbers beyond this, and their inverses, are left to double precision
_LEAST = 1e-6  # and images of rows that are shorter: their squares might vanish
_ALIKE = 1e-6  # lengths are compared up to rounding: so much shorter ones are looked at, too


class Single(NamedTuple):
    """A table in single precision."""

    rows: Any
    longest: float  #: length of its longest row


def longest(
    backend: Backend,
    table: Any,
    root: FloatArray,
    limit: int,
    centre: FloatArray | None = None,
    scales: Any = None,
) -> tuple[IntArray, FloatArray]:
    """The ``limit`` largest values of scale_x² · ‖rootᵀ(x − centre)‖² over rows x, largest first.

    Of values that are the same up to rounding the first ones, as of ``Backend.largest``.
    """
    single = _single(backend, table, limit)
    if single is not None:
        found = _candidates(single, root, limit, centre, scales)
        if found is not None:
            own = None if scales is None else scales[found]
            values = _values(backend, table[found], root, centre, own)
            places, top = backend.largest(values, limit, alike=True)
            return found[places], top
    values = _values(backend, table, root, centre, scales)
    return backend.largest(values, limit, alike=True)


def _values(backend: Backend, rows: Any, root: FloatArray, centre: Any, scales: Any) -> Any:
    found = backend.quadratic(rows, root, centre)
    return found if scales is None else found * scales**2


def _single(backend: Backend, table: Any, limit: int) -> Single | None:
    """A copy in single precision, where that pays and there is room for it; made once."""
    entries = table.shape[0] * table.shape[1]
    low, high = cutoffs.SCREENED_ENTRIES
    if not backend.plain or not low <= entries <= high or limit > table.shape[0] // 16:
        return None

    def copy() -> Single | None:
        free = backend.free_memory()
        if _is_mapped(table) or (free is not None and 16 * entries > free):
            return None
        norm = math.sqrt(float(max(backend.squares(table[rows]).max() for rows in blocks)))
        if not 1.0 / _RANGE < norm < _RANGE:
            return None
        return Single(table.astype(np.float32), norm)

    blocks = list(backend.blocks(table))
    return kept_of(table, "single", copy)


def _is_mapped(table: Any) -> bool:
    """Whether a table lies in a file: it may be larger than the memory."""
    while table is not None:
        if isinstance(table, np.memmap):
            return True
        table = getattr(table, "base", None)
    return False


def _candidates(
    single: Single, root: FloatArray, limit: int, centre: FloatArray | None, scales: Any
) -> IntArray | None:
    """Rows that may be among the longest, in ascending order; None where there are too many."""
    norm, offset = float(np.linalg.norm(root)), None
    if not 1.0 / _RANGE < norm < _RANGE:
        return None
    reach = single.longest * norm
    if centre is not None:
        offset = centre @ root
        reach += float(np.linalg.norm(offset))
    if not _LEAST < reach < _RANGE:
        return None
    lengths = _lengths(single.rows, root.astype(np.float32), offset)
    # A sum of d products is off by at most d + 2 units of the sum of their sizes; so are lengths.
    terms = (max(root.shape) + 6) * _UNIT * 1.01
    off = terms * (lengths + np.float32(reach))
    low, high = np.maximum(lengths - off, 0.0), lengths + off
    if scales is not None:
        low, high = low * scales, high * scales
    last = np.partition(low, len(low) - limit)[len(low) - limit]
    found = np.flatnonzero(high >= last * (1.0 - _ALIKE))
    return found if len(found) <= 4 * limit + len(low) // 16 else None


def _lengths(rows: Any, root: Any, offset: FloatArray | None) -> Any:
    out = np.empty(len(rows), dtype=np.float32)
    step = max(1, cutoffs.BLOCK_BYTES["cpu"] // (4 * rows.shape[1]))
    shift = None if offset is None else offset.astype(np.float32)
    for start in range(0, len(rows), step):
        image = rows[start : start + step] @ root
        if shift is not None:
            image -= shift
        np.vecdot(image, image, out=out[start : start + step])
    return np.sqrt(out, out=out)
