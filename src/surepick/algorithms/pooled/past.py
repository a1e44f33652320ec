"""How PooledPeleg uses measurements that were made before the run.

Where the choice of what was measured did not depend on rewards, they are evidence: they are dealt
into blocks like those of a run, and each block settles the bets that the blocks before it suggest.
They come in the order in which they are dealt (:mod:`surepick.run.past`): which rewards are
in which block must have nothing to do with how large they are.

Otherwise they only guide. They become part of the first block, on which nothing is bet: the theorem
allows any stakes, rivals and designs that are fixed before a block's rewards are seen. Their weight
is limited, so that new measurements soon outweigh a bad guide.
"""

from __future__ import annotations

import numpy as np

from surepick.algorithms.base import Pulls, ToldPulls
from surepick.algorithms.pooled.parts import Parts, dealt, parts_for_all
from surepick.arrays.grid import spread_rows
from surepick.arrays.types import FloatArray, IntArray
from surepick.problem import Problem

_FIRST = 2.0  # measurements per dimension in the first block
_GROWTH = 0.4  # later blocks have this share of all measurements before them
_GUIDE = 10.0  # weight per dimension that a guide has at most


def past_blocks(
    problem: Problem, arms: IntArray, rewards: FloatArray, evidence: bool, parts: Parts
) -> list[ToldPulls]:
    """Past measurements as blocks; a single one where they only guide.

    The pulls of each arm in a block may be dealt into parts: the same number for all, or its own.
    """
    if not evidence:
        return [_guide(problem, arms, rewards)]
    if not problem.spanned_by(arms):
        return [one_block(problem, arms, rewards, parts)]
    order = _spanning_first(problem, arms, np.arange(len(arms)))
    size = max(1, int(_FIRST * problem.rank))
    cuts, end = [], size
    while len(arms) - end >= size:  # the last block is no smaller than the first
        cuts.append(end)
        end += max(size, int(_GROWTH * end))
    return [one_block(problem, arms[part], rewards[part], parts) for part in np.split(order, cuts)]


def _spanning_first(problem: Problem, arms: IntArray, order: IntArray) -> IntArray:
    """The order with one measurement of each of some spanning arms moved to the front."""
    measured = np.unique(arms)
    needed = measured[spread_rows(problem.feature_rows(measured), problem.rank)]
    _, where = np.unique(arms[order], return_index=True)  # first measurement of each arm
    front = where[np.isin(measured, needed)]
    return np.concatenate([order[front], np.delete(order, front)])


def one_block(problem: Problem, arms: IntArray, rewards: FloatArray, parts: Parts) -> ToldPulls:
    """Measurements as one block; the pulls of each arm are dealt into parts as they come."""
    counts = np.bincount(arms, minlength=problem.n_arms)
    pulls = _dealt(problem, counts, parts)
    values = rewards[np.argsort(arms, kind="stable")]  # by arm, in the order given
    starts = np.cumsum(pulls.counts) - pulls.counts
    sums = np.add.reduceat(values, starts)
    apart = values - np.repeat(sums / pulls.counts, pulls.counts)
    return ToldPulls(pulls, sums, np.add.reduceat(apart**2, starts))


def _dealt(problem: Problem, counts: IntArray, parts: Parts) -> Pulls:
    if parts != "same":
        return dealt(counts, parts)
    arms = np.flatnonzero(counts)
    return Pulls.in_parts(counts, parts_for_all(problem.feature_rows(arms), counts[arms]))


def _guide(problem: Problem, arms: IntArray, rewards: FloatArray) -> ToldPulls:
    """All of them, with the weight of fewer where there are many: the means stay what they are."""
    pulls, sums, spreads, _ = one_block(problem, arms, rewards, "none")
    share = min(1.0, _GUIDE * problem.rank / pulls.total)
    counts = np.maximum(1, np.round(pulls.counts * share)).astype(np.int64)
    weight = counts / pulls.counts
    assert spreads is not None
    return ToldPulls(Pulls(pulls.arms, counts), sums * weight, spreads * weight)
