"""The few LAPACK routines that the solvers need, without SciPy's checks around them.

Small problems are solved in a millisecond or two; argument checks would double that.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import lapack as _lapack
from scipy.linalg import qr

from surepick.arrays.types import FloatArray, IntArray

lapack: Any = _lapack  # its functions are made at import time, unknown to type checkers


def cholesky(matrix: FloatArray) -> FloatArray | None:
    """Lower factor of a symmetric matrix, or None if it is not positive definite."""
    factor, failed = lapack.dpotrf(matrix, lower=1)
    return None if failed else factor


def forward(factor: FloatArray, b: FloatArray) -> FloatArray:
    """Solve factor · x = b."""
    return lapack.dtrtrs(factor, b, lower=1)[0]


def backward(factor: FloatArray, b: FloatArray) -> FloatArray:
    """Solve factorᵀ · x = b."""
    return lapack.dtrtrs(factor, b, lower=1, trans=1)[0]


def solve(factor: FloatArray, b: FloatArray) -> FloatArray:
    """Solve factor · factorᵀ · x = b."""
    return lapack.dpotrs(factor, b, lower=1)[0]


def root_of_inverse(factor: FloatArray) -> FloatArray:
    """R with (factor · factorᵀ)⁻¹ = R Rᵀ."""
    return lapack.dtrtri(factor, lower=1)[0].T


def squared_columns(matrix: FloatArray) -> FloatArray:
    """Squared length of each column."""
    return np.einsum("ij,ij->j", matrix, matrix)


def spanning_rows(rows: FloatArray) -> IntArray:
    """As many rows, by index, as there are columns, that span all of them."""
    pivots: Any = qr(rows.T, mode="r", pivoting=True)
    return pivots[-1][: rows.shape[1]]
