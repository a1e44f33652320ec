"""Compiled bets on options that were measured on the same items."""

from __future__ import annotations

import math

import numpy as np

from surepick.arrays.compiled import compiled
from surepick.proof.payoffs.kernels import CAP, _log_mean


@compiled(work=lambda places, rivals, counts, *_: len(places) * len(rivals) * int(counts.max()))
def paired_contrasts(places, rivals, counts, table, shift, most):
    """Contrasts (n, R, most) of pairs of arms, how many each pair has, and of how many items.

    Row k of ``table`` has the rewards of arm k on the first ``counts[k]`` items of the block. The
    items that both have met are dealt into groups by their numbers: a power of two, ``most`` at
    most.
    """
    n, R = places.shape[0], rivals.shape[0]
    contrasts = np.zeros((n, R, most))
    groups = np.ones((n, R), dtype=np.int64)
    common = np.zeros((n, R), dtype=np.int64)
    for i in range(n):
        for a in range(R):
            items = min(counts[places[i]], counts[rivals[a]])
            common[i, a] = items
            if items == 0:
                continue
            m = 1
            while 2 * m <= min(items, most):
                m *= 2
            groups[i, a] = m
            for u in range(items):
                contrasts[i, a, u % m] += table[rivals[a], u] - table[places[i], u]
            for g in range(m):
                contrasts[i, a, g] /= (items - g + m - 1) // m
                contrasts[i, a, g] += shift[i, a]
    return contrasts, groups, common


@compiled(work=lambda *given: given[6].size * int(given[2].max()))
def paired_bounded_payoffs(places, rivals, counts, table, told, shift, stakes, width):
    """Log payoffs (n, R, J), averaged over stakes (n, R, J, S), of rewards ``width`` apart at most.

    A stake λ on the mean difference pays Π(1 + λD/n) over the n items that both have met.
    """
    n, R, J, S = stakes.shape
    paid = np.zeros((n, R, J))
    logs = np.empty(S)
    for i in range(n):
        for a in range(R):
            items = min(counts[places[i]], counts[rivals[a]])
            if items == 0:
                continue
            for j in range(J):
                for s in range(S):
                    each = min(stakes[i, a, j, s] * told[i, a] / items, CAP / width)
                    total = each * items * shift[i, a]
                    for u in range(items):
                        apart = table[rivals[a], u] - table[places[i], u]
                        if apart != 0.0:
                            total += math.log1p(each * apart)
                    logs[s] = total
                paid[i, a, j] = _log_mean(logs)
    return paid
