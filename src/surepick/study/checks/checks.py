"""Whether what a study rests on holds: the model, the noise, rewards that stay the same.

All from the log of tells. The checks of fit and drift keep their error level over all looks (see
:mod:`surepick.run.diagnostics`), and so does that of noise which is said to be equal. The check of
a noise scale that was given does not: it compares that scale with replicates at a level of 0.001
for one look. Where no scale was given there is nothing to check.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from surepick.calls.afresh import CURES, REPEATED
from surepick.errors import InvalidInputError
from surepick.problem import Problem
from surepick.run import Answer, Run
from surepick.run.assumed import ASSUMED
from surepick.run.diagnostics import (
    ArmSummary,
    Finding,
    NoiseEstimate,
    Timeline,
    by_arm,
    check_pulls,
    drift,
    estimate_noise,
    lack_of_fit,
    unequal_noise,
)
from surepick.run.doubts import DRIFTED, UNEVEN, without_guarantee
from surepick.run.guarantee import only_yes_and_no
from surepick.run.rewards import standardised
from surepick.statistics.estimate import LeastSquares
from surepick.statistics.gamma import upper_quantile
from surepick.statistics.unequal import UnequalScales
from surepick.study.canaries import Found
from surepick.study.outlook import noise_in_use

_LEVEL = 0.001  # error level of the check of the noise scale
_FEWEST_REPLICATES = 10  # fewer say too little about the noise
_NAMED = 3  # options, in a warning
_WASTEFUL = 2.0  # a noise scale this many times too large wastes pulls: worth a remark


_NO_HARM = Finding(False, 0.0, 0.05, "Changes over time are not looked for: they do no harm here.")


@dataclass(frozen=True)
class Checks:
    """What the checks of a study say."""

    fit: Finding | None  #: None where no guarantee rests on an exact model
    drift: Finding
    noise: NoiseEstimate | None  #: from replicates, where there are enough
    noise_alarm: str  #: that the noise is larger than stated, or not of the kind that was said
    remarks: tuple[str, ...]  #: worth knowing, but nothing is wrong
    scales: Finding | None = None  #: whether options vary alike, where the study says so
    ratio: Finding | None = None  #: whether visitors came in the shares they were sent by
    own_past: Finding | None = None  #: whether options kept their ratios from period to period
    repeated: str = ""  #: that rewards came back to the last digit, as from one draw
    changed: Finding | None = None  #: whether cells gave another score when they were asked again

    @property
    def warnings(self) -> list[str]:
        """What is wrong, as sentences."""
        found = [self.noise_alarm] if self.noise_alarm else []
        found += [self.repeated] if self.repeated else []
        return found + [f.message for f in self._alarms if f]

    @property
    def _alarms(self) -> tuple[Finding | None, ...]:
        return self.ratio, self.own_past, self.scales, self.fit, self.drift, self.changed

    @property
    def broken(self) -> list[str]:
        """The assumptions that do not hold, in a few words each."""
        found = ["the noise is not what the study was told"] if self.noise_alarm else []
        found += ["visitors did not come in the shares they were sent by"] if self.ratio else []
        found += ["an option did not keep to its own past"] if self.own_past else []
        found += [UNEVEN] if self.scales else []
        found += ["the linear model does not fit"] if self.fit else []
        found = found + ([DRIFTED] if self.drift else [])
        found += ["scores changed while they were measured"] if self.changed else []
        return found + ([REPEATED] if self.repeated else [])

    def to_dict(self) -> dict[str, Any]:
        """As JSON-ready values."""
        noise = self.noise
        return {name: _written(getattr(self, name)) for name in _FINDINGS} | {
            "noise": noise
            and {
                "estimate": noise.scale,
                "low": noise.low,
                "high": noise.high,
                "replicates": noise.freedom,
            },
            "noise_alarm": self.noise_alarm,
            "repeated": self.repeated,
            "warnings": self.warnings,
            "remarks": list(self.remarks),
        }

    @classmethod
    def from_dict(cls, saved: dict[str, Any]) -> Checks:
        """What :meth:`to_dict` made."""
        noise = saved["noise"]
        if noise is not None:
            ends = (noise["low"], noise["high"])
            noise = NoiseEstimate(noise["estimate"], noise["replicates"], *ends)
        return cls(
            **{name: _read(saved[name]) for name in _FINDINGS},
            noise=noise,
            noise_alarm=saved["noise_alarm"],
            remarks=tuple(saved["remarks"]),
            repeated=saved["repeated"],
        )

    def with_canaries(self, found: Found | None) -> Checks:
        """With what cells say that were asked again."""
        if found is None:
            return self
        remarks = self.remarks if found.finding else (*self.remarks, found.remark)
        return replace(self, changed=found.finding, remarks=remarks)


_FINDINGS = ("fit", "drift", "scales", "ratio", "own_past", "changed")  # of the checks of a study


def check_rewards(
    run: Run,
    summary: ArmSummary,
    timeline: Timeline,
    spread: UnequalScales,
    came_back: Sequence[int] = (),
) -> Checks:
    """What the rewards of a run as of the last complete batch say about the assumptions.

    They are given per arm, over time, and by how much those of the same arm differ; of the arms
    ``came_back`` rewards are the same to the last digit, again.
    """
    problem = run.problem
    assumed = ASSUMED.of(problem.noise_kind)
    alarm, remarks = _stated_noise(run, summary) if assumed.stated else ("", [])
    skew = run.doubts.skew(problem)
    skewed = all_the_same(summary) or not_symmetric(run, summary)
    if skew and not skewed:
        skewed = skew.message
    remarks += better_kinds(run, spread, skew)
    remarks += anything_will_do(run, summary)
    scales = unequal_noise(problem, spread) if assumed.equal else None
    sayable, scale = _scale(run, summary, bool(alarm))
    fit = None
    if (
        sayable
        and assumed.linear
        and problem.rank < problem.n_arms
        and math.isfinite(problem.misfit)
    ):
        matters = _what_matters(run, summary)
        fit = lack_of_fit(problem, summary.counts, summary.sums, noise=scale, matters=matters)
        size = noise_in_use(run) if scale is None else scale.high
        remarks += _how_to_check(problem, fit, summary.counts, size or problem.unit)
    cancel = run.algorithm.levels_cancel(problem)
    looks = {"noise": scale, "levels_cancel": cancel, "scale_known": sayable}
    drifted = drift(problem, timeline, **looks) if assumed.steady else _NO_HARM
    if drifted.harmless or drifted.unclear:
        remarks.append(drifted.message)
        if fit:  # options measured at different times differ by the level as well
            text = (
                "The linear model cannot be checked, because all options change together over time."
            )
            fit = Finding(False, fit.log_evidence, fit.level, text, blind=True)
    found = (fit, drifted, _replicates(summary), alarm or skewed, tuple(remarks), scales)
    return Checks(*found, repeated=_repeated(run, came_back))


def _repeated(run: Run, arms: Sequence[int]) -> str:
    """That rewards came back though they could be any; a cell of a table always does."""
    if not arms or run.algorithm.measured_on() is not None:
        return ""
    named = ", ".join(repr(run.problem.labels[arm]) for arm in arms[:_NAMED])
    cure = CURES[REPEATED]
    return f"Of {named}, {REPEATED}. The guarantee counts every reward as a new one: {cure}."


def _scale(run: Run, summary: ArmSummary, alarm: bool) -> tuple[bool, NoiseEstimate | None]:
    """Whether fit and drift can be checked, and with which noise; None: what the problem says."""
    kind, noise = run.problem.noise_kind, _replicates(summary)
    assumed = ASSUMED.of(kind)
    if assumed.stated:
        # With too small a noise scale, mere noise would look like misfit and drift.
        if not (alarm or run.state.scale_estimated):
            return True, None
    elif noise is None:
        return kind.scale_known, None  # half the range is enough for whatever lies in it
    if noise is not None and not assumed.one_scale(kind):
        noise = by_arm(noise, summary)
    return noise is not None, noise


def qualified(answer: Answer, checks: Checks) -> Answer:
    """The answer, without its guarantee where an assumption behind it does not hold."""
    return without_guarantee(answer, " and ".join(checks.broken))


def _replicates(summary: ArmSummary) -> NoiseEstimate | None:
    try:
        noise = estimate_noise(summary)
    except InvalidInputError:  # nothing measured twice, or no noise at all
        return None
    return noise if noise.freedom >= _FEWEST_REPLICATES else None


def _stated_noise(run: Run, summary: ArmSummary) -> tuple[str, list[str]]:
    """That the noise scale in use is too small, or a remark that it is very large."""
    kind, factor = run.problem.noise_kind, run.state.noise_factor
    units = kind.units(np.arange(run.problem.n_arms))
    used, of_stated = (factor or 0.0) * run.problem.unit, ""
    if kind.scales is not None:
        summary = ArmSummary(summary.counts, summary.sums / units, summary.spread / units**2)
        of_stated = " times what was stated for it"
    noise = _replicates(summary)
    if factor is None or noise is None:
        return "", []
    differ = (
        f"measurements of the same option differ by {noise.scale:.3g}{of_stated} (95 % interval "
        f"{noise.low:.3g} to {noise.high:.3g})"
    )
    differ = differ if of_stated else f"{used:g} is in use, but {differ}"
    least = math.sqrt(float(summary.spread.sum()) / upper_quantile(noise.freedom, _LEVEL))
    if used < least:
        cure = "" if of_stated else f" with noise {noise.high:.3g}, or"
        return (
            f"The noise is larger than stated: {differ}. The guarantee assumes that the stated "
            f"noise is not too small. Start again{cure} without stating the noise; the guarantee "
            "then needs no noise scale at all."
        ), []
    if used > _WASTEFUL * noise.high:
        return "", [
            f"The noise may be smaller than stated: {differ}. This is safe, but takes about "
            f"{(used / noise.high) ** 2:.0f} times as many measurements as needed."
        ]
    return "", []


def _what_matters(run: Run, summary: ArmSummary) -> float:
    """By how much features may be wrong before another option could be the best.

    What is close enough, where that was said; otherwise how far the best is ahead.
    """
    problem = run.problem
    if run.algorithm.epsilon > 0:
        return run.algorithm.epsilon
    if not summary.counts.any() or problem.large:
        return math.inf
    sums = problem.standardised(np.arange(problem.n_arms), summary.sums)
    measured = np.flatnonzero(summary.counts)
    own = (summary.counts[measured], sums[measured])
    theta = LeastSquares(problem.feature_rows(measured), *own).theta
    values = np.sort(problem.targets[problem.distinct] @ theta)[-2:] * problem.unit
    return float(values[-1] - values[0]) if len(values) == 2 else math.inf


def _how_to_check(problem: Problem, fit: Finding, counts: Any, size: float) -> list[str]:
    """What it would take to check a model that the measurements so far say nothing about."""
    if not fit.blind or not counts.any():
        return []
    try:
        extra = check_pulls(problem, counts, problem.unit)  # as large as the noise, whatever it is
    except InvalidInputError:  # it would take far too many
        return []
    if not extra.any():
        return []
    return [
        f"To check the model anyway: {extra.sum():,} more measurements of "
        f"{np.count_nonzero(extra)} options ({extra[extra > 0].max()} of each, at most) would "
        f"probably reveal a misfit as large as the noise ({size:.3g} per option). Start with the "
        "answer itself."
    ]


def _written(finding: Finding | None) -> dict[str, Any] | None:
    """A finding as JSON-ready values: None for what is endless."""
    if finding is None:
        return None
    finite = {
        name: None if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in vars(finding).items()
    }
    return finite | {"arms": list(finding.arms)}


def _read(saved: dict[str, Any] | None) -> Any:
    """What :func:`_written` made."""
    if saved is None:
        return None
    endless = {"log_evidence": math.inf if saved["alarm"] else -math.inf, "noticeable": math.inf}
    given: dict[str, Any] = saved | {"arms": tuple(saved["arms"])}
    given |= {name: end for name, end in endless.items() if saved[name] is None}
    return Finding(**given)


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
    several = int((scales.freedom >= _REPLICATES).sum()) > 1  # were measured again and again
    alike = several and scales.log_evidence < 0.0
    if not may_be or not run.state.finished or not alike:
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
