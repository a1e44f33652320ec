"""Coordinates of the span of the arms."""

from __future__ import annotations

from typing import Any

import numpy as np

from surepick.arrays.backend import backend_of
from surepick.arrays.tables import gram_of
from surepick.arrays.types import FloatArray
from surepick.design.directions import Directions
from surepick.errors import InvalidInputError
from surepick.problem.span import find_large_span

_TOLERANCE = 1e-8  # share of a direction's length that may lie outside the span
_ROUND = 0.05  # ratio of second moments from which on arms need no other coordinates


def whitening(arms: FloatArray, directions: Directions) -> FloatArray:
    """T (d, r) such that the arms x T have Σ xxᵀ = K·I in the r dimensions they span.

    A design's value does not change under linear maps of arms and directions together, and
    in these coordinates features of any scale keep their digits.
    """
    _check_dim(arms, directions)
    scale = np.abs(arms).max(axis=0)
    scale[scale == 0] = 1.0
    _, s, vt = np.linalg.svd(arms / scale, full_matrices=False)
    return _whitening(scale, s, vt, arms.shape, directions)


def large_whitening(arms: Any, directions: Directions) -> tuple[FloatArray, Any]:
    """The same for arms of any library, read in blocks; and the arms in these coordinates.

    Arms that extend about equally far in all directions are left as they are.
    """
    backend = backend_of(arms)
    _check_dim(arms, directions)
    squares = np.linalg.eigvalsh(gram_of(arms, backend)) / arms.shape[0]
    if squares[0] > _ROUND * squares[-1]:
        return np.eye(arms.shape[1]), arms
    span = find_large_span(arms, backend)
    _check_reach(directions, span.scale, span.basis, arms.shape[1])
    whiten = span.whiten / span.scale[:, None]
    return whiten, backend.image(arms, whiten)


def _whitening(
    scale: FloatArray,
    s: FloatArray,
    vt: FloatArray,
    shape: tuple[int, ...],
    directions: Directions,
) -> FloatArray:
    rank = int((s > s[0] * max(shape) * np.finfo(float).eps).sum())
    if rank == 0:
        raise InvalidInputError("arms are all zero: no measurement says anything")
    basis = vt[:rank].T
    _check_reach(directions, scale, basis, shape[1])
    return basis * (np.sqrt(shape[0]) / s[:rank]) / scale[:, None]


def _check_reach(directions: Directions, scale: FloatArray, basis: FloatArray, dim: int) -> None:
    """Refuse directions outside the span of the arms."""
    if basis.shape[1] == dim:
        return
    share, index = directions.residuals(scale, basis)
    if share > _TOLERANCE:
        raise InvalidInputError(
            f"directions: {directions.describe(index)} lies outside the span of the arms: "
            f"{share:.3g} of its length cannot be reached by any measurement"
        )


def _check_dim(arms: Any, directions: Directions) -> None:
    if directions.dim != arms.shape[1]:
        raise InvalidInputError(
            f"directions have {directions.dim} features but arms have {arms.shape[1]}; "
            f"they must describe the same features"
        )
