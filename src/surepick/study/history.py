"""How the survivors shrank from batch to batch: worked out again from the log, and kept."""

from __future__ import annotations

import threading

from surepick.run import Run
from surepick.storage import Storage
from surepick.storage.records import StudyRecord
from surepick.study.desk.rebuild import start, tell_batch


class History:
    """The survivors of a study after each of its batches.

    The database keeps only the newest state of a run. So a second run follows the log, batch by
    batch; it is kept, so that each batch is worked out once.
    """

    def __init__(self, storage: Storage, study: StudyRecord) -> None:
        self._storage, self._study = storage, study
        self._run: Run | None = None
        self._lock = threading.Lock()
        self._rows: list[dict[str, int]] = []

    def rows(self) -> list[dict[str, int]]:
        """A row for each complete batch: its number, all samples so far, survivors after it."""
        with self._lock:
            at = self._storage.read(lambda tx: tx.progress(self._study.id))
            run = self._run or self._storage.read(lambda tx: start(tx, self._study))
            self._run = run
            while len(self._rows) < at.batch:
                self._rows.append(self._follow(run))
            return list(self._rows)

    def _follow(self, run: Run) -> dict[str, int]:
        """Tell the run its next batch."""
        batch, first = run.ask(), run.samples
        last = first + batch.size
        rewards = self._storage.read(lambda tx: tx.rewards(self._study.id, first, last))
        tell_batch(run, batch, rewards, self._study.name)
        return {"batch": batch.number, "samples": run.samples, "survivors": len(run.active)}
