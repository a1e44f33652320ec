"""What the checks of a study say, worked out again only when there is something new."""

from __future__ import annotations

import threading
from typing import Any

from surepick.problem import Problem
from surepick.storage.contract import Storage, Transaction
from surepick.storage.records import StudyProgress
from surepick.study.checks.checks import Checks, check_rewards
from surepick.study.checks.tally import Tally


class Findings:
    """The checks of one study; safe to use from several threads."""

    def __init__(self, storage: Storage, study: int, problem: Problem) -> None:
        self._storage, self._study, self._problem = storage, study, problem
        self.tally = Tally(problem.n_arms)
        self._lock = threading.Lock()
        self._known: tuple[Any, Checks] | None = None

    def checks(self, factor: float | None) -> Checks:
        """What they say now, with the noise scale in use in units of the problem's."""
        with self._lock:
            at = self._storage.read(self._count)
            state = (at.batch, at.told, factor)
            if self._known is None or self._known[0] != state:
                found = check_rewards(
                    self._problem,
                    self.tally.summary(),
                    self.tally.timeline(),
                    None if factor is None else factor * self._problem.unit,
                    estimated=factor != 1.0,
                )
                self._known = (state, found)
            return self._known[1]

    def _count(self, tx: Transaction) -> StudyProgress:
        at = tx.progress(self._study)
        self.tally.update(tx, self._study, at)
        return at
