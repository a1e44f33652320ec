"""Coordinates of the span of the arms."""

from __future__ import annotations

from typing import Any

import numpy as np

from surepick.arrays import cutoffs, grid
from surepick.arrays.types import FloatArray
from surepick.design.directions import Directions
from surepick.errors import InvalidInputError

_TOLERANCE = 1e-8  # share of a direction's length that may lie outside the span


def whitening(arms: FloatArray, directions: Directions) -> FloatArray:
    """T (d, r) such that the arms x T have Σ xxᵀ = K·I in the r dimensions they span.

    A design's value does not change under linear maps of arms and directions together, and
    in these coordinates features of any scale keep their digits.
    """
    check_dim(arms, directions)
    scale = np.abs(arms).max(axis=0)
    scale[scale == 0] = 1.0
    _, s, vt = np.linalg.svd(arms / scale, full_matrices=False)
    found = _whitening(scale, s, vt, arms.shape, directions)
    if arms.size > cutoffs.LARGE_TABLE:
        return found
    # Where singular values are equal, their vectors are any: these columns are not.
    return grid.whitening(arms / scale, found.shape[1]) / scale[:, None]


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
    check_reach(directions, scale, basis, shape[1])
    return basis * (np.sqrt(shape[0]) / s[:rank]) / scale[:, None]


def check_reach(directions: Directions, scale: FloatArray, basis: FloatArray, dim: int) -> None:
    """Refuse directions outside the span of the arms."""
    if basis.shape[1] == dim:
        return
    share, index = directions.residuals(scale, basis)
    if share > _TOLERANCE:
        raise InvalidInputError(
            f"directions: {directions.describe(index)} lies outside the span of the arms: "
            f"{share:.3g} of its length cannot be reached by any measurement"
        )


def check_dim(arms: Any, directions: Directions) -> None:
    """Refuse directions with another number of features than the arms."""
    if directions.dim != arms.shape[1]:
        raise InvalidInputError(
            f"directions have {directions.dim} features but arms have {arms.shape[1]}; "
            f"they must describe the same features"
        )
