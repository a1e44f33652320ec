"""Compiled rule of :mod:`surepick.research.fws`, and the small linear program inside it."""

# numba compiles these functions: their types are what the callers pass.
# pyright: reportArgumentType=false, reportCallIssue=false

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from surepick.arrays.kernels import cholesky
from surepick.research.game.kernels import track
from surepick.research.glr_kernels import (
    TIME,
    Core,
    absorb,
    alternative_shift,
    closest_rival,
    evidence_suffices,
    products,
    rival_variances,
)
from surepick.research.loop import loop
from surepick.research.sequential import NEED, STOP

_TINY = 1e-12  # of the payoffs' range: a reduced cost below it is zero
_MOST_PIVOTS = 10_000


class FrankWolfeMemory(NamedTuple):
    """The iterate x is kept as t·x, which is also what the pulls track."""

    core: Core
    targets: Any  # (K,): t·x
    metric: Any  # (d, d): Σ t·x_k x_k x_kᵀ
    near: Any  # (M,) scratch: rivals whose f is within r_t of the least
    step: Any  # (K,) scratch: z
    factor: Any  # (d, d) scratch
    shift: Any  # (d,) scratch
    room: Any  # (2,): entries that a matrix game may have; rivals of one that has more


@njit(cache=True)
def update(memory, arm, reward):
    """Take in one reward."""
    absorb(memory.core, arm, reward)


@njit(cache=True)
def choose(memory):
    """One Frank-Wolfe step on F(x) = min_j f_j(x), then the arm furthest behind t·x."""
    core, step, targets = memory.core, memory.step, memory.targets
    K = step.shape[0]
    t = core.place[TIME]
    if t < K:
        return core.first[t]
    if evidence_suffices(core):
        return STOP
    rounds = t // K
    root = int(np.sqrt(rounds) + 0.5)
    if root * root == rounds or not cholesky(memory.metric, memory.factor):
        step[:] = 1.0 / K  # forced exploration
    elif not best_step(memory, t):
        return NEED
    add_pulls(core.arms, step, memory.metric)
    for k in range(K):
        targets[k] += step[k]
    return track(core.pulls, targets)


@njit(cache=True)
def add_pulls(arms, weights, metric):
    """``metric += Σ weights[k] x_k x_kᵀ``."""
    d = metric.shape[0]
    for k in range(weights.shape[0]):
        if weights[k] > 0.0:
            x = arms[k]
            for i in range(d):
                scaled = weights[k] * x[i]
                for j in range(d):
                    metric[i, j] += scaled * x[j]


@njit(cache=True)
def best_step(memory, t):
    """``memory.step`` = z maximising min_{j: f_j < F + r_t} ⟨z - x, ∇f_j⟩ over the simplex.

    False where there is no room for the game: so many rivals are in it.
    """
    core, near, factor, shift = memory.core, memory.near, memory.factor, memory.shift
    gaps, variances, epsilon = core.gaps, core.variances, core.epsilon[0]
    K = memory.step.shape[0]
    rival_variances(core, factor)  # metric of t·x: f_j(x) = (gap + ε)²/(2 t a_y)
    closest, least = closest_rival(core)
    bound = least + 2.0 * t * t**-0.9 / K  # 2t (F + r_t)
    count = 0
    for m in range(gaps.shape[0]):
        gap = gaps[m] + epsilon
        # the leader's own variance is zero: it is no rival
        if m == closest or gap * gap < bound * variances[m]:
            near[count] = m
            count += 1
    if count * K > memory.room[0]:
        memory.room[1] = count
        return False
    payoffs = np.empty((count, K))
    for j in range(count):
        row, gap = payoffs[j], gaps[near[j]] + epsilon
        value = gap * gap / (2.0 * t * variances[near[j]])  # f_j(x) = ⟨x, ∇f_j⟩
        alternative_shift(core, factor, near[j], shift)
        products(core.arms, shift, row)
        for k in range(K):
            row[k] = 0.5 * row[k] * row[k] - value  # ⟨e_k - x, ∇f_j⟩
    matrix_game(payoffs, memory.step)
    return True


@njit(cache=True)
def matrix_game(payoffs, out):
    """Solve max_z min_j Σ_k z_k payoffs[j, k] over the simplex; ``out`` = z, returns the value.

    Exact simplex method. With payoffs shifted and scaled into [1, 2], the opponent's program
    max Σ_j w_j, Σ_j payoffs[j, k] w_j ≤ 1, w ≥ 0 starts feasible at w = 0; z is its dual solution.
    """
    J, K = payoffs.shape
    if J == 1:
        best = 0
        for k in range(K):
            out[k] = 0.0
            if payoffs[0, k] > payoffs[0, best]:
                best = k
        out[best] = 1.0
        return payoffs[0, best]
    low, high = payoffs.min(), payoffs.max()
    scale = high - low
    if scale <= 0.0:
        for k in range(K):
            out[k] = 1.0 / K
        return low
    table = np.empty((K + 1, J + 1))  # row K: reduced costs; column J: right-hand sides
    for k in range(K):
        for j in range(J):
            table[k, j] = 1.0 + (payoffs[j, k] - low) / scale
        table[k, J] = 1.0
    for j in range(J):
        table[K, j] = -1.0
    table[K, J] = 0.0
    basic = np.arange(J, J + K)  # variable of each row; 0..J-1 are w, J+k is the slack of k
    free = np.arange(J)  # variable of each column
    for _ in range(_MOST_PIVOTS):
        if not _pivot(table, basic, free):
            break
    total = 0.0
    for k in range(K):
        out[k] = 0.0
    for s in range(J):
        if free[s] >= J and table[K, s] > 0.0:
            out[free[s] - J] = table[K, s]
            total += table[K, s]
    for k in range(K):
        out[k] /= total
    return low + scale * (1.0 / table[K, J] - 1.0)


@njit(cache=True)
def _pivot(table, basic, free):
    """One exchange by Bland's rule (no cycling); False when the table is optimal."""
    K, J = table.shape[0] - 1, table.shape[1] - 1
    column = -1
    for s in range(J):
        if table[K, s] < -_TINY and (column < 0 or free[s] < free[column]):
            column = s
    if column < 0:
        return False
    row, least = -1, np.inf
    for r in range(K):
        if table[r, column] > _TINY:
            ratio = table[r, J] / table[r, column]
            if ratio < least or (ratio == least and basic[r] < basic[row]):
                row, least = r, ratio
    pivot = table[row, column]
    for s in range(J + 1):
        if s != column:
            table[row, s] /= pivot
    for r in range(K + 1):
        if r != row:
            factor = table[r, column]
            for s in range(J + 1):
                if s != column:
                    table[r, s] -= factor * table[row, s]
            table[r, column] = -factor / pivot
    table[row, column] = 1.0 / pivot
    basic[row], free[column] = free[column], basic[row]
    return True


@njit(cache=True)
def many(memory, arm, means, noise, pulls, sums):
    """Many pulls at once, as in a simulation."""
    return loop(update, choose, memory, arm, means, noise, pulls, sums)
