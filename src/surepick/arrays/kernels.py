"""Compiled linear algebra on small matrices, shared by everything that needs speed.

All matrices are
C-contiguous float64; points are stored one per *column*, ``(d, M)``, so that the inner loops
run along memory and need no reordering of sums: equal inputs give equal bits on every processor,
which keeps exact ties exact. Beyond ``cutoffs.FIXED_WORK`` multiplications BLAS is so much faster
that it does them, in an order of its own; what is decided by that is compared with a tolerance.
"""

# numba compiles these functions: their types are what the callers pass.
# pyright: reportArgumentType=false, reportCallIssue=false

from __future__ import annotations

import numpy as np

from surepick.arrays.compiled import compiled
from surepick.arrays.cutoffs import FIXED_WORK
from surepick.arrays.grid import TIED


def array_steps(products, operations):
    """Steps of plain Python that so many multiplications take, in so many operations on arrays.

    Very many are left to BLAS, by compiled code alone.
    """
    return 3 * operations + products / 16 if products <= FIXED_WORK else np.inf


def _multiply(a, b, out):
    out[:] = 0.0
    for c in range(a.shape[1]):
        out += a[:, c, None] * b[c]


@compiled(work=lambda a, b, out: array_steps(a.size * b.shape[1], len(b)), plain=_multiply)
def multiply(a, b, out):
    """``out = a b``; each entry is added up in the order of the columns of ``a``."""
    n, d = a.shape
    m = b.shape[1]
    if n * d * m > FIXED_WORK:
        np.dot(np.ascontiguousarray(a), np.ascontiguousarray(b), out)
        return
    for i in range(n):
        row = out[i]
        row[:] = 0.0
        c = 0
        while c + 4 <= d:  # four at a time, to go through the row less often
            p, q, r, s = a[i, c], a[i, c + 1], a[i, c + 2], a[i, c + 3]
            u, v, w, x = b[c], b[c + 1], b[c + 2], b[c + 3]
            for j in range(m):
                row[j] = (((row[j] + p * u[j]) + q * v[j]) + r * w[j]) + s * x[j]
            c += 4
        while c < d:
            p, u = a[i, c], b[c]
            for j in range(m):
                row[j] += p * u[j]
            c += 1


def _weighted_gram(points, weights, out):
    out[:] = 0.0
    for weight, x in zip(weights, points):
        out += (weight * x)[:, None] * x
    upper = np.triu_indices(len(out), 1)
    out[upper] = out.T[upper]


@compiled(
    work=lambda points, weights, out: array_steps(points.size * len(out), len(points)),
    plain=_weighted_gram,
)
def weighted_gram(points, weights, out):
    """``out = sum_k weights[k] x_k x_kᵀ`` for points ``(K, d)``, one per row."""
    K, d = points.shape
    if K * d * d > FIXED_WORK:
        np.dot((points * weights.reshape(-1, 1)).T, points, out)
        return
    out[:, :] = 0.0
    k = 0
    while k + 4 <= K:  # four at a time, to go through the rows less often
        p, q, r, s = points[k], points[k + 1], points[k + 2], points[k + 3]
        for i in range(d):
            row = out[i]
            t, u = weights[k] * p[i], weights[k + 1] * q[i]
            v, w = weights[k + 2] * r[i], weights[k + 3] * s[i]
            for j in range(i + 1):
                row[j] = (((row[j] + t * p[j]) + u * q[j]) + v * r[j]) + w * s[j]
        k += 4
    while k < K:
        for i in range(d):
            scaled = weights[k] * points[k, i]
            for j in range(i + 1):
                out[i, j] += scaled * points[k, j]
        k += 1
    for i in range(d):
        for j in range(i):
            out[j, i] = out[i, j]


def _cholesky(matrix, out):
    rest = np.array(matrix)
    for k in range(len(rest)):
        if rest[k, k] <= 0.0:
            return False
        out[k, k] = np.sqrt(rest[k, k])
        below = out[k + 1 :, k]
        below[:] = rest[k + 1 :, k] / out[k, k]
        rest[k + 1 :, k + 1 :] -= below[:, None] * below
    return True


@compiled(
    work=lambda matrix, out: array_steps(matrix.size * len(out), 3 * len(out)), plain=_cholesky
)
def cholesky(matrix, out):
    """Lower factor of a positive definite matrix; False when it is not one."""
    d = matrix.shape[0]
    for i in range(d):
        for j in range(i + 1):
            total = matrix[i, j]
            for k in range(j):
                total -= out[i, k] * out[j, k]
            if i == j:
                if total <= 0.0:
                    return False
                out[i, i] = np.sqrt(total)
            else:
                out[i, j] = total / out[j, j]
    return True


def _whiten(lower, columns, out):
    out[:] = columns
    for j in range(len(lower)):
        out[j] *= 1.0 / lower[j, j]
        out[j + 1 :] -= lower[j + 1 :, j, None] * out[j]


@compiled(
    work=lambda lower, columns, out: array_steps(out.size * len(out), 2 * len(out)), plain=_whiten
)
def whiten(lower, columns, out):
    """``out = lower⁻¹ columns`` by forward substitution, all columns ``(d, M)`` at once."""
    d, M = columns.shape
    for i in range(d):
        row = out[i]
        row[:] = columns[i]
        for j in range(i):
            factor = lower[i, j]
            if factor != 0.0:
                other = out[j]
                for m in range(M):
                    row[m] -= factor * other[m]
        inverse = 1.0 / lower[i, i]
        for m in range(M):
            row[m] *= inverse


@compiled
def back_substitute(lower, vector, out):
    """``out = lower⁻ᵀ vector``."""
    d = vector.shape[0]
    for i in range(d - 1, -1, -1):
        total = vector[i]
        for j in range(i + 1, d):
            total -= lower[j, i] * out[j]
        out[i] = total / lower[i, i]


def _squared_distances(rows, points, out):
    out[:] = 0.0
    for c, others in enumerate(points):
        gap = rows[:, c, None] - others
        out += gap * gap


@compiled(
    work=lambda rows, points, out: array_steps(rows.size * points.shape[1], 3 * len(points)),
    plain=_squared_distances,
)
def squared_distances(rows, points, out):
    """``out[i, r]`` = ‖row i − column r of ``points``‖², each added up in the order of columns."""
    for i in range(rows.shape[0]):
        own = out[i]
        own[:] = 0.0
        for c in range(rows.shape[1]):
            value, others = rows[i, c], points[c]
            for r in range(others.shape[0]):
                gap = value - others[r]
                own[r] += gap * gap


@compiled
def farthest_pair(columns, products):
    """The two columns farthest apart: ``(i, j, squared distance)``, first pair on ties.

    ``products`` ``(M, M)`` is scratch for the inner products.
    """
    d, M = columns.shape
    multiply(np.ascontiguousarray(columns.T), columns, products)
    best, bi, bj, least = -1.0, 0, 1, -1.0
    for i in range(M - 1):
        own = products[i, i]
        for m in range(i + 1, M):
            distance = own + products[m, m] - 2.0 * products[i, m]
            if distance > least:  # clearly farther: of those alike the first is taken
                best, bi, bj = distance, i, m
                least = best + TIED * abs(best)
    exact = 0.0  # the chosen pair once more, without the cancellation of the expanded square
    for c in range(d):
        gap = columns[c, bi] - columns[c, bj]
        exact += gap * gap
    return bi, bj, exact


@compiled
def longest(columns, norms):
    """The longest column: ``(index, squared length)``, first on ties."""
    d, M = columns.shape
    for m in range(M):
        norms[m] = 0.0
    for c in range(d):
        row = columns[c]
        for m in range(M):
            norms[m] += row[m] * row[m]
    best = 0
    for m in range(1, M):
        if norms[m] > norms[best] * (1.0 + TIED):
            best = m
    return best, norms[best]


@compiled
def ball_multiplier(coords, eigenvalues, eps, radius):
    """Shift mu >= 0 so that the minimiser of lᵀMl, lᵀy >= eps, ‖l‖ <= radius is l(mu).

    ``coords`` are the coordinates of y in the eigenbasis of M. l(mu) is proportional to
    (M + mu I)⁻¹ y with lᵀy = eps; its length falls with mu towards eps/‖y‖. Returns -1 when even
    that is too long (no feasible point). With s = eps/radius, the root of
    ‖(M+mu)⁻¹y‖ / yᵀ(M+mu)⁻¹y = 1/s is found by Newton's method kept inside a bracket.
    """
    d = coords.shape[0]
    length2 = 0.0
    for i in range(d):
        length2 += coords[i] * coords[i]
    if eps > radius * np.sqrt(length2) * (1.0 + 1e-14):  # a touching ball leaves one point
        return -1.0
    goal = (radius / eps) * (radius / eps)
    low, high, mu = 0.0, np.inf, 0.0
    for _ in range(200):
        a, b, c = 0.0, 0.0, 0.0
        for i in range(d):
            inverse = 1.0 / (eigenvalues[i] + mu)
            square = coords[i] * coords[i] * inverse
            a += square
            b += square * inverse
            c += square * inverse * inverse
        excess = b / (a * a) - goal  # ‖l(mu)‖²/eps² − (radius/eps)²
        if excess <= 0.0:
            if mu == 0.0 or -excess <= 1e-15 * goal:
                return mu
            high = mu
        else:
            low = mu
        slope = 2.0 * (b * b - a * c) / (a * a * a)  # <= 0 by Cauchy–Schwarz
        step = mu - excess / slope if slope < 0.0 else np.inf
        if not (low < step < high):
            if high == np.inf:
                step = 2.0 * mu + eigenvalues[d - 1]
            else:
                step = 0.5 * (low + high)
        if abs(step - mu) <= 1e-15 * step or (high < np.inf and high - low <= 1e-15 * high):
            return step
        mu = step
        if mu > 1e18 * eigenvalues[d - 1]:  # eps = radius‖y‖: the one feasible point
            return mu
    return mu


@compiled
def alternative(coords, eigenvalues, eps, radius, out):
    """Minimise lᵀMl over lᵀy >= eps, ‖l‖ <= radius, in the eigenbasis of M.

    Writes the minimiser to ``out`` and returns the minimum, or inf when there is no feasible
    point. ``radius = inf`` gives the closed form eps²/yᵀM⁻¹y.
    """
    d = coords.shape[0]
    mu = 0.0
    if radius < np.inf:
        mu = ball_multiplier(coords, eigenvalues, eps, radius)
        if mu < 0.0:
            for i in range(d):
                out[i] = 0.0
            return np.inf
    a = 0.0
    for i in range(d):
        out[i] = coords[i] / (eigenvalues[i] + mu)
        a += coords[i] * out[i]
    value = 0.0
    for i in range(d):
        out[i] *= eps / a
        value += eigenvalues[i] * out[i] * out[i]
    return value
