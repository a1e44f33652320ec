"""Multiplicative steps on the arms and directions at work, on any array library.

Matrices are factored by LAPACK on the host; :mod:`.recorded` makes the same steps on a GPU.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from surepick.arrays.backend import Backend
from surepick.arrays.grid import TIED
from surepick.arrays.types import FloatArray
from surepick.errors import SolverError

STEPS = 15  # between two looks
_LEAST_WEIGHT, _LEAST_SHARE = 1e-12, 1e-9  # smaller ones could never grow again
_RIDGE = 1e-14  # of the trace: M may be singular


class Steps(NamedTuple):
    """Where some steps led; arrays are on the device."""

    w: Any  #: weights of the arms after them
    q: Any  #: shares of the directions
    chosen: Any  #: the best weights that were met
    upper: float  #: the largest variance of a direction with these
    lower: float  #: no weights on these arms have a smaller one for these directions
    average: Any  #: of all weights that were met
    told: Any  #: how much each direction mattered, summed over the steps
    normals: Any  #: that times its λ


class Step(NamedTuple):
    """One step: what was found at the weights and shares before it, and those after it."""

    worst: Any  #: the largest variance of a direction
    bound: Any  #: no weights on these arms have a smaller one for these directions
    told: Any  #: how much each direction mattered
    normals: Any  #: that times its λ
    w: Any
    q: Any


def multiplicative_steps(
    b: Backend, table: tuple[Any, Any], start: tuple[Any, Any], speed: float, tol: float
) -> Steps:
    """Some steps from these weights and shares, until the bracket is narrow enough.

    Parameters
    ----------
    table
        Arms and directions at work, as rows.
    speed
        How far the mix of directions moves in a step.
    """
    xp, (w, q) = b.xp, start
    chosen, total, upper, lower = w, xp.zeros_like(w), math.inf, 0.0
    told, normals = xp.zeros_like(q), xp.zeros_like(table[1])
    algebra = OnHost(b)
    for step in range(STEPS):
        done = one_step(b, algebra, table, (w, q), speed)
        told, normals, total = told + done.told, normals + done.normals, total + w
        if float(done.worst) < upper * (1.0 - TIED):
            chosen, upper = w, float(done.worst)
        lower = max(lower, float(done.bound))
        if step > 0 and narrow(upper, lower, tol):
            break
        w, q = done.w, done.q
    average = total / xp.sum(total)
    return Steps(w / xp.sum(w), q / xp.sum(q), chosen, upper, lower, average, told, normals)


def one_step(
    b: Backend, algebra: OnHost, table: tuple[Any, Any], at: tuple[Any, Any], speed: Any
) -> Step:
    """From these weights and shares to the next ones."""
    xp, (x, y), (w, q) = b.xp, table, at
    root = algebra.inverse_root(xp.matmul(xp.matrix_transpose(x * w[:, None]), x))
    image = xp.matmul(y, root)
    a = b.squares(image)
    worst = xp.max(a)
    solved = xp.matmul(image, xp.matrix_transpose(root))  # A⁻¹y
    mass = xp.sum(q * a * a)
    normals = solved * (q * a / mass)[:, None]  # p λ
    gain = algebra.gain(x, xp.matmul(xp.matrix_transpose(solved * (q / mass)[:, None]), solved))
    moved, mixed = w * xp.sqrt(gain), q * (a / worst) ** speed
    return Step(
        worst,
        1.0 / xp.max(gain),
        q * a * a / mass,
        normals,
        xp.clip(moved / xp.sum(moved), _LEAST_WEIGHT, None),
        xp.clip(mixed / xp.sum(mixed), _LEAST_SHARE, None),
    )


def narrow(upper: float, lower: float, tol: float) -> bool:
    """Whether more steps are not worth while."""
    return upper <= (1.0 + 0.3 * tol) * lower


class OnHost:
    """Factorisations by LAPACK."""

    def __init__(self, b: Backend) -> None:
        self._b = b

    def inverse_root(self, gram: Any) -> Any:
        """R with A⁻¹ = R Rᵀ."""
        return self._b.put(inverse_root(self._b.host(gram)))

    def gain(self, x: Any, moments: Any) -> Any:
        """xᵀMx of each arm x."""
        return self._b.squares(self._b.xp.matmul(x, self._b.put(factor(self._b.host(moments)))))


def inverse_root(moments: FloatArray) -> FloatArray:
    """R with A⁻¹ = R Rᵀ."""
    try:
        return np.asarray(np.linalg.inv(np.linalg.cholesky(moments)).T, dtype=np.float64)
    except np.linalg.LinAlgError:
        raise too_close() from None


def factor(moments: FloatArray) -> FloatArray:
    """C with M = C Cᵀ, up to rounding, never below."""
    ridge = _RIDGE * np.trace(moments) * np.eye(len(moments))
    try:
        return np.linalg.cholesky(moments + ridge)
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(moments + ridge)
        return vectors * np.sqrt(np.maximum(values, 0.0))


def too_close() -> SolverError:
    """What is said where A(w) cannot be factored."""
    return SolverError("arms: they are too close to linear dependence")
