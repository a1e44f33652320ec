"""How far each candidate is from being ruled out, and about how many pulls are left."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from surepick.arrays.types import FloatArray, IntArray
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
    found = fitted(run, *run.totals())
    if found is None or run.state.reward_scale() is None:
        return None
    fit, sigma = found
    directions = problem.targets[run.state.leader()] - problem.targets
    gaps = directions @ fit.theta
    variances = fit.variances(directions)
    evidence = run.state.progress()
    left = None
    if run.stopped:
        left = 0
    elif evidence is not None:
        left = _pulls_left(run, gaps, variances, evidence, sigma)
    return Outlook(gaps * sigma, np.sqrt(variances) * sigma, evidence, left)


def fitted(run: Run, counts: IntArray, sums: FloatArray) -> tuple[LeastSquares, float] | None:
    """Least squares on what was measured, and its unit in units of the reward.

    Variances are those of the present estimates of the noise (of one unit, where there are none).
    None where too few options were measured.
    """
    problem, scale = run.problem, run.state.reward_scale()
    if not counts.any():
        return None
    rows, own = problem.features, problem.standardised(np.arange(problem.n_arms), sums)
    sigma = problem.unit
    if isinstance(scale, np.ndarray):  # each arm counts by its own
        rows, own = rows / scale[:, None], own / scale
    elif scale is not None:
        own, sigma = own / scale, sigma * scale
    fit = LeastSquares(rows, counts, own)
    return (fit, sigma) if fit.spans else None


def noise_in_use(run: Run) -> float | None:
    """How much a single reward varies as far as is known, in units of the reward; one for all."""
    scale = run.state.reward_scale()
    if scale is None:
        return None
    each = scale * run.problem.noise_kind.units(np.arange(run.problem.n_arms))
    if np.ndim(each) == 0:
        return float(each)
    counts = run.totals()[0]
    return float(np.sqrt(np.average(each**2, weights=counts if counts.any() else None)))


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
