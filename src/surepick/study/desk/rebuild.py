"""From the log to the run, and from a complete batch to the next one."""

from __future__ import annotations

import logging

import numpy as np

from surepick.algorithms import registry
from surepick.algorithms.base import Algorithm, Pulls
from surepick.arrays.types import IntArray
from surepick.errors import StudyDamagedError
from surepick.problem import Problem
from surepick.run import Batch, Run
from surepick.run.codec import dumps, loads
from surepick.storage.contract import Storage, Transaction
from surepick.storage.records import BatchRecord, Rewards, StudyProgress, StudyRecord, Summary
from surepick.study import chain
from surepick.study.past import tell_stored

_log = logging.getLogger(__name__)


def problem_of(study: StudyRecord) -> Problem:
    """The problem that a study was created with."""
    return Problem.from_dict(loads(study.problem, "stored problem"))


def algorithm_of(study: StudyRecord) -> Algorithm:
    """The algorithm that a study was created with."""
    return registry.get(study.algorithm, **loads(study.settings, "stored settings"))


def pulls_of(batch: BatchRecord) -> Pulls:
    """The pulls of a stored batch."""
    return Pulls(*loads(batch.pulls, "stored batch")[:3])


def items_of(batch: BatchRecord) -> IntArray | None:
    """The item of each row of a stored batch, where options are measured on items."""
    columns = loads(batch.pulls, "stored batch")
    return columns[3] if len(columns) > 3 else None


def record_of(batch: Batch, first: int) -> BatchRecord:
    """A batch as it is stored."""
    columns = batch.pulls.columns() + ([] if batch.items is None else [batch.items])
    return BatchRecord(batch.number, first, batch.size, dumps(columns))


def summary_of(run: Run) -> Summary:
    """What lists show of a run."""
    problem = run.problem
    answer = problem.candidate_labels[int(run.state.leader())] if run.stopped else None
    return Summary(run.batches, problem.n_arms, len(run.active), answer)


def start(tx: Transaction, study: StudyRecord) -> Run:
    """The run as it was when the study was created, before its first batch."""
    run = algorithm_of(study).start(problem_of(study), study.seed)
    tell_stored(run, tx.past(study.id))
    return run


def load_run(storage: Storage, study: StudyRecord) -> tuple[Run, StudyProgress]:
    """The run as of the open batch, and the progress it belongs to."""
    at, kept = storage.read(lambda tx: (tx.progress(study.id), tx.snapshot(study.id)))
    if kept is not None and kept[0] == at.batch:
        problem = problem_of(study)
        try:
            return Run.from_json(kept[1], problem), at
        except Exception as error:  # whatever is wrong with it, the log has all that is needed
            _log.warning("study %r: its snapshot cannot be read (%r)", study.name, error)
    _log.warning("study %r is rebuilt from its log", study.name)
    return storage.read(lambda tx: replay(tx, study))


def replay(tx: Transaction, study: StudyRecord) -> tuple[Run, StudyProgress]:
    """The run worked out again from the log of tells alone, without any snapshot."""
    at = tx.progress(study.id)
    run = start(tx, study)
    first = 0
    for number in range(at.batch):
        stored = tx.batch(study.id, number)
        batch = None if run.stopped else run.ask()
        if (
            stored is None
            or batch is None
            or stored.first != first
            or not batch.pulls.same(pulls_of(stored))
        ):
            raise StudyDamagedError(
                f"study {study.name!r}: from its log, batch {number} comes out differently than "
                f"it was measured (another version of surepick, or another machine?)"
            )
        tell_batch(run, batch, tx.rewards(study.id, first, first + stored.size), study.name)
        first += stored.size
    if not run.stopped:
        run.ask()
    if first != at.first or run.stopped != at.finished:
        raise StudyDamagedError(f"study {study.name!r}: its log does not lead to where it stands")
    return run, at


def tell_batch(run: Run, batch: Batch, rewards: Rewards, name: str) -> None:
    """Tell a run the rewards of its open batch, in an order that does not depend on time."""
    counts = np.bincount(rewards.arms, minlength=batch.n_arms)
    if len(rewards.arms) != batch.size or not np.array_equal(counts, batch.counts):
        raise StudyDamagedError(
            f"study {name!r}: batch {batch.number} asked for other pulls than were told"
        )
    order = np.argsort(rewards.arms, kind="stable")
    strata = None
    if rewards.strata is not None and batch.items is None:  # items are the run's own
        strata = rewards.strata[order].tolist()
    run.tell(batch, rewards.values[order], strata=strata)


def advance(storage: Storage, study: StudyRecord, run: Run, at: StudyProgress) -> bool:
    """Go on from the complete batch that ``run`` has open; False if somebody else just did.

    The work is done outside any transaction, so that nobody waits for it with a lock; what
    comes out is then written in one transaction, if the study still stands where it stood.
    """
    batch = run.ask()
    rewards = storage.read(lambda tx: tx.rewards(study.id, at.first, at.first + at.size))
    tell_batch(run, batch, rewards, study.name)
    following = None if run.stopped else run.ask()
    size = 0 if following is None else following.size
    text, summary = run.to_json(), summary_of(run)

    def write(tx: Transaction) -> bool:
        now = tx.progress(study.id, lock=True)
        if now.batch != at.batch:
            # Ours, if an earlier try was written and only its confirmation was lost.
            kept = tx.snapshot(study.id)
            return kept == (at.batch + 1, text)
        if not now.complete:
            raise StudyDamagedError(f"study {study.name!r}: batch {at.batch} is not complete")
        told = tx.batch(study.id, now.batch)
        assert told is not None
        chain.tell(tx, study, told, now.now)
        if following is not None:
            proposed = record_of(following, now.first + now.size)
            tx.add_batch(study.id, proposed)
            chain.propose(tx, study.id, proposed, text, now.now)
        else:
            chain.answer(tx, study.id, run.answer, text, now.now)
        tx.close_batch(study.id, now.batch, summary.survivors)
        tx.set_summary(study.id, summary)
        tx.set_snapshot(study.id, now.batch + 1, text)
        tx.set_progress(study.id, now.after(size, following is None))
        return True

    return storage.write(write)
