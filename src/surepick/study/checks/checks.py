"""Whether what a study rests on holds: the model, the noise, rewards that stay the same.

All from the log of tells. The checks of fit and drift keep their error level over all looks (see
:mod:`surepick.run.diagnostics`), and so does that of noise which is said to be equal. The check of
a noise scale that was given does not: it compares that scale with replicates at a level of 0.001
for one look. Where no scale was given there is nothing to check.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

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
from surepick.statistics.estimate import LeastSquares
from surepick.statistics.gamma import upper_quantile
from surepick.statistics.unequal import UnequalScales
from surepick.study.checks.advice import all_the_same, anything_will_do, better_kinds, not_symmetric
from surepick.study.outlook import noise_in_use

_LEVEL = 0.001  # error level of the check of the noise scale
_FEWEST_REPLICATES = 10  # fewer say too little about the noise
_NAMED = 3  # options, in a warning
_WASTEFUL = 2.0  # a noise scale this many times too large wastes pulls: worth a remark


_NO_HARM = Finding(False, 0.0, 0.05, "Changes over time are not looked for: they do no harm here.")


class Measured(NamedTuple):
    """What was measured, as the checks see it."""

    summary: ArmSummary  #: per arm
    timeline: Timeline  #: over time
    scales: UnequalScales  #: how much rewards of the same arm differ, batch by batch
    came_back: tuple[int, ...] = ()  #: arms whose rewards are the same to the last digit, again


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

    @property
    def warnings(self) -> list[str]:
        """What is wrong, as sentences."""
        found = [self.noise_alarm] if self.noise_alarm else []
        found += [self.repeated] if self.repeated else []
        return found + [f.message for f in self._alarms if f]

    @property
    def _alarms(self) -> tuple[Finding | None, ...]:
        return self.ratio, self.own_past, self.scales, self.fit, self.drift

    @property
    def broken(self) -> list[str]:
        """The assumptions that do not hold, in a few words each."""
        found = ["the noise is not what the study was told"] if self.noise_alarm else []
        found += ["visitors did not come in the shares they were sent by"] if self.ratio else []
        found += ["an option did not keep to its own past"] if self.own_past else []
        found += [UNEVEN] if self.scales else []
        found += ["the linear model does not fit"] if self.fit else []
        found = found + ([DRIFTED] if self.drift else [])
        return found + ([REPEATED] if self.repeated else [])

    def to_dict(self) -> dict[str, Any]:
        """As JSON-ready values."""
        return {
            "fit": None if self.fit is None else _finding(self.fit),
            "drift": _finding(self.drift),
            "noise": None
            if self.noise is None
            else {
                "estimate": self.noise.scale,
                "low": self.noise.low,
                "high": self.noise.high,
                "replicates": self.noise.freedom,
            },
            "noise_alarm": self.noise_alarm,
            "scales": None if self.scales is None else _finding(self.scales),
            "ratio": None if self.ratio is None else _finding(self.ratio),
            "own_past": None if self.own_past is None else _finding(self.own_past),
            "repeated": self.repeated,
            "warnings": self.warnings,
            "remarks": list(self.remarks),
        }

    @classmethod
    def from_dict(cls, saved: dict[str, Any]) -> Checks:
        """What :meth:`to_dict` made."""
        fit, noise = saved["fit"], saved["noise"]
        scales, ratio, own = (saved[name] for name in ("scales", "ratio", "own_past"))
        estimate = None
        if noise is not None:
            ends = (noise["low"], noise["high"])
            estimate = NoiseEstimate(noise["estimate"], noise["replicates"], *ends)
        return cls(
            None if fit is None else _as_finding(fit),
            _as_finding(saved["drift"]),
            estimate,
            saved["noise_alarm"],
            tuple(saved["remarks"]),
            None if scales is None else _as_finding(scales),
            None if ratio is None else _as_finding(ratio),
            None if own is None else _as_finding(own),
            saved["repeated"],
        )


def check_rewards(run: Run, told: Measured) -> Checks:
    """What the rewards say about the assumptions.

    Parameters
    ----------
    run
        The run as of the last complete batch: what is assumed, and the noise scale in use.
    told
        What was measured.
    """
    problem, summary = run.problem, told.summary
    assumed = ASSUMED.of(problem.noise_kind)
    alarm, remarks = _stated_noise(run, summary) if assumed.stated else ("", [])
    skew = run.doubts.skew(problem)
    skewed = all_the_same(summary) or not_symmetric(run, summary)
    if skew and not skewed:
        skewed = skew.message
    remarks += better_kinds(run, told.scales, skew)
    remarks += anything_will_do(run, summary)
    scales = unequal_noise(problem, told.scales) if assumed.equal else None
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
    drifted = drift(problem, told.timeline, **looks) if assumed.steady else _NO_HARM
    if drifted.harmless or drifted.unclear:
        remarks.append(drifted.message)
        if fit:  # options measured at different times differ by the level as well
            text = (
                "The linear model cannot be checked, because all options change together over time."
            )
            fit = Finding(False, fit.log_evidence, fit.level, text, blind=True)
    found = (fit, drifted, _replicates(summary), alarm or skewed, tuple(remarks), scales)
    return Checks(*found, repeated=_repeated(run, told.came_back))


def _repeated(run: Run, arms: tuple[int, ...]) -> str:
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
    if used < _least_scale(noise, summary):
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


def _least_scale(noise: NoiseEstimate, summary: ArmSummary) -> float:
    return math.sqrt(float(summary.spread.sum()) / upper_quantile(noise.freedom, _LEVEL))


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


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "alarm": finding.alarm,
        "log_evidence": finding.log_evidence if math.isfinite(finding.log_evidence) else None,
        "level": finding.level,
        "arms": list(finding.arms),
        "blind": finding.blind,
        "noticeable": finding.noticeable if math.isfinite(finding.noticeable) else None,
        "message": finding.message,
        "unclear": finding.unclear,
        "harmless": finding.harmless,
    }


def _as_finding(saved: dict[str, Any]) -> Finding:
    """What :func:`_finding` made."""
    endless = math.inf if saved["alarm"] else -math.inf
    return Finding(
        saved["alarm"],
        endless if saved["log_evidence"] is None else saved["log_evidence"],
        saved["level"],
        saved["message"],
        tuple(saved["arms"]),
        saved["blind"],
        math.inf if saved["noticeable"] is None else saved["noticeable"],
        saved["unclear"],
        saved["harmless"],
    )
