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

from surepick.design.directions import IntArray
from surepick.problem.backend import Backend
from surepick.problem.validate import FloatArray

_AT_ONCE = 256  # points compared with all others at a time
_WORK = {"cpu": 4e10, "gpu": 4e12}  # multiplications after which a bound has to do


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
    most = int(_WORK["gpu" if backend.on_gpu else "cpu"] / (count * dim)) // _AT_ONCE
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
    columns = xp.matrix_transpose(backend.take(image, seeds)) * -2.0
    best = backend.full((len(seeds),), -np.inf)
    where = backend.full((len(seeds),), 0, "int64")
    step = 1 << (19 if backend.on_gpu else 12)
    for start in range(0, image.shape[0], step):
        rows = slice(start, min(start + step, image.shape[0]))
        distance = xp.matmul(image[rows], columns)
        distance += squared[rows][:, None]
        top = xp.max(distance, axis=0)
        at = xp.argmax(distance, axis=0) + start
        where = xp.where(top > best, at, where)
        best = xp.maximum(best, top)
    values = backend.host(best) + backend.rows(squared, seeds)
    return backend.host(where).astype(np.int64), values
