"""What the checks of a study say, worked out again only when there is something new."""

from __future__ import annotations

import threading
from typing import Any

from surepick.algorithms.pooled.ledger import Rows
from surepick.problem import Problem
from surepick.run import Run
from surepick.statistics.unequal import UnequalScales
from surepick.storage.contract import Storage, Transaction
from surepick.storage.records import StudyProgress
from surepick.study.checks.checks import Checks, Measured, check_rewards
from surepick.study.checks.tally import Tally


class Findings:
    """The checks of one study; safe to use from several threads."""

    def __init__(self, storage: Storage, study: int, problem: Problem) -> None:
        self._storage, self._study, self._problem = storage, study, problem
        self._start(0)
        self._lock = threading.Lock()
        self._known: tuple[Any, Checks] | None = None

    def _start(self, revision: int) -> None:
        """Nothing is known yet of the rewards as they are since the last correction."""
        self._revision = revision
        self.tally = Tally(self._problem.n_arms)
        self._scales = UnequalScales(self._problem.n_arms)
        self._batches = 0  # that these scales are from

    def checks(self, run: Run, revision: int = 0) -> Checks:
        """What they say now, with the run as of the last complete batch and correction."""
        with self._lock:
            if revision != self._revision:
                self._start(revision)
            while True:
                at, all_read = self._storage.read(self._count)
                if all_read:
                    break
            state = (at.batch, at.told, revision, run.batches)
            if self._known is None or self._known[0] != state:
                self._look_at_scales(run)
                told = Measured(self.tally.summary(), self.tally.timeline(), self._scales)
                self._known = (state, check_rewards(run, told))
            return self._known[1]

    def _look_at_scales(self, run: Run) -> None:
        """How much rewards of the same option differ in the batches that are new."""
        for told in run.told(self._batches):
            self._batches += 1
            if told.spreads is not None:  # otherwise nobody wants to know
                rows = Rows.of(told).by_arm()
                self._scales.add(rows.arms, rows.counts - 1, rows.spreads)

    def _count(self, tx: Transaction) -> tuple[StudyProgress, bool]:
        at = tx.progress(self._study)
        return at, self.tally.update(tx, self._study, at)
