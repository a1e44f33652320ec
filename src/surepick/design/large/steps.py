"""Multiplicative steps on the arms and directions at work; where they are made.

On the host, matrices are factored by LAPACK. On a GPU everything stays there: a step is some forty
small operations, and each number that the host asks for would make it wait for all of them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from surepick.arrays.backend import Backend
from surepick.arrays.types import FloatArray
from surepick.errors import SolverError

_STEPS = 15  # between two looks
_LEAST_WEIGHT, _LEAST_SHARE = 1e-12, 1e-9  # smaller ones could never grow again
_RIDGE = 1e-14  # of the trace: M may be singular


class Steps(NamedTuple):
    """Where some steps led; arrays are on the device."""

    w: Any  #: weights of the arms after them
    q: Any  #: shares of the directions
    chosen: Any  #: the best weights that were met
    upper: Any  #: the largest variance of a direction with these
    lower: Any  #: no weights on these arms have a smaller one for these directions
    average: Any  #: of all weights that were met
    told: Any  #: how much each direction mattered, summed over the steps
    normals: Any  #: that times its λ


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
    xp, (x, y), (w, q) = b.xp, table, start
    algebra = _OnDevice(b, x) if b.name == "torch" and b.on_gpu else _OnHost(b, x)
    chosen, total = w, xp.zeros_like(w)
    told, normals = xp.zeros_like(q), xp.zeros_like(y)
    upper = lower = None
    for step in range(_STEPS):
        root = algebra.inverse_root(w)
        image = xp.matmul(y, root)
        a = b.squares(image)
        worst = xp.max(a)
        if upper is None:
            upper = worst
        else:
            chosen = xp.where(worst < upper, w, chosen)
            upper = xp.where(worst < upper, worst, upper)
        solved = xp.matmul(image, xp.matrix_transpose(root))  # A⁻¹y
        mass = xp.sum(q * a * a)
        told += q * a * a / mass
        normals += solved * (q * a / mass)[:, None]  # p λ
        moments = xp.matmul(xp.matrix_transpose(solved * (q / mass)[:, None]), solved)
        gain = algebra.gain(moments)  # xᵀMx
        bound = 1.0 / xp.max(gain)
        lower = bound if lower is None else xp.where(bound > lower, bound, lower)
        total += w
        if algebra.narrow(step, upper, lower, tol):
            break
        w = w * xp.sqrt(gain)
        w = xp.clip(w / xp.sum(w), _LEAST_WEIGHT, None)
        q = q * (a / worst) ** speed
        q = xp.clip(q / xp.sum(q), _LEAST_SHARE, None)
    algebra.check()
    average = total / xp.sum(total)
    return Steps(w / xp.sum(w), q / xp.sum(q), chosen, upper, lower, average, told, normals)


class _OnHost:
    """Factorisations by LAPACK."""

    def __init__(self, b: Backend, x: Any) -> None:
        self._b, self._x = b, x

    def inverse_root(self, w: Any) -> Any:
        """R with A(w)⁻¹ = R Rᵀ."""
        xp, x = self._b.xp, self._x
        gram = xp.matmul(xp.matrix_transpose(x * w[:, None]), x)
        return self._b.put(inverse_root(self._b.host(gram)))

    def gain(self, moments: Any) -> Any:
        """xᵀMx of each arm x."""
        half = self._b.xp.matmul(self._x, self._b.put(factor(self._b.host(moments))))
        return self._b.squares(half)

    def narrow(self, step: int, upper: Any, lower: Any, tol: float) -> bool:
        """Whether more steps are not worth while."""
        return step > 0 and float(upper) <= (1.0 + 0.3 * tol) * float(lower)

    def check(self) -> None:
        """What went wrong has been said."""


class _OnDevice(_OnHost):
    """PyTorch on a GPU: nothing is asked of it before the end, or every few steps."""

    def __init__(self, b: Backend, x: Any) -> None:
        super().__init__(b, x)
        self._eye = b.put(np.eye(x.shape[1]))
        self._failed: Any = None

    def inverse_root(self, w: Any) -> Any:
        linalg = self._b.xp.linalg
        gram = self._x.mT @ (self._x * w[:, None])
        lower, info = linalg.cholesky_ex(gram)
        self._failed = info if self._failed is None else self._failed + info
        return linalg.solve_triangular(lower, self._eye, upper=False).mT

    def gain(self, moments: Any) -> Any:
        return ((self._x @ moments) * self._x).sum(dim=1).clamp(min=0.0)

    def narrow(self, step: int, upper: Any, lower: Any, tol: float) -> bool:
        return step % 5 == 4 and super().narrow(step, upper, lower, tol)

    def check(self) -> None:
        if int(self._failed):
            raise _too_close()


def inverse_root(moments: FloatArray) -> FloatArray:
    """R with A⁻¹ = R Rᵀ."""
    try:
        return np.asarray(np.linalg.inv(np.linalg.cholesky(moments)).T, dtype=np.float64)
    except np.linalg.LinAlgError:
        raise _too_close() from None


def factor(moments: FloatArray) -> FloatArray:
    """C with M = C Cᵀ, up to rounding, never below."""
    ridge = _RIDGE * np.trace(moments) * np.eye(len(moments))
    try:
        return np.linalg.cholesky(moments + ridge)
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(moments + ridge)
        return vectors * np.sqrt(np.maximum(values, 0.0))


def _too_close() -> SolverError:
    return SolverError("arms: they are too close to linear dependence")
