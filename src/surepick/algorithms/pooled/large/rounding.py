"""Whole pulls from designs on many arms: few arms, chosen for what they tell together.

A design that is good for a million arms spreads over thousands of them, but a block has a few
pulls per dimension. Several ways to choose them are compared by the information that they leave.
"""

from __future__ import annotations

import math

import numpy as np

from surepick.algorithms.pooled.parts import OPEN, PART_CUTS, PARTS, cost_in_parts
from surepick.algorithms.pooled.planner import BlockDesign
from surepick.arrays import cutoffs
from surepick.arrays.grid import TIED, coarse
from surepick.arrays.types import FloatArray, IntArray
from surepick.design import round_design

_RIDGE = 1e-10  # of the trace: keeps a factor positive, changes no variance that matters
_CUTS = (1.0, 0.3, 0.05)  # arms due fewer pulls get none


def round_many(
    arms: FloatArray,
    weights: FloatArray,
    n: int,
    directions: FloatArray,
    shares: FloatArray,
    spanning: IntArray,
    must_span: bool,
) -> IntArray:
    """``n`` pulls, one count per arm, that tell most about the directions, by their shares.

    Parameters
    ----------
    arms : array, (s, d)
        The arms with weight, and those of ``spanning``.
    spanning
        Indices of arms that span.
    must_span
        Whether each of these gets a pull.
    """
    weights = coarse(weights / weights.sum())
    due = n - len(spanning) if must_span else n
    ways = [_even(weights, due)]
    ways += [_apportion(weights, due, cut) for cut in _CUTS]
    if n <= cutoffs.GREEDY_PULLS * arms.shape[1]:
        ways.append(_greedy(arms, weights, due, directions, shares))
    extra = np.zeros(len(arms), dtype=np.int64)
    if must_span:
        extra[spanning] += 1
    elif n >= 2 * len(spanning):
        spread = np.zeros(len(arms), dtype=np.int64)
        spread[spanning] = 1
        ways += [_even(weights, n - len(spanning)) + spread]
    best, most = None, 0.0
    for counts in ways:
        if counts.sum() != n - extra.sum():  # this way leaves too many arms, or none
            continue
        told = information(arms, counts + extra, directions, shares)
        if told > most * (1.0 + TIED):
            best, most = counts + extra, told
    if best is None:
        best = np.zeros(len(arms), dtype=np.int64)
        np.add.at(best, spanning[np.arange(n) % len(spanning)], 1)
    return best


def round_many_in_parts(
    arms: FloatArray, weights: FloatArray, n: int, judges: BlockDesign, spanning: IntArray
) -> tuple[IntArray, int]:
    """``n`` pulls and a number of parts, with a pull of every arm in each part."""
    weights = coarse(weights / weights.sum())
    best, parts, least = np.zeros(len(arms), dtype=np.int64), 0, math.inf
    squares, lengths = (arms**2).sum(axis=1), (judges.directions**2).sum(axis=1)
    for m in PARTS:
        if m > n:
            break
        spread = np.zeros(len(arms), dtype=np.int64)
        spread[spanning] = m
        ways = [_at_least(weights, n, cut, m) for cut in PART_CUTS]
        if n >= m * len(spanning):  # alone, where weights are spread over too many arms
            ways.append(np.bincount(spanning[np.arange(n) % len(spanning)], minlength=len(arms)))
        if n >= 2 * m * len(spanning):
            ways.append(_at_least(weights, n - m * len(spanning), PART_CUTS[0], m) + spread)
        for counts in ways:
            variances = _variances(arms, counts, judges.directions)
            if counts.sum() != n or variances is None:
                continue
            ridge = _RIDGE * float(squares @ counts)
            variances = np.where(ridge * variances > OPEN * lengths, math.inf, variances)
            cost = cost_in_parts(variances, judges.shares, judges.nats, m)
            if cost < least * (1.0 - TIED):
                best, parts, least = counts, m, cost
    if parts == 0:
        parts = 1
        np.add.at(best, spanning[np.arange(n) % len(spanning)], 1)
    return best, parts


def _at_least(weights: FloatArray, n: int, cut: float, m: int) -> IntArray:
    """Whole pulls, ``n`` in all, at least ``m`` for every arm due ``cut`` of that; none if many."""
    due = np.where(weights * n >= cut * m, weights * n, 0.0)
    counts = np.where(due > 0, m, 0).astype(np.int64)
    over = np.maximum(due - m, 0.0)
    rest = n - int(counts.sum())
    if rest < 0 or not counts.any() or (rest > 0 and not over.any()):
        return np.zeros(len(weights), dtype=np.int64)
    if rest:
        counts += round_design(over, rest)
    return counts


def information(
    arms: FloatArray, counts: IntArray, directions: FloatArray, shares: FloatArray
) -> float:
    """As the compiled kernel of that name, which would take a second to load and 100 MB."""
    variances = _variances(arms, counts, directions)
    if variances is None:
        return 0.0
    told = np.divide(shares, variances, out=np.zeros(len(shares)), where=variances > 0)
    return float(told.sum())


def _variances(arms: FloatArray, counts: IntArray, directions: FloatArray) -> FloatArray | None:
    """yᵀV⁺y for whole pulls V and each direction y; very large outside of their span."""
    used = np.flatnonzero(counts)
    gram = (arms[used].T * counts[used]) @ arms[used]
    gram[np.diag_indices_from(gram)] += _RIDGE * np.trace(gram)
    try:
        root = np.linalg.inv(np.linalg.cholesky(gram)).T
    except np.linalg.LinAlgError:
        return None
    image = directions @ root
    return np.einsum("ij,ij->i", image, image)


def _even(weights: FloatArray, n: int) -> IntArray:
    """Pulls at even distances along the cumulated weights: each arm within one of its due."""
    ticks = np.floor(coarse(np.cumsum(weights) * n) + 0.5).astype(np.int64)
    return np.diff(ticks, prepend=0)


def _apportion(weights: FloatArray, n: int, cut: float) -> IntArray:
    """Whole pulls, ``n`` in all, at least one for every arm due ``cut`` pulls or more."""
    heavy = np.where(weights * n >= cut, weights, 0.0)
    if not 0 < np.count_nonzero(heavy) <= n:
        return np.zeros(len(weights), dtype=np.int64)
    return round_design(heavy, n)


def _greedy(
    arms: FloatArray, weights: FloatArray, n: int, directions: FloatArray, shares: FloatArray
) -> IntArray:
    """One pull after the other, where it lowers Σ_y shares_y yᵀV⁻¹y most.

    With P = V⁻¹ and B = Σ shares y yᵀ a pull of x lowers it by xᵀPBPx / (1 + xᵀPx).
    """
    dim = arms.shape[1]
    used = np.sort(np.argsort(-weights, kind="stable")[: cutoffs.GREEDY_ARMS * dim])
    x = arms[used]
    scaled = directions * np.sqrt(shares / shares.sum())[:, None]
    moments = scaled.T @ scaled
    start = 1e-3 * float(np.einsum("ij,ij->i", x, x).mean()) / dim
    inverse = np.eye(dim) / start
    solved = x @ inverse
    left = np.einsum("ij,ij->i", solved, x) + 1.0  # 1 + xᵀPx
    gain = np.einsum("ij,ij->i", solved @ moments, solved)  # xᵀPBPx
    counts = np.zeros(len(used), dtype=np.int64)
    # Thousands of times through a few short arrays: what counts is how many calls there are.
    pair, told, ratio = np.empty((2, dim)), np.empty((2, len(used))), np.empty(len(used))
    lower, columns = np.empty((dim, dim)), np.ascontiguousarray(x.T)
    for _ in range(n):
        np.divide(gain, left, out=ratio)
        k = int((ratio >= ratio.max() * (1.0 - TIED)).argmax())  # first of those alike
        counts[k] += 1
        c = 1.0 / left[k]
        u = np.dot(inverse, x[k], out=pair[0])
        bu = np.dot(moments, u)
        np.dot(inverse, bu, out=pair[1])
        along, cross = np.dot(pair, columns, out=told)  # xᵀPx_k and xᵀPBPx_k
        # P ← P − c u uᵀ, and what follows from that
        cross *= -2.0
        np.multiply(along, c, out=ratio)
        cross += (c * np.dot(u, bu)) * along
        cross *= ratio
        gain += cross
        ratio *= along
        left -= ratio
        inverse -= np.multiply((c * u)[:, None], u, out=lower)
    whole = np.zeros(len(arms), dtype=np.int64)
    whole[used] = counts
    return whole
