"""The desk of one study: hands out pulls, takes in rewards, goes on to the next batch.

``Study`` serves one caller at it, ``Crowd`` many at once. What is remembered here only saves work;
the database decides.
"""

from __future__ import annotations

import json
import logging
import threading
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from surepick.algorithms.base import Algorithm
from surepick.arrays.validate import TEN_YEARS, positive
from surepick.errors import InvalidInputError, RunStateError, SurepickError, UnknownPullError
from surepick.problem import Problem
from surepick.run import Run
from surepick.storage import Storage, Transaction
from surepick.storage.records import Event, Holder, Lease, StudyProgress, StudyRecord, Tell
from surepick.study.acts.reports import set_aside
from surepick.study.again import AGAIN
from surepick.study.desk import asking, leases, next_batch, opened, rebuild
from surepick.study.desk.look import Look
from surepick.study.desk.opened import OpenBatches
from surepick.study.hedge import HEDGE
from surepick.study.overlap import OVERLAP, worth_it
from surepick.study.pulls import (
    ANONYMOUS,
    Pull,
    Reward,
    Said,
    Told,
    as_name,
    as_pull,
    has_a_name,
    refuse_others,
)
from surepick.study.strata import stamp
from surepick.study.traffic.rules import sends_traffic

_log = logging.getLogger(__name__)

_LARGEST = 1e60  # reward, in units of the noise: sums of any number of them stay finite
_LARGEST_OF_ALL = 1e130  # reward
_PIECE = 1000  # rewards that are read together
#: rewards that are told, and pulls that are handed out, in one step
FEW = 100
_OTHERS_TURN = 0.02  # seconds within which whoever waits for the database looks again
_AHEAD = 64  # pulls that other workers may have been handed since this process last asked

_Standing = tuple[int, int, int]  # what a run is of: the open batch, the revision, the pulls ahead


def _standing(at: StudyProgress) -> _Standing:
    return at.batch, at.revision, at.ahead


class Desk:
    """Where the pulls of a study are handed out; safe to use from several threads.

    Parameters
    ----------
    storage, record
        Where the study lives, and what it was created with.
    """

    def __init__(self, storage: Storage, record: StudyRecord) -> None:
        self.storage, self.record = storage, record
        self._who = ANONYMOUS + uuid.uuid4().hex
        self._lock = threading.RLock()
        self._run: tuple[_Standing, Run] | None = None
        self._problem: Problem | None = None  # where options have come since it was created
        self._opened = OpenBatches(seed=rebuild.order_seed(record))
        self._full: _Standing | None = None  # where no batch more is asked for ahead
        self._enough: tuple[_Standing, set[str]] | None = None  # nor there, for so many workers
        self.look = Look(self)
        self._place: tuple[int, int] | None = None  # batch, and how many pulls are out at least

    @property
    def problem(self) -> Problem:
        """The problem of the study, as this process last saw it: options may have come since."""
        return self._problem or self.first_problem

    @cached_property
    def first_problem(self) -> Problem:
        """The problem as it was when the study was created."""
        return rebuild.problem_of(self.record)

    def current(self) -> Problem:
        """The problem of the study as it is now."""
        # Whatever changes them is another revision; until then nobody has to look.
        return self.load()[0].problem if self.progress().revision else self.problem

    @cached_property
    def strata(self) -> str | None:
        """What strata are called; None where the study has none."""
        return self._meta.get("strata")

    @cached_property
    def _meta(self) -> dict[str, Any]:
        return json.loads(self.record.meta)

    @cached_property
    def _algorithm(self) -> Algorithm:
        return rebuild.algorithm_of(self.record)

    @cached_property
    def on_items(self) -> bool:
        return self._algorithm.measured_on() is not None

    @cached_property
    def overlap(self) -> bool | None:
        """Whether batches overlap; None: where a worker of some name would wait."""
        said = self._meta.get(OVERLAP)
        possible = self._algorithm.overlaps and not self._takes_reports
        return (said if isinstance(said, bool) else None) if possible else False

    def _may_plan(self, tx: Transaction, at: StudyProgress, worker: str) -> bool:
        """Whether a batch may be asked for ahead, for a worker for whom nothing is left.

        Who has no name may be the one who has the rest of the batch.
        """
        wanted = self.overlap or (self.overlap is None and not worker.startswith(ANONYMOUS))
        if not wanted or self._full == _standing(at):
            return False
        known = self._enough if self._enough and self._enough[0] == _standing(at) else None
        if known is not None and worker in known[1]:
            return False
        workers = opened.workers(tx, self.record.id, at) | {worker}
        if worth_it(at.ahead, len(workers), at.first):
            return True
        self._enough = (_standing(at), workers)
        return False

    @property
    def _hedges(self) -> bool:
        """Whether a pull may be handed out a second time."""
        return bool(self._meta.get(HEDGE))

    @property
    def _plain(self) -> bool:
        """Whether the next pull is for whoever asks, and for nothing but its arm."""
        return self.strata is None and not self.on_items and not self._hedges

    @cached_property
    def _least_unit(self) -> float:
        """The smallest unit in which rewards are counted."""
        units = self.problem.noise_kind.units(np.arange(self.problem.n_arms))
        return float(np.min(units))

    @cached_property
    def _takes_reports(self) -> bool:
        return sends_traffic(self.record)

    def _refuse_traffic(self) -> None:
        if self._takes_reports:
            raise RunStateError(
                f"study {self.record.name!r} is a traffic study: it splits visitors by shares "
                "(split) and takes reports (record), not single pulls"
            )

    # -- handing out -----------------------------------------------------------------------
    def lease(self, tx: Transaction, wanted: asking.Wanted, again: bool) -> asking.Asked:
        """Lease pulls to a holder; ``again`` after an attempt whose end is not known."""
        self._refuse_traffic()
        if self.strata is not None and self._is_set_aside(tx, wanted.stratum):
            at = tx.progress(self.record.id)
            return asking.Asked([], at.finished, False, at.batch, at.asked)
        worker = wanted.holder.worker
        named = not worker.startswith(ANONYMOUS)
        who, back = worker if named else self._who, named or again
        plans = {"may_plan": lambda at: self._may_plan(tx, at, worker), "hedge": self._hedges}
        return self._ask(tx, wanted, who=who, back=back, **plans)

    def _ask(self, tx: Transaction, wanted: asking.Wanted, **how: Any) -> asking.Asked:
        how |= {"opened": self._open_batches, "on_items": self.on_items}
        how |= {"stamp": lambda now: stamp(self.strata, wanted.stratum, now)}
        return asking.ask(tx, self.record.id, wanted, **how)

    def ask(
        self, wanted: Mapping[int, asking.Wanted], unsure: bool = False
    ) -> dict[int, asking.Asked]:
        """Lease pulls, and go on to other batches where that is due; ``unsure`` as ``again``."""
        tries = int(unsure)

        def work(tx: Transaction) -> dict[int, asking.Asked]:
            nonlocal tries
            tries += 1
            return {i: self.lease(tx, one, tries > 1) for i, one in wanted.items()}

        while True:
            found = self.storage.write(work)
            if any(one.advance for one in found.values()):
                self.advance()
            elif any(one.plan for one in found.values()):
                self.plan_ahead()
            else:
                return found

    def _is_set_aside(self, tx: Transaction, given: str | None) -> bool:
        """Whether what is handed out now would not count; an error where somebody asked for it."""
        now = tx.progress(self.record.id, lock=True).now
        stratum = stamp(self.strata, given, now)
        if stratum not in set_aside(tx, self.record.id):
            return False
        if given is None:  # nothing until tomorrow
            return True
        raise InvalidInputError(
            f"stratum: {self.strata} {given!r} was set aside, so nothing measured in it counts; "
            "ask for another one"
        )

    def lease_more(self, wanted: asking.Wanted) -> list[Lease]:
        """More pulls, for a holder who has just been given some; none where an attempt failed."""
        tries = 0

        def work(tx: Transaction) -> list[Lease]:
            nonlocal tries
            tries += 1
            if tries > 1:  # they may have been handed out; who asks again hears of them
                return []
            return self._ask(tx, wanted, who=self._who, back=False).leases

        time.sleep(_OTHERS_TURN)
        return self.storage.write(work)

    def pulls(self, given: Sequence[Lease]) -> list[Pull]:
        """Leased pulls as workers see them."""
        labels = self.problem.labels
        if any(x.arm >= len(labels) for x in given):
            labels = self.current().labels
        found = [Pull(x.pull, x.arm, labels[x.arm], x.attempts, x.stratum) for x in given]
        if self.on_items:
            items = [int(x.stratum or 0) for x in given]
            found = [replace(one, stratum=None, item=item) for one, item in zip(found, items)]
        if self.problem.pairing is None:
            return found
        both = [self._labels_of(pull.arm) for pull in found]
        return [replace(pull, first=a, second=b) for pull, (a, b) in zip(found, both)]

    def _open_batches(self, tx: Transaction, at: StudyProgress) -> OpenBatches:
        self._opened = self._opened.refreshed(tx, self.record.id, at)
        return self._opened

    def arms_of(self, pulls: Sequence[int]) -> dict[int, int]:
        """The arms of pulls that have been handed out or told."""
        line = self._opened
        places = {pull: pull - line.first for pull in pulls}
        if all(0 <= place < line.size for place in places.values()):
            return {pull: line.arms(place, place + 1)[0] for pull, place in places.items()}

        def read(tx: Transaction) -> dict[int, int]:
            found = tx.leases(self.record.id, pulls) | tx.tells(self.record.id, pulls)
            return {pull: one.arm for pull, one in found.items()}

        return self.storage.read(read)

    @property
    def standing(self) -> tuple[int, int] | None:
        """The batch and the revision of the run in memory, if there is one."""
        return None if self._run is None else self._run[0][:2]

    @property
    def in_line(self) -> bool:
        """Whether :meth:`lease_next` may be tried: it is known about where the next pull is."""
        return self._place is not None and self._plain

    def lease_next(self, holder: Holder, lease: float, request: str) -> Lease | None:
        """The next pull of the batch in one step, where the storage can do that."""
        line, place = self._opened, self._place
        if not self._plain or place is None or line.number != place[0]:
            return None
        arms = line.arms(place[1], min(place[1] + _AHEAD, line.size))
        if not arms:
            return None
        given = self.storage.ask_one(self.record.id, *place, arms, holder, lease, request)
        if given is None:
            return None
        self._place = (place[0], given[0] + 1)
        return given[1]

    def note_place(self, asked: asking.Asked) -> None:
        known = self._opened.number == asked.batch
        self._place = (asked.batch, asked.place) if known else None

    # -- taking in -------------------------------------------------------------------------
    def check_reward(self, pair: Any, worker: str | None, token: str | None = None) -> Reward:
        """A (pull, reward) pair that can be recorded, or an error."""
        reward = self.check_value(pair, worker, token)
        if self.problem.numbers or reward.numbers:
            reward = reward.with_numbers(self.problem.numbers, self._limited)
        return reward

    def check_value(self, pair: Any, worker: str | None, token: str | None = None) -> Reward:
        """A (pull, reward) pair whose reward can be recorded, whatever further numbers it has."""
        self._refuse_traffic()
        reward = Reward.of(pair, worker)._replace(token=token)
        if isinstance(reward.value, str) and self.problem.pairing is not None:
            reward = reward.read(*self._compared(reward.pull))
        reward = reward.possible(self.problem.noise_kind)
        if abs(reward.value) >= min(_LARGEST * self._least_unit, _LARGEST_OF_ALL):
            raise InvalidInputError(
                f"reward of measurement {reward.pull} is too large: {reward.value!r}"
            )
        return reward

    @cached_property
    def _limited(self) -> tuple[str, ...]:
        """Further numbers that every measurement must have, as options keep limits on them."""
        return self._algorithm.asked.limited

    def _compared(self, pull: int) -> tuple[str, str]:
        """The labels of the two options of a pull, in their order."""
        arms = self.arms_of([pull])
        if pull not in arms:
            raise UnknownPullError(f"this study never handed out measurement {pull}")
        return self._labels_of(arms[pull])

    def _labels_of(self, arm: int) -> tuple[str, str]:
        problem = self.problem if arm < self.problem.n_arms else self.current()
        assert problem.pairing is not None
        first, second = problem.pairing.of(arm)
        return problem.candidate_labels[first], problem.candidate_labels[second]

    def refuse_others(self, said: Sequence[Said]) -> None:
        """Raise where a reward is said to be of another option than its pull was for."""
        if said:
            arms = self.arms_of([one.pull for one in said])
            refuse_others(said, arms, self.current().labels)

    def tell(self, rewards: Sequence[Reward]) -> list[Told]:
        """Record rewards: all or, on an error, none. Goes on where they complete the batch.

        Of many, those that do not count are told apart beforehand and noted afterwards, a few at a
        time: others, also of other studies, would wait for all of them. Nobody has heard yet what
        became of them, so nothing is lost that was said to be kept.
        """
        if len(rewards) <= FEW:
            return self._tell(rewards)
        vain: dict[int, leases.Vain] = {}
        for start in range(0, len(rewards), FEW):
            part = rewards[start : start + FEW]
            found = self.storage.read(
                lambda tx, part=part: leases.in_vain(tx, self.record.id, part)
            )
            vain |= {start + i: one for i, one in found.items()}
        left = [one for i, one in enumerate(rewards) if i not in vain]
        told = iter(self._tell(left) if left else ())
        self._note(leases.together([one.event for one in vain.values()]))
        return [vain[i].told if i in vain else next(told) for i in range(len(rewards))]

    def _note(self, events: Sequence[Event]) -> None:
        for start in range(0, len(events), FEW):
            part = events[start : start + FEW]
            self.storage.write(lambda tx, part=part: leases.note(tx, self.record.id, part))
            time.sleep(_OTHERS_TURN)

    def _tell(self, rewards: Sequence[Reward]) -> list[Told]:
        first, aside = rewards[0], self.aside(rewards)
        alone = aside is None and len(rewards) == 1
        alone &= first.numbers is None and self.strata is None
        if alone and self.storage.tell_one(self.record.id, *first[:4]):
            return self.look.noted([Told(first.pull, "accepted", first.value)], rewards)
        told, complete = self.storage.write(
            lambda tx: leases.tell(tx, self.record.id, rewards, self.who(first), aside, self.strata)
        )
        told = self.look.noted(told, rewards)
        if complete:
            self.advance_quietly()
        return told

    def aside(self, rewards: Sequence[Reward]) -> dict[int, str] | None:
        """What has to be measured again, and why; None where the study has no such rule."""
        return self.look.flagged(rewards) if self._meta.get(AGAIN) else None

    def who(self, teller: Reward) -> str:
        """Who goes on where this reward completes the batch."""
        worker = teller.worker
        return self._who if worker is None or worker.startswith(ANONYMOUS) else worker

    def fail(self, pull: int, reason: str, worker: str | None, token: str | None = None) -> bool:
        """Put a pull back in line; False when it was no longer this worker's to give back."""
        return self.storage.write(
            lambda tx: leases.fail(tx, self.record.id, pull, reason, worker, token)
        )

    def fail_for_good(
        self, pull: int, reason: str, worker: str | None, token: str | None = None
    ) -> bool:
        """Count what cannot be measured as the worst score; False where it was told before."""
        worst = self._algorithm.worst_score(self.problem)
        if worst is None:
            raise InvalidInputError(
                "final: only where a finite table is filled in (complete) does a measurement that "
                "cannot be made count as the worst score; tell the reward that it should count as"
            )
        reward = Reward(pull, worst, worker, token)
        told, complete = self.storage.write(
            lambda tx: leases.fail_for_good(tx, self.record.id, reward, reason, self.who(reward))
        )
        if complete:
            self.advance_quietly()
        return told[0].status == "accepted"

    def keep(
        self,
        held: Mapping[str, Sequence[int]],
        lease: float,
        token: str | None = None,
        longest: float | None = None,
    ) -> dict[str, list[int]]:
        """Let workers have their pulls for longer; then, who of this token has what."""
        lease = positive(lease, "lease", TEN_YEARS)
        theirs = {
            Holder(as_name(worker, "worker"), token): [as_pull(pull) for pull in pulls]
            for worker, pulls in held.items()
        }
        do = self.storage.write if theirs else self.storage.read
        found: dict[str, list[int]] = {}
        for one in do(lambda tx: leases.keep(tx, self.record.id, theirs, lease, longest)):
            if one.worker is not None and has_a_name(one.worker) and token in (None, one.token):
                found.setdefault(one.worker, []).append(one.pull)
        return found

    # -- going on --------------------------------------------------------------------------
    def advance(self) -> None:
        """Go on from complete batches to the next, unless somebody else has by now."""
        with self._lock:
            while True:
                run, at = self.load()
                if not at.complete:
                    return
                self._run = None  # it changes now, and is of use only if the change is written
                after = next_batch.advance(self.storage, self.record, run, at)
                if after is None:
                    return
                self._run = (_standing(after), run)
                self._problem = run.problem

    def plan_ahead(self) -> None:
        """Ask for a batch ahead of those that are open, unless somebody else has by now."""
        with self._lock:
            run, at = self.load()
            if at.complete or at.finished:
                return
            self._run = None
            after = next_batch.plan_ahead(self.storage, self.record, run, at)
            if after is not None:
                self._run = (_standing(after), run)
                if after.ahead == at.ahead:  # it would be too early
                    self._full = _standing(after)

    def advance_quietly(self) -> None:
        """Advance after a tell that is already recorded: a failure here is only logged."""
        try:
            self.advance()
        except (SurepickError, ArithmeticError, ValueError) as error:
            _log.warning(
                "study %r: the reward is recorded, but the next batch could not be computed (%s); "
                "the next ask will try again",
                self.record.name,
                error,
            )

    # -- where it stands -------------------------------------------------------------------
    def load(self) -> tuple[Run, StudyProgress]:
        """The run at the open batch; from memory where that is what it stands at."""
        with self._lock:
            at = self.progress()
            if self._run is None or self._run[0] != _standing(at):
                run, at = self.read()
                self._run = (_standing(at), run)
                self._problem = run.problem
            return self._run[1], at

    def read(self) -> tuple[Run, StudyProgress]:
        """The run at the open batch, read anew: whoever changes it changes nobody else's."""
        return rebuild.load_run(self.storage, self.record, self.first_problem)

    def progress(self) -> StudyProgress:
        return self.storage.read(lambda tx: tx.progress(self.record.id))

    def waits_for(self) -> str:
        """In words: who has the rest of the open batch, for which all others wait."""

        def read(tx: Transaction) -> str:
            at = tx.progress(self.record.id)
            return opened.held_in_words(opened.held(tx, self.record.id, at), at.now)

        return self.storage.read(read)

    def told(self) -> Iterator[Tell]:
        """Every reward that counts, with who told it, in the order of the pulls.

        It is read piece by piece: nobody who tells has to wait until all is read.
        """
        at = self.progress()
        for first in range(0, at.last, _PIECE):
            yield from self.storage.read(
                lambda tx, first=first: tx.told(self.record.id, first, first + _PIECE)
            )

    def free(self, most: int) -> tuple[StudyProgress, int]:
        """Where the study stands, and about how many pulls (``most`` matter) could be had now."""

        def read(tx: Transaction) -> tuple[StudyProgress, int]:
            at = tx.progress(self.record.id)
            fresh = at.size + at.ahead - at.asked
            if at.paused or at.finished:
                return at, 0
            if fresh < most and not at.complete:
                fresh += len(tx.waiting(self.record.id, at.now, most - fresh))
            return at, fresh

        return self.storage.read(read)
