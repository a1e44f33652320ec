"""Into how many parts the pulls of a block are dealt, where bets are made part by part.

No part pays more than log 2, so more parts make more of a clear lead; but every arm that is pulled
has to be pulled in each of them, so fewer arms can be.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from surepick.algorithms.base import Pulls
from surepick.arrays.types import FloatArray, IntArray
from surepick.problem import Problem

# Whether the pulls of a block are dealt into parts: into the same number for all arms, so that
# least squares can be done in each, or into as many as each arm can have; or each pull is a part of
# its own, for an item, or because every single reward counts.
Parts = Literal["none", "same", "own", "items", "single"]
PARTS = (1, 2, 4, 8, 16, 32)  # to choose from
MOST_PARTS = PARTS[-1]
# Where a lead has g standard errors in each of m parts, the bets make about (m/2) g² / (1 + g²/2):
# as if its nats took this share of 1/m blocks more.
PART_COST = 0.5
_KEPT = 0.8  # share of the pulls of a block that count at least, where parts are made afterwards
PART_CUTS = (0.6, 0.3, 0.05)  # arms due less than so much of a pull in each part get none
# Pulls that do not span get a ridge; a direction with this share of it outside is not measured. By
# its variance alone it may seem to be, where leads are clearer than the ridge is small.
OPEN = 1e-3
HOPELESS = 100.0  # blocks of this kind that a lead would take: more are all the same


def dealt(counts: IntArray, parts: Parts) -> Pulls:
    """Pulls of a block: as many parts as each arm can have, or (as yet) one."""
    if parts == "none":
        return Pulls.from_counts(counts)
    if parts in ("items", "single"):
        return one_by_one(counts)
    return Pulls.in_own_parts(counts, MOST_PARTS) if parts == "own" else Pulls.in_parts(counts, 1)


def one_by_one(counts: IntArray) -> Pulls:
    """A row for each pull; on items, an option with n of them meets the first n of the block."""
    arms = np.repeat(np.arange(len(counts)), counts)
    items = np.arange(len(arms)) - np.repeat(np.cumsum(counts) - counts, counts)
    return Pulls(arms.astype(np.int64), np.ones(len(arms), dtype=np.int64), items)


def parts_for_all(features: FloatArray, counts: IntArray) -> int:
    """The most parts for which enough pulls count: those of arms with one in every part.

    ``features`` are those of arms with these numbers of pulls; the rest of them must span as much.
    """
    rank = np.linalg.matrix_rank(features, tol=1e-9)
    for m in reversed(PARTS):
        full = counts >= m
        enough = counts[full].sum() >= _KEPT * counts.sum()
        if enough and np.linalg.matrix_rank(features[full], tol=1e-9) == rank:
            return m
    return 1


def dealt_again(problem: Problem, pulls: Pulls, counts: IntArray, parts: Parts) -> Pulls:
    """What is left of a block, dealt by its counts alone: into no more parts than it had."""
    if parts != "same" or pulls.parts is None:
        return dealt(counts, parts)
    arms = np.flatnonzero(counts)
    most = parts_for_all(problem.feature_rows(arms), counts[arms])
    return Pulls.in_parts(counts, min(most, int(pulls.parts.max()) + 1))


def cost_in_parts(variances: FloatArray, shares: FloatArray, nats: FloatArray, m: int) -> float:
    """How many such blocks the leads take, on average: over their shares, and over all alike.

    ``variances`` are those of directions scaled as in a design: half of one is what the lead
    takes of a whole block, and ``nats`` is the log capital that it lacks.
    """
    blocks = np.minimum(0.5 * variances + PART_COST * nats / m, HOPELESS)
    return float(blocks @ shares + blocks.mean())
