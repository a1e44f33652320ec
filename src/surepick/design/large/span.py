"""Coordinates of the span of many arms, read in blocks."""

from __future__ import annotations

from typing import Any

import numpy as np

from surepick.arrays.backend import backend_of
from surepick.arrays.tables import gram_of
from surepick.arrays.types import FloatArray
from surepick.design._span import check_dim, check_reach
from surepick.design.directions import Directions
from surepick.problem.span import find_large_span

_ROUND = 0.05  # ratio of second moments from which on arms need no other coordinates


def large_whitening(arms: Any, directions: Directions) -> tuple[FloatArray, Any]:
    """T as in ``design._span.whitening``, and the arms, of any library, in its coordinates.

    Arms that extend about equally far in all directions are left as they are.
    """
    backend = backend_of(arms)
    check_dim(arms, directions)
    squares = np.linalg.eigvalsh(gram_of(arms, backend)) / arms.shape[0]
    if squares[0] > _ROUND * squares[-1]:
        return np.eye(arms.shape[1]), arms
    span = find_large_span(arms, backend)
    check_reach(directions, span.scale, span.basis, arms.shape[1])
    whiten = span.whiten / span.scale[:, None]
    return whiten, backend.image(arms, whiten)
