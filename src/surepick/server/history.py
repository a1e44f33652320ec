"""How the survivors shrank from batch to batch: worked out again from the log, and kept."""

from __future__ import annotations

import threading
from typing import Any

from surepick.run import Run
from surepick.study import Study
from surepick.study.desk.rebuild import start, tell_batch


class History:
    """The survivors of a study after each of its batches.

    The database keeps only the newest state of a run. So a second run follows the log, batch by
    batch; it is kept, so that each batch is worked out once.
    """

    def __init__(self, study: Study) -> None:
        self._study = study
        self._run: Run | None = None
        self._lock = threading.Lock()
        self._rows: list[dict[str, int]] = []

    def rows(self) -> list[dict[str, int]]:
        """A row for each complete batch: its number, all samples so far, survivors after it."""
        study = self._study
        with self._lock:
            at = study.storage.read(lambda tx: tx.progress(study._id))
            run = self._run or study.storage.read(lambda tx: start(tx, study._record))
            self._run = run
            while len(self._rows) < at.batch:
                self._rows.append(self._follow(run))
            return list(self._rows)

    def _follow(self, run: Run) -> dict[str, int]:
        """Tell the run its next batch."""
        study, batch, first = self._study, run.ask(), run.samples
        last = first + batch.size

        def read(tx: Any) -> Any:
            return tx.rewards(study._id, first, last)

        tell_batch(run, batch, study.storage.read(read), study.name)
        return {"batch": batch.number, "samples": run.samples, "survivors": len(run.active)}
