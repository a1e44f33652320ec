"""From a complete batch to the next one; and to one more, while others are measured.

The work is done outside any transaction, so that nobody waits for it with a lock; what comes out is
then written in one transaction, if the study still stands where it stood.
"""

from __future__ import annotations

from dataclasses import replace

from surepick.errors import StudyDamagedError
from surepick.run import Run
from surepick.storage.contract import Storage, Transaction
from surepick.storage.records import StudyProgress, StudyRecord
from surepick.study import chain
from surepick.study.desk.rebuild import record_of, summary_of, tell_batch


def advance(
    storage: Storage, study: StudyRecord, run: Run, at: StudyProgress
) -> StudyProgress | None:
    """Go on from the complete batch that ``run`` has open; None if somebody else just did."""
    batch = run.ask()
    ends = (at.first, at.first + at.size)
    stored, rewards = storage.read(
        lambda tx: (tx.batch(study.id, at.batch), tx.rewards(study.id, *ends))
    )
    assert stored is not None
    tell_batch(run, batch, rewards, study, stored)
    following = None if run.stopped else run.ask()
    text, summary = run.to_json(), summary_of(run)

    def write(tx: Transaction) -> StudyProgress | None:
        now = tx.progress(study.id, lock=True)
        if now.batch == at.batch and (_moved(now, at) or now.finished):
            return None  # rewards were corrected or withdrawn meanwhile, or a batch was added
        if now.batch != at.batch:
            # Ours, if an earlier try was written and only its confirmation was lost.
            return now if tx.snapshot(study.id) == (at.batch + 1, text) else None
        if not now.complete:
            raise StudyDamagedError(f"study {study.name!r}: batch {at.batch} is not complete")
        told, there = (tx.batch(study.id, now.batch + later) for later in (0, 1))
        assert told is not None
        goes_on = following is not None and there is not None  # with what was asked for ahead
        chain.tell(tx, study, told, now.now, text if goes_on else None)
        if following is not None and there is None:
            there = record_of(following, now.first + now.size)
            tx.add(study.id, there)
            chain.propose(tx, study.id, there, text, now.now)
        elif following is None:
            chain.answer(tx, study.id, run.answer, text, now.now)
        tx.close_batch(study.id, now.batch, summary.survivors)
        tx.set_summary(study.id, summary)
        tx.set_snapshot(study.id, now.batch + 1, text)
        early, size = 0, 0 if there is None else there.size
        if there is not None and now.early:
            early = len(tx.rewards(study.id, there.first, there.first + size).pulls)
        after = now.after(size, following is None, early)
        tx.set_progress(study.id, after)
        return after

    return storage.write(write)


def plan_ahead(
    storage: Storage, study: StudyRecord, run: Run, at: StudyProgress
) -> StudyProgress | None:
    """Ask for a batch while those that ``run`` has open are measured; None if that was too late.

    Where it would be too early, the study is left as it is.
    """
    batch, text = run.ask_ahead(), run.to_json()

    def write(tx: Transaction) -> StudyProgress | None:
        now = tx.progress(study.id, lock=True)
        if batch is not None and tx.snapshot(study.id) == (at.batch, text):
            return now  # by an earlier try, whose confirmation was lost
        if now.batch != at.batch or _moved(now, at) or now.finished:
            return None
        free = replace(now, claimed_by=None, claimed_until=0.0)
        if batch is None:
            if not now.complete:
                tx.set_progress(study.id, free)
            return now
        stored = record_of(batch, now.last, now.batch)
        tx.add(study.id, stored)
        chain.propose(tx, study.id, stored, text, now.now)
        tx.set_snapshot(study.id, now.batch, text)
        after = replace(now if now.complete else free, ahead=now.ahead + batch.size)
        tx.set_progress(study.id, after)
        return after

    return storage.write(write)


def _moved(now: StudyProgress, at: StudyProgress) -> bool:
    """Whether rewards were changed, or batches asked for ahead, since a run was read."""
    return (now.revision, now.ahead) != (at.revision, at.ahead)
