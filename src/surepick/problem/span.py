"""Coordinates of what the arms span, found block by block where there are many arms.

Columns are first brought to a common scale, so that a feature in millionths and one in millions
keep all their digits; singular values then tell the rank. They are those of the whole table where
it is small. Otherwise they come from the d × d matrix of second moments, which squares the
condition; where that leaves too few digits, from QR factors of blocks stacked onto each other.
"""

from __future__ import annotations

import logging
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from surepick.arrays.backend import Backend
from surepick.arrays.grid import whitening
from surepick.arrays.types import FloatArray
from surepick.errors import InvalidInputError
from surepick.problem.duplicates import column_scale

_log = logging.getLogger(__name__)

# Directions in which the arms extend less than this, relative to their widest, count as not
# spanned: rounding alone would decide how far they extend.
_FLAT = 1e-12
_CLEAR = 1e-9  # ratio of second moments above which squaring the condition does no harm
_OUTSIDE = 1e-8  # share of its length by which a candidate may stick out of the span of the arms


class Span(NamedTuple):
    """Coordinates x / scale @ whiten, in which the arms have second moments one."""

    scale: FloatArray  #: (d,)
    basis: FloatArray  #: orthonormal directions of the scaled features, (d, rank)
    whiten: FloatArray  #: (d, rank)


def find_span(arms: FloatArray) -> Span:
    """The span of a table that fits several times into memory."""
    scale = np.abs(arms).max(axis=0)
    scale[scale == 0] = 1.0
    _, s, vt = np.linalg.svd(arms / scale, full_matrices=False)
    found = _span(scale, s, vt, arms.shape)
    # Where singular values are equal, their vectors are any: what decides has other coordinates.
    return found._replace(whiten=whitening(arms / scale, found.basis.shape[1]))


def find_large_span(arms: Any, backend: Backend) -> Span:
    """The span of a table of any size, read in blocks of rows."""
    scale = column_scale(arms, backend)
    moments = backend.gram(arms) / np.outer(scale, scale)
    squares, vectors = np.linalg.eigh(moments)
    if arms.shape[0] >= arms.shape[1] and squares[0] > _CLEAR * squares[-1] > 0:
        return _span(scale, np.sqrt(squares[::-1]), vectors[:, ::-1].T, arms.shape)
    factor = np.empty((0, arms.shape[1]))
    for rows in backend.blocks(arms):
        stacked = np.vstack([factor, backend.host(arms[rows]) / scale])
        factor = np.linalg.qr(stacked, mode="r")
    _, s, vt = np.linalg.svd(factor, full_matrices=False)
    return _span(scale, s, vt, arms.shape)


def _span(scale: FloatArray, s: FloatArray, vt: FloatArray, shape: tuple[int, ...]) -> Span:
    if s[0] == 0:
        raise InvalidInputError("arms are all zero: no measurement can tell candidates apart")
    rounding = s[0] * max(shape) * np.finfo(float).eps
    rank = int((s > max(s[0] * _FLAT, rounding)).sum())
    if rank < int((s > rounding).sum()):
        _log.warning(
            "arms are nearly collinear: they span %d directions, and extend so little (%.1g) in "
            "another one that it is ignored; centre or rescale features if that direction matters",
            rank,
            s[rank] / s[0],
        )
    basis = vt[:rank].T
    return Span(scale, basis, basis * (np.sqrt(shape[0]) / s[:rank]))


def outside(
    rows: Any, scale: FloatArray, basis: FloatArray, backend: Backend
) -> tuple[int, int, float]:
    """How many rows stick out of a span; the first of them, and the share of it that does."""
    bad, first, share = 0, -1, 0.0
    for part in backend.blocks(rows):
        scaled = backend.host(rows[part]) / scale
        across = np.linalg.norm(scaled - (scaled @ basis) @ basis.T, axis=1)
        length = np.linalg.norm(scaled, axis=1)
        found = np.flatnonzero(across > _OUTSIDE * np.maximum(length, 1e-300))
        if len(found) and not bad:
            first = part.start + int(found[0])
            share = float(across[found[0]] / length[found[0]])
        bad += len(found)
    return bad, first, share


def sample_that_spans(features: Any, backend: Backend) -> NDArray[np.int64]:
    """Some rows, evenly spaced, that span all: a few hundred, unless that is hard."""
    total, rank = features.shape
    count = max(1024, 16 * rank)
    while True:
        step = max(1, total // count)
        rows = np.arange(0, total, step, dtype=np.int64)
        s = np.linalg.svd(backend.rows(features, rows), compute_uv=False)
        if step == 1 or (len(s) == rank and s[-1] > 0.01 * s[0]):
            return rows
        count *= 8
