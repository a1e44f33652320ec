"""How many pulls it takes to notice that a linear model does not fit.

About the check in :mod:`surepick.run.diagnostics.fit`: how large a misfit it would probably have
noticed after given pulls, and which extra pulls let it notice a given one.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from surepick.arrays.types import FloatArray, IntArray
from surepick.arrays.validate import positive
from surepick.errors import InvalidInputError
from surepick.problem import Problem

#: prior precisions rho of the shifts, in pulls: shifts from 1 down to 1/256 of the noise
PRECISIONS = 4.0 ** np.arange(9)
_SURE = 1.28  # standard deviations: nine times out of ten


def noticeable(X: FloatArray, n: FloatArray, level: float) -> float:
    """Size s of independent shifts of all arms that an alarm has a good chance to follow.

    With H the projection on the model, twice the exponent has expectation Σ f (s² + 1/n) and
    variance close to 2 Σ (f/n)² + 4 s² Σ f²/n, where f = (1 − h) w; it has to exceed twice
    log(1/level) plus the logarithm of the determinant by some standard deviations.

    Parameters
    ----------
    X, n
        Features and pulls of the arms that were pulled.
    level
        Of the check. Sizes are in units of the noise.
    """
    return min(_noticeable_at(rho, X, n, level) for rho in PRECISIONS)


def _noticeable_at(rho: float, X: FloatArray, n: FloatArray, level: float) -> float:
    w = n * n / (n + rho)
    f = (1.0 - leverage(X, w)) * w
    gain, steady, wild = f.sum(), 2 * float(((f / n) ** 2).sum()), 4 * float((f * f / n).sum())
    if gain <= 1e-9:
        return math.inf
    need = 2 * math.log(2 * len(PRECISIONS) / level) + float((np.log1p(n / rho) - f / n).sum())
    square = 0.0
    for _ in range(60):  # a fixed point: the right side grows like the root of the left
        square = max(need + _SURE * math.sqrt(steady + wild * square), 0.0) / gain
    return math.sqrt(square)


def leverage(X: FloatArray, w: FloatArray) -> FloatArray:
    """Share of each row in its own fit: the diagonal of the weighted projection on X."""
    values, vectors = np.linalg.eigh((X.T * w) @ X)
    keep = values > values[-1] * 1e-12
    white = X @ (vectors[:, keep] / np.sqrt(values[keep]))
    return np.minimum(w * (white * white).sum(axis=1), 1.0)


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
    size = positive(size, "size") / problem.unit
    n = np.asarray(counts, dtype=np.int64)
    X = problem.features
    if problem.rank == len(X):
        raise InvalidInputError(
            "there are as many features as options, so the model fits any rewards: there is "
            "nothing to check"
        )

    def enough(least: int) -> bool:
        filled = np.maximum(n, least)
        at = filled > 0
        rows, pulls = X[at], filled[at].astype(float)
        return any(_noticeable_at(rho, rows, pulls, level) <= size for rho in PRECISIONS)

    low, high = -1, 1
    while not enough(high):
        low, high = high, 2 * high
        if low >= most:
            raise InvalidInputError(
                f"size: a misfit of {size * problem.unit:g} takes more than {most} pulls of each "
                f"arm to be noticed"
            )
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return np.maximum(n, high) - n
