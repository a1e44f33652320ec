"""The compiled rules of LinGapE and GLUCB: regularised least squares updated pull by pull.

A = lambda I + sum of x xᵀ over the pulls, theta = A⁻¹ sum of rewards times x. One pull changes A
by rank one, so with u = A⁻¹x and g = 1 + xᵀu

    A⁻¹ -= u uᵀ/g,  theta += u (reward − xᵀtheta)/g,  ‖y‖²_{A⁻¹} -= (yᵀu)²/g,  log det A += log g,

and a pull costs O(d² + M d) for M candidates. Everything is computed afresh from the pull counts
now and then, and before stopping, so rounding errors neither add up nor decide anything.
Points are stored one per column, see :mod:`surepick.arrays.kernels`.
"""

# numba compiles these functions: their types are what the callers pass.
# pyright: reportArgumentType=false, reportCallIssue=false, reportReturnType=false

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from surepick.arrays.grid import TIED
from surepick.arrays.kernels import back_substitute, cholesky, weighted_gram, whiten
from surepick.arrays.types import FloatArray
from surepick.research.loop import loop
from surepick.research.sequential import NEED, STOP

REFRESH = 2048  # pulls between computations from scratch

# Few arrays with several rows each: handing an array to a compiled function has its price.
VALUE, SQUARE, SPREAD, ALONG = 0, 1, 2, 3  # rows of EllipsoidMemory.board, one column per candidate
COUNT, SUM, REACH, TOWARDS = 0, 1, 2, 3  # rows of EllipsoidMemory.tally, one column per arm
LOG_DET, LOG_RISK, SHIFT, EPSILON, LAMBDA = 0, 1, 2, 3, 4  # entries of EllipsoidMemory.real
PULLS, LEADER, CHALLENGER, WANTED = 0, 1, 2, 3  # entries of EllipsoidMemory.whole
PAIR, ROW = 0, 1  # entries of EllipsoidMemory.last and rows of EllipsoidMemory.pairs


class EllipsoidMemory(NamedTuple):
    """All there is to remember. K arms, M distinct candidates, dimension d."""

    arms: FloatArray  #: (K, d)
    points: FloatArray  #: candidates, one per column, (d, M)
    columns: FloatArray  #: arms, one per column, for the greedy rule; else (d, 0)
    first: NDArray[np.int64]  #: arms pulled once at the start
    guarded: NDArray[np.int64]  #: arms the greedy rule must not starve
    model: FloatArray  #: A⁻¹, then a row for theta, then one to work with, (d + 2, d)
    board: FloatArray  #: estimate, ‖z‖²_{A⁻¹}, ‖z − z_leader‖²_{A⁻¹}, scratch; (4, M)
    tally: FloatArray  #: pulls, sum of rewards, ‖x‖²_{A⁻¹} (greedy rule), scratch; (4, K)
    real: FloatArray  #: log det(A/lambda), log(1/level), sqrt(lambda)·S, epsilon, lambda
    whole: NDArray[np.int64]  #: pulls, leader, challenger, pair whose shares are wanted
    # the table of arm shares by pair, common to the runs of a problem
    pairs: NDArray[np.int64]  #: pairs in ascending order and their rows, (2, R)
    support: NDArray[np.int64]  #: arms with a share, padded with -1, (rows, d)
    shares: FloatArray  #: their shares, (rows, d)
    last: NDArray[np.int64]  #: the pair looked up last and its row


#: the fields that change from pull to pull: what a saved run has to keep
CHANGING = ("model", "board", "tally", "real", "whole")


@njit(cache=True)
def _project(columns, model, r, out, row):
    """``out[row, m] = columns[:, m]ᵀ model[r]``."""
    d, M = columns.shape
    for m in range(M):
        out[row, m] = 0.0
    for c in range(d):
        factor = model[r, c]
        for m in range(M):
            out[row, m] += factor * columns[c, m]


@njit(cache=True)
def refresh(memory):
    """Compute everything from the pull counts and reward sums."""
    arms, points, model = memory.arms, memory.points, memory.model
    board, tally, real = memory.board, memory.tally, memory.real
    K, d = arms.shape
    M = points.shape[1]
    gram, lower, roots = np.empty((d, d)), np.zeros((d, d)), np.empty((d, d))
    weighted_gram(arms, tally[COUNT], gram)
    for i in range(d):
        gram[i, i] += real[LAMBDA]
    if not cholesky(gram, lower):
        return  # beyond double precision: the updated numbers are the best there are
    whiten(lower, np.eye(d), roots)  # A⁻¹ = rootsᵀ roots
    real[LOG_DET] = -d * np.log(real[LAMBDA])
    for i in range(d):
        real[LOG_DET] += 2.0 * np.log(lower[i, i])
        for j in range(d):
            model[i, j] = 0.0
            for c in range(d):
                model[i, j] += roots[c, i] * roots[c, j]
    moment, half = np.zeros((d, 1)), np.empty((d, 1))
    for k in range(K):
        for i in range(d):
            moment[i, 0] += tally[SUM, k] * arms[k, i]
    whiten(lower, moment, half)
    back_substitute(lower, half[:, 0].copy(), model[d])
    _project(points, model, d, board, VALUE)
    whole = memory.whole
    whole[LEADER] = np.argmax(board[VALUE])
    white = np.empty((d, M))
    whiten(lower, points, white)
    board[SQUARE, :] = 0.0
    board[SPREAD, :] = 0.0
    for c in range(d):
        own = white[c, whole[LEADER]]
        for m in range(M):
            board[SQUARE, m] += white[c, m] ** 2
            board[SPREAD, m] += (white[c, m] - own) ** 2
    if memory.columns.shape[1] > 0:
        far = np.empty((d, K))
        whiten(lower, memory.columns, far)
        tally[REACH, :] = 0.0
        for c in range(d):
            for k in range(K):
                tally[REACH, k] += far[c, k] ** 2


@njit(cache=True)
def update(memory, arm, reward):
    """Take in one reward: rank-one updates, now and then from scratch."""
    arms, points, model, board = memory.arms, memory.points, memory.model, memory.board
    whole, tally = memory.whole, memory.tally
    d, M = points.shape
    tally[COUNT, arm] += 1.0
    tally[SUM, arm] += reward
    whole[PULLS] += 1
    if whole[PULLS] % REFRESH == 0 or whole[PULLS] == memory.first.shape[0]:
        refresh(memory)
        return
    g, predicted = 1.0, 0.0
    for i in range(d):  # u = A⁻¹x, in the last row
        total = 0.0
        for j in range(d):
            total += model[i, j] * arms[arm, j]
        model[d + 1, i] = total
        g += arms[arm, i] * total
        predicted += arms[arm, i] * model[d, i]
    error, inverse_g = (reward - predicted) / g, 1.0 / g
    for i in range(d):
        factor = model[d + 1, i] * inverse_g
        for j in range(d):
            model[i, j] -= factor * model[d + 1, j]
    for i in range(d):
        model[d, i] += model[d + 1, i] * error
    memory.real[LOG_DET] += np.log(g)
    _project(points, model, d + 1, board, ALONG)
    own = board[ALONG, whole[LEADER]]
    for m in range(M):
        step = board[ALONG, m]
        board[VALUE, m] += step * error
        board[SQUARE, m] -= step * step * inverse_g
        board[SPREAD, m] -= (step - own) * (step - own) * inverse_g
    columns = memory.columns
    if columns.shape[1] > 0:
        _project(columns, model, d + 1, tally, TOWARDS)
        for k in range(columns.shape[1]):
            tally[REACH, k] -= tally[TOWARDS, k] * tally[TOWARDS, k] * inverse_g


@njit(cache=True)
def radius(real):
    """C_t = sqrt(2 log(det(A/lambda)^½ / level)) + sqrt(lambda) S."""
    return np.sqrt(2.0 * real[LOG_RISK] + real[LOG_DET]) + real[SHIFT]


@njit(cache=True)
def _apply_inverse(points, model, i, j):
    """A⁻¹(z_i − z_j), or A⁻¹z_i where j < 0, into the last row of ``model``."""
    d = points.shape[0]
    for a in range(d):
        total = 0.0
        for b in range(d):
            y = points[b, i] - points[b, j] if j >= 0 else points[b, i]
            total += model[a, b] * y
        model[d + 1, a] = total


@njit(cache=True)
def _advantage(points, model, board, real, whole):
    """Find leader and challenger; how much better than the leader the challenger may be.

    B = max_j theta'(z_j − z_i) + C_t ‖z_j − z_i‖_{A⁻¹}; first on ties.
    """
    d, M = points.shape
    leader = 0
    for m in range(1, M):
        if board[VALUE, m] > board[VALUE, leader]:
            leader = m
    if leader != whole[LEADER]:  # a new one: all distances have to be measured from it
        whole[LEADER] = leader
        _apply_inverse(points, model, leader, -1)
        _project(points, model, d + 1, board, ALONG)
        for m in range(M):
            both = board[SQUARE, m] + board[SQUARE, leader]
            board[SPREAD, m] = both - 2.0 * board[ALONG, m]
    C, own = radius(real), board[VALUE, leader]
    best = -np.inf
    for m in range(M):
        if m != leader:
            bound = board[VALUE, m] - own + C * np.sqrt(max(board[SPREAD, m], 0.0))
            if bound > best:
                best = bound
                whole[CHALLENGER] = m
    return best


@njit(cache=True)
def _settled(memory):
    """Whether no candidate can be more than epsilon better, by numbers computed afresh."""
    points, model, board = memory.points, memory.model, memory.board
    real, whole = memory.real, memory.whole
    refresh(memory)
    return _advantage(points, model, board, real, whole) <= real[EPSILON]


@njit(cache=True)
def choose_by_ratio(memory):
    """The analysed rule: of the arms that the pair needs, the one furthest behind its share."""
    points, model, board = memory.points, memory.model, memory.board
    real, whole, last = memory.real, memory.whole, memory.last
    first = memory.first
    if whole[PULLS] < first.shape[0]:
        return first[whole[PULLS]]
    bound = _advantage(points, model, board, real, whole)
    if bound <= real[EPSILON] and _settled(memory):
        return STOP
    low = min(whole[LEADER], whole[CHALLENGER])
    high = max(whole[LEADER], whole[CHALLENGER])
    pair = low * points.shape[1] + high
    if last[PAIR] != pair:
        pairs = memory.pairs
        at = np.searchsorted(pairs[PAIR], pair)
        if at == pairs.shape[1] or pairs[PAIR, at] != pair:
            whole[WANTED] = pair
            return NEED
        last[PAIR], last[ROW] = pair, pairs[ROW, at]
    support, shares, tally = memory.support, memory.shares, memory.tally
    row = last[ROW]
    arm, least = support[row, 0], np.inf
    for n in range(support.shape[1]):
        k = support[row, n]
        if k < 0:
            break
        progress = tally[COUNT, k] / shares[row, n]  # T_k / p_k
        if progress < least * (1.0 - TIED):
            arm, least = k, progress
    return arm


@njit(cache=True)
def choose_greedily(memory):
    """The arm whose next pull shrinks ‖z_i − z_j‖_{A⁻¹} most, unless an arm is starved."""
    points, model, board, tally = memory.points, memory.model, memory.board, memory.tally
    real, whole, first = memory.real, memory.whole, memory.first
    t = whole[PULLS]
    if t < first.shape[0]:
        return first[t]
    bound = _advantage(points, model, board, real, whole)
    if bound <= real[EPSILON] and _settled(memory):
        return STOP
    root = int(np.sqrt(t))
    if root * root == t:  # the guard: at most sqrt(t) pulls in all
        guarded = memory.guarded
        starved = guarded[0]
        for k in guarded:
            if tally[COUNT, k] < tally[COUNT, starved]:
                starved = k
        if tally[COUNT, starved] * guarded.shape[0] < root:
            return starved
    # ‖y‖²_{(A + xxᵀ)⁻¹} = ‖y‖²_{A⁻¹} − (xᵀA⁻¹y)²/(1 + ‖x‖²_{A⁻¹})
    _apply_inverse(points, model, whole[LEADER], whole[CHALLENGER])
    _project(memory.columns, model, model.shape[1] + 1, tally, TOWARDS)
    arm, most = 0, -1.0
    for k in range(tally.shape[1]):
        gain = tally[TOWARDS, k] * tally[TOWARDS, k] / (1.0 + tally[REACH, k])
        if gain > most:
            arm, most = k, gain
    return arm


@njit(cache=True)
def many_by_ratio(memory, arm, means, noise, pulls, sums):
    """Many pulls at once, as in a simulation: chosen by ratio."""
    return loop(update, choose_by_ratio, memory, arm, means, noise, pulls, sums)


@njit(cache=True)
def many_greedily(memory, arm, means, noise, pulls, sums):
    """Many pulls at once, as in a simulation: chosen greedily."""
    return loop(update, choose_greedily, memory, arm, means, noise, pulls, sums)
