"""Whether rewards of the same arms stay the same over time."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from surepick.arrays.types import FloatArray, IntArray
from surepick.arrays.validate import probability
from surepick.design.misfit import PRECISIONS
from surepick.problem import Problem
from surepick.run.diagnostics.finding import Finding, log_mean, noise_scale, typical
from surepick.run.diagnostics.noise import NoiseEstimate

_NAMED = 4  # arms at most that a message names
_FIRST_WINDOW, _GROWTH = 16, 1.5  # pulls in the first time window; how windows grow


class Timeline:
    """Counts and sums of each arm in windows of time, which grow with the number of pulls.

    Small however long a run is: windows grow by half, so a million pulls have about thirty.
    """

    def __init__(self, n_arms: int) -> None:
        self.counts: FloatArray = np.zeros((n_arms, 1))
        self.sums: FloatArray = np.zeros((n_arms, 1))
        self.total = 0

    def add_pulls(self, arms: Any, rewards: Any) -> None:
        """Pulls in the order in which they were made."""
        self.add_numbered(self.total + np.arange(len(arms)), arms, rewards)

    def add_numbered(self, numbers: Any, arms: Any, rewards: Any) -> None:
        """Pulls by their numbers in the order of time; some may still be missing."""
        arms, rewards = np.asarray(arms, dtype=np.int64), np.asarray(rewards, dtype=float)
        windows = window_of(numbers)
        self._grow(int(windows.max(initial=0)))
        np.add.at(self.counts, (arms, windows), 1.0)
        np.add.at(self.sums, (arms, windows), rewards)
        self.total += len(arms)

    def add_batch(self, counts: Any, sums: Any) -> None:
        """A batch, from its counts and sums per arm; it belongs to the window it starts in."""
        window = int(window_of(self.total))
        self._grow(window)
        self.counts[:, window] += counts
        self.sums[:, window] += sums
        self.total += int(np.sum(counts))

    def copy(self) -> Timeline:
        """The same, to add to."""
        other = Timeline(len(self.counts))
        other.counts, other.sums = self.counts.copy(), self.sums.copy()
        other.total = self.total
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
) -> Finding:
    """Whether rewards of the same arms changed over time.

    Parameters
    ----------
    problem
        For its noise scale.
    timeline
        What was measured, in the order of time.
    level, noise
        As in :func:`lack_of_fit`.
    levels_cancel
        Options are compared with others of the same batch only: what they change by together does
        no harm, and what they change by on their own is looked for.

    Examples
    --------
    >>> timeline = Timeline(2)
    >>> timeline.add_pulls([0, 1] * 100, np.repeat([0.0, 2.0], 100))
    >>> drift(Problem([[0.0], [1.0]]), timeline).alarm
    True
    """
    level = probability(level, "level")
    arms = np.flatnonzero(timeline.counts.sum(axis=1))
    scales, remark = noise_scale(problem, noise, arms)
    used = np.flatnonzero(timeline.counts.sum(axis=0))
    C = timeline.counts[np.ix_(arms, used)]
    if not ((C > 0).sum(axis=1) > 1).any():
        text = "Drift cannot be checked: no option was measured at different times."
        return Finding(False, 0.0, level, text, blind=True)
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
    together, needed = log_mean(logs), math.log(1 / level)
    own = own_changes(C, sums) if levels_cancel else (-math.inf, np.zeros(0, dtype=np.int64))
    # That all changed together is only said where nothing speaks for single ones: a clear change
    # of which it cannot be told yet whose it is may well be that of one option.
    if own[0] >= needed or (together >= needed and own[0] > 0):
        odd = arms[own[1]]
        text = _own_message(problem, odd) + remark
        return Finding(True, max(own[0], together), level, text, tuple(odd.tolist()))
    if together < needed:
        return Finding(False, together, level, f"No drift seen so far.{remark}")
    change = _change(C, n, v0, used, typical(scales))
    if levels_cancel:
        text = (
            f"All options changed together: {change}. That does no harm, as options are compared "
            f"with others of the same batch only; measure those of a batch side by side."
        )
        return Finding(False, together, level, text + remark, harmless=True)
    text = (
        f"Rewards of the same options changed over time: {change}. The guarantee rests on "
        f"rewards that stay the same. Find out what changed; measure options in random order, or "
        f"side by side with one that serves as a reference; start again once rewards are stable."
    )
    return Finding(True, together, level, text + remark)


def own_changes(counts: FloatArray, sums: FloatArray) -> tuple[float, IntArray]:
    """log of the evidence that arms changed otherwise than all together, and which did most.

    Mean rewards in window w are those of the arm plus a level of the window, whatever both are,
    against shifts of single cells (arm, window); all of it in units of the noise.
    """
    there = counts > 0
    means = np.divide(sums, counts, out=np.zeros_like(sums), where=there)
    logs, gains = np.empty(len(PRECISIONS)), np.zeros((len(PRECISIONS), len(counts)))
    for j, rho in enumerate(PRECISIONS):
        weights = counts**2 / (counts + rho)
        rest = _without_levels(weights, means)
        price = np.where(there, np.log1p(counts / rho), 0.0)
        gains[j] = 0.5 * (weights * rest**2 - price).sum(axis=1)
        logs[j] = gains[j].sum()
    best = gains[int(np.argmax(logs))]
    return log_mean(logs), np.argsort(-best, kind="stable")[: min(_NAMED, int((best > 0).sum()))]


def _without_levels(weights: FloatArray, means: FloatArray) -> FloatArray:
    """Residuals of weighted least squares for means of arms plus levels of windows."""
    of_arm = weights.sum(axis=1, keepdims=True)
    centred = means - (weights * means).sum(axis=1, keepdims=True) / of_arm
    system = np.diag(weights.sum(axis=0)) - (weights / of_arm).T @ weights
    levels = np.linalg.pinv(system, hermitian=True) @ (weights * centred).sum(axis=0)
    return centred - (levels - (weights @ levels)[:, None] / of_arm)


def _own_message(problem: Problem, odd: IntArray) -> str:
    names = ", ".join(repr(problem.labels[k]) for k in odd)
    return (
        f"Some options changed over time otherwise than the others: {names}. Which option is the "
        f"best may then depend on when it is asked, and the guarantee rests on differences that "
        f"stay the same. Find out what changed with these options; start again once they are "
        f"stable."
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
