"""The linear program of LinGapE, compiled: min ‖c‖₁ subject to sum of c_k x_k = y.

A simplex method made for this one program: d basic arms, each with a sign, are exchanged for
arms that make the combination cheaper. It takes some tens of microseconds, a general solver
milliseconds. It proves its result by the dual program, max μᵀy subject to |μᵀx_k| <= 1, and the
caller asks a general solver where the proof fails.
"""

# numba compiles these functions: their types are what the callers pass.
# pyright: reportArgumentType=false, reportCallIssue=false, reportReturnType=false

from __future__ import annotations

import numpy as np
from numba import njit

from surepick.arrays.grid import TIED

_TIE_BREAK = 1e-9  # moves ties apart: only ties could make the method run in circles
_PIVOT = 1e-10


@njit(cache=True)
def _times(matrix, vector):
    """``matrix @ vector``, in a fixed order."""
    out = np.zeros(matrix.shape[0])
    for i in range(matrix.shape[0]):
        for a in range(vector.shape[0]):
            out[i] += matrix[i, a] * vector[a]
    return out


@njit(cache=True)
def cheapest(columns, basis, inverse, y, limit):
    """Improve ``basis`` to an optimal one; return its coefficients and the proven excess.

    Parameters
    ----------
    columns
        Arms, one per column, ``(d, K)``.
    basis, inverse
        d linearly independent arms, and the matrix that maps y to their coefficients
        ``(d, d)``; both are overwritten.
    y
        The vector to combine, of length about one.
    limit
        Largest number of exchanges.
    """
    d, K = columns.shape
    sign, amount, along = np.empty(d), np.empty(d), np.empty(d)
    dual, price = np.empty(d), np.empty(K)
    c = _times(inverse, y)
    for i in range(d):
        sign[i] = 1.0 if c[i] >= 0.0 else -1.0
        amount[i] = abs(c[i]) + _TIE_BREAK * (1.0 + (i * 0.6180339887) % 1.0)
    bound = 0.0
    for _ in range(limit):
        dual[:] = 0.0  # μᵀx = sign for the basic arms
        for i in range(d):
            for a in range(d):
                dual[a] += sign[i] * inverse[i, a]
        price[:] = 0.0
        for a in range(d):
            for k in range(K):
                price[k] += dual[a] * columns[a, k]
        enters = 0
        for k in range(1, K):
            if abs(price[k]) > abs(price[enters]) * (1.0 + TIED):
                enters = k
        bound = 0.0
        for a in range(d):
            bound += dual[a] * y[a]
        bound /= max(1.0, abs(price[enters]))
        if abs(price[enters]) <= 1.0 + _PIVOT:
            break
        way = 1.0 if price[enters] > 0.0 else -1.0
        leaves, step = -1, np.inf
        for i in range(d):
            along[i] = 0.0
            for a in range(d):
                along[i] += inverse[i, a] * columns[a, enters]
            shrinks = way * sign[i] * along[i]
            if shrinks > _PIVOT and amount[i] / shrinks < step:
                leaves, step = i, amount[i] / shrinks
        if leaves < 0:
            break
        for i in range(d):
            amount[i] -= step * way * sign[i] * along[i]
        amount[leaves], sign[leaves], basis[leaves] = step, way, enters
        for a in range(d):
            inverse[leaves, a] /= along[leaves]
        for i in range(d):
            if i != leaves:
                for a in range(d):
                    inverse[i, a] -= along[i] * inverse[leaves, a]
    c = _times(inverse, y)
    cost = 0.0
    for i in range(d):
        cost += abs(c[i])
    excess = cost / bound - 1.0 if bound > 0.0 else np.inf
    return c, excess
