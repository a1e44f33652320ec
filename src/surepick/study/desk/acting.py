"""Acts that change a run which is under way, or has ended: how they are written."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from surepick.run import Run
from surepick.storage.contract import Transaction
from surepick.storage.records import StudyProgress, StudyRecord
from surepick.study import chain
from surepick.study.desk import rebuild
from surepick.study.traffic.rules import rules_of


class WriteAct:
    """What is written in one transaction, if the study still stands where it stood."""

    def __init__(
        self, study: StudyRecord, at: StudyProgress, kind: str, content: dict[str, Any], run: Run
    ) -> None:
        self._study, self._at, self._run = study, at, run
        self._kind, self._content, self._text = kind, content, run.to_json()

    def write(self, tx: Transaction) -> bool:
        """Whether it was written; False: something else happened first."""
        number, run, text = self._study.id, self._run, self._text
        now = tx.progress(number, lock=True)
        if now.revision == self._at.revision + 1 and tx.snapshot(number) == (now.batch, text):
            return True  # an earlier try was written, and only its confirmation was lost
        if _place(now) != _place(self._at):
            return False
        finished = now.finished and run.stopped
        content = self._content | chain.effect(text, finished)
        chain.change(tx, self._study, self._kind, content, now.now)
        if now.finished and not finished and not now.size and rules_of(self._study) is None:
            proposed = rebuild.record_of(run.ask(), now.first)
            tx.add_batch(number, proposed)
            chain.propose(tx, number, proposed, text, now.now)
            now = replace(now, size=proposed.size, asked=0, told=0)
        tx.set_summary(number, replace(rebuild.summary_of(run), batch=now.batch))
        tx.set_snapshot(number, now.batch, text)
        # Another revision: processes that have the run in memory must read it anew.
        tx.set_progress(number, replace(now, finished=finished, revision=now.revision + 1))
        return True


def _place(at: StudyProgress) -> tuple[int, int, int, bool]:
    """What must not have changed since the run was read."""
    return at.batch, at.revision, at.ahead, at.finished
