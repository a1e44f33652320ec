"""Whether the linear model fits the mean rewards of the arms."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from surepick.arrays.types import FloatArray, IntArray
from surepick.arrays.validate import probability
from surepick.design.misfit import PRECISIONS, leverage, noticeable
from surepick.problem import Problem
from surepick.run.diagnostics.finding import Finding, NoiseEstimate, log_mean, noise_scale, typical

_NAMED = 8  # arms that a warning names at most


def lack_of_fit(
    problem: Problem,
    counts: Any,
    sums: Any,
    *,
    level: float = 0.05,
    noise: float | NoiseEstimate | None = None,
    matters: float = math.inf,
) -> Finding:
    """Whether the mean rewards of the arms contradict the model.

    Parameters
    ----------
    problem
        The model: linear, or linear to within its misfit where that is finite.
    counts, sums
        Pulls of each arm so far and the sum of their rewards.
    level
        Probability of ever raising a false alarm, over all looks at one run.
    noise
        Noise scale; by default the problem's.
    matters
        Size of a misfit that could change the answer: nothing reads as an all-clear that could not
        have noticed it.

    Examples
    --------
    >>> problem = Problem([[1, 0], [1, 1], [1, 2], [1, 3]])
    >>> lack_of_fit(problem, [100] * 4, [0.0, 150.0, 0.0, 0.0]).arms
    (1,)
    """
    level = probability(level, "level")
    n = np.asarray(counts, dtype=float)
    pulled = np.flatnonzero(n)
    if not len(pulled):
        return Finding(False, 0.0, level, "Nothing has been measured yet.", blind=True)
    scales, remark = noise_scale(problem, noise, pulled)
    scale = typical(scales)
    n, X = n[pulled], _per_noise(problem, pulled, scales)
    misfit = problem.misfit if math.isfinite(problem.misfit) else 0.0
    allowed = misfit / scales
    y = np.asarray(sums, dtype=float)[pulled] / (n * scales)
    columns, _ = _coordinates(X)
    rank = columns.shape[1]
    if rank == len(pulled):
        return Finding(
            False,
            0.0,
            level,
            f"The linear model cannot be checked: the {rank} options measured so far determine "
            f"{rank} coefficients. Measure more options to check it.",
            blind=True,
        )
    evidence = _misfit(X, n, y, allowed, problem.n_arms)
    if evidence < math.log(1 / level):
        least = misfit + scale * noticeable(columns, n, level)
        text, unclear = _unseen(misfit, least, matters) + remark, least > misfit + matters
        return Finding(False, evidence, level, text, (), False, least, unclear)
    odd, rest = _odd_arms(X, n, y, allowed, level, problem.n_arms)
    message = _misfit_message(problem, pulled, odd, rest, X, n, y, scales) + remark
    return Finding(True, evidence, level, message, tuple(int(pulled[i]) for i in odd))


def _unseen(misfit: float, least: float, matters: float) -> str:
    """What it means that nothing was seen, where a misfit of ``least`` would have been."""
    if least > misfit + matters:
        right = f"right to within {misfit:.2g}" if misfit else "right"
        return (
            f"It is too early to say whether the features are {right}. An error of "
            f"{misfit + matters:.2g} per option could change the answer, but so far only errors "
            f"above {least:.2g} would have been noticed."
        )
    said = (
        f"No misfit beyond the allowed {misfit:.2g} was seen"
        if misfit
        else "No misfit of the linear model was seen"
    )
    return f"{said}; one of {least:.2g} per option would probably have been noticed by now."


def _per_noise(problem: Problem, arms: IntArray, scales: FloatArray) -> FloatArray:
    """Features of these arms; where scales differ, those of noisier arms are smaller."""
    rows = problem.feature_rows(arms)
    ratios = scales / problem.noise_kind.units(arms)  # features have the problem's own scales in
    return rows if (ratios == ratios[0]).all() else rows * (ratios.min() / ratios)[:, None]


def _misfit(X: FloatArray, n: FloatArray, y: FloatArray, allowed: FloatArray, total: int) -> float:
    """log of the evidence against mean rewards Xθ + η (noise one), at any θ and |η| ≤ allowed.

    Half of it is about shifts of all arms, half about a shift of one arm, each of ``total`` alike:
    the first notices many small misfits, the second a single one.
    """
    X, turned = _coordinates(X)
    rest = np.abs(_residuals(X, n, y))
    if allowed.any():
        rest = np.maximum(rest - sway(X, n, allowed), 0.0)
    alone = _one_arm(turned, n, n * rest)
    logs = np.empty((len(PRECISIONS), 2))
    for j, rho in enumerate(PRECISIONS):
        # z = n(y − Xθ), G = diag(n): the form is Σ w (y − Xθ)², minimal at least squares
        w = n * n / (n + rho)
        form = _smallest(X, w, y, allowed)[0]
        logs[j, 0] = 0.5 * float(form - np.log1p(n / rho).sum())
        logs[j, 1] = log_mean(alone[j]) + math.log(len(n) / total)
    return log_mean(logs.ravel())


def _smallest(
    X: FloatArray, w: FloatArray, y: FloatArray, allowed: FloatArray
) -> tuple[float, FloatArray]:
    """The smallest Σ w (y − η − Xθ)², and what is squared there."""
    if allowed.any():
        return least_excess(X, w, y, allowed)
    rest = _residuals(X, w, y)
    return float(w @ rest**2), rest


def _one_arm(X: FloatArray, n: FloatArray, r: FloatArray) -> FloatArray:
    """log of the evidence for a shift of each arm alone, by precision; r: weighted residuals.

    Groups are the features (shifts Xβ, which keep θ from explaining the odd arm away) and one
    arm. With V = XᵀNX, P = rho·r·I the precision of β and u = Xᵀs − Vθ free as θ is, the form is
    minimal at r_k² / (S + F(V+P)Fᵀ), S the Schur complement of V + P, F = n_k x_kᵀ(V⁻¹ − (V+P)⁻¹).
    """
    values, vectors = np.linalg.eigh((X.T * n) @ X)
    squares = (X @ vectors) ** 2
    out = np.empty((len(PRECISIONS), len(n)))
    for j, rho in enumerate(PRECISIONS):
        p = rho * X.shape[1]
        schur = n + rho - n * n * (squares @ (1 / (values + p)))
        form = schur + n * n * (squares @ (p * p / (values * values * (values + p))))
        price = float(np.log1p(values / p).sum()) + np.log(schur / rho)
        out[j] = 0.5 * (r * r / form - price)
    return out


def _residuals(X: FloatArray, w: FloatArray, y: FloatArray) -> FloatArray:
    """y − Xθ at the weighted least squares θ; the columns of X are orthogonal, equally long."""
    values, vectors = np.linalg.eigh((X.T * w) @ X)
    root = vectors / np.sqrt(np.maximum(values, 1e-15 * values[-1]))
    rest = y
    for _ in range(2):  # the second time makes up for rounding in the first
        rest = rest - X @ (root @ (root.T @ (X.T @ (w * rest))))
    return rest


def _coordinates(X: FloatArray) -> tuple[FloatArray, FloatArray]:
    """What the rows span, in two sets of coordinates.

    Orthogonal columns of equal length, for arithmetic; and the features, only turned, for priors:
    these must not depend on which arms were pulled.
    """
    u, size, basis = np.linalg.svd(X, full_matrices=False)
    keep = size > size[0] * 1e-9
    return u[:, keep] * math.sqrt(len(X)), X @ basis[keep].T


def _odd_arms(
    X: FloatArray, n: FloatArray, y: FloatArray, allowed: FloatArray, level: float, total: int
) -> tuple[list[int], bool]:
    """Arms to set aside, one by one, until the others fit; whether they do then.

    Each time the arm whose absence improves the fit most (largest deleted residual).
    """
    left, odd = np.arange(len(n)), []
    while len(odd) < _NAMED:
        root = np.sqrt(n[left])
        rows, _ = _coordinates(X[left])
        free = 1.0 - leverage(rows, n[left])  # 0: the arm alone determines a coefficient
        r = root * _smallest(rows, n[left], y[left], allowed[left])[1]
        gain = np.where(free > 1e-9, r * r / np.maximum(free, 1e-9), 0.0)
        worst = int(np.argmax(gain))
        odd.append(int(left[worst]))
        left = np.delete(left, worst)
        if _misfit(X[left], n[left], y[left], allowed[left], total) < math.log(1 / level):
            return odd, True
    return odd, False


def _misfit_message(
    problem: Problem,
    pulled: IntArray,
    odd: list[int],
    rest_fits: bool,
    X: FloatArray,
    n: FloatArray,
    y: FloatArray,
    scales: FloatArray,
) -> str:
    left = np.setdiff1d(np.arange(len(n)), odd)
    root = np.sqrt(n[left])
    theta = np.linalg.lstsq(X[left] * root[:, None], y[left] * root, rcond=None)[0]
    shown = [
        f"{problem.labels[pulled[i]]!r} (measured {y[i] * scales[i]:.3g}, the others suggest "
        f"{float(X[i] @ theta) * scales[i]:.3g})"
        for i in odd[:4]
    ]
    more = len(odd) - len(shown)
    where = ", ".join(shown) + (f" and {more} more" if more else "")
    if not rest_fits:
        where += ", and others too"
    wrong, cure = (
        "The linear model does not fit these options",
        "do not use features (unstructured)",
    )
    if problem.misfit and math.isfinite(problem.misfit):
        wrong = f"The features are wrong by more than the allowed {problem.misfit:.3g} here"
        cure = "allow a larger misfit"
    return (
        f"{wrong}: {where}. The guarantee assumes this model. Add a feature that sets them apart "
        f"from the others, add interactions between features (a formula such as a*b), or {cure}."
    )


# -- where means may be off by a given size ------------------------------------------------------


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
