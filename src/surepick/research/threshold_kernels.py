"""Compiled form of the thresholds in :mod:`surepick.research.thresholds`."""

# numba compiles these functions: their types are what the callers pass.
# pyright: reportArgumentType=false, reportCallIssue=false

from __future__ import annotations

import math

import numpy as np
from numba import njit

from surepick.research.threshold_codes import (
    DETERMINANT,
    HEURISTIC,
    PAIRWISE,
    REGULARISED,
    SELF_NORMALISED,
)

_LOG_2 = math.log(2.0)


@njit(cache=True)
def half_log_det(gram, shift, lower):
    """½ log det(gram + shift·I); ``lower`` is scratch. The matrix must be positive definite."""
    d = gram.shape[0]
    for i in range(d):
        for j in range(i + 1):
            total = gram[i, j]
            if i == j:
                total += shift
            for k in range(j):
                total -= lower[i, k] * lower[j, k]
            if i == j:
                lower[i, i] = math.sqrt(max(total, 1e-300))
            else:
                lower[i, j] = total / lower[j, j]
    half = 0.0
    for i in range(d):
        half += math.log(lower[i, i])
    return half


@njit(cache=True)
def threshold_levels(code, parameters, gram, pulls, lower, out):
    """Write the pairs (ρ_j, L_j) to the rows of ``out``; ``lower`` is scratch like ``gram``."""
    d = gram.shape[0]
    base = parameters[0]
    out[0, 0] = 0.0
    if code == HEURISTIC:
        out[0, 1] = base + math.log(1.0 + math.log(max(pulls, 1)))
    elif code in (SELF_NORMALISED, PAIRWISE):
        for j in range(out.shape[0]):
            rho = parameters[1 + j]
            out[j, 0] = rho
            out[j, 1] = base + half_log_det(gram, rho, lower) - 0.5 * d * math.log(rho)
    elif code == DETERMINANT:
        slack, rho = parameters[1], parameters[1] * parameters[2]
        content = half_log_det(gram, rho, lower) - 0.5 * d * math.log(rho)
        out[0, 1] = (1.0 + slack) * (base + content)
    elif code == REGULARISED:  # the regularisation is part of the matrix already
        lam, bound = parameters[1], parameters[2]
        content = half_log_det(gram, 0.0, lower) - 0.5 * d * math.log(lam)
        out[0, 1] = (math.sqrt(base + content) + bound * math.sqrt(0.5 * lam)) ** 2
    else:
        rho, K = parameters[1], int(parameters[2])
        rounds = pulls // K
        if rounds * K != pulls or rounds == 0:
            out[0, 1] = np.inf  # says nothing in the middle of a round
        else:
            content = base + 0.5 * math.log(1.0 + rounds / rho)
            s = math.sqrt(2.0 * max(0.0, content - _LOG_2))
            one_sided = math.log(1.0 + math.erf(s / math.sqrt(2.0)))  # log 2Φ(s)
            out[0, 1] = (1.0 + rho / rounds) * (content - one_sided)


@njit(cache=True)
def beyond_pair(square, a, z, other, u, gram, parameters, first, lower, precision):
    """Whether ``square`` rules ``other`` out in favour of ``z`` under a mixture of their own.

    ``u`` = V⁻¹y, ``a`` = yᵀu; ``parameters[first:]`` are κ, the level and the values of ρ.
    ``lower`` and ``precision`` are scratch like ``gram``.
    """
    d, kappa, level = gram.shape[0], parameters[first], parameters[first + 1]
    if square <= 2.0 * level * a:
        return False
    flat = 0  # dimensions of the plane; a pair with 0, or in one line, has fewer than two
    inside, within = np.zeros((2, d)), 0.0
    for point in (z, other):
        part = point.copy()
        for j in range(flat):
            part -= np.dot(inside[j], point) * inside[j]
        length = math.sqrt(np.dot(part, part))
        if length > 1e-9 * math.sqrt(np.dot(point, point)):
            inside[flat] = part / length
            within += np.dot(inside[flat], u) ** 2
            flat += 1
    spread = kappa * np.dot(u, u) - (kappa - 1.0) * within  # ‖u‖² in Γ⁻¹/ρ
    for place in range(first + 2, parameters.shape[0]):
        rho = parameters[place]
        for i in range(d):
            for j in range(d):
                shared = inside[0, i] * inside[0, j] + inside[1, i] * inside[1, j]
                precision[i, j] = gram[i, j] - rho * (kappa - 1.0) * shared
        prior = d * math.log(rho) + (d - flat) * math.log(kappa)  # log det Γ⁻¹
        content = half_log_det(precision, rho * kappa, lower) - 0.5 * prior
        if square > 2.0 * (level + content) * (a + rho * spread):
            return True
    return False
