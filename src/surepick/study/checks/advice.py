"""Which kind of noise would have suited a study better: worth knowing for the next one."""

from __future__ import annotations

import math

import numpy as np

from surepick.run import Run
from surepick.run.assumed import ASSUMED
from surepick.run.diagnostics import ArmSummary, Finding
from surepick.run.guarantee import only_yes_and_no
from surepick.run.rewards import standardised
from surepick.statistics.unequal import UnequalScales

_FEWEST_EQUAL = 30  # rewards, before it is remarked that they are all the same
_FEWEST_OF_RATE = 20  # rewards of an option, before its rate is known at all
_REPLICATES = 10.0  # of an option, before it is said to vary like another
_WORTH_SAYING = 0.9  # of the measurements made: savings of less are not worth a remark
_SKEWED = math.log(5)  # evidence of skew from which on nobody is told to say that noise is normal
_SMALL = 2_000  # candidates of a problem for which settled blocks are gone through again


def not_symmetric(run: Run, summary: ArmSummary) -> str:
    """That rewards are yes or no, in a study whose guarantee rests on other noise; or nothing."""
    told = only_yes_and_no(summary.counts, summary.sums, summary.spread)
    if not ASSUMED.of(run.problem.noise_kind).symmetric or not told:
        return ""
    return (
        f"All {summary.counts.sum():,} rewards so far are 0 or 1. If each measurement is a yes or "
        "a no, start the study again with --rewards yes-no (in Python noise='yes-no'). This "
        "study's guarantee assumes that a reward is as likely to lie above its mean as below it "
        "by the same amount, and yes-or-no rewards are not like that. A yes-no study has an exact "
        "guarantee and often takes fewer measurements. The measurements made so far can guide it "
        "(as past measurements, chosen by results)."
    )


def all_the_same(summary: ArmSummary) -> str:
    """That every reward is the same number, so that nothing can be found out; or nothing."""
    count = int(summary.counts.sum())
    measured = summary.counts > 0
    if count < _FEWEST_EQUAL or measured.sum() < 2 or summary.spread.any():
        return ""
    means = summary.sums[measured] / summary.counts[measured]
    if float(np.ptp(means)) > 1e-12 * float(np.abs(means).max(initial=0.0)):
        return ""
    return (
        f"All {count:,} rewards so far are the same ({means[0]:g}). Either the measurement is "
        "broken, or the options do not differ in it. If they do not differ, no study can tell "
        "which is best: this one will end at its limit (max_samples) without a proven answer."
    )


def anything_will_do(run: Run, summary: ArmSummary) -> list[str]:
    """That an option without any success would be close enough to the best; or nothing.

    Who means 0.2 per cent and writes 0.2 asks for an answer that no measurement is needed for.
    """
    bounds, epsilon = run.problem.noise_kind.bounds, run.algorithm.epsilon
    enough = summary.counts >= _FEWEST_OF_RATE
    if bounds is None or not epsilon or not enough.any():
        return []
    means, minimise = summary.sums[enough] / summary.counts[enough], run.problem.minimise
    worst, best = (bounds[1], means.min()) if minimise else (bounds[0], means.max())
    if abs(best - worst) > epsilon:
        return []
    return [
        f"The best option is at about {best:.3g} so far. With epsilon {epsilon:g}, any option "
        f"within {epsilon:g} of the best is good enough: that is every option, even one at "
        f"{worst:g}. If {epsilon:g} % was meant, start again with --epsilon {epsilon:g}% (in "
        f"Python {epsilon / 100:g})."
    ]


def better_kinds(run: Run, scales: UnequalScales, skew: Finding | None) -> list[str]:
    """Remarks for a study that said nothing, or little, about its noise.

    Normal noise is symmetric: with a sign of skew, or too few rewards to see one, nothing is said.
    """
    may_be = ASSUMED.of(run.problem.noise_kind).may_be_equal
    if not may_be or not run.state.finished or not vary_alike(scales):
        return []
    if skew is None or skew.blind or skew.log_evidence > _SKEWED:
        return []
    fewer = pulls_if_equal(run)
    if fewer is None or fewer > _WORTH_SAYING * run.samples:
        return []
    return [
        "Measurements of all options seem to vary equally. If the study had been created with "
        f"--noise equal (normal noise, the same for all options), about {fewer:,} of its "
        f"{run.samples:,} measurements would have been enough. It is too late to say so in this "
        "study, but consider it for the next one of this kind."
    ]


def vary_alike(scales: UnequalScales) -> bool:
    """Whether options that were measured again and again speak against different scales."""
    return int((scales.freedom >= _REPLICATES).sum()) > 1 and scales.log_evidence < 0.0


def pulls_if_equal(run: Run) -> int | None:
    """After how many of its measurements the run would have stopped, had noise been said equal.

    The same blocks, settled by the bets for normal noise of one scale. None where they would not
    have been enough, or where this takes long.
    """
    state, problem = run.state, run.problem
    if run.past is not None or problem.n_candidates > _SMALL:
        return None
    equal = problem.with_noise("equal")
    return state.enough([standardised(equal, told) for told in run.told()], equal)
