"""Designs for a guess at the end of a budget: what is left is shared out so that few go wrong.

In the end the candidate with the highest estimate is named. A rival with lead −g, whose estimate
then has variance v, comes out on top with probability Φ(−g/√v). Designs for proofs make the worst
of these small, and leave the others as they come; here it is their sum that counts, after all
pulls so far and all that are left.

The sum is made small by steps that multiply each share by the root of what more of it would gain
(Fellman 1974, Silvey, Titterington and Torsney 1978), with weights of rivals that follow.
"""

from __future__ import annotations

import numpy as np

from surepick.algorithms.pooled.fit import Scales
from surepick.algorithms.pooled.lacking import Lacking
from surepick.algorithms.pooled.prices import per_money
from surepick.arrays.grid import coarse
from surepick.arrays.types import FloatArray, IntArray
from surepick.problem import Problem

_STEPS = 40
_RIVALS = 64  # the most dangerous ones; more would change little


def shared_out(
    problem: Problem,
    points: FloatArray,
    missing: Lacking,
    leader: int,
    made: IntArray,
    left: float,
    scales: Scales,
    start: FloatArray,
) -> FloatArray:
    """Shares of what is left, in money where pulls cost different amounts.

    Parameters
    ----------
    missing
        What each lead lacks, evenly (:func:`surepick.algorithms.pooled.lacking.evenly`): one over
        its squared gap, with some caution.
    made
        Pulls of each arm so far.
    left
        Pulls that are left, or money.
    start
        Shares to begin with; where one is 0 it stays so.
    """
    if missing.pairs is None:
        others = np.flatnonzero(missing.pulls > 0)
        ahead, lacks = np.full(len(others), leader), missing.pulls[others]
    else:
        (ahead, others), lacks = missing.pairs, missing.pulls
    nearest = np.argsort(-lacks, kind="stable")[:_RIVALS]
    directions = points[ahead[nearest]] - points[others[nearest]]
    squared = 1.0 / (lacks[nearest] * scales.variance)  # gaps, per variance of a pull
    arms = problem.features
    if scales.by_arm is not None:
        arms = arms / np.sqrt(scales.by_arm)[:, None]
    known, priced = (arms * made[:, None]).T @ arms, per_money(problem, arms)
    shares = start / start.sum()
    for _ in range(_STEPS):
        solved = np.linalg.solve(known + left * (priced * shares[:, None]).T @ priced, directions.T)
        spread = np.maximum((directions * solved.T).sum(axis=1), 1e-300)
        z = squared / spread
        danger = np.exp(0.5 * (z.min() - z)) * np.sqrt(squared) * spread**-1.5  # −dΦ/dv
        gain = ((priced @ solved) ** 2) @ danger
        shares = shares * np.sqrt(gain)
        shares /= shares.sum()
    return coarse(shares)
