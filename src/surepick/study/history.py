"""How the survivors shrank from batch to batch."""

from __future__ import annotations

import threading

from surepick.run import Run
from surepick.storage import Storage, Transaction
from surepick.storage.records import Closed, StudyRecord
from surepick.study.desk.rebuild import begin, memory_of, tell_batch


class History:
    """The survivors of a study after each of its batches.

    They are written as batches are completed. For batches that 0.1 completed a second run follows
    the log; it is kept, so that each batch is worked out once.
    """

    def __init__(self, storage: Storage, study: StudyRecord) -> None:
        self._storage, self._study = storage, study
        self._run: Run | None = None
        self._lock = threading.Lock()
        self._followed: list[int] = []  # survivors after each batch that was worked out

    def rows(self) -> list[dict[str, int]]:
        """A row for each complete batch: its number, all samples so far, survivors after it."""

        def read(tx: Transaction) -> list[Closed]:
            return tx.closed_batches(self._study.id, tx.progress(self._study.id).batch)

        return [
            {"batch": one.number, "samples": one.samples, "survivors": self._survivors(one)}
            for one in self._storage.read(read)
        ]

    def _survivors(self, batch: Closed) -> int:
        if batch.survivors is not None:
            return batch.survivors
        with self._lock:
            run = self._run or self._storage.read(self._begin)
            self._run = run
            while len(self._followed) <= batch.number:
                self._followed.append(self._follow(run))
            return self._followed[batch.number]

    def _begin(self, tx: Transaction) -> Run:
        return begin(self._study, tx.past(self._study.id), memory_of(tx, self._study))

    def _follow(self, run: Run) -> int:
        """Tell the run its next batch."""
        study, batch, first = self._study, run.ask(), run.samples
        last = first + batch.size
        stored, rewards = self._storage.read(
            lambda tx: (tx.batch(study.id, batch.number), tx.rewards(study.id, first, last))
        )
        assert stored is not None
        tell_batch(run, batch, rewards, study, stored)
        return run.state.left()
