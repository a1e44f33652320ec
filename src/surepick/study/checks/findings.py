"""What the checks of a study say, worked out again only when there is something new."""

from __future__ import annotations

import threading
from typing import Any

from surepick.algorithms.rows import Rows
from surepick.run import Run
from surepick.statistics.unequal import UnequalScales
from surepick.storage.contract import Storage, Transaction
from surepick.storage.records import StudyProgress
from surepick.study.checks.checks import Checks, Measured, check_rewards
from surepick.study.checks.tally import Cut, Tally, as_told


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
                known = (self.tally.summary(), self.tally.timeline(), self._scales)
                told = Measured(*known, tuple(self.tally.came_back()))
                self._known = (state, check_rewards(run, told))
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
