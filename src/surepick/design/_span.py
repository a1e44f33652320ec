"""Coordinates of the span of the arms."""

from __future__ import annotations

import numpy as np

from surepick.design.directions import Directions
from surepick.errors import InvalidInputError
from surepick.problem.validate import FloatArray

_TOLERANCE = 1e-8  # share of a direction's length that may lie outside the span


def whitening(arms: FloatArray, directions: Directions) -> FloatArray:
    """T (d, r) such that the arms x T have Σ xxᵀ = K·I in the r dimensions they span.

    A design's value does not change under linear maps of arms and directions together, and
    in these coordinates features of any scale keep their digits.
    """
    if directions.dim != arms.shape[1]:
        raise InvalidInputError(
            f"directions have {directions.dim} features but arms have {arms.shape[1]}; "
            f"they must describe the same features"
        )
    scale = np.abs(arms).max(axis=0)
    scale[scale == 0] = 1.0
    _, s, vt = np.linalg.svd(arms / scale, full_matrices=False)
    rank = int((s > s[0] * max(arms.shape) * np.finfo(float).eps).sum())
    if rank == 0:
        raise InvalidInputError("arms are all zero: no measurement says anything")
    basis = vt[:rank].T
    if rank < arms.shape[1]:
        share, index = directions.residuals(scale, basis)
        if share > _TOLERANCE:
            raise InvalidInputError(
                f"directions: {directions.describe(index)} lies outside the span of the arms: "
                f"{share:.3g} of its length cannot be reached by any measurement"
            )
    return basis * (np.sqrt(len(arms)) / s[:rank]) / scale[:, None]
