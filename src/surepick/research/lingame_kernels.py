"""Compiled rules of :mod:`surepick.research.lingame`."""

# numba compiles these functions: their types are what the callers pass.
# pyright: reportArgumentType=false, reportCallIssue=false

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from surepick.arrays.kernels import cholesky, weighted_gram
from surepick.research.game.kernels import learner_update, learner_weights
from surepick.research.game.learners import ADAHEDGE
from surepick.research.glr_kernels import (
    LEADER,
    READY,
    TIME,
    Core,
    absorb,
    alternative_shift,
    closest_rival,
    evidence_suffices,
    furthest_behind,
    products,
    rival_variances,
    solve,
)
from surepick.research.loop import loop
from surepick.research.sequential import NEED, STOP

_ROUNDING = 1e-9
_IDENTITY_SHARE = 1e-9  # share of the identity that keeps A(w) invertible where w has dropped arms


class GameMemory(NamedTuple):
    """Memory of both forms; ``rows`` says which learner serves which answer (-1: none yet)."""

    core: Core
    targets: Any  # (K,): summed weights, to be tracked
    norms: Any  # (K,): ‖x‖² in V⁻¹
    learners: Any  # (R, n + 2): one AdaHedge each
    rows: Any  # (M,)
    weights: Any  # (n,) scratch
    gains: Any  # (n,) scratch
    metric: Any  # (d, d) scratch
    factor: Any  # (d, d) scratch
    shift: Any  # (d,) scratch: θ̂ - λ
    along: Any  # (K,) scratch


@njit(cache=True)
def update(memory, arm, reward):
    """Take in one reward, and keep ‖x‖² in V⁻¹ of all arms up to date (rank-one formula)."""
    core, norms, along = memory.core, memory.norms, memory.along
    arms, y, u = core.arms, core.y, core.u
    fresh = core.place[READY] == 0
    if not fresh:
        solve(core.lower, arms[arm], y, u)
        products(arms, u, along)
        shrink = 1.0 + along[arm]
        for k in range(norms.shape[0]):
            norms[k] = max(0.0, norms[k] - along[k] * along[k] / shrink)
    absorb(core, arm, reward)
    if fresh and core.place[READY] == 1:
        for k in range(norms.shape[0]):
            solve(core.lower, arms[k], y, u)
            norms[k] = 0.0
            for c in range(u.shape[0]):
                norms[k] += u[c] * arms[k, c]


@njit(cache=True)
def respond(memory, weights):
    """Closest alternative λ to θ̂ under A(w): writes (θ̂-λ)ᵀx of all arms to ``memory.along``."""
    core, metric, factor, shift = memory.core, memory.metric, memory.factor, memory.shift
    d = metric.shape[0]
    weighted_gram(core.arms, weights, metric)
    trace = 0.0
    for c in range(d):
        trace += metric[c, c]
    for c in range(d):
        metric[c, c] += _IDENTITY_SHARE * trace / d + 1e-200
    cholesky(metric, factor)
    rival_variances(core, factor)
    rival, _ = closest_rival(core)
    alternative_shift(core, factor, rival, shift)
    products(core.arms, shift, memory.along)


@njit(cache=True)
def optimistic_gain(product, norm, log_t):
    """½(|(θ̂-λ)ᵀx| + sqrt(2 log t ‖x‖²))², at most log t.

    An arm pulled once in a direction of its own has ‖x‖² = 1, right at the limit: what is there
    up to rounding is put there exactly, so that learners see ties as ties.
    """
    reach = abs(product) + np.sqrt(2.0 * log_t * norm)
    gain = 0.5 * reach * reach
    return gain if gain < (1.0 - _ROUNDING) * log_t else log_t


@njit(cache=True)
def choose(memory):
    """LinGame: the learner of the leading answer against the closest alternative."""
    core = memory.core
    t = core.place[TIME]
    if t < core.first.shape[0]:
        return core.first[t]
    if evidence_suffices(core):
        return STOP
    rows, leader = memory.rows, core.place[LEADER]
    if rows[leader] < 0:
        row = rows.max() + 1
        if row == memory.learners.shape[0]:
            return NEED
        rows[leader] = row
    learner = memory.learners[rows[leader]]
    weights, gains, targets = memory.weights, memory.gains, memory.targets
    norms, along = memory.norms, memory.along
    learner_weights(ADAHEDGE, 1.0, 0.0, learner, weights)
    respond(memory, weights)
    log_t = np.log(t)
    for k in range(weights.shape[0]):
        gains[k] = optimistic_gain(along[k], norms[k], log_t)
        targets[k] += weights[k]
    learner_update(ADAHEDGE, 1.0, 0.0, learner, weights, gains)
    return furthest_behind(core.pulls, targets, norms)


@njit(cache=True)
def choose_convexified(memory):
    """LinGame-C: one learner over (answer, arm); only the leader's alternative differs from θ̂."""
    core = memory.core
    t = core.place[TIME]
    if t < core.first.shape[0]:
        return core.first[t]
    if evidence_suffices(core):
        return STOP
    learner, weights, gains = memory.learners[0], memory.weights, memory.gains
    targets, norms, along = memory.targets, memory.norms, memory.along
    K, M = norms.shape[0], core.gaps.shape[0]
    own = core.place[LEADER] * K
    learner_weights(ADAHEDGE, 1.0, 0.0, learner, weights)
    respond(memory, weights[own : own + K])
    log_t = np.log(t)
    for k in range(K):
        gains[k] = optimistic_gain(0.0, norms[k], log_t)
    for m in range(M):
        for k in range(K):
            gains[m * K + k] = gains[k]
            targets[k] += weights[m * K + k]
    for k in range(K):
        gains[own + k] = optimistic_gain(along[k], norms[k], log_t)
    learner_update(ADAHEDGE, 1.0, 0.0, learner, weights, gains)
    return furthest_behind(core.pulls, targets, norms)


@njit(cache=True)
def many(memory, arm, means, noise, pulls, sums):
    """Many pulls at once, as in a simulation: LinGame."""
    return loop(update, choose, memory, arm, means, noise, pulls, sums)


@njit(cache=True)
def many_convexified(memory, arm, means, noise, pulls, sums):
    """Many pulls at once, as in a simulation: LinGame-C."""
    return loop(update, choose_convexified, memory, arm, means, noise, pulls, sums)
