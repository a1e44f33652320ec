"""A primal-dual interior-point method for minimax designs on a working set.

With h_y(w) = 1 / (yᵀ A(w)⁻¹ y), concave and homogeneous of degree one in w,

    B = min_w max_y yᵀ A(w)⁻¹ y   over the simplex
      = min { Σ w_k : h_y(w) ≥ 1 for all y, w ≥ 0 },

and h_y's gradient is the vector (λ_yᵀ x_k)² with λ_y = A⁻¹y / a_y. The optimality conditions,
with multipliers z of the directions and v of the arms and slacks s, are

    Σ_y z_y (λ_yᵀ x_k)² + v_k = 1,   h_y(w) − s_y = 1,   z_y s_y = 0,   v_k w_k = 0.

Newton steps on these (Mehrotra's predictor and corrector) need one factorisation of a matrix
as large as the number of arms at work; its curvature part

    −Σ z ∇²h = 2 G ∘ (Lᵀ Z L) − 2 (L∘L)ᵀ Z F (L∘L),   L = (λ_yᵀ x_k),  G = X A⁻¹ Xᵀ,

is two matrix products. Working with h rather than with a_y matters: h is nearly linear, so
some ten steps do. Nothing here certifies anything: :mod:`surepick.design.minimax` does.
"""

from __future__ import annotations

import numpy as np

from surepick.arrays.types import FloatArray
from surepick.design._linalg import (
    backward,
    cholesky,
    forward,
    gram,
    product,
    root_of_inverse,
    solve,
    squared_columns,
)
from surepick.errors import SolverError


class InteriorPoint:
    """Iterate of the method: weights and multipliers of the arms and directions at work.

    Parameters
    ----------
    arms : array, (K, d)
        Arms at work; they span the space.
    weights : array, (K,)
        Where to start; positive.
    directions : array, (P, d)
        Directions at work.
    """

    def __init__(self, arms: FloatArray, weights: FloatArray, directions: FloatArray) -> None:
        self.arms, self.directions = arms, directions
        self.w: FloatArray = weights
        if not self.evaluate():
            raise SolverError("arms: they are too close to linear dependence")
        # Scale the weights until every direction holds with room to spare, then choose
        # multipliers on the central path, about half way below.
        self.w = self.w * (2.0 * self.f.max())
        self.evaluate()
        self.s: FloatArray = 1.0 / self.f - 1.0
        mu = 0.5 * float(self.w.sum()) / float((1.0 / self.s).sum())
        self.z: FloatArray = mu / self.s
        self.v: FloatArray = mu / self.w

    @property
    def mu(self) -> float:
        """Mean complementarity: how far from the optimum of the working set."""
        total = float((self.z * self.s).sum() + (self.v * self.w).sum())
        return total / (len(self.z) + len(self.w))

    def evaluate(self) -> bool:
        """Factor A(w) and evaluate the directions; False where A(w) is numerically singular."""
        chol = cholesky(gram(self.arms, self.w))
        if chol is None:
            return False
        self.chol = chol
        half = forward(chol, self.directions.T)  # (d, P)
        self.f = squared_columns(half)  # a_y
        solved = backward(chol, half).T  # A⁻¹y, (P, d)
        # λᵀy = 1 has to hold to the last digit: the lower bound rests on it.
        self.normals = solved / (solved * self.directions).sum(axis=1)[:, None]
        self.L = product(self.normals, self.arms.T)  # (P, K)
        return True

    def root(self) -> FloatArray:
        """R with A(w)⁻¹ = R Rᵀ."""
        return root_of_inverse(self.chol)

    def add_directions(self, directions: FloatArray) -> None:
        """Take more directions to work, on the central path where they allow it."""
        h = 1.0 / squared_columns(forward(self.chol, directions.T))
        mu = self.mu
        s = np.maximum(h - 1.0, np.sqrt(mu))
        self.directions = np.vstack([self.directions, directions])
        self.s = np.append(self.s, s)
        self.z = np.append(self.z, mu / s)

    def add_arms(self, arms: FloatArray, slack: FloatArray) -> None:
        """Take more arms to work; ``slack`` is 1 − Σ_y z_y (λ_yᵀ x)² of each."""
        mu = self.mu
        v = np.maximum(slack, np.sqrt(mu))
        self.arms = np.vstack([self.arms, arms])
        self.v = np.append(self.v, v)
        self.w = np.append(self.w, mu / v)

    def step(self, tol: float) -> bool:
        """One predictor-corrector step; False when rounding errors allow no further step.

        The aim is a relative gap of ``tol``: complementarity far below it would only make
        the equations harder to solve.
        """
        w, v, z, s, f = self.w, self.v, self.z, self.s, self.f
        J = self.L * self.L  # gradients of h, (P, K)
        dual = 1.0 - _mixed(z, J) - v
        primal = 1.0 / f - 1.0 - s
        factor = self._factor(J)
        if factor is None:
            return False
        scale, chol = factor

        def newton(zs: FloatArray, wv: FloatArray) -> tuple[FloatArray, ...]:
            """Newton direction towards complementarity changes zs and wv."""
            rhs = _mixed((zs - z * primal) / s, J) + wv / w - dual
            dw = scale * solve(chol, scale * rhs)
            ds = (J * dw).sum(axis=1) + primal
            return dw, ds, (zs - z * ds) / s, (wv - v * dw) / w

        dw, ds, dz, dv = newton(-z * s, -w * v)
        alpha = min(1.0, _room(w, dw), _room(s, ds))
        beta = min(1.0, _room(z, dz), _room(v, dv))
        mu = self.mu
        ahead = ((z + beta * dz) * (s + alpha * ds)).sum()
        ahead += ((v + beta * dv) * (w + alpha * dw)).sum()
        size = len(w) + len(z)
        target = max(mu * (ahead / (mu * size)) ** 3, 0.05 * tol * w.sum() / size)
        cross = alpha * beta
        dw, ds, dz, dv = newton(target - z * s - cross * dz * ds, target - w * v - cross * dw * dv)
        keep = min(max(0.9, 1.0 - mu), 0.9995)
        alpha = min(1.0, keep * min(_room(w, dw), _room(s, ds)))
        beta = min(1.0, keep * min(_room(z, dz), _room(v, dv)))
        self.w, self.s = w + alpha * dw, s + alpha * ds
        self.z, self.v = z + beta * dz, v + beta * dv
        return bool(np.isfinite(self.w).all() and np.isfinite(self.z).all())

    def _factor(self, J: FloatArray) -> tuple[FloatArray, FloatArray] | None:
        """Scaling and Cholesky factor of the Newton matrix."""
        half = forward(self.chol, self.arms.T)
        matrix = product(half.T, half) * product(self.L.T, 2.0 * self.z[:, None] * self.L)
        matrix += product(J.T, (self.z / self.s - 2.0 * self.z * self.f)[:, None] * J)
        diagonal = np.einsum("ii->i", matrix)
        diagonal += self.v / self.w
        if not (diagonal > 0).all():
            return None
        scale = 1.0 / np.sqrt(diagonal)
        matrix *= scale[:, None] * scale
        # Where the optimal design is not unique the matrix is singular; a small ridge mends that.
        for ridge in (0.0, 1e-14, 1e-12, 1e-10):
            diagonal += ridge
            chol = cholesky(matrix)
            if chol is not None:
                return scale, chol
        return None


def _mixed(weights: FloatArray, rows: FloatArray) -> FloatArray:
    """``weights @ rows``."""
    return product(weights[None], rows)[0]


def _room(x: FloatArray, dx: FloatArray) -> float:
    """Largest step t with x + t·dx ≥ 0."""
    steepest = float((dx / x).min())
    return -1.0 / steepest if steepest < 0 else np.inf
