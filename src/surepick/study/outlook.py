"""How far each candidate is from being ruled out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from surepick.arrays.types import FloatArray
from surepick.run import Run
from surepick.run.standing import Standing


@dataclass(frozen=True, eq=False)
class Outlook:
    """What the complete batches say; in units of the reward."""

    standing: Standing
    behind: FloatArray  #: estimated distance of each candidate to the one that looks best
    error: FloatArray  #: standard error of that
    evidence: FloatArray | None  #: share of the evidence that rules it out; 1: ruled out


def outlook(run: Run) -> Outlook | None:
    """The outlook of a run; None before its first batch is complete.

    The evidence is the number that decides.
    """
    now = run.standing()
    if now.leader is None or run.state.reward_scale() is None:
        return None
    gaps, errors = np.array(now["behind"]), np.array(now["error"])
    return Outlook(now, gaps, errors, run.state.progress())


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
