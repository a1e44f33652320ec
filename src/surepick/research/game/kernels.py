"""Compiled rules of the two-player game: learners, tracking, best response, whole phases."""

# numba compiles these functions: their types are what the callers pass.
# pyright: reportArgumentType=false, reportCallIssue=false

from __future__ import annotations

import numpy as np
from numba import njit

from surepick.arrays.grid import TIED
from surepick.arrays.kernels import (
    alternative,
    back_substitute,
    cholesky,
    farthest_pair,
    longest,
    multiply,
    weighted_gram,
    whiten,
)

_EXPONENTIAL = 0  # learners.EXPONENTIAL; anything else is AdaHedge
_LITTLE = 1e-6  # weight of all arms together where those of the learner do not span


@njit(cache=True)
def _rate(code, rate, offset, memory):
    K = memory.shape[0] - 2
    if code == _EXPONENTIAL:
        return rate * np.sqrt(8.0 * np.log(K) / (offset + memory[K] + 1.0))
    if memory[K + 1] <= 0.0:
        return np.inf
    return np.log(K) / memory[K + 1]


@njit(cache=True)
def learner_weights(code, rate, offset, memory, out):
    """Write the learner's next distribution to ``out``."""
    K = memory.shape[0] - 2
    eta = _rate(code, rate, offset, memory)
    top = memory[0]
    for k in range(1, K):
        top = max(top, memory[k])
    total = 0.0
    for k in range(K):
        if eta == np.inf:
            out[k] = 1.0 if memory[k] >= top - TIED * abs(top) else 0.0
        else:
            out[k] = np.exp(eta * (memory[k] - top))
        total += out[k]
    for k in range(K):
        out[k] /= total


@njit(cache=True)
def learner_update(code, rate, offset, memory, weights, gains):
    """Add one round's gains to the learner's memory."""
    K = memory.shape[0] - 2
    if code != _EXPONENTIAL:
        eta = _rate(code, rate, offset, memory)
        mean, top = 0.0, -np.inf
        for k in range(K):
            mean += weights[k] * gains[k]
            if weights[k] > 0.0:
                top = max(top, gains[k])
        if eta == np.inf:
            mix = top
        else:
            total = 0.0
            for k in range(K):
                total += weights[k] * np.exp(eta * (gains[k] - top))
            mix = top + np.log(total) / eta
        memory[K + 1] += max(0.0, mix - mean)
    for k in range(K):
        memory[k] += gains[k]
    memory[K] += 1.0


@njit(cache=True)
def track(pulls, targets):
    """The arm furthest behind its target: argmin pulls/targets, lowest index on ties."""
    best, least = 0, pulls[0] / targets[0]
    for k in range(1, pulls.shape[0]):
        ratio = pulls[k] / targets[k]
        if ratio < least * (1.0 - TIED):
            best, least = k, ratio
    return best


@njit(cache=True)
def worst_direction(metric, columns, pairs, lower, white, scratch, out):
    """Direction with the largest a = yᵀ·metric⁻¹·y; writes metric⁻¹y to ``out``.

    ``columns`` ``(d, M)`` are the directions, or, with ``pairs``, points whose differences
    are the directions. Returns (first, second, a); a = -1 when the metric is singular.
    """
    if not cholesky(metric, lower):
        return 0, 0, -1.0
    whiten(lower, columns, white)
    d = white.shape[0]
    y = np.empty(d)
    if pairs:
        i, j, value = farthest_pair(white, scratch)
        for c in range(d):
            y[c] = white[c, i] - white[c, j]
    else:
        i, value = longest(white, scratch[0])
        j = i
        for c in range(d):
            y[c] = white[c, i]
    back_substitute(lower, y, out)
    return i, j, value


@njit(cache=True)
def ball_response(metric, columns, eps, radius, out):
    """Minimise lᵀ·metric·l over the ball and the union of halfspaces of all pairs of points.

    Writes the minimiser to ``out``; returns the minimum (inf when no pair is feasible).
    """
    eigenvalues, basis = np.linalg.eigh(metric)
    d, M = columns.shape
    coords = np.empty((d, M))
    multiply(np.ascontiguousarray(basis.T), columns, coords)
    y, point, best_point = np.empty(d), np.empty(d), np.zeros(d)
    best = np.inf
    for i in range(M - 1):
        for j in range(i + 1, M):
            a = 0.0
            for c in range(d):
                y[c] = coords[c, i] - coords[c, j]
                a += y[c] * y[c] / eigenvalues[c]
            if eps * eps / a >= best * (1.0 - TIED):
                continue  # the ball only raises the minimum, so this pair cannot win
            value = alternative(y, eigenvalues, eps, radius, point)
            if value < best * (1.0 - TIED):
                best = value
                best_point[:] = point
    for c in range(d):
        total = 0.0
        for k in range(d):
            total += basis[c, k] * best_point[k]
        out[c] = total
    return best


@njit(cache=True)
def respond(metric, columns, pairs, eps, radius, lower, white, scratch, out):
    """Best response of the minimising player to ``metric``: ``out`` = l, returns lᵀ·metric·l."""
    if radius < np.inf:
        return ball_response(metric, columns, eps, radius, out)
    _, _, a = worst_direction(metric, columns, pairs, lower, white, scratch, out)
    if a < 0.0:
        return -1.0
    for c in range(out.shape[0]):
        out[c] *= eps / a
    return eps * eps / a


@njit(cache=True)
def squared_products(points, vector, out):
    """``out[k] = (x_kᵀ vector)²`` for points ``(K, d)``."""
    for k in range(points.shape[0]):
        total = 0.0
        for c in range(points.shape[1]):
            total += points[k, c] * vector[c]
        out[k] = total * total


@njit(cache=True)
def play_phase(
    arms, columns, code, settings, pulls, targets, memory, V, witness, tracking, stop_at
):
    """Rounds of one PELEG phase: play the game, track its weights, pull.

    Goes on while the minimum of lᵀVl over the alternatives is at most the goal; True when it
    no longer is, False when ``stop_at`` pulls were reached first. All arrays are memory and can
    be handed in again to continue.
    """
    K, d = arms.shape
    M = columns.shape[1]
    rate, offset, eps, radius, goal = settings
    lower, white = np.zeros((d, d)), np.empty((d, M))
    scratch = np.empty((M, M))
    A, weights, gains = np.empty((d, d)), np.empty(K), np.empty(K)
    point, closest = np.empty(d), witness[:d]
    rounds = pulls.sum()
    while True:
        # The minimum over alternatives only grows with V, and any fixed alternative bounds it
        # from above: search again only once the last minimiser has been ruled out.
        if witness[d] > goal:
            witness[d] = respond(V, columns, True, eps, radius, lower, white, scratch, closest)
            if witness[d] > goal:
                return True
        if rounds >= stop_at:
            return False
        rounds += 1
        learner_weights(code, rate, offset, memory, weights)
        weighted_gram(arms, weights, A)
        value = respond(A, columns, True, eps, radius, lower, white, scratch, point)
        if value < 0.0:  # the learner leaves some direction out: the limit of a little of each arm
            for k in range(K):
                gains[k] = (1.0 - _LITTLE) * weights[k] + _LITTLE / K
            weighted_gram(arms, gains, A)
            respond(A, columns, True, eps, radius, lower, white, scratch, point)
        squared_products(arms, point, gains)
        learner_update(code, rate, offset, memory, weights, gains)
        for k in range(K):
            targets[k] += weights[k]
        chosen = track(pulls, targets)
        pulls[chosen] += 1
        product = 0.0
        for i in range(d):
            product += closest[i] * arms[chosen, i]
            for j in range(d):
                V[i, j] += arms[chosen, i] * arms[chosen, j]
        witness[d] += product * product
        for k in range(K):
            tracking[0] = max(tracking[0], pulls[k] - targets[k])
            tracking[1] = max(tracking[1], targets[k] - pulls[k])


@njit(cache=True)
def play_game(arms, columns, pairs, code, rate, offset, memory, average, total, visits):
    """Rounds of the game alone: adds to the summed weights and gains, fills ``visits``.

    ``visits[r]`` gets the two indices of the direction answered in round r. False when a weight
    matrix became singular.
    """
    K, d = arms.shape
    M = columns.shape[1]
    lower, white = np.zeros((d, d)), np.empty((d, M))
    scratch = np.empty((M if pairs else 1, M))
    A, point = np.empty((d, d)), np.empty(d)
    weights, gains = np.empty(K), np.empty(K)
    for r in range(visits.shape[0]):
        learner_weights(code, rate, offset, memory, weights)
        for k in range(K):  # a little of the uniform design keeps every matrix invertible
            weights[k] = 0.99 * weights[k] + 0.01 / K
        weighted_gram(arms, weights, A)
        i, j, a = worst_direction(A, columns, pairs, lower, white, scratch, point)
        if a <= 0.0:
            return False
        visits[r, 0] = i
        visits[r, 1] = j
        for c in range(d):
            point[c] /= a
        squared_products(arms, point, gains)
        learner_update(code, rate, offset, memory, weights, gains)
        for k in range(K):
            average[k] += weights[k]
            total[k] += gains[k]
    return True


@njit(cache=True)
def largest_variance(arms, columns, pairs, weights):
    """max over directions of yᵀA(w)⁻¹y; inf when A(w) is singular."""
    d, M = columns.shape
    A, lower, white, out = np.empty((d, d)), np.zeros((d, d)), np.empty((d, M)), np.empty(d)
    weighted_gram(arms, weights, A)
    scratch = np.empty((M if pairs else 1, M))
    _, _, a = worst_direction(A, columns, pairs, lower, white, scratch, out)
    return np.inf if a < 0.0 else a
