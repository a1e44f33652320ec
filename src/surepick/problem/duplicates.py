"""Which rows of a table are the same point, at the cost of a sort."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from surepick.arrays import cutoffs
from surepick.arrays.backend import Backend
from surepick.arrays.types import IntArray

# Rows whose entries agree to this fraction of themselves count as the same point.
SAME = 1e-12
DUST = 4 * float(np.finfo(np.float64).eps)  # of the largest entry of a column: its rounding


def first_equal(rows: Any, backend: Backend) -> IntArray:
    """For each row the index of the first row equal to it.

    Entries are equal up to ``SAME`` of themselves, or up to the rounding of the largest of their
    column: a column with one huge entry says no less about the others.

    Rows are projected on one fixed generic vector and sorted: equal rows become neighbours,
    so the cost is that of a sort, not of all pairs.
    """
    count, width = rows.shape
    scale = column_scale(rows, backend)
    generic = np.cos(np.arange(1.0, width + 1.0) * 1.234567)
    xp, key = backend.xp, backend.product(rows, generic / scale)
    order = xp.argsort(key, stable=True)
    ranked = xp.take(key, order, axis=0)
    close = backend.host(backend.nonzero(ranked[1:] - ranked[:-1] <= 4 * width * SAME))
    first = np.arange(count, dtype=np.int64)
    if not len(close):
        return first
    runs = np.split(close, np.flatnonzero(np.diff(close) > 1) + 1)
    runs = [np.append(run, run[-1] + 1) for run in runs]  # places of neighbours in the order
    ends = np.cumsum([len(run) for run in runs])
    # Many at once: among ten million rows thousands are neighbours by chance.
    piece = ends // max(1, cutoffs.BLOCK_BYTES["cpu"] // (8 * width))
    for number in range(int(piece[-1]) + 1):
        some = runs[slice(*np.searchsorted(piece, [number, number + 1]))]
        if some:
            members = backend.host(backend.take(order, np.concatenate(some)))
            points = backend.rows(rows, members) / scale
            cuts = np.cumsum([len(run) for run in some])[:-1]
            for places, here in zip(np.split(members, cuts), np.split(points, cuts)):
                _mark_equal(places, here, first)
    return first


def _mark_equal(places: IntArray, rows: NDArray[np.float64], first: IntArray) -> None:
    """Note of these few rows which is the first that each equals."""
    order = np.argsort(places)
    left, scaled = places[order], rows[order]
    while len(left) > 1:  # the first of those left, and all that equal it
        size = np.maximum(np.abs(scaled), np.abs(scaled[0]))
        equal = (np.abs(scaled - scaled[0]) <= SAME * size + DUST).all(axis=1)
        first[left[equal]] = left[0]
        left, scaled = left[~equal], scaled[~equal]


def column_scale(rows: Any, backend: Backend) -> NDArray[np.float64]:
    """Largest absolute entry of each column (1 where all are zero), on the host."""
    xp = backend.xp
    top = None
    for block in backend.blocks(rows):
        part = xp.max(xp.abs(rows[block]), axis=0)
        top = part if top is None else xp.maximum(top, part)
    scale = backend.host(top).astype(np.float64)
    scale[scale == 0] = 1.0
    return scale


def groups(first: IntArray) -> tuple[tuple[int, ...], ...]:
    """Groups of rows that share their first equal row; those of one row are left out."""
    later = np.flatnonzero(first != np.arange(len(first)))
    members: dict[int, list[int]] = {}
    for i in later:
        members.setdefault(int(first[i]), [int(first[i])]).append(int(i))
    return tuple(tuple(members[f]) for f in sorted(members))
