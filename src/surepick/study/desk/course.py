"""The course of a study: paused, resumed, stopped for good.

Neither depends on the algorithm, nor does it matter to a guarantee: what was dropped was dropped
rightly, whenever somebody stops. The rewards of a batch that is not complete are not counted.
"""

from __future__ import annotations

from dataclasses import replace

from surepick.run import Run
from surepick.storage.contract import Storage, Transaction
from surepick.storage.records import StudyRecord
from surepick.study import chain
from surepick.study.desk import rebuild


def pause(storage: Storage, study: StudyRecord, paused: bool, by: str | None, reason: str) -> bool:
    """Hand out nothing from now on, or go on; False where nothing had to be changed."""

    def write(tx: Transaction) -> bool:
        at = tx.progress(study.id, lock=True)
        if at.finished or at.paused == paused:
            return False
        kind = chain.PAUSED if paused else chain.RESUMED
        chain.change(tx, study, kind, {"by": by, "reason": reason}, at.now)
        tx.set_progress(study.id, replace(at, paused=paused))
        return True

    return storage.write(write)


def stop(storage: Storage, study: StudyRecord, by: str | None, reason: str) -> bool:
    """End a study now; False where it had ended before."""
    while True:
        run, at = rebuild.load_run(storage, study)
        if at.finished:
            return False
        run.end()
        here = (at.batch, at.revision, at.ahead)
        done = storage.write(_Stop(study, run, here, by, reason).write)
        if done is not None:
            return done


class _Stop:
    """What is written, if the study still stands where it stood."""

    def __init__(
        self, study: StudyRecord, run: Run, at: tuple[int, int, int], by: str | None, reason: str
    ) -> None:
        self._study, self._run, self._at = study, run, at
        self._said = {"by": by, "reason": reason}
        self._text = run.to_json()

    def write(self, tx: Transaction) -> bool | None:
        """Whether it ended by this; None: try again."""
        number = self._study.id
        now = tx.progress(number, lock=True)
        if now.finished:  # by an earlier try, perhaps, whose confirmation was lost
            kept = tx.snapshot(number)
            return kept is not None and kept[1] == self._text
        if (now.batch, now.revision, now.ahead) != self._at:
            return None
        content = self._said | chain.effect(self._text, True)
        chain.change(tx, self._study, chain.STOPPED, content, now.now)
        tx.set_summary(number, replace(rebuild.summary_of(self._run), batch=now.batch))
        tx.set_snapshot(number, now.batch, self._text)
        # Another revision: processes that have the run in memory must read it anew.
        end = replace(now, finished=True, paused=False, revision=now.revision + 1)
        tx.set_progress(number, end)
        return True
