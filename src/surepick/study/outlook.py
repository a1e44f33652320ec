"""How far each candidate is from being ruled out, and about how many pulls are left."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from surepick.arrays.types import FloatArray
from surepick.run import Run
from surepick.statistics.estimate import LeastSquares

_CAUTION = 1.5  # squared standard errors added to a squared gap: it may seem small by chance


@dataclass(frozen=True, eq=False)
class Outlook:
    """What the complete batches say; in units of the reward."""

    behind: FloatArray  #: estimated distance of each candidate to the one that looks best
    error: FloatArray  #: standard error of that
    evidence: FloatArray | None  #: share of the evidence that rules it out; 1: ruled out
    pulls_left: int | None  #: about so many, if the estimates are right


def outlook(run: Run) -> Outlook | None:
    """The outlook of a run; None before its first batch is complete.

    The evidence is the number that decides. The pulls left are a forecast: with variance a
    per pull, a lead of g adds g²/(2a) per pull to the logarithm of the capital that was bet
    on it (see :mod:`surepick.algorithms.pooled.peleg`), which has to reach log(1/delta).
    """
    problem = run.problem
    counts, sums = run.totals()
    if not counts.any():
        return None
    fit = LeastSquares(problem.features, counts, sums / problem.unit)
    if not fit.spans:
        return None
    leader = run.state.leader()
    directions = problem.targets[leader] - problem.targets
    sigma = problem.unit * (run.state.noise_factor or 1.0)
    gaps = directions @ fit.theta * (problem.unit / sigma)
    variances = fit.variances(directions)
    evidence = run.state.progress()
    left = None
    if run.stopped:
        left = 0
    elif evidence is not None:
        left = _pulls_left(run, gaps, variances, evidence, sigma)
    return Outlook(gaps * sigma, np.sqrt(variances) * sigma, evidence, left)


def _pulls_left(
    run: Run, gaps: FloatArray, variances: FloatArray, evidence: FloatArray, sigma: float
) -> int:
    n = int(run.totals()[0].sum())
    wide = gaps + run.algorithm.epsilon / sigma
    lacking = (1.0 - evidence) * -math.log(run.algorithm.delta)
    rivals = [i for i in run.active if variances[i] > 0]
    need = 2 * n * variances[rivals] * lacking[rivals]
    need /= wide[rivals] ** 2 + _CAUTION * variances[rivals]
    left = math.ceil(float(need.max(initial=0.0)))
    return min(left, run.algorithm.sample_limit() - run.samples)
