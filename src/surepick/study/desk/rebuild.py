"""From the log to the run, and from a complete batch to the next one."""

from __future__ import annotations

import logging
from typing import NamedTuple

import numpy as np

from surepick.algorithms import registry
from surepick.algorithms.base import Algorithm, Pulls
from surepick.arrays.types import IntArray
from surepick.errors import RunStateError, StudyDamagedError
from surepick.problem import Problem
from surepick.run import Batch, Run
from surepick.run.codec import dumps, loads
from surepick.storage.contract import Storage, Transaction
from surepick.storage.records import BatchRecord, Rewards, StudyProgress, StudyRecord, Summary
from surepick.study import chain, changes, turns
from surepick.study.changes import Change
from surepick.study.past import tell_stored
from surepick.study.traffic.block import tell_reports
from surepick.study.traffic.rules import rules_of
from surepick.study.turns import Act

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
    options = problem.n_arms - len(run.retired)
    return Summary(run.batches, options, len(run.active), answer)


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
        try:  # options may have come since it was created; very many are only referred to
            return Run.from_json(kept[1], problem if problem.by_reference else None), at
        except Exception as error:  # whatever is wrong with it, the log has all that is needed
            _log.warning("study %r: its snapshot cannot be read (%r)", study.name, error)
    _log.warning("study %r is rebuilt from its log", study.name)
    return storage.read(lambda tx: replay(tx, study))


class Log(NamedTuple):
    """All that was asked and told, and what was changed since."""

    past: str | None
    batches: list[BatchRecord]  #: complete ones, and the open one where there is one
    complete: int  #: how many are
    rewards: Rewards  #: those that count, of complete batches
    changes: list[Change]
    acts: list[Act]  #: options that came and went
    stopped: bool = False  #: by hand

    @classmethod
    def read(cls, tx: Transaction, study: StudyRecord, at: StudyProgress) -> Log:
        """What the database has of a study."""
        found = [tx.batch(study.id, number) for number in range(at.batch + 1)]
        batches = [one for one in found if one is not None]
        if len(batches) < at.batch:
            raise StudyDamagedError(f"study {study.name!r}: a batch is missing from its log")
        rewards = tx.rewards(study.id, 0, at.first)
        made, stopped = changes.read(tx, study.id), bool(tx.links(study.id, [chain.STOPPED]))
        acts = turns.read(tx, study.id)
        return cls(tx.past(study.id), batches, at.batch, rewards, made, acts, stopped)

    @property
    def withdrawn(self) -> set[int]:
        """Pulls whose rewards were counted and do not count any more."""
        last = {one.pull: one for one in self.changes}
        return {pull for pull, one in last.items() if one.new is None and one.counted}

    def of(self, batch: BatchRecord) -> Rewards:
        """The rewards of one batch."""
        ends = np.searchsorted(self.rewards.pulls, [batch.first, batch.first + batch.size])
        kept, part = self.rewards, slice(*ends)
        strata = None if kept.strata is None else kept.strata[part]
        return Rewards(
            kept.pulls[part], kept.arms[part], kept.values[part], kept.times[part], strata
        )


class Followed(NamedTuple):
    """What a log leads to."""

    run: Run
    survivors: list[int]  #: candidates that are still in after each complete batch


def replay(tx: Transaction, study: StudyRecord) -> tuple[Run, StudyProgress]:
    """The run worked out again from the log of tells alone, without any snapshot."""
    at = tx.progress(study.id)
    if rules_of(study) is not None:
        run = start(tx, study)
        tell_reports(tx, study.id, run, at.batch)
        return run, at
    log = Log.read(tx, study, at)
    run = follow(study, log).run
    first = sum(batch.size for batch in log.batches[: at.batch])
    if first != at.first or run.stopped != at.finished:
        raise StudyDamagedError(f"study {study.name!r}: its log does not lead to where it stands")
    return run, at


def follow(study: StudyRecord, log: Log) -> Followed:
    """What a log leads to, with every batch as it was asked for.

    What was asked for and measured is a fact: where rewards were changed since, the run is told the
    batches that there were, even where it would now ask for others. It may stop before the last of
    them, which are then not needed.
    """
    run = algorithm_of(study).start(problem_of(study), study.seed)
    tell_stored(run, log.past)
    first, survivors, withdrawn = 0, [], log.withdrawn
    for stored in log.batches[: log.complete]:
        if stored.first != first:
            raise _differs(study, stored.number)
        first += stored.size
        _turn(study, run, log, stored)
        if not (run.stopped and log.changes):
            _take(study, run, log, stored, withdrawn)
        survivors.append(len(run.active))
    for stored in log.batches[log.complete :]:
        _turn(study, run, log, stored)
        if not run.stopped:
            _ask(study, run, log, stored)
    for act in log.acts:  # of a study that has ended all the same
        if act.asked == log.complete == len(log.batches):
            act.apply(run)
    if not run.stopped:
        run.ask()
    if log.stopped:
        run.end()
    return Followed(run, survivors)


def _turn(study: StudyRecord, run: Run, log: Log, stored: BatchRecord) -> None:
    """Let options come and go as they did before this batch was asked for, or while it was open."""
    for act in log.acts:
        if act.asked == stored.number:
            if act.waits and not run.stopped:
                _ask(study, run, log, stored)
            act.apply(run)


def _take(study: StudyRecord, run: Run, log: Log, stored: BatchRecord, withdrawn: set[int]) -> None:
    """Tell a run what counts of a batch."""
    rewards, K = log.of(stored), run.problem.n_arms
    gone = sum(stored.first <= pull < stored.first + stored.size for pull in withdrawn)
    if not gone:
        tell_batch(run, _ask(study, run, log, stored), rewards, study.name)
        return
    counts = np.bincount(rewards.arms, minlength=K)
    if len(rewards.arms) + gone != stored.size:
        raise _differs(study, stored.number)
    _demand_any_history(run)
    if not _spans(run, counts):
        run.skip()  # nothing can be made of it; that does not depend on any reward
        return
    asked = _ask(study, run, log, stored)
    left = run.put(run.state.fewer(asked.pulls, counts))
    tell_batch(run, left, rewards, study.name)


def _ask(study: StudyRecord, run: Run, log: Log, stored: BatchRecord) -> Batch:
    """The batch as it was asked for; by now the run might ask for another one."""
    if run.stopped:
        raise _differs(study, stored.number)
    batch, pulls = run.ask(), pulls_of(stored)
    if batch.pulls.same(pulls):
        return batch
    if not any(one.batch < stored.number <= one.asked for one in log.changes):
        raise _differs(study, stored.number)
    _demand_any_history(run)
    return run.put(pulls)


def _demand_any_history(run: Run) -> None:
    if not run.algorithm.any_history:
        raise RunStateError(
            f"{run.algorithm.registered_name()} would have asked for other measurements after "
            f"this change, and cannot use those that were made (pooled-peleg without max_batch "
            f"can): only rewards of the open batch can be corrected or withdrawn here"
        )


def _spans(run: Run, counts: IntArray) -> bool:
    """Whether something can be told by what is left of a batch, beside what was told before."""
    if not counts.any():
        return False
    if run.samples:
        return True
    past = [] if run.past is None else run.past.batches
    known = [batch["arms"] for batch in past] + [np.flatnonzero(counts)]
    rows = run.problem.feature_rows(np.unique(np.concatenate(known)))
    return int(np.linalg.matrix_rank(rows, tol=1e-9)) == run.problem.rank


def _differs(study: StudyRecord, number: int) -> StudyDamagedError:
    return StudyDamagedError(
        f"study {study.name!r}: from its log, batch {number} comes out differently than "
        f"it was measured (another version of surepick, or another machine?)"
    )


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
        if now.batch == at.batch and (now.revision != at.revision or now.finished):
            return False  # rewards were corrected or withdrawn meanwhile
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
