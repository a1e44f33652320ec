"""From the log to the run."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from surepick.algorithms import registry
from surepick.algorithms.base import Algorithm, Pulls
from surepick.arrays.types import IntArray
from surepick.errors import InvalidInputError, RunStateError, StudyDamagedError
from surepick.problem import Problem
from surepick.promise import IF_ANY
from surepick.run import Batch, Run
from surepick.run.codec import dumps, loads
from surepick.run.order import Order, as_seed
from surepick.run.retrace import Turn, rests_on_changed, retrace
from surepick.run.standing import counted
from surepick.storage.contract import Storage, Transaction
from surepick.storage.records import (
    BatchRecord,
    Report,
    Rewards,
    StudyProgress,
    StudyRecord,
    Summary,
)
from surepick.study import chain
from surepick.study.acts import limits, options, rewards
from surepick.study.acts.limits import LimitChange
from surepick.study.acts.options import Planned
from surepick.study.acts.pause import STOPPED
from surepick.study.acts.reports import CORRECTED, set_aside
from surepick.study.acts.rewards import Change
from surepick.study.past import tell_stored
from surepick.study.traffic.block import tell_reports
from surepick.study.traffic.rules import deal_seed, sends_traffic, waiting_of

#: what a study's notes call the seed of the order in which pulls are handed out
ORDER = "order_seed"
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


def record_of(batch: Batch, first: int, after: int | None = None) -> BatchRecord:
    """A batch as it is stored; asked for ahead, ``after`` so many batches were complete."""
    columns = batch.pulls.columns() + ([] if batch.row_items is None else [batch.row_items])
    return BatchRecord(batch.number, first, batch.size, dumps(columns), after=after)


def summary_of(run: Run) -> Summary:
    """What lists show of a run."""
    problem = run.problem
    answer = problem.candidate_labels[int(run.state.leader())] if run.stopped else None
    if run.stopped and run.state.claims() is not None:
        answer = counted(run.standing()["state"])
    elif run.stopped and not run.state.left():  # compared two at a time, and none beats every other
        answer = "nobody"
    promise = run.state.promise() if run.stopped else None
    if promise is not None and promise.kind == IF_ANY:
        answer = f"{answer}, if any is"
    options = len(problem.option_labels) - len(run.retired)
    return Summary(run.batches, options, run.state.left(), answer)


def order_seed(study: StudyRecord) -> int | None:
    """The seed of the order in which pulls are handed out; None: visitors come in no order."""
    seed = as_seed(json.loads(study.meta).get(ORDER))
    if seed is None and not sends_traffic(study):
        raise StudyDamagedError(f"study {study.name!r} was changed: it lacks the seed of its order")
    return seed


def order_in(study: StudyRecord, batch: BatchRecord) -> Order:
    """The order of a batch of a study."""
    seed = order_seed(study)
    assert seed is not None  # only visitors have none
    return Order(batch.number, pulls_of(batch), seed)


def begin(study: StudyRecord, past: str | None) -> Run:
    """The run as it was when the study was created, before its first batch."""
    run = algorithm_of(study).start(problem_of(study), study.seed)
    run.order_seed = order_seed(study)
    run.waits = waiting_of(study) if run.state.waits else None
    tell_stored(run, past)
    return run


def load_run(
    storage: Storage, study: StudyRecord, problem: Problem | None = None
) -> tuple[Run, StudyProgress]:
    """The run as of the open batch, and the progress it belongs to.

    ``problem`` is the one that the study was created with, where somebody has built it already.
    """

    def stands(tx: Transaction) -> tuple[StudyProgress, str | None]:
        at, kept = tx.progress(study.id), tx.snapshot(study.id)
        fits = kept and kept[0] == at.batch and chain.ends_with(tx, study, kept[1])
        return at, kept[1] if kept and fits else None

    def again(tx: Transaction) -> tuple[Run, StudyProgress]:
        chain.check_log(tx, study)
        return replay(tx, study)

    at, kept = storage.read(stands)
    if kept is not None:
        first = problem or problem_of(study)
        # Options may have come since it was created, which is another revision of the study.
        same = first.by_reference or not at.revision
        try:
            return Run.from_json(kept, first if same else None), at
        except Exception as error:  # whatever is wrong with it, the log has all that is needed
            _log.warning("study %r: its snapshot cannot be read (%r)", study.name, error)
    _log.warning("study %r is rebuilt from its log", study.name)
    return storage.read(again)


class Log(NamedTuple):
    """All that was asked and told, and what was changed since."""

    past: str | None
    batches: list[BatchRecord]  #: complete ones, and the open ones
    complete: int  #: how many are
    rewards: Rewards  #: those that count, of complete batches
    changes: list[Change]
    acts: list[Planned]  #: options that came and went
    limits: list[LimitChange]  #: changes of what may be measured
    stopped: bool = False  #: by hand

    @classmethod
    def read(cls, tx: Transaction, study: StudyRecord, at: StudyProgress) -> Log:
        found = [tx.batch(study.id, number) for number in range(at.batch + 1)]
        batches = [one for one in found if one is not None]
        if len(batches) < at.batch:
            raise StudyDamagedError(f"study {study.name!r}: the log lacks a batch")
        left = at.ahead
        while left and (one := tx.batch(study.id, len(batches))) is not None:
            batches.append(one)
            left -= one.size
        told = tx.rewards(study.id, 0, at.first)
        made, stopped = rewards.read(tx, study.id), was_stopped(tx, study)
        acts, other = options.read(tx, study.id), limits.read(tx, study.id)
        return cls(tx.past(study.id), batches, at.batch, told, made, acts, other, stopped)

    @property
    def withdrawn(self) -> set[int]:
        """Pulls whose rewards were counted and do not count any more."""
        last = {one.pull: one for one in self.changes}
        return {pull for pull, one in last.items() if one.new is None and one.counted}

    def with_changes(self, made: Sequence[Change]) -> Log:
        """The log as it is once these changes are made."""
        values = dict(zip(self.rewards.pulls.tolist(), self.rewards.values.tolist()))
        arms = dict(zip(self.rewards.pulls.tolist(), self.rewards.arms.tolist()))
        strata: dict[int, str | None] = dict.fromkeys(values)
        more = dict(zip(values, self.rewards.numbers or [None] * len(values)))
        if self.rewards.strata is not None:
            strata = dict(zip(self.rewards.pulls.tolist(), self.rewards.strata.tolist()))
        for one in made:
            if one.new is None:
                del values[one.pull]
            else:
                if one.number is None:
                    values[one.pull] = one.new
                more[one.pull] = one.numbers
                arms[one.pull], strata[one.pull] = one.arm, one.stratum
        rows = [
            (pull, arms[pull], values[pull], 0.0, strata[pull], more.get(pull))
            for pull in sorted(values)
        ]
        return self._replace(rewards=Rewards.of(rows), changes=[*self.changes, *made])

    def of(self, batch: BatchRecord) -> Rewards:
        ends = np.searchsorted(self.rewards.pulls, [batch.first, batch.first + batch.size])
        return self.rewards.part(slice(*ends))


def was_stopped(tx: Transaction, study: StudyRecord) -> bool:
    """Whether somebody ended the study by hand."""
    return bool(tx.links(study.id, [STOPPED]))


def follow_reports(
    tx: Transaction,
    study: StudyRecord,
    reports: Sequence[Report],
    corrected: bool,
    aside: Sequence[str] = (),
) -> tuple[Run, list[int]]:
    """What reports of traffic lead to: the run, and how many options are in after each.

    Without the periods that were set aside, and those of the names ``aside``.
    """
    run = begin(study, tx.past(study.id))
    run.limit_changes = [one.change for one in limits.read(tx, study.id)]
    first = tx.periods(study.id, 0, 1)
    began = first[0].at if first else 0.0
    turns, gone = options.read(tx, study.id), set_aside(tx, study.id) | set(aside)
    numbers = {one.number for one in tx.periods(study.id) if one.name in gone} if gone else set()
    corrected |= bool(numbers)
    left = tell_reports(run, reports, began, corrected, turns, deal_seed(study), numbers)
    if was_stopped(tx, study):
        run.end()
    return run, left


def replay(tx: Transaction, study: StudyRecord) -> tuple[Run, StudyProgress]:
    """The run worked out again from the log of tells alone, without any snapshot."""
    at = tx.progress(study.id)
    if sends_traffic(study):
        corrected = bool(tx.links(study.id, [CORRECTED]))
        run, _ = follow_reports(tx, study, tx.reports(study.id, 0, at.batch), corrected)
        if run.stopped != at.finished:
            raise StudyDamagedError(
                f"study {study.name!r}: replaying its reports does not give its stored state"
            )
        return run, at
    log = Log.read(tx, study, at)
    run = follow(study, log)[0]
    first = sum(batch.size for batch in log.batches[: at.batch])
    if first != at.first or run.stopped != at.finished:
        raise StudyDamagedError(
            f"study {study.name!r}: replaying its log does not give its stored state"
        )
    return run, at


def follow(study: StudyRecord, log: Log) -> tuple[Run, list[int]]:
    """What a log leads to, with every batch as it was asked for: the run, and who was in when.

    What was asked for and measured is a fact: where rewards were changed since, the run is told the
    batches that there were, even where it would now ask for others. It may stop before the last of
    them, which are then not needed.
    """
    run = begin(study, log.past)
    run.limit_changes = [one.change for one in log.limits]
    if log.withdrawn and (why := run.algorithm.refuses_withdrawal()):
        raise InvalidInputError(why)
    first = 0
    for stored in log.batches[: log.complete]:
        if stored.first != first:
            raise _differs(study, stored.number)
        first += stored.size
    plans, survivors = Plans(study, run, log), list[int]()
    record = [_Recorded(study, log, plans, stored) for stored in log.batches[: log.complete + 1]]
    for _ in retrace(run, record):
        survivors.append(run.state.left())
    if len(log.batches) == log.complete:  # it has ended all the same
        for act in log.acts:
            if act.asked == log.complete:
                act.apply(run)
    if not run.stopped:
        run.ask()
    if log.stopped:
        run.end()
    return run, survivors[: log.complete]


class _Recorded:
    """A batch of a log: a complete one, or the one that is open."""

    def __init__(self, study: StudyRecord, log: Log, plans: Plans, stored: BatchRecord) -> None:
        self._study, self._log, self._plans, self._stored = study, log, plans, stored
        self._complete = stored.number < log.complete
        ends = (stored.first, stored.first + stored.size)
        self._gone = sum(ends[0] <= pull < ends[1] for pull in plans.withdrawn)

    def option_changes(self, run: Run) -> list[Turn]:
        """Options that came or went before it was asked for, or while it was open."""
        acts = [act for act in self._log.acts if act.asked == self._stored.number]
        return [(act.waits, act.apply) for act in acts]

    def is_told(self, run: Run) -> bool:
        """Not once the run has stopped, which it may do earlier where rewards were changed."""
        if run.stopped and (self._log.changes or not self._complete):
            return False
        if self._gone:
            if len(self._log.of(self._stored).arms) + self._gone != self._stored.size:
                raise _differs(self._study, self._stored.number)
            _demand_any_history(run)
        if self._stored.number in self._plans.skipped:
            run.skip()  # nothing can be made of it; that does not depend on any reward
            return False
        return True

    def ask(self, run: Run) -> Batch:
        """The batch as it was asked for; by now the run might ask for another one."""
        if run.stopped:
            raise _differs(self._study, self._stored.number)
        batch, pulls = run.ask(), pulls_of(self._stored)
        if batch.pulls.same(pulls):
            return batch
        _demand_changed(self._study, run, self._log, self._stored)
        return run.put(pulls)

    def ask_ahead(self, run: Run) -> None:
        """Ask for the batches that were asked for while it was open."""
        self._plans.ask(self._stored.number)

    def tell(self, run: Run, batch: Batch) -> None:
        """Tell what counts of it; nothing yet, of the one that is open."""
        if not self._complete:
            return
        rewards = self._log.of(self._stored)
        if self._gone:
            counts = np.bincount(rewards.arms, minlength=run.problem.n_arms)
            batch = run.put(run.state.fewer(batch.pulls, counts))
        tell_batch(run, batch, rewards, self._study, self._stored)


def _demand_changed(study: StudyRecord, run: Run, log: Log, stored: BatchRecord) -> None:
    """A batch may be another one only if rewards that it rests on were changed since."""
    after = stored.number if stored.after is None else stored.after
    if not rests_on_changed(((one.batch, one.asked) for one in log.changes), after):
        raise _differs(study, stored.number)
    _demand_any_history(run)


class Plans:
    """Which batches were asked for while which other one was open.

    Those of which nothing is left do not count: what came next to them takes their place.
    """

    def __init__(self, study: StudyRecord, run: Run, log: Log) -> None:
        self._study, self._run, self._log = study, run, log
        self.withdrawn = log.withdrawn
        self.skipped = self._find_skipped()
        self._ahead: dict[int, list[BatchRecord]] = {}
        kept = [one.number for one in log.batches if one.number not in self.skipped]
        for stored in log.batches:
            if stored.after is not None and stored.number not in self.skipped:
                open_then = kept[int(np.searchsorted(kept, stored.after))]
                if open_then < stored.number:  # else it is in turn now
                    self._ahead.setdefault(open_then, []).append(stored)

    def _find_skipped(self) -> set[int]:
        """Batches of which too little is left once rewards were withdrawn."""
        found: set[int] = set()
        withdrawn, some = np.array(sorted(self.withdrawn)), False
        for stored in self._log.batches[: self._log.complete] if len(withdrawn) else ():
            ends = np.searchsorted(withdrawn, [stored.first, stored.first + stored.size])
            K = self._run.problem.n_arms
            counts = np.bincount(self._log.of(stored).arms, minlength=K)
            if ends[0] < ends[1] and not (counts.any() and (some or _spans(self._run, counts))):
                found.add(stored.number)
            else:
                some = True
        return found

    def ask(self, number: int) -> None:
        """Ask for the batches that were asked for while this one was open."""
        for stored in self._ahead.pop(number, ()):
            self._run.ask_ahead(partial(self._as_stored, stored))

    def _as_stored(self, stored: BatchRecord, asked: Pulls | None) -> Pulls:
        pulls = pulls_of(stored)
        if asked is None or not asked.same(pulls):
            _demand_changed(self._study, self._run, self._log, stored)
        return pulls


def _demand_any_history(run: Run) -> None:
    if not run.algorithm.any_history:
        raise RunStateError(
            f"{run.algorithm.registered_name()} would have asked for different measurements after "
            "this change, and cannot use the ones that were made (pooled-peleg without max_batch "
            "can). In this study only rewards of the open batch can be corrected or withdrawn"
        )


def _spans(run: Run, counts: IntArray) -> bool:
    """Whether something can be told by what is left of a first batch, beside the past."""
    past = [] if run.past is None else run.past.batches
    known = [batch["arms"] for batch in past] + [np.flatnonzero(counts)]
    return run.problem.spanned_by(np.concatenate(known))


def _differs(study: StudyRecord, number: int) -> StudyDamagedError:
    return StudyDamagedError(
        f"study {study.name!r}: replaying its log gives a different batch {number} than the one "
        "that was measured (another version of surepick, or another machine?)"
    )


def tell_batch(
    run: Run, batch: Batch, rewards: Rewards, study: StudyRecord, stored: BatchRecord
) -> None:
    """Tell a run the rewards of its open batch, by the numbers that its pulls were dealt with.

    ``stored`` is the batch as it was handed out, of which pulls may have been withdrawn.
    """
    counts = np.bincount(rewards.arms, minlength=batch.n_arms)
    order = order_in(study, stored)
    numbers, places = order.whole(), rewards.pulls - stored.first
    if (
        len(rewards.arms) != batch.size
        or not np.array_equal(counts, batch.counts)
        or not np.array_equal(order.arms_of(numbers[places]), rewards.arms)
    ):
        raise StudyDamagedError(
            f"study {study.name!r}: batch {batch.number} asked for different pulls than the ones "
            "that have rewards"
        )
    listed = np.argsort(numbers[places])
    strata = None
    if rewards.strata is not None and batch.row_items is None:  # items are the run's own
        strata = rewards.strata[listed].tolist()
    run.tell_listed(batch, rewards.values[listed], strata, numbers_of(run, rewards, listed))


def numbers_of(run: Run, rewards: Rewards, listed: IntArray) -> dict[str, Any] | None:
    """Further numbers on which limits have to be kept, in this order."""
    names = run.algorithm.asked.limited
    if not names or rewards.numbers is None:
        return None
    told = [json.loads(rewards.numbers[place]) for place in listed.tolist()]
    return {name: np.array([one[name] for one in told]) for name in names}
