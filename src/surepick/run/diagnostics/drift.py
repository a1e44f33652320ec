"""Whether rewards of the same arms stay the same over time."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from surepick.arrays.types import FloatArray, IntArray
from surepick.arrays.validate import probability
from surepick.design.misfit import PRECISIONS
from surepick.problem import Problem
from surepick.run.diagnostics.beside import Beside, Evidence
from surepick.run.diagnostics.finding import Finding, NoiseEstimate, log_mean, noise_scale, typical

_NAMED = 4  # arms at most that a message names
_AGAINST = math.log(0.6)  # what is below speaks against a change of single options
_FIRST_WINDOW, _GROWTH = 16, 1.5  # pulls in the first time window; how windows grow


class Timeline:
    """Counts and sums of each arm in windows of time, which grow; and options beside each other.

    Small however long a run is: windows grow by half, so a million pulls have about thirty.
    """

    def __init__(self, n_arms: int) -> None:
        self.counts: FloatArray = np.zeros((n_arms, 1))
        self.sums: FloatArray = np.zeros((n_arms, 1))
        self.total = 0
        self.beside = Beside(n_arms)

    def add_pulls(self, arms: Any, rewards: Any) -> None:
        numbers = self.total + np.arange(len(arms))
        self.beside.add(numbers, arms, rewards)
        self.add_numbered(numbers, arms, rewards)

    def add_numbered(self, numbers: Any, arms: Any, rewards: Any) -> None:
        """Pulls by their numbers in the order of time; some may still be missing."""
        arms, rewards = np.asarray(arms, dtype=np.int64), np.asarray(rewards, dtype=float)
        windows = window_of(numbers)
        self._grow(int(windows.max(initial=0)))
        np.add.at(self.counts, (arms, windows), 1.0)
        np.add.at(self.sums, (arms, windows), rewards)
        self.total += len(arms)

    def add_batch(self, counts: Any, sums: Any) -> None:
        """A batch, from its counts and sums per arm; it belongs to the window it starts in.

        That says nothing about options beside each other: for that single rewards are needed.
        """
        window = int(window_of(self.total))
        self._grow(window)
        self.counts[:, window] += counts
        self.sums[:, window] += sums
        self.total += int(np.sum(counts))

    def copy(self) -> Timeline:
        other = Timeline(len(self.counts))
        other.counts, other.sums = self.counts.copy(), self.sums.copy()
        other.total, other.beside = self.total, self.beside.copy()
        return other

    def _grow(self, window: int) -> None:
        extra = window + 1 - self.counts.shape[1]
        if extra > 0:
            self.counts = np.pad(self.counts, ((0, 0), (0, extra)))
            self.sums = np.pad(self.sums, ((0, 0), (0, extra)))


def window_of(pull: Any) -> IntArray:
    """Time window of the pull with this number (from 0): fixed in advance."""
    ratio = np.maximum(np.asarray(pull, dtype=float), _FIRST_WINDOW) / _FIRST_WINDOW
    inside = np.floor(np.log(ratio) / math.log(_GROWTH)).astype(np.int64) + 1
    return np.where(np.asarray(pull) < _FIRST_WINDOW, 0, inside)


def drift(
    problem: Problem,
    timeline: Timeline,
    *,
    level: float = 0.05,
    noise: float | NoiseEstimate | None = None,
    levels_cancel: bool = False,
    scale_known: bool = True,
) -> Finding:
    """Whether rewards of the same arms changed over time."""
    level = probability(level, "level")
    own = timeline.beside.evidence(levels_cancel, level)
    together = changed_together(problem, timeline, noise) if scale_known else None
    if together is None:
        if own.blind:
            text = "Drift cannot be checked: no option was measured at different times."
            return Finding(False, 0.0, level, text, blind=True)
        together = Together(-math.inf, "", "")
    # Where levels do not cancel, either is harm: an average of both keeps the level.
    found, needed = own.log_evidence, math.log(1 / level)
    if not levels_cancel and not own.blind:
        found = log_mean(np.array([own.log_evidence, together.log_evidence]))
    elif not levels_cancel:
        found = together.log_evidence
    if found >= needed and own.arms:
        text = _own_message(problem, own, levels_cancel)
        return Finding(True, found, level, text, own.arms)
    if found >= needed:
        text = (
            f"Rewards of the same options changed over time: {together.change}. The guarantee "
            "assumes that they stay the same. Find out what changed. Measure options in random "
            "order, or side by side with a reference option, and start again once rewards are "
            "stable."
        )
        return Finding(True, found, level, text + together.remark)
    if not levels_cancel or together.log_evidence < needed:
        return Finding(False, found, level, f"No drift seen so far.{together.remark}")
    # That all changed together is only said where nothing speaks for single ones: a clear change
    # of which it cannot be told yet whose it is may well be that of one option.
    if own.blind or own.clearest > _AGAINST:
        text = (
            f"Rewards changed over time: {together.change}. It is too early to say whether all "
            "options changed together, which would be harmless."
        )
        return Finding(False, found, level, text + together.remark, unclear=True)
    text = (
        f"All options changed together: {together.change}. This is harmless, because options are "
        "only compared with others of the same batch. Measure the options of a batch side by side."
    )
    return Finding(False, together.log_evidence, level, text + together.remark, harmless=True)


class Together(NamedTuple):
    """What speaks for changes of all options."""

    log_evidence: float
    change: str  #: from when to when, and by how much
    remark: str


def changed_together(
    problem: Problem, timeline: Timeline, noise: float | NoiseEstimate | None
) -> Together | None:
    """Evidence that arms have other means in some windows; None where nothing can be said."""
    arms = np.flatnonzero(timeline.counts.sum(axis=1))
    scales, remark = noise_scale(problem, noise, arms)
    used = np.flatnonzero(timeline.counts.sum(axis=0))
    C = timeline.counts[np.ix_(arms, used)]
    if not ((C > 0).sum(axis=1) > 1).any():
        return None
    n = C.sum(axis=1)
    sums = timeline.sums[np.ix_(arms, used)] / scales[:, None]
    v0 = (sums - C * (sums.sum(axis=1) / n)[:, None]).sum(axis=0)  # residuals of each window
    logs = np.empty(len(PRECISIONS))
    for j, rho in enumerate(PRECISIONS):
        # With z = (u, v), u of the arms and v = v0 + CᵀD⁻¹u of the windows, u is free as the means
        # are; the minimum over u of zᵀ(G + rho I)⁻¹z is v0ᵀ(S + CᵀQC)⁻¹v0, S the Schur complement.
        S = np.diag(C.sum(axis=0) + rho) - (C.T / (n + rho)) @ C
        form = S + (C.T * (rho * rho / (n * n * (n + rho)))) @ C
        size = float(np.log1p(n / rho).sum()) + float(np.linalg.slogdet(S / rho)[1])
        logs[j] = 0.5 * float(v0 @ np.linalg.solve(form, v0)) - 0.5 * size
    return Together(log_mean(logs), _change(C, n, v0, used, typical(scales)), remark)


def _own_message(problem: Problem, own: Evidence, levels_cancel: bool) -> str:
    """What to say of options that changed on their own."""
    names = ", ".join(repr(problem.labels[k]) for k in own.arms[:_NAMED])
    verb, by = "rose" if own.change > 0 else "fell", f"by about {abs(own.change):.2g}"
    otherwise = " differently from the options beside them" if levels_cancel else ""
    if own.unsure:
        names = names.replace(", ", " or ")
        said, cure = (
            f"One of two options changed over time relative to the other: {names}",
            "with them",
        )
    elif len(own.arms) == 1:
        otherwise = otherwise.replace("them", "it")
        said, cure = f"{names} changed over time{otherwise}: it {verb} {by}", "with it"
    else:
        said, cure = f"Some options changed over time{otherwise}: {names}", "with them"
    rests = "differences that stay the same" if levels_cancel else "rewards that stay the same"
    return (
        f"{said}. Which option is best may then depend on the time, and the guarantee assumes "
        f"{rests}. Find out what changed {cure}, and start again once rewards are stable."
    )


def _change(C: FloatArray, n: FloatArray, v0: FloatArray, windows: IntArray, scale: float) -> str:
    # least squares for arm means plus window levels, the means eliminated
    weight = C.sum(axis=0)
    levels = scale * np.linalg.pinv(np.diag(weight) - (C.T / n) @ C, hermitian=True) @ v0
    solid = np.flatnonzero(weight >= min(_FIRST_WINDOW, weight.max()))
    low = int(solid[np.argmin(levels[solid])])
    high = int(solid[np.argmax(levels[solid])])
    change = levels[high] - levels[low]
    first, second, verb = (low, high, "rose") if low < high else (high, low, "fell")
    return (
        f"from pulls {_span(windows[first])} to pulls {_span(windows[second])} they {verb} by "
        f"about {change:.3g}"
    )


def _span(window: int) -> str:
    """First and last pull of a window, counted from 1."""

    def start(w: int) -> int:
        return 0 if w <= 0 else math.ceil(_FIRST_WINDOW * _GROWTH ** (w - 1) - 1e-9)

    return f"{start(window) + 1:,}–{start(window + 1):,}"
