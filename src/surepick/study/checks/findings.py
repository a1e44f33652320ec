"""What the checks of a study say, worked out again only when there is something new."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from surepick.algorithms.rows import Rows
from surepick.arrays.types import FloatArray, IntArray
from surepick.calls.afresh import Repeats
from surepick.run import Run
from surepick.run.codec import loads
from surepick.run.diagnostics import ArmSummary, Timeline
from surepick.statistics.unequal import UnequalScales
from surepick.storage.contract import Storage, Transaction
from surepick.storage.records import Rewards, StudyProgress
from surepick.study.checks.checks import Checks, check_rewards

#: rewards as they count, from those that were told
Cut = Callable[[FloatArray], FloatArray]


def as_told(rewards: FloatArray) -> FloatArray:
    """Rewards that count as they were told."""
    return rewards


class Findings:
    """The checks of one study; safe to use from several threads."""

    def __init__(self, storage: Storage, study: int) -> None:
        self._storage, self._study = storage, study
        self._start(0, 0)
        self._lock = threading.Lock()
        self._known: tuple[Any, Checks] | None = None

    def _start(self, revision: int, n_arms: int, cut: Cut = as_told) -> None:
        """Nothing is known yet of the rewards as they are since the last change."""
        self._about = (revision, n_arms)
        self.tally = Tally(n_arms, cut)
        self._scales = UnequalScales(n_arms)
        self._batches = 0  # that these scales are from
        self._at: StudyProgress | None = None  # where the study stood when all was read

    def checks(self, run: Run, revision: int = 0) -> Checks | None:
        """What they say now, with the run as of the last complete batch and correction.

        None where other options came in the meantime: then the run has to be read again.
        """
        with self._lock:
            if self._about != (revision, run.problem.n_arms):
                self._start(revision, run.problem.n_arms, run.problem.noise_kind.cut)
            while True:
                at, all_read = self._storage.read(lambda tx: self._count(tx, run))
                if all_read is None:
                    return None
                if all_read:
                    self._at = at
                    break
            state = (at.batch, at.told, revision, run.batches)
            if self._known is None or self._known[0] != state:
                self._look_at_scales(run)
                told = (self.tally.summary(), self.tally.timeline(), self._scales)
                self._known = (state, check_rewards(run, *told, self.tally.came_back()))
            return self._known[1]

    def open_totals(self, at: StudyProgress) -> dict[int, tuple[int, float]] | None:
        """What was told beyond the complete batches, of each arm: how many, and their sum.

        None where the study does not stand at the batch that was looked at last, or where fewer
        or more rewards were there than it is said to have.
        """
        with self._lock:
            seen = self._at
            if seen is None or (seen.batch, seen.revision) != (at.batch, at.revision):
                return None
            totals = self.tally.open_totals()
            there = sum(count for count, _ in totals.values())
            return totals if there == seen.told + seen.early else None

    def _look_at_scales(self, run: Run) -> None:
        """How much rewards of the same option differ in the batches that are new."""
        for told in run.told(self._batches):
            self._batches += 1
            if told.spreads is not None:  # otherwise nobody wants to know
                rows = Rows.of(told).by_arm()
                self._scales.add(rows.arms, rows.counts - 1, rows.spreads)

    def _count(self, tx: Transaction, run: Run) -> tuple[StudyProgress, bool | None]:
        at = tx.progress(self._study)
        if run.waiting and at.batch != run.batches:
            return at, None
        return at, self.tally.update(tx, self._study, at)


_PIECE = 10_000  # rewards that are read together: about a tenth of a second
_SWEEPS = 20  # that fit levels of strata and means of arms to each other
_CLOCK_SLACK = 5.0  # seconds by which the clock of a database may have been set back unnoticed


class Tally:
    """Counts, sums and spread of each arm, and the same in windows of time.

    Complete batches never change, so they are read once. Of the open batch only what is new is
    read: the database's clock says since when, and the number of tells whether anything was missed
    (then all of the batch is read again).
    """

    def __init__(self, n_arms: int, cut: Cut = as_told) -> None:
        self._n_arms, self._cut = n_arms, cut
        self._past = -1  # past measurements that count; -1: not looked yet
        self._first = self._next = 0  # first pull of the open batch, and of the one after it
        self._closed = ArmSummary.of(n_arms, [], [])
        self._windows = Timeline(n_arms)
        self._repeats = Repeats()
        self._open = _nothing()  # as they were told, also of batches that were asked for ahead

    def update(self, tx: Transaction, study: int, at: StudyProgress) -> bool:
        """Take in what was told since the last time; whether that was all.

        Of complete batches only a piece is read at a time: who tells should not wait for it.
        """
        if self._past < 0:
            self._take_past(tx.past(study))
        if at.first > self._first:
            ends = np.array([one.samples for one in tx.closed_batches(study, at.batch)])
            end = self._end_of_piece(ends)
            done = self._counted(tx.rewards(study, self._first, end))
            values = without_levels(done, self._closed)
            batches = np.searchsorted(ends, done.pulls, side="right")
            told = (done.arms, done.values, batches, done.strata)
            self._windows.beside.add(self._past + done.pulls, *told)
            self._repeats.add(done.arms, done.values)
            self._closed += ArmSummary.of(self._n_arms, done.arms, values)
            self._windows.add_numbered(self._past + done.pulls, done.arms, values)
            self._first, self._open = end, _nothing()
            if end < at.first:
                return False
        self._next = at.first + at.size
        if len(self._open.pulls) == at.told + at.early:
            return True
        last, known = at.last, self._open
        since = float(known.times.max()) - _CLOCK_SLACK if len(known.times) else None
        merged = _merged(known, tx.rewards(study, at.first, last, since))
        if len(merged.pulls) != at.told + at.early and since is not None:
            merged = tx.rewards(study, at.first, last)
        self._open = merged
        return True

    def open_totals(self) -> dict[int, tuple[int, float]]:
        """Of what is not in a complete batch yet: for each arm how many, and their sum, as told."""
        counts = np.bincount(self._open.arms, minlength=self._n_arms)
        sums = np.bincount(self._open.arms, self._open.values, self._n_arms)
        return {int(arm): (int(counts[arm]), float(sums[arm])) for arm in np.flatnonzero(counts)}

    def _of_open_batch(self) -> Rewards:
        """The rewards of the open batch as they count; not those of batches after it."""
        end = int(np.searchsorted(self._open.pulls, self._next))
        return self._counted(self._open.part(slice(end)))

    def _counted(self, rewards: Rewards) -> Rewards:
        return replace(rewards, values=self._cut(rewards.values))

    def _end_of_piece(self, ends: IntArray) -> int:
        """Where to read to: batches as they are, whenever somebody looks; very large ones cut."""
        later = ends[ends > self._first]
        whole = later[later <= self._first + _PIECE]
        return int(whole[-1]) if len(whole) else min(int(later[0]), self._first + _PIECE)

    def _take_past(self, text: str | None) -> None:
        past = None if text is None else loads(text, "stored past measurements")
        self._past = 0
        if past is not None and past["evidence"]:
            self._past = len(past["arms"])
            arms, rewards = np.asarray(past["arms"]), self._cut(np.asarray(past["rewards"]))
            self._closed = ArmSummary.of(self._n_arms, arms, rewards)
            turn = _in_turn(arms)  # often listed option by option: nobody knows when they were made
            self._windows.beside.add(np.arange(self._past), arms[turn], rewards[turn])
            self._windows.add_batch(self._closed.counts, self._closed.sums)

    def came_back(self) -> list[int]:
        """Arms whose rewards came back to the last digit, though they could be any."""
        opened = self._of_open_batch()
        return self._repeats.and_of(opened.arms, opened.values).options()

    def summary(self) -> ArmSummary:
        opened = self._of_open_batch()
        values = without_levels(opened, self._closed)
        return self._closed + ArmSummary.of(self._n_arms, opened.arms, values)

    def timeline(self) -> Timeline:
        """Everything, in the order in which the pulls were handed out."""
        timeline = self._windows.copy()
        opened = self._of_open_batch()
        values = without_levels(opened, self._closed)
        timeline.add_numbered(self._past + opened.pulls, opened.arms, values)
        return timeline


def _in_turn(arms: IntArray) -> IntArray:
    """The first pull of every arm, then the second of each, …"""
    order = np.argsort(arms, kind="stable")
    first = np.r_[True, np.diff(arms[order]) != 0]
    starts = np.maximum.accumulate(np.where(first, np.arange(len(arms)), 0))
    place = np.empty(len(arms), dtype=np.int64)
    place[order] = np.arange(len(arms)) - starts
    return np.argsort(place, kind="stable")


def without_levels(rewards: Rewards, before: ArmSummary) -> FloatArray:
    """Rewards less the level of their stratum, where they have one; for checks alone.

    The level is what the stratum lies above earlier means of its arms; those of arms that were
    not measured before are fitted with it.
    """
    if rewards.strata is None:
        return rewards.values
    values, known = rewards.values, before.counts > 0
    means = before.sums / np.maximum(before.counts, 1)
    _, of, sizes = np.unique(rewards.strata, return_inverse=True, return_counts=True)
    counts = np.bincount(rewards.arms, minlength=len(means))
    means[~known] = values.mean()
    levels = np.zeros(len(sizes))
    for _ in range(_SWEEPS):
        levels = np.bincount(of, values - means[rewards.arms]) / sizes
        fresh = np.bincount(rewards.arms, values - levels[of], len(means)) / np.maximum(counts, 1)
        means = np.where(known, means, fresh)
    return values - levels[of]


def _nothing() -> Rewards:
    whole, real = np.empty(0, dtype=np.int64), np.empty(0)
    return Rewards(whole, whole, real, real)


def _merged(known: Rewards, new: Rewards) -> Rewards:
    """Both, in the order of the pulls, each pull once."""
    fresh = ~np.isin(new.pulls, known.pulls)
    pulls, arms, values, times = (
        np.concatenate([getattr(known, name), getattr(new, name)[fresh]])
        for name in ("pulls", "arms", "values", "times")
    )
    order, strata = np.argsort(pulls), new.strata
    if strata is not None and known.strata is not None:
        strata = np.concatenate([known.strata, strata[fresh]])
    strata = known.strata if strata is None else strata[order]
    return Rewards(pulls[order], arms[order], values[order], times[order], strata)
