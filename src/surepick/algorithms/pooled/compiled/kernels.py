"""Compiled parts of PooledPeleg: pairs to bet on, small min-max designs, and their rounding.

A design of a few percent accuracy is all a block needs, but it is needed afresh after every one.
:func:`solve_design` alternates two multiplicative steps that share one factorisation: weights
move towards the optimum for the current mix of directions, and the mix moves towards the
directions that are worst off. :mod:`surepick.design` has the certified solver; it is used where
there are too many arms or directions for this one.
"""

# numba compiles these functions: their types are what the callers pass.
# pyright: reportArgumentType=false, reportCallIssue=false

from __future__ import annotations

import math

import numpy as np

from surepick.algorithms.pooled.parts import HOPELESS, OPEN, PART_COST, PART_CUTS, PARTS
from surepick.arrays.compiled import compiled
from surepick.arrays.kernels import cholesky, multiply, weighted_gram, whiten

_RIDGE = 1e-10  # of the trace: makes matrices invertible, changes no variance that matters
_FLOOR = 1e-9  # smaller shares could never grow again
_SINGULAR = 1e-12  # squared pivots below this fraction of the diagonal count as zero


@compiled
def _total(values):
    """The sum, from the first to the last: NumPy adds in another order."""
    total = 0.0
    for value in values:
        total += value
    return total


@compiled
def _squared(rows):
    """Squared length of each row."""
    found = np.zeros(rows.shape[0])
    for c in range(rows.shape[1]):
        found += rows[:, c] * rows[:, c]
    return found


@compiled
def _factor(arms, weights, lower):
    """Cholesky factor of A(weights); False where it is singular, or as good as that."""
    d = arms.shape[1]
    gram = np.empty((d, d))
    weighted_gram(arms, weights, gram)
    if not cholesky(gram, lower):
        return False
    least = np.inf
    for i in range(d):
        least = min(least, lower[i, i] * lower[i, i] / gram[i, i])
    return least >= _SINGULAR


@compiled
def _inverse(lower, out):
    """``out = (lower lowerᵀ)⁻¹``."""
    d = lower.shape[0]
    half = np.empty((d, d))
    whiten(lower, np.eye(d), half)
    multiply(np.ascontiguousarray(half.T), half, out)


@compiled(work=lambda arms, rounds: rounds * arms.size)
def spread(arms, rounds):
    """Weights near the G-optimal design, by multiplicative steps; all positive."""
    K, d = arms.shape
    columns = np.ascontiguousarray(arms.T)
    weights = np.full(K, 1.0 / K)
    lower, white = np.zeros((d, d)), np.empty((d, K))
    for _ in range(rounds):
        if not _factor(arms, weights, lower):
            break
        whiten(lower, columns, white)
        lengths = np.zeros(K)
        for c in range(d):
            lengths += white[c] * white[c]
        weights *= lengths / d
    return weights / _total(weights)


@compiled(work=lambda arms, others, _w, _s, rounds, _t: rounds * (arms.size + others.size))
def solve_design(arms, directions, weights, shares, rounds, tol):
    """Weights with small max_y yᵀA(w)⁻¹y, and that value; ``shares`` is updated in place.

    Stops when the value is within ``tol`` of the lower bound 1/max_x Σ q_y (λ_yᵀx)².
    """
    K, d = arms.shape
    P = directions.shape[0]
    columns = np.ascontiguousarray(directions.T)
    lower, inverse = np.zeros((d, d)), np.empty((d, d))
    solved, a, mixed = np.empty((d, P)), np.empty(P), np.empty(K)
    moments, images = np.empty((d, d)), np.empty((K, d))
    best, certified = np.inf, 0.0
    chosen, weights = weights.copy(), weights.copy()
    for _ in range(rounds):
        if not _factor(arms, weights, lower):
            break
        _inverse(lower, inverse)
        multiply(inverse, columns, solved)
        a[:] = 0.0
        for c in range(d):
            a += solved[c] * columns[c]
        worst = a.max()
        if worst < best:
            best = worst
            chosen[:] = weights
        mass = 0.0
        for j in range(P):
            mass += shares[j] * a[j] * a[j]
        # Σ_y shares_y (yᵀA⁻¹x)² = xᵀMx with M = Σ shares_y A⁻¹y yᵀA⁻¹
        weighted_gram(np.ascontiguousarray(solved.T), shares, moments)
        multiply(arms, moments, images)
        mixed[:] = 0.0
        for c in range(d):
            mixed += images[:, c] * arms[:, c]
        mixed[:] = np.maximum(mixed, 0.0)
        # Σ_y q_y (λ_yᵀx)² with q ∝ shares·a² and λ = A⁻¹y / a
        certified = max(certified, mass / mixed.max())
        if best <= certified * (1.0 + tol):
            break
        total = 0.0
        for k in range(K):  # the optimum for fixed shares is the fixed point of this step
            weights[k] = max(weights[k] * np.sqrt(mixed[k]), 1e-300)
            total += weights[k]
        for k in range(K):
            weights[k] = max(weights[k] / total, 1e-12)
        total = 0.0
        for j in range(P):
            shares[j] = max(shares[j] * ((a[j] / worst) * (a[j] / worst)), _FLOOR)
            total += shares[j]
        for j in range(P):
            shares[j] /= total
    return chosen / _total(chosen), best


@compiled
def apportion(weights, n, cut, least=1):
    """Whole pulls, ``n`` in all, at least ``least`` for every arm due ``cut`` times that."""
    K = weights.shape[0]
    kept = 0.0
    size = 0
    for k in range(K):
        if weights[k] * n >= cut * least and weights[k] > 0.0:
            kept += weights[k]
            size += 1
    counts = np.zeros(K, dtype=np.int64)
    if size == 0 or size * least > n:
        return counts
    total = 0
    for k in range(K):
        if weights[k] * n >= cut * least and weights[k] > 0.0:
            counts[k] = max(least, int(np.ceil((n - 0.5 * size) * weights[k] / kept)))
            total += counts[k]
    while total != n:
        best, found = -1, 0.0
        for k in range(K):
            if counts[k] == 0:
                continue
            if total < n:
                ratio = -counts[k] / weights[k]
            elif counts[k] > least:
                ratio = (counts[k] - 1) / weights[k]
            else:
                continue
            if best < 0 or ratio > found:
                best, found = k, ratio
        counts[best] += 1 if total < n else -1
        total += 1 if total < n else -1
    return counts


@compiled
def _variances(arms, counts, directions, out):
    """``out = yᵀV⁺y`` for whole pulls V and each direction y; False where nothing can be said.

    A ridge far below every eigenvalue that matters makes variances outside of the span of V huge.
    """
    d = arms.shape[1]
    gram, lower = np.empty((d, d)), np.zeros((d, d))
    weighted_gram(arms, counts.astype(np.float64), gram)
    ridge = 0.0
    for i in range(d):
        ridge += gram[i, i]
    for i in range(d):
        gram[i, i] += _RIDGE * ridge
    if not cholesky(gram, lower):
        return False
    white = np.empty((d, directions.shape[0]))
    whiten(lower, np.ascontiguousarray(directions.T), white)
    out[:] = 0.0
    for c in range(d):
        out += white[c] * white[c]
    return True


@compiled
def information(arms, counts, directions, shares):
    """Σ_y shares_y / yᵀV⁺y of whole pulls V; a direction outside their span counts as nothing."""
    variances = np.empty(directions.shape[0])
    if not _variances(arms, counts, directions, variances):
        return 0.0
    total = 0.0
    for j in range(directions.shape[0]):
        if variances[j] > 0.0:
            total += shares[j] / variances[j]
    return total


@compiled(work=lambda arms, _w, n, directions, *_: 16 * (arms.size + directions.size))
def round_block(arms, weights, n, directions, shares, spanning, cuts, must_span):
    """The apportionment of ``n`` pulls, among several ways to treat light arms, that tells most.

    ``shares`` say how much each direction matters. Light arms may get no pull, or those of a
    spanning set one each (always with ``must_span``).
    """
    best, value = np.zeros(arms.shape[0], dtype=np.int64), 0.0
    for cut in cuts:
        for spans in (False, True):
            if must_span and not spans:
                continue
            due = n - spanning.shape[0] if spans else n
            if due < 1:
                continue
            counts = apportion(weights, due, cut)
            if counts.sum() != due:
                continue
            if spans:
                for k in spanning:
                    counts[k] += 1
            found = information(arms, counts, directions, shares)
            if found > value:
                best, value = counts, found
    if value == 0.0:
        for i in range(n):
            best[spanning[i % spanning.shape[0]]] += 1
    return best


@compiled(work=lambda arms, _w, n, directions, *_: 64 * (arms.size + directions.size))
def round_in_parts(arms, weights, n, directions, shares, nats, spanning):
    """``n`` pulls and a number of parts, with a pull of every arm in each part.

    Of several ways, the one that leaves the least to do (as ``cost_in_parts`` of the planners).
    """
    best, parts, least = np.zeros(arms.shape[0], dtype=np.int64), 0, np.inf
    variances = np.empty(directions.shape[0])
    squares, lengths = _squared(arms), _squared(directions)
    for m in PARTS:
        if m > n:
            break
        for cut in PART_CUTS:
            for spans in (False, True):
                due = n - m * spanning.shape[0] if spans else n
                if due < (0 if spans else m):
                    continue
                counts = apportion(weights, due, cut, m)
                fits = counts.sum() == due
                if spans:
                    for k in spanning:
                        counts[k] += m
                    if not fits:  # weights spread over too many arms
                        for i in range(due):
                            counts[spanning[i % spanning.shape[0]]] += 1
                elif not fits:
                    continue
                if not _variances(arms, counts, directions, variances):
                    continue
                cost = 0.0
                ridge = _RIDGE * _total(squares * counts)
                for j in range(directions.shape[0]):
                    blocks = 0.5 * variances[j] + PART_COST * nats[j] / m
                    if ridge * variances[j] > OPEN * lengths[j]:
                        blocks = HOPELESS
                    cost += min(blocks, HOPELESS) * (shares[j] + 1.0 / shares.shape[0])
                if cost < least:
                    best, parts, least = counts, m, cost
    if parts == 0:
        parts = 1
        for i in range(n):
            best[spanning[i % spanning.shape[0]]] += 1
    return best, parts


@compiled
def _add_logs(a, b):
    top = max(a, b)
    if top == -np.inf:
        return top
    return top + math.log(math.exp(a - top) + math.exp(b - top))


@compiled
def _distance(points, i, j):
    total = 0.0
    for c in range(points.shape[1]):
        gap = points[i, c] - points[j, c]
        total += gap * gap
    return total


@compiled(work=lambda against, rivals, *given: len(against) * len(rivals) * 4 * given[2].shape[1])
def pairs(against, rivals, doubt, nearness, points, past, block, first):
    """Stakes and news about each candidate (rows) and rival (columns).

    The capital of each account is split over the rivals r ≠ x in proportion to
    exp(−doubt_r) times the information of the first block about r − x, or ``nearness`` times the
    least of these where that is less. ``past``, ``block[0]`` and ``first[0]`` are the columns of
    :class:`~surepick.algorithms.pooled.values.Values`.
    """
    past_means, past_white, past_own = past
    means, white, own = block[0]
    outside = block[1]
    _, first_white, first_own = first[0]
    scale = first[1]
    n, R = against.shape[0], rivals.shape[0]
    shares, lead, information = np.empty((n, R)), np.zeros((n, R)), np.zeros((n, R))
    unit, new_lead, told = np.ones((n, R)), np.zeros((n, R)), np.zeros((n, R))
    for i in range(n):
        x = against[i]
        least = np.inf
        for a in range(R):
            r = rivals[a]
            if r != x:
                unit[i, a] = scale / (_distance(first_white, r, x) + first_own[r] + first_own[x])
                least = min(least, unit[i, a])
        for a in range(R):
            r = rivals[a]
            if r == x:
                shares[i, a] = -np.inf
                continue
            shares[i, a] = math.log(min(unit[i, a], nearness * least)) - doubt[a]
            apart = _distance(past_white, r, x) + past_own[r] + past_own[x]
            information[i, a] = 1.0 / apart
            lead[i, a] = past_means[r] - past_means[x]
            new_lead[i, a] = means[r] - means[x]
            if _distance(outside, r, x) <= 1e-18 * _distance(points, r, x):
                told[i, a] = 1.0 / (_distance(white, r, x) + own[r] + own[x])
    return shares, lead, information, unit, new_lead, told


@compiled(work=lambda capital, against, shares, payoffs: 4 * payoffs.size)
def add_payoffs(capital, against, shares, payoffs):
    """Add to the log capital (M, J) the payoffs (n, R, J), averaged by the shares (n, R)."""
    n, R, J = payoffs.shape
    for i in range(n):
        whole = -np.inf
        for a in range(R):
            whole = _add_logs(whole, shares[i, a])
        if whole == -np.inf:  # x has no rival but itself
            continue
        for j in range(J):
            paid = -np.inf
            for a in range(R):
                paid = _add_logs(paid, shares[i, a] + payoffs[i, a, j])
            capital[against[i], j] += paid - whole
