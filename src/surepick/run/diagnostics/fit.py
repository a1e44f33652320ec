"""Whether the linear model fits the mean rewards of the arms."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from surepick.errors import InvalidInputError
from surepick.problem import Problem
from surepick.problem.validate import FloatArray, positive, probability
from surepick.run.diagnostics.finding import PRECISIONS, Finding, log_mean, noise_scale
from surepick.run.diagnostics.noise import IntArray, NoiseEstimate

_SURE = 1.28  # standard deviations: nine times out of ten
_NAMED = 8  # arms that a warning names at most


def lack_of_fit(
    problem: Problem,
    counts: Any,
    sums: Any,
    *,
    level: float = 0.05,
    noise: float | NoiseEstimate | None = None,
) -> Finding:
    """Whether the mean rewards of the arms contradict the linear model.

    Parameters
    ----------
    problem
        The model.
    counts, sums
        Pulls of each arm so far and the sum of their rewards.
    level
        Probability of ever raising a false alarm, over all looks at one run.
    noise
        Noise scale; by default the problem's.

    Examples
    --------
    >>> problem = Problem([[1, 0], [1, 1], [1, 2], [1, 3]])
    >>> lack_of_fit(problem, [100] * 4, [0.0, 150.0, 0.0, 0.0]).arms
    (1,)
    """
    level = probability(level, "level")
    scale, remark = noise_scale(problem, noise)
    n = np.asarray(counts, dtype=float)
    pulled = np.flatnonzero(n)
    if not len(pulled):
        return Finding(False, 0.0, level, "Nothing has been measured yet.", blind=True)
    n, X = n[pulled], problem.features[pulled]
    y = np.asarray(sums, dtype=float)[pulled] / (n * scale)
    rank = int(np.linalg.matrix_rank(X))
    if rank == len(pulled):
        return Finding(
            False,
            0.0,
            level,
            f"The linear model cannot be checked: the {rank} options measured so far determine "
            f"{rank} coefficients; more options would have to be measured.",
            blind=True,
        )
    evidence = _misfit(X, n, y, problem.n_arms)
    if evidence < math.log(1 / level):
        least = scale * _noticeable(X, n, level)
        text = (
            f"No misfit of the linear model was seen; one of {least:.2g} per option would "
            f"probably have been noticed by now.{remark}"
        )
        return Finding(False, evidence, level, text, noticeable=least)
    odd, rest = _odd_arms(X, n, y, level, problem.n_arms)
    message = _misfit_message(problem, pulled, odd, rest, X, n, y, scale) + remark
    return Finding(True, evidence, level, message, tuple(int(pulled[i]) for i in odd))


def _misfit(X: FloatArray, n: FloatArray, y: FloatArray, total: int) -> float:
    """log of the evidence against mean rewards Xθ (noise one), at any θ.

    Half of it is about shifts of all arms, half about a shift of one arm, each of ``total`` alike:
    the first notices many small misfits, the second a single one.
    """
    alone = _one_arm(X, n, y)
    logs = np.empty((len(PRECISIONS), 2))
    for j, rho in enumerate(PRECISIONS):
        # z = n(y − Xθ), G = diag(n): the form is Σ w (y − Xθ)², minimal at least squares
        w = n * n / (n + rho)
        logs[j, 0] = 0.5 * float(w @ _residuals(X, w, y) ** 2 - np.log1p(n / rho).sum())
        logs[j, 1] = log_mean(alone[j]) + math.log(len(n) / total)
    return log_mean(logs.ravel())


def _one_arm(X: FloatArray, n: FloatArray, y: FloatArray) -> FloatArray:
    """log of the evidence for a shift of each arm alone, by precision.

    Groups are the features (shifts Xβ, which deny θ the room to explain the odd arm away) and one
    arm. With V = XᵀNX, P = rho·r·I the precision of β and u = Xᵀs − Vθ free as θ is, the form is
    minimal at r_k² / (S + F(V+P)Fᵀ), S the Schur complement of V + P, F = n_k x_kᵀ(V⁻¹ − (V+P)⁻¹).
    """
    _, size, basis = np.linalg.svd(X, full_matrices=False)
    X = X @ basis[size > size[0] * 1e-9].T  # what the pulled arms span
    values, vectors = np.linalg.eigh((X.T * n) @ X)
    squares = (X @ vectors) ** 2
    r = n * _residuals(X, n, y)
    out = np.empty((len(PRECISIONS), len(n)))
    for j, rho in enumerate(PRECISIONS):
        p = rho * X.shape[1]
        schur = n + rho - n * n * (squares @ (1 / (values + p)))
        form = schur + n * n * (squares @ (p * p / (values * values * (values + p))))
        price = float(np.log1p(values / p).sum()) + np.log(schur / rho)
        out[j] = 0.5 * (r * r / form - price)
    return out


def _noticeable(X: FloatArray, n: FloatArray, level: float) -> float:
    """Size s of independent shifts of all arms that an alarm has a good chance to follow.

    With H the projection on the model, twice the exponent has expectation Σ f (s² + 1/n) and
    variance close to 2 Σ (f/n)² + 4 s² Σ f²/n, where f = (1 − h) w; it has to exceed twice
    log(1/level) plus the logarithm of the determinant by some standard deviations.
    """
    least = math.inf
    for rho in PRECISIONS:
        w = n * n / (n + rho)
        q, _ = np.linalg.qr(X * np.sqrt(w)[:, None])
        f = (1.0 - (q * q).sum(axis=1)) * w
        gain, steady, wild = f.sum(), 2 * float(((f / n) ** 2).sum()), 4 * float((f * f / n).sum())
        if gain <= 1e-9:
            continue
        need = 2 * math.log(2 * len(PRECISIONS) / level) + float((np.log1p(n / rho) - f / n).sum())
        square = 0.0
        for _ in range(60):  # a fixed point: the right side grows like the root of the left
            square = max(need + _SURE * math.sqrt(steady + wild * square), 0.0) / gain
        least = min(least, math.sqrt(square))
    return least


def check_pulls(
    problem: Problem, counts: Any, size: float, *, level: float = 0.05, most: int = 10**6
) -> IntArray:
    """Extra pulls of each arm after which a misfit of this size would probably be noticed.

    An algorithm measures what decides between candidates, which may be few arms and few pulls:
    too few to see whether the model is right. These pulls make up for it, before or after the
    stop; they go to the arms measured least. The check stays valid, whatever decided on them.

    Parameters
    ----------
    problem, counts
        The model, and pulls of each arm so far.
    size
        Misfit to be noticed, in units of the reward: root mean square over the arms of what the
        best linear model misses.
    level
        Of the check.
    most
        Pulls of an arm at most.

    Examples
    --------
    >>> problem = Problem([[1, 0], [1, 1], [1, 2], [1, 3]])
    >>> extra = check_pulls(problem, [50, 0, 0, 50], size=1.0)
    >>> int(extra[0]), bool(extra[1] > 0)
    (0, True)
    """
    size = positive(size, "size") / problem.noise
    n = np.asarray(counts, dtype=np.int64)
    X = problem.features
    if int(np.linalg.matrix_rank(X)) == len(X):
        raise InvalidInputError(
            "the model fits any rewards, as there are as many features as options: there is "
            "nothing to check"
        )

    def enough(least: int) -> bool:
        filled = np.maximum(n, least)
        at = filled > 0
        return _noticeable(X[at], filled[at].astype(float), level) <= size

    low, high = -1, 1
    while not enough(high):
        low, high = high, 2 * high
        if low >= most:
            raise InvalidInputError(
                f"size: a misfit of {size * problem.noise:g} takes more than {most} pulls of each "
                f"arm to be noticed"
            )
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return np.maximum(n, high) - n


def _residuals(X: FloatArray, w: FloatArray, y: FloatArray) -> FloatArray:
    root = np.sqrt(w)
    theta = np.linalg.lstsq(X * root[:, None], y * root, rcond=None)[0]
    return y - X @ theta


def _odd_arms(
    X: FloatArray, n: FloatArray, y: FloatArray, level: float, total: int
) -> tuple[list[int], bool]:
    """Arms to set aside, one by one, until the others fit; whether they do then.

    Each time the arm whose absence improves the fit most (largest deleted residual).
    """
    left, odd = np.arange(len(n)), []
    while len(odd) < _NAMED:
        root = np.sqrt(n[left])
        q, _ = np.linalg.qr(X[left] * root[:, None])
        free = 1.0 - (q * q).sum(axis=1)  # 0: the arm alone determines a coefficient
        r = root * _residuals(X[left], n[left], y[left])
        gain = np.where(free > 1e-9, r * r / np.maximum(free, 1e-9), 0.0)
        worst = int(np.argmax(gain))
        odd.append(int(left[worst]))
        left = np.delete(left, worst)
        if _misfit(X[left], n[left], y[left], total) < math.log(1 / level):
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
    scale: float,
) -> str:
    left = np.setdiff1d(np.arange(len(n)), odd)
    root = np.sqrt(n[left])
    theta = np.linalg.lstsq(X[left] * root[:, None], y[left] * root, rcond=None)[0]
    shown = [
        f"{problem.labels[pulled[i]]!r} (measured {y[i] * scale:.3g}, the others suggest "
        f"{float(X[i] @ theta) * scale:.3g})"
        for i in odd[:4]
    ]
    more = len(odd) - len(shown)
    where = ", ".join(shown) + (f" and {more} more" if more else "")
    if not rest_fits:
        where += ", and others too"
    return (
        f"The linear model does not fit these options: {where}. The guarantee rests on that model. "
        f"Add a feature in which they differ from the others, or interactions between features "
        f"(a formula such as a*b), or do without features (unstructured)."
    )
