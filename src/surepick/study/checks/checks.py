"""Whether what a study rests on holds: the model, the noise scale, rewards that stay the same.

All from the log of tells. The checks of fit and drift keep their error level over all looks (see
:mod:`surepick.run.diagnostics`). The check of the noise scale does not: it compares the scale in
use with replicates at a level of 0.001 for one look.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from surepick.algorithms.base import Guarantee
from surepick.errors import InvalidInputError
from surepick.problem import Problem
from surepick.run import Answer
from surepick.run.diagnostics import (
    ArmSummary,
    Finding,
    NoiseEstimate,
    Timeline,
    check_pulls,
    drift,
    estimate_noise,
    lack_of_fit,
)

_LEVEL = 0.001  # error level of the check of the noise scale
_FEWEST_REPLICATES = 10  # fewer say too little about the noise
_WASTEFUL = 2.0  # a noise scale this many times too large wastes pulls: worth a remark


@dataclass(frozen=True)
class Checks:
    """What the checks of a study say."""

    fit: Finding | None  #: None where no model is assumed (unstructured)
    drift: Finding
    noise: NoiseEstimate | None  #: from replicates, where there are enough
    noise_alarm: str  #: that the noise scale in use is too small
    remarks: tuple[str, ...]  #: worth knowing, but nothing is wrong

    @property
    def warnings(self) -> list[str]:
        """What is wrong, as sentences."""
        found = [self.noise_alarm] if self.noise_alarm else []
        return found + [f.message for f in (self.fit, self.drift) if f]

    @property
    def broken(self) -> list[str]:
        """The assumptions that do not hold, in a few words each."""
        found = ["the noise is larger than stated"] if self.noise_alarm else []
        found += ["the linear model does not fit"] if self.fit else []
        return found + (["rewards changed over time"] if self.drift else [])

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
            "warnings": self.warnings,
            "remarks": list(self.remarks),
        }

    @classmethod
    def from_dict(cls, saved: dict[str, Any]) -> Checks:
        """What :meth:`to_dict` made."""
        fit, noise = saved["fit"], saved["noise"]
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
        )


def check_rewards(
    problem: Problem,
    summary: ArmSummary,
    timeline: Timeline,
    used: float | None,
    *,
    estimated: bool = False,
) -> Checks:
    """What the rewards say about the assumptions.

    Parameters
    ----------
    problem, summary, timeline
        What was measured.
    used
        The noise scale in use; None where it is not known yet.
    estimated
        Whether it is an estimate; the checks then use all replicates there are by now.
    """
    noise = _replicates(summary)
    alarm, remarks = "", []
    if used is not None and noise is not None:
        alarm, remarks = _noise_check(used, noise, float(summary.spread.sum()))
    # With too small a noise scale, mere noise would look like misfit and drift.
    scale = noise if alarm or estimated else used
    fit = None
    if scale is None:
        timeline = Timeline(problem.n_arms)  # empty: without a noise scale nothing can be said
    elif problem.rank < problem.n_arms:
        fit = lack_of_fit(problem, summary.counts, summary.sums, noise=scale)
        size = scale.high if isinstance(scale, NoiseEstimate) else scale
        remarks += _how_to_check(problem, fit, summary.counts, size)
    return Checks(fit, drift(problem, timeline, noise=scale), noise, alarm, tuple(remarks))


def qualified(answer: Answer, checks: Checks) -> Answer:
    """The answer, without its guarantee where an assumption behind it does not hold."""
    return without_guarantee(answer, " and ".join(checks.broken))


def without_guarantee(answer: Answer, why: str) -> Answer:
    """The answer, promising nothing, for a reason; as it is where there is none, or no promise."""
    if not why or not answer.guarantee:
        return answer
    text = f"no guarantee: {why}; otherwise it would be {answer.guarantee}"
    # Not "none", which says that the run was cut short: verifiers still check how it ended.
    return replace(answer, guarantee=Guarantee("heuristic", text))


def _replicates(summary: ArmSummary) -> NoiseEstimate | None:
    try:
        noise = estimate_noise(summary)
    except InvalidInputError:  # nothing measured twice, or no noise at all
        return None
    return noise if noise.freedom >= _FEWEST_REPLICATES else None


def _noise_check(used: float, noise: NoiseEstimate, spread: float) -> tuple[str, list[str]]:
    from scipy.special import chdtri  # scipy.stats takes most of a second to load

    least = math.sqrt(spread / float(chdtri(noise.freedom, _LEVEL)))
    if used < least:
        text = (
            f"The noise is larger than stated: {used:g} is in use, but measurements of the same "
            f"option differ by {noise.scale:.3g} (95 % interval {noise.low:.3g} to "
            f"{noise.high:.3g}). The guarantee rests on a noise scale that is not too small: "
            f"start again with noise {noise.high:.3g}."
        )
        return text, []
    if used > _WASTEFUL * noise.high:
        return "", [
            f"The noise may be smaller than stated: {used:g} is in use, but measurements of the "
            f"same option differ by {noise.scale:.3g} (95 % interval {noise.low:.3g} to "
            f"{noise.high:.3g}). That is safe, but costs about {(used / noise.high) ** 2:.0f} "
            f"times the measurements."
        ]
    return "", []


def _how_to_check(problem: Problem, fit: Finding, counts: Any, size: float) -> list[str]:
    """What it would take to check a model that the measurements so far say nothing about."""
    if not fit.blind or not counts.any():
        return []
    try:
        extra = check_pulls(problem, counts, size)
    except InvalidInputError:  # it would take far too many
        return []
    return [
        f"To check it after all: with {extra.sum():,} more measurements, of "
        f"{np.count_nonzero(extra)} options ({extra[extra > 0].max()} of each at most), a misfit "
        f"as large as the noise ({size:.3g} per option) would probably be noticed. The answer "
        f"itself is worth measuring first."
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
    )
