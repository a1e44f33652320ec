"""Linear algebra for the solvers: in a fixed order while it is small, by LAPACK and BLAS beyond.

Where the best design is not unique, rounding decides which one is found. So the steps that lead
there are the same on every processor, digit by digit, in all problems but large ones
(``cutoffs.FIXED_WORK``).
"""

# numba compiles these functions: their types are what the callers pass.
# pyright: reportArgumentType=false, reportCallIssue=false

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import lapack as _lapack

from surepick.arrays import cutoffs, kernels
from surepick.arrays.compiled import compiled
from surepick.arrays.grid import spread_rows
from surepick.arrays.types import FloatArray, IntArray

lapack: Any = _lapack  # its functions are made at import time, unknown to type checkers


def _plain_cholesky(matrix, out):
    upper = matrix.copy()
    for k in range(len(upper)):
        row = upper[k, k:]
        if not row[0] > 0.0:
            return False
        row /= np.sqrt(row[0])
        upper[k + 1 :, k + 1 :] -= row[1:, None] * row[1:]
        out[k:, k] = row
    return True


@compiled(
    work=lambda matrix, out: kernels.array_steps(matrix.size * len(out), 3 * len(out)),
    plain=_plain_cholesky,
)
def _cholesky(matrix, out):
    """Lower factor; row after row of its transpose, which runs along memory."""
    n = matrix.shape[0]
    upper = matrix.copy()
    for k in range(n):
        row = upper[k]
        if not row[k] > 0.0:
            return False
        pivot = np.sqrt(row[k])
        for j in range(k, n):
            row[j] /= pivot
        for i in range(k + 1, n):
            factor, other = row[i], upper[i]
            for j in range(i, n):
                other[j] -= factor * row[j]
        for j in range(k, n):
            out[j, k] = row[j]
    return True


def _plain_backward(factor, columns, out):
    d = len(factor)
    for i in range(d - 1, -1, -1):
        out[i] = columns[i]
        for j in range(i + 1, d):
            out[i] -= factor[j, i] * out[j]
        out[i] /= factor[i, i]


@compiled(
    work=lambda factor, columns, out: kernels.array_steps(out.size * len(out), len(out) ** 2),
    plain=_plain_backward,
)
def _backward(factor, columns, out):
    """``out = factor⁻ᵀ columns``."""
    d, M = columns.shape
    for i in range(d - 1, -1, -1):
        row = out[i]
        row[:] = columns[i]
        for j in range(i + 1, d):
            share, other = factor[j, i], out[j]
            for m in range(M):
                row[m] -= share * other[m]
        for m in range(M):
            row[m] /= factor[i, i]


def product(a: FloatArray, b: FloatArray) -> FloatArray:
    """``a @ b`` of two tables."""
    out = np.empty((a.shape[0], b.shape[1]))
    kernels.multiply(np.ascontiguousarray(a), np.ascontiguousarray(b), out)
    return out


def gram(rows: FloatArray, weights: FloatArray) -> FloatArray:
    """Σ_k weights_k x_k x_kᵀ."""
    out = np.empty((rows.shape[1], rows.shape[1]))
    kernels.weighted_gram(np.ascontiguousarray(rows), np.ascontiguousarray(weights), out)
    return out


def cholesky(matrix: FloatArray) -> FloatArray | None:
    """Lower factor of a symmetric matrix, or None if it is not positive definite."""
    if _is_small(len(matrix), len(matrix)):
        out = np.zeros(matrix.shape)
        return out if _cholesky(np.ascontiguousarray(matrix), out) else None
    factor, failed = lapack.dpotrf(matrix, lower=1)
    return None if failed else factor


def forward(factor: FloatArray, b: FloatArray) -> FloatArray:
    """Solve factor · x = b."""
    if not _is_small(*b.shape):
        return lapack.dtrtrs(factor, b, lower=1)[0]
    out = np.empty(b.shape)
    kernels.whiten(factor, np.ascontiguousarray(b), out)
    return out


def backward(factor: FloatArray, b: FloatArray) -> FloatArray:
    """Solve factorᵀ · x = b."""
    if not _is_small(*b.shape):
        return lapack.dtrtrs(factor, b, lower=1, trans=1)[0]
    out = np.empty(b.shape)
    _backward(factor, np.ascontiguousarray(b), out)
    return out


def solve(factor: FloatArray, b: FloatArray) -> FloatArray:
    """Solve factor · factorᵀ · x = b."""
    if not _is_small(len(b), len(b)):
        return lapack.dpotrs(factor, b, lower=1)[0]
    return backward(factor, forward(factor, b[:, None]))[:, 0]


def root_of_inverse(factor: FloatArray) -> FloatArray:
    """R with (factor · factorᵀ)⁻¹ = R Rᵀ."""
    if not _is_small(len(factor), len(factor)):
        return lapack.dtrtri(factor, lower=1)[0].T
    return forward(factor, np.eye(len(factor))).T


def _is_small(dim: int, columns: int) -> bool:
    return dim * dim * columns <= cutoffs.FIXED_WORK


def squared_columns(matrix: FloatArray) -> FloatArray:
    """Squared length of each column."""
    return np.square(matrix).sum(axis=0)


def squared_rows(matrix: FloatArray) -> FloatArray:
    """Squared length of each row."""
    return np.square(matrix).sum(axis=1)


def spanning_rows(rows: FloatArray) -> IntArray:
    """As many rows, by index, as there are columns, that span all of them."""
    return spread_rows(rows, rows.shape[1])
