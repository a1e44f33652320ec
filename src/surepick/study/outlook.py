"""How far each candidate is from being ruled out, and about how many pulls are left."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from surepick.arrays.types import FloatArray
from surepick.run import Run
from surepick.run.standing import Standing

_CAUTION = 1.5  # squared standard errors added to a squared gap: it may seem small by chance


@dataclass(frozen=True, eq=False)
class Outlook:
    """What the complete batches say; in units of the reward."""

    standing: Standing
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
    now = run.standing()
    if now.leader is None or run.state.reward_scale() is None:
        return None
    gaps, errors = np.array(now["behind"]), np.array(now["error"])
    evidence = run.state.progress()
    left = None
    if run.stopped:
        left = 0
    elif evidence is not None and now.question == "best":
        left = _pulls_left(run, gaps, errors**2, evidence)
    return Outlook(now, gaps, errors, evidence, left)


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


def _pulls_left(run: Run, gaps: FloatArray, variances: FloatArray, evidence: FloatArray) -> int:
    n = int(run.totals()[0].sum())
    wide = gaps + run.algorithm.epsilon
    lacking = (1.0 - evidence) * -math.log(run.algorithm.delta)
    rivals = [i for i in run.active if variances[i] > 0]
    need = 2 * n * variances[rivals] * lacking[rivals]
    need /= wide[rivals] ** 2 + _CAUTION * variances[rivals]
    left = math.ceil(float(need.max(initial=0.0)))
    return min(left, run.algorithm.sample_limit() - run.samples)
