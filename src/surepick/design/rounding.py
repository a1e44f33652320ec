"""From weights to whole numbers of pulls, and from many arms to few.

F. Pukelsheim and S. Rieder, Efficient rounding of approximate designs, Biometrika 79 (1992).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from surepick.arrays.types import FloatArray, IntArray
from surepick.arrays.validate import as_matrix, whole
from surepick.design._check import as_weights
from surepick.errors import InvalidInputError


def round_design(weights: ArrayLike, n: int, minimum: int = 1) -> IntArray:
    """Whole numbers of pulls, ``n`` in all, as close to the weights as can be.

    Pukelsheim and Rieder's apportionment. With s arms of positive weight, n ≥ s and
    ``minimum`` at most one, the pulls carry at least a fraction 1 − s/n of the information
    that n times the weights would, in every direction.

    Parameters
    ----------
    weights : array_like, (K,)
        A design; arms of weight zero get no pulls.
    n : int
        Pulls to hand out.
    minimum : int
        Pulls that each arm with weight gets at least. Where n does not suffice for that,
        only the heaviest arms are kept, and what is left need not span the space any more.

    Returns
    -------
    array of int, (K,)
        Ties go to the lowest index.

    Examples
    --------
    >>> round_design([0.5, 0.3, 0.2, 0.0], 10)
    array([5, 3, 2, 0])
    """
    w = as_weights(weights, "weights")
    n = whole(n, "n")
    minimum = whole(minimum, "minimum")
    counts = np.zeros(len(w), dtype=np.int64)
    support = np.flatnonzero(w)
    if n < minimum * len(support):
        heaviest = np.argsort(-w[support], kind="stable")[: n // minimum]
        support = np.sort(support[heaviest])
    if n == 0 or len(support) == 0:
        # fewer pulls than one arm's minimum: the heaviest arm takes what there is
        counts[int(np.argmax(w))] = n
        return counts
    share = w[support] / w[support].sum()
    pulls = np.ceil((n - len(support) / 2) * share).astype(np.int64)
    pulls = np.maximum(pulls, minimum)
    while (excess := int(pulls.sum()) - n) != 0:
        if excess < 0:
            pulls[np.argmin(pulls / share)] += 1
        else:
            # the arm that is most over its share even after giving one pull away
            over = np.where(pulls > minimum, (pulls - 1) / share, -np.inf)
            pulls[np.argmax(over)] -= 1
    counts[support] = pulls
    return counts


def prune(arms: ArrayLike, weights: ArrayLike) -> FloatArray:
    """Weights on at most r(r+1)/2 + 1 arms with the same A(w), r the rank of the arms.

    Carathéodory's theorem: A(w) and Σw together have r(r+1)/2 + 1 numbers, and a point of a
    convex hull in m dimensions needs no more than m + 1 of its corners.

    Parameters
    ----------
    arms : array_like, (K, d)
    weights : array_like, (K,)

    Returns
    -------
    array, (K,)
        Zero wherever ``weights`` is.

    Examples
    --------
    >>> import numpy as np
    >>> arms = [[1.0], [2.0], [3.0], [4.0]]
    >>> w = prune(arms, [0.25, 0.25, 0.25, 0.25])
    >>> int((w > 0).sum()), round(float(w @ np.square(arms)[:, 0]), 12)
    (2, 7.5)
    """
    table = as_matrix(arms, "arms")
    w = as_weights(weights, "weights", len(table))
    support = np.flatnonzero(w)
    # Orthonormal coordinates of the span keep the equations well conditioned.
    u, s, _ = np.linalg.svd(table[support], full_matrices=False)
    rank = int((s > s[0] * max(table.shape) * np.finfo(float).eps).sum()) if s[0] > 0 else 0
    if rank == 0:
        raise InvalidInputError("arms of positive weight are all zero")
    x = u[:, :rank] * np.sqrt(len(support))
    i, j = np.triu_indices(rank)
    limit = len(i) + 1
    kept = np.arange(min(2 * limit, len(support)))
    rest = np.arange(len(kept), len(support))
    v = w[support]
    # A block of twice the limit at a time, so that memory does not grow with the arms.
    while len(kept) > limit:
        moments = np.hstack([x[kept][:, i] * x[kept][:, j], np.ones((len(kept), 1))])
        v[kept] = _eliminate(moments, v[kept])
        kept = kept[v[kept] > 0]
        take = 2 * limit - len(kept)
        kept, rest = np.concatenate([kept, rest[:take]]), rest[take:]
    pruned = np.zeros(len(table))
    pruned[support[kept]] = v[kept]
    return pruned


def _eliminate(moments: FloatArray, w: FloatArray) -> FloatArray:
    """Move w within {w ≥ 0 : momentsᵀ w unchanged} until at most as many are left as moments."""
    n, m = moments.shape
    free = np.linalg.qr(moments, mode="complete")[0][:, m:]  # momentsᵀ free = 0, (n, n − m)
    w = w.copy()
    for _ in range(n - m):
        u = free[:, 0]
        # Σu = 0 because one moment is the sum, so some entry is positive.
        up = u > 1e-14 * np.abs(u).max()
        ratio = np.full(n, np.inf)
        ratio[up] = w[up] / u[up]
        gone = int(np.argmin(ratio))
        w = np.maximum(w - ratio[gone] * u, 0.0)
        w[gone] = 0.0
        # Reflect the basis so that only its first vector moves the arm that is gone; drop it.
        row = free[gone].copy()
        row[0] += np.copysign(np.linalg.norm(row), row[0])
        free = free - np.outer(free @ row, row * (2.0 / (row @ row)))
        free = free[:, 1:]
    return w
