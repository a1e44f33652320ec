"""Compiled bets on direct comparisons: those of :mod:`.wins` for all pairs."""

# numba compiles these functions: their types are what the callers pass.
# pyright: reportArgumentType=false, reportCallIssue=false

from __future__ import annotations

import itertools
import math
from bisect import bisect_left, bisect_right

import numpy as np

from surepick.arrays.compiled import compiled
from surepick.proof.payoffs import wins
from surepick.proof.payoffs.kernels import _log_mean
from surepick.proof.payoffs.wins import CAP, MOST, STAKE

_moments = compiled(wins.win_moments)
_log_payoff = compiled(wins.log_win_payoff)


@compiled
def _group(values, first, last, group, groups, sign, out):
    """The rewards of one group, times a sign, ascending; how many there are."""
    n = 0
    for place in range(first + group, last, groups):
        out[n] = sign * values[place]
        n += 1
    out[:n].sort()
    return n


@compiled
def _places(rows, n, columns, k, below, upto):
    s = w = 0
    for i in range(n):
        while s < k and columns[s] < rows[i]:
            s += 1
        while w < k and columns[w] <= rows[i]:
            w += 1
        below[i], upto[i] = s, w


def _win_steps(places, rivals, starts, values, means, stakes):
    longest = min(int(np.diff(starts).max(initial=0)), MOST)
    return len(places) * len(rivals) * longest * (longest + stakes.shape[2] * stakes.shape[3]) / 4


def _plain_win_payoffs(places, rivals, starts, values, means, stakes):
    # On lists: plain Python works with its own numbers much faster than with those of arrays.
    paid = np.zeros(stakes.shape[:3])
    told = [values[first:last].tolist() for first, last in itertools.pairwise(starts.tolist())]
    for i, x in enumerate(places.tolist()):
        for a, r in enumerate(rivals.tolist()):
            few, many, sign = told[r], told[x], 1.0
            if len(few) > len(many):
                few, many, sign = many, few, -1.0
            if not few or x == r:
                continue
            unit = STAKE / (1.0 + len(few) / len(many))
            groups = wins.groups_of(len(few))
            shared = []
            for group in range(groups):
                rows = sorted(sign * value for value in few[group::groups])
                columns = sorted(sign * value for value in many[group::groups])
                below = [bisect_left(columns, row) for row in rows]
                upto = [bisect_right(columns, row) for row in rows]
                moments = [0.0] * (len(rows) + 1)
                wins.win_moments(below, upto, len(columns), moments)
                shared.append((moments, len(rows)))
            for j, (mean, own) in enumerate(zip(means[i, a].tolist(), stakes[i, a].tolist())):
                mean = max(mean, 1e-9)
                logs = [0.0] * len(own)
                for s, stake in enumerate(own):
                    stake = min(stake * unit, CAP / mean)
                    for moments, m in shared:
                        logs[s] += wins.log_win_payoff(moments, m, stake, mean)
                paid[i, a, j] = _log_mean(logs)
    return paid


@compiled(work=_win_steps, plain=_plain_win_payoffs)
def win_payoffs(places, rivals, starts, values, means, stakes):
    """Log payoffs (n, R, J), averaged over stakes (n, R, J, S), of rivals against candidates.

    Rewards of option k of the block are ``values[starts[k]:starts[k + 1]]``. Stakes are in units of
    leads of normal noise with deviation 1; the null is a share of wins of means (n, R, J) at most.
    """
    n, R, J, S = stakes.shape
    paid = np.zeros((n, R, J))
    logs = np.empty((J, S))
    longest = 0
    for k in range(starts.shape[0] - 1):
        longest = max(longest, starts[k + 1] - starts[k])
    rows, columns = np.empty(longest), np.empty(longest)
    below, upto = np.empty(MOST, np.int64), np.empty(MOST, np.int64)
    moments = np.empty(MOST + 1)
    for i in range(n):
        for a in range(R):
            x, r = places[i], rivals[a]
            own, theirs = starts[x + 1] - starts[x], starts[r + 1] - starts[r]
            few, many = min(own, theirs), max(own, theirs)
            if few == 0 or x == r:
                continue
            first, second, sign = r, x, 1.0
            if theirs > own:
                first, second, sign = x, r, -1.0
            groups = 1
            while groups * MOST < few:
                groups *= 2
            unit = STAKE / (1.0 + few / many)
            logs[:] = 0.0
            for group in range(groups):
                m = _group(values, starts[first], starts[first + 1], group, groups, sign, rows)
                k = _group(values, starts[second], starts[second + 1], group, groups, sign, columns)
                _places(rows, m, columns, k, below, upto)
                _moments(below[:m], upto[:m], k, moments)
                for j in range(J):
                    mean = max(means[i, a, j], 1e-9)
                    for s in range(S):
                        stake = min(stakes[i, a, j, s] * unit, CAP / mean)
                        logs[j, s] += _log_payoff(moments, m, stake, mean)
            for j in range(J):
                paid[i, a, j] = _log_mean(logs[j])
    return paid


@compiled(work=lambda *given: given[3].shape[1] * given[4].size + 4 * given[5].size)
def paired_win_payoffs(places, rivals, counts, table, means, stakes):
    """Log payoffs (n, R, J), averaged over stakes (n, R, J, S), item by item.

    Row k of ``table`` has the rewards of option k on the first ``counts[k]`` items of the block.
    The null is a share of wins on items of means (n, R) at most.
    """
    n, R, J, S = stakes.shape
    paid = np.zeros((n, R, J))
    logs = np.empty(S)
    for i in range(n):
        for a in range(R):
            x, r = places[i], rivals[a]
            items = min(counts[x], counts[r])
            if items == 0 or x == r:
                continue
            won = tied = 0
            for u in range(items):
                if table[r, u] > table[x, u]:
                    won += 1
                elif table[r, u] == table[x, u]:
                    tied += 1
            lost, mean = items - won - tied, means[i, a]
            for j in range(J):
                for s in range(S):
                    stake = min(stakes[i, a, j, s], CAP / mean)
                    logs[s] = (
                        won * math.log1p(stake * (1.0 - mean))
                        + tied * math.log1p(stake * (0.5 - mean))
                        + lost * math.log1p(-stake * mean)
                    )
                paid[i, a, j] = _log_mean(logs)
    return paid
