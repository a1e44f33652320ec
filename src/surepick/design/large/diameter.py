"""The longest pairs of many points, with a bound on those that were not looked at.

Points are taken by decreasing distance r from the centre, some hundred at a time, and each is
compared with all others. A pair of two points not yet taken is at most r_n + r_{n+1} long, n and
n + 1 being the next two. So the search ends with the diameter itself as soon as that is below
the longest pair found. In many dimensions points tend to be equally far from their centre, and
that may take all pairs; then the search ends with a bound, after a fixed amount of work.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from surepick.arrays import cutoffs
from surepick.arrays.backend import Backend
from surepick.arrays.types import FloatArray, IntArray

_AT_ONCE = 256  # points compared with all others at a time
_TILE = {"cpu": (512, 4096), "gpu": (4096, 1 << 15)}  # pairs of points looked at together


def long_pairs(
    backend: Backend, points: Any, root: FloatArray, centre: FloatArray, limit: int
) -> tuple[float, IntArray, IntArray, FloatArray]:
    """A bound on ‖rootᵀ(x − x')‖² over all pairs, and up to ``limit`` pairs, longest first.

    Each pair found is some point's longest one.
    """
    image = backend.image(points, root)
    image -= backend.put(centre @ root)
    squared = backend.squares(image)
    count, dim = image.shape
    most = int(cutoffs.SEARCH_WORK["gpu" if backend.on_gpu else "cpu"] / (count * dim)) // _AT_ONCE
    order, radius2 = backend.largest(squared, min(count, max(1, most) * _AT_ONCE + 2))
    radius = np.sqrt(np.append(radius2, [0.0, 0.0]))
    found: list[tuple[IntArray, IntArray, FloatArray]] = []
    best, start = 0.0, 0
    while True:
        seeds = order[start : start + _AT_ONCE]
        partners, values = _farthest(backend, image, squared, seeds)
        found.append((seeds, partners, values))
        best = max(best, float(values.max()))
        start += len(seeds)
        rest = float(radius[start] + radius[start + 1]) ** 2 if start < count - 1 else 0.0
        # Rounding must not prune a pair that is exactly as long as the best one.
        if rest <= best * (1.0 - 1e-12) or start >= max(1, most) * _AT_ONCE:
            break
    i, j, values = (np.concatenate(part) for part in zip(*found))
    low, high = np.minimum(i, j), np.maximum(i, j)
    _, first = np.unique(low * count + high, return_index=True)
    top = first[np.argsort(-values[first], kind="stable")][:limit]
    # The products of the scan leave rounding behind; duplicates must come out as exactly zero.
    apart = (backend.rows(points, low[top]) - backend.rows(points, high[top])) @ root
    exact = np.einsum("ij,ij->i", apart, apart)
    order = np.argsort(-exact, kind="stable")
    bound = max(float(exact[order[0]]), rest)
    return bound, low[top][order], high[top][order], exact[order]


def _farthest(
    backend: Backend, image: Any, squared: Any, seeds: IntArray
) -> tuple[IntArray, FloatArray]:
    """For each of a few points the one farthest from it, and their squared distance."""
    xp = backend.xp
    near = backend.take(image, seeds) * -2.0
    best = backend.full((len(seeds),), -np.inf)
    where = backend.full((len(seeds),), 0, "int64")
    step = 1 << (19 if backend.on_gpu else 12)
    for start in range(0, image.shape[0], step):
        rows = slice(start, min(start + step, image.shape[0]))
        # One row per seed: the largest entry is sought along memory, not across it.
        distance = xp.matmul(near, xp.matrix_transpose(image[rows]))
        distance += squared[rows][None, :]
        top = xp.max(distance, axis=1)
        at = xp.argmax(distance, axis=1) + start
        where = xp.where(top > best, at, where)
        best = xp.maximum(best, top)
    values = backend.host(best) + backend.rows(squared, seeds)
    return backend.host(where).astype(np.int64), values


def diameter_bound(backend: Backend, points: Any, root: FloatArray, centre: FloatArray) -> float:
    """A bound on ‖rootᵀ(x − x')‖² over all pairs, from a look at all that can matter.

    In single precision, with what its rounding can hide added on top: a few parts in 10⁵. Where
    there are too many points for that, the square of twice the largest distance from the centre.
    """
    xp, place = backend.xp, "gpu" if backend.on_gpu else "cpu"
    squared = backend.quadratic(points, root, centre)
    count, dim = squared.shape[0], root.shape[1]
    order, squares = backend.largest(squared, count)
    radius = np.sqrt(squares)
    most = float(radius[0] + radius[min(1, count - 1)]) ** 2
    if 0.5 * count * count * dim > cutoffs.BOUND_WORK[place]:
        return most
    there, offset = backend.put(root), backend.put(centre @ root)
    image = xp.empty((count, dim), dtype=xp.float32, device=backend.device)
    for rows in backend.blocks(points, count):
        image[rows] = xp.astype(
            xp.matmul(backend.take(points, order[rows]), there) - offset, xp.float32
        )
    lengths = xp.astype(backend.put(squares), xp.float32)
    # Products of d terms err by at most d roundings of ‖x‖‖x'‖; some more for all the rest.
    doubt = (dim + 8) * 2.0**-23 * 4.0 * float(squares[0])
    best = 0.0
    tall, wide = _TILE[place]
    for top in range(0, count, tall):
        rows = slice(top, min(top + tall, count))
        for left in range(0, rows.stop, wide):  # each pair once: with points farther out
            if (radius[top] + radius[left]) ** 2 <= best:
                break
            columns = slice(left, min(left + wide, rows.stop))
            tile = xp.matmul(image[rows] * -2.0, xp.matrix_transpose(image[columns]))
            tile += lengths[columns][None, :]
            best = max(best, float(xp.max(xp.max(tile, axis=1) + lengths[rows])))
    return min(best + doubt, most)
