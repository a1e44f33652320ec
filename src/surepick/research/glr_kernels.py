"""Compiled pieces shared by algorithms that stop on the generalised likelihood ratio.

:class:`Core` is the part of their memory they have in common: data, least squares, and where
the stop stands. Candidates are stored one per column; of equal ones there is only the first.
"""

# numba compiles these functions: their types are what the callers pass.
# pyright: reportArgumentType=false, reportCallIssue=false

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from surepick.arrays.grid import TIED
from surepick.arrays.kernels import back_substitute, cholesky, whiten
from surepick.research.threshold_codes import PAIRWISE, ROUND_ROBIN
from surepick.research.threshold_kernels import beyond_pair, threshold_levels

TIME, LEADER, RIVAL, READY = 0, 1, 2, 3  # entries of Core.place
ALIKE = 1e-9  # pulls: what arms are due is the same if it is that close


class Core(NamedTuple):
    """Data, estimate and stop. ``rebuilt`` names what is not saved: constants and scratch."""

    arms: Any  # (K, d)
    columns: Any  # (d, M): candidates
    first: Any  # arms to pull once each before anything else
    code: Any  # (1,): which threshold
    parameters: Any  # its parameters
    epsilon: Any  # (1,): in units of the noise
    pulls: Any  # (K,)
    sums: Any  # (K,): reward sums
    V: Any  # (d, d): Gram matrix of the pulls (plus the threshold's prior)
    moment: Any  # (d,): Σ x·reward
    lower: Any  # (d, d): Cholesky factor of V
    theta: Any  # (d,): least squares
    gaps: Any  # (M,): how far each candidate is behind the leader
    levels: Any  # (J, 2): pairs (ρ, L), as last computed
    place: Any  # pulls so far, leader, a rival that stood last time, whether V is invertible
    white: Any  # (d, M) scratch
    variances: Any  # (M,) scratch
    square: Any  # (d, d) scratch
    precision: Any  # (d, d) scratch
    y: Any  # (d,) scratch
    u: Any  # (d,) scratch


@njit(cache=True)
def absorb(core, arm, reward):
    """Take in one reward; once the first arms are through, solve for θ̂ and the leader."""
    # Arrays get local names: taking one out of the tuple inside a loop costs a reference count.
    x, V, moment, place = core.arms[arm], core.V, core.moment, core.place
    core.pulls[arm] += 1
    core.sums[arm] += reward
    for i in range(x.shape[0]):
        moment[i] += reward * x[i]
        for j in range(x.shape[0]):
            V[i, j] += x[i] * x[j]
    place[TIME] += 1
    if place[TIME] < core.first.shape[0] or not cholesky(V, core.lower):
        place[READY] = 0
        return
    place[READY] = 1
    solve(core.lower, moment, core.y, core.theta)
    place[LEADER] = rank(core.columns, core.theta, core.gaps)


@njit(cache=True)
def rank(columns, theta, gaps):
    """The best column under ``theta``, first on ties; ``gaps`` = how far behind each one is."""
    d, M = columns.shape
    gaps[:] = 0.0
    for c in range(d):
        weight, row = theta[c], columns[c]
        for m in range(M):
            gaps[m] += weight * row[m]
    leader = 0
    for m in range(1, M):
        if gaps[m] > gaps[leader]:
            leader = m
    top = gaps[leader]
    for m in range(M):
        gaps[m] = top - gaps[m]
    return leader


@njit(cache=True)
def solve(lower, right, between, out):
    """``out = (lower·lowerᵀ)⁻¹ right``; ``between`` is scratch."""
    for i in range(right.shape[0]):
        total = right[i]
        for j in range(i):
            total -= lower[i, j] * between[j]
        between[i] = total / lower[i, i]
    back_substitute(lower, between, out)


@njit(cache=True)
def stands(core, rival, epsilon):
    """Whether (stop) does not rule out ``rival`` under the levels last computed."""
    columns, lower, y, u, levels = core.columns, core.lower, core.y, core.u, core.levels
    d, leader = y.shape[0], core.place[LEADER]
    gap = core.gaps[rival] + epsilon
    a = 0.0  # yᵀV⁻¹y: squared length of the forward-substituted y
    for i in range(d):
        total = columns[i, leader] - columns[i, rival]
        for j in range(i):
            total -= lower[i, j] * y[j]
        y[i] = total / lower[i, i]
        a += y[i] * y[i]
    square = gap * gap
    spread = -1.0  # ‖V⁻¹y‖², computed when first needed
    for j in range(levels.shape[0]):
        rho, level = levels[j, 0], levels[j, 1]
        if square <= 2.0 * level * a:
            continue
        if rho > 0.0 and spread < 0.0:
            back_substitute(lower, y, u)
            spread = 0.0
            for c in range(d):
                spread += u[c] * u[c]
        if rho == 0.0 or square > 2.0 * level * (a + rho * spread):
            return False
    if core.code[0] != PAIRWISE:
        return True
    back_substitute(lower, y, u)
    z, other, own = columns[:, leader].copy(), columns[:, rival].copy(), levels.shape[0] + 1
    return not beyond_pair(
        square, a, z, other, u, core.V, core.parameters, own, core.square, core.precision
    )


@njit(cache=True)
def refresh_levels(core):
    """Compute the levels for the pulls so far."""
    threshold_levels(
        core.code[0], core.parameters, core.V, core.place[TIME], core.square, core.levels
    )


@njit(cache=True)
def evidence_suffices(core):
    """The GLR stop: every rival is ruled out.

    One rival that stands is enough to go on, and the one that stood last time usually still
    does: all of them are looked at only when it no longer does. Levels only rise with the
    pulls (round robin's excepted), so that old ones can be relied on to let a rival stand.
    """
    if core.place[READY] == 0:
        return False
    epsilon = core.epsilon[0]
    leader, rival = core.place[LEADER], core.place[RIVAL]
    if core.code[0] == ROUND_ROBIN:
        refresh_levels(core)
        if core.levels[0, 1] == np.inf:
            return False
    if rival != leader and stands(core, rival, epsilon):
        return False
    refresh_levels(core)
    if rival != leader and stands(core, rival, epsilon):
        return False
    rival_variances(core, core.lower)
    closest, least = -1, np.inf
    for m in range(core.columns.shape[1]):
        if m == leader:
            continue
        gap = core.gaps[m] + epsilon
        ratio = gap * gap / core.variances[m]
        if ratio < least and stands(core, m, epsilon):
            closest, least = m, ratio
    if closest < 0:
        return True
    core.place[RIVAL] = closest
    return False


@njit(cache=True)
def standing(core, epsilon, out):
    """``out[m]``: whether (stop) with this epsilon leaves candidate ``m`` standing."""
    refresh_levels(core)
    for m in range(core.columns.shape[1]):
        out[m] = m == core.place[LEADER] or stands(core, m, epsilon)


@njit(cache=True)
def rival_variances(core, lower):
    """``core.variances[m]`` = yᵀ(lower·lowerᵀ)⁻¹y of leader minus candidate ``m``."""
    white, variances, leader = core.white, core.variances, core.place[LEADER]
    whiten(lower, core.columns, white)
    variances[:] = 0.0
    for c in range(white.shape[0]):
        row = white[c]
        own = row[leader]
        for m in range(row.shape[0]):
            gap = row[m] - own
            variances[m] += gap * gap


@njit(cache=True)
def closest_rival(core):
    """The rival whose halfspace is nearest, and its (gap + ε)²/a_y, over ``core.variances``."""
    gaps, variances = core.gaps, core.variances
    leader, epsilon = core.place[LEADER], core.epsilon[0]
    closest, least = -1, np.inf
    for m in range(gaps.shape[0]):
        if m == leader:
            continue
        gap = gaps[m] + epsilon
        ratio = gap * gap / variances[m]
        if ratio < least * (1.0 - TIED) or closest < 0:
            closest, least = m, ratio
    return closest, least


@njit(cache=True)
def alternative_shift(core, lower, rival, out):
    """``out`` = θ̂ - λ for the closest λ at which ``rival`` is ε better, metric lower·lowerᵀ."""
    y, white, leader = core.y, core.white, core.place[LEADER]
    for c in range(y.shape[0]):
        y[c] = white[c, leader] - white[c, rival]
    back_substitute(lower, y, out)
    factor = (core.gaps[rival] + core.epsilon[0]) / core.variances[rival]
    for c in range(y.shape[0]):
        out[c] *= factor


@njit(cache=True)
def products(arms, vector, out):
    """``out[k] = x_kᵀ vector``."""
    for k in range(arms.shape[0]):
        x = arms[k]
        total = 0.0
        for c in range(vector.shape[0]):
            total += x[c] * vector[c]
        out[k] = total


@njit(cache=True)
def furthest_behind(pulls, targets, norms):
    """C-tracking: the arm with the least pulls minus target; on ties the least known one."""
    best, least = 0, pulls[0] - targets[0]
    for k in range(1, pulls.shape[0]):
        lead = pulls[k] - targets[k]
        alike = abs(lead - least) <= ALIKE
        if (lead < least and not alike) or (alike and norms[k] > norms[best] * (1.0 + TIED)):
            best, least = k, lead
    return best
