"""Least squares where every mean may be off by a given size: what is left beyond that.

The null hypothesis of the check of the fit is then Xθ + η with any |η_k| ≤ allowed_k, and its
evidence is that against the closest of these points.
"""

from __future__ import annotations

import numpy as np

from surepick.arrays.types import FloatArray

_STEPS = 60
_ENOUGH = 1e-9  # of the sum: how close to the smallest one suffices
_RIDGE = 1e-8  # keeps a step finite where too few rows are off
_BLOCK = 512  # rows at a time


def least_excess(
    X: FloatArray, w: FloatArray, y: FloatArray, allowed: FloatArray
) -> tuple[float, FloatArray]:
    """A lower bound, nearly reached, on Σ w (y − η − Xθ)² over θ and η; and y − η − Xθ there.

    Newton's steps on the convex Σ w (|y − Xθ| − allowed)₊², then the dual value at the weights g
    that come of it, which no θ and η can beat: gᵀy − Σ allowed·|g| − Σ g²/(4w) with Xᵀg = 0.
    """
    gram = (X.T * w) @ X
    inverse = np.asarray(np.linalg.pinv(gram, hermitian=True), dtype=np.float64)
    theta = inverse @ (X.T @ (w * y))

    def beyond(at: FloatArray) -> FloatArray:
        rest = y - X @ at
        return rest - np.clip(rest, -allowed, allowed)

    over = beyond(theta)
    value, bound = float(w @ over**2), 0.0
    for _ in range(_STEPS):
        bound = max(bound, _dual(X, w, y, allowed, inverse, 2 * w * over))
        if value - bound <= _ENOUGH * value:
            break
        off = np.where(over != 0, w, 0.0)
        step = np.linalg.pinv((X.T * off) @ X + _RIDGE * gram, hermitian=True) @ (X.T @ (w * over))
        size = 1.0
        while size > 1e-6:
            tried = beyond(theta + size * step)
            if float(w @ tried**2) < value:
                break
            size /= 2
        else:
            break
        theta, over, value = theta + size * step, tried, float(w @ tried**2)
    return bound, over


def _dual(
    X: FloatArray,
    w: FloatArray,
    y: FloatArray,
    allowed: FloatArray,
    inverse: FloatArray,
    g: FloatArray,
) -> float:
    g = g - w * (X @ (inverse @ (X.T @ g)))  # so that Xᵀg = 0
    straight = float(g @ y) - float(allowed @ np.abs(g))
    curved = float((g * g / w).sum()) / 4
    if straight <= 0 or curved <= 0:
        return 0.0
    return straight * straight / (4 * curved)  # the best multiple of g


def sway(X: FloatArray, n: FloatArray, allowed: FloatArray) -> FloatArray:
    """How far η moves each residual of least squares at most: Σ_j |1 − H|_kj·allowed_j."""
    white = X @ np.linalg.pinv((X.T * n) @ X, hermitian=True)
    out = np.empty(len(n))
    for first in range(0, len(n), _BLOCK):
        rows = slice(first, min(first + _BLOCK, len(n)))
        hat = white[rows] @ (X.T * n)
        own = np.arange(hat.shape[0])
        hat[own, own + first] -= 1.0
        out[rows] = np.abs(hat) @ allowed
    return out
