"""Measuring for a study until it is finished: several measurements at a time, nothing lost.

The study is asked and told by one thread, for all who are done or free at the same time, so that
the disk is waited for once for all of them; each measurement has a thread of its own.

What becomes of a measurement that gives no reward depends on why (:mod:`surepick.calls.faults`):

- Refused, as there were too many calls: nothing was measured. All workers wait, and who was refused
  keeps its pull and tries again.
- It may work later: after a while, longer each time, it is handed back to the study, which records
  it and hands it out again. One that fails too often ends the work.
- It would fail again: the work ends at once.

Where a finite table is filled in, a cell that fails for good is put aside, and work goes on with
cells that are not known yet. As soon as one of them works it counts by the rule of the study
(:mod:`surepick.calls.rule`); if others failed beside it, the service may have been away, and it has
another try. Where nothing else comes to be measured, or a few more cells fail than there are
options (all of them may fail on one item), a cell that is known is measured once more, which counts
for nothing; if that fails, too, or none is known, the work ends.
"""

from __future__ import annotations

import logging
import math
import queue
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from surepick.arrays.validate import whole
from surepick.calls.faults import Fault, InARow
from surepick.calls.pace import Pace
from surepick.calls.rule import Counts, next_of
from surepick.errors import AccessError, InvalidInputError, SurepickError
from surepick.study.canaries import CANARIES
from surepick.study.core import StudyCore
from surepick.study.desk.crowd import Ask, Crowd, Handed
from surepick.study.desk.desk import Desk
from surepick.study.failed import ENDED, INTERRUPTED, UNTRIED, rule_of
from surepick.study.pulls import Pull, Reward
from surepick.study.strata import check_stratum
from surepick.study.workers.identity import is_gone, own_name
from surepick.study.workers.measure import Measure, Measured, Measurement
from surepick.text import plural, typed

_log = logging.getLogger(__name__)
T = TypeVar("T")
_LEASE = 30.0  # seconds for which a worker has a pull, unless it says that it still has it,
_BEAT = 5.0  # which it does so often
_LOOK_EVERY = 0.2  # seconds between looks at the study while nothing can be done
_MOST_AT_ONCE = 8  # pulls that one worker takes with it, where a measurement takes
_NO_TIME = 0.005  # seconds at most
_LOOK_FOR_GONE = 1.0  # seconds between looks whether workers of this host are gone
_PATIENCE = 5.0  # seconds without anything to measure, after which it is said for whom one waits
_LINGER = 0.05  # seconds at most for which a reward waits for others, to be told together
MOST_WORKERS = 1024  #: threads of one process
MOST_RETRIES = 1000  #: of one measurement
_DEADLINE = 1.0  # seconds: what nobody could end is waited for so much longer
_LATE = Fault("passing")
_MORE = 3  # cells that fail, beyond one of each option, before it is asked whether anything works
_MOST_OPTIONS = 20  # that are waited for then
_NO_SLOT = -1  # of a measurement that is made once more
_AGAIN = -2  # of a cell that is asked again, which counts for nothing


@dataclass
class Work:
    """What was done."""

    told: int = 0
    failed: int = 0
    refused: int = 0  #: calls that were made again, as there were too many at a time
    lowest: int = 0  #: cells of a table that could not be measured, and count as the worst score
    finished: bool = False
    stopped: str = ""  #: why work ended before the study was finished


@dataclass
class _Running:
    slot: int
    tasks: list[Measurement]  # several where one takes less time than a visit to the study
    deadline: float = math.inf
    measured: list[Measured] = field(default_factory=list)  # by its thread

    @property
    def left(self) -> list[Measurement]:
        return self.tasks[len(self.measured) :]


@dataclass
class _Paused:
    slot: int
    pull: int
    error: str
    until: float  # by the clock of the pace


@dataclass
class _Aside:
    """A cell of a table that failed, until it is known whether anything else works."""

    slot: int
    measured: Measured
    error: str
    last: bool  #: whether it is not to be tried again
    away: bool  #: whether that may have been because the service was away
    which: str

    @property
    def pull(self) -> int:
        return self.measured.task.pull


@dataclass
class _Done:
    slot: int
    measured: Measured

    @property
    def pair(self) -> tuple[int, float | dict[str, float]]:
        assert self.measured.reward is not None
        return self.measured.task.pull, self.measured.reward


class Workers:
    """Measures for a study with several workers.

    Parameters
    ----------
    study, measure
        What to measure for, and how.
    workers
        Measurements at a time.
    retries
        How often a pull that failed is tried again.
    name
        Workers are called by this name and a number; it must be theirs alone.
    keep
        Called with a dict for every measurement, before its reward is told.
    on_change
        Called with the work so far, whenever something was told or failed.
    pace
        When measurements may begin.
    """

    def __init__(
        self,
        study: StudyCore,
        measure: Measure,
        *,
        workers: int = 1,
        retries: int = 2,
        name: str | None = None,
        keep: Callable[[dict[str, Any]], None] | None = None,
        on_change: Callable[[Work], None] | None = None,
        stratum: str | None = None,
        pace: Pace | None = None,
    ) -> None:
        self.study, self.measure = study, measure
        self.pace = Pace() if pace is None else pace
        self.workers = whole(workers, "workers", least=1, most=MOST_WORKERS)
        self.retries = whole(retries, "retries", most=MOST_RETRIES)
        self.name = name or own_name()
        self.work = Work()
        self._desk: Desk | None = getattr(study, "desk", None)  # of a study in a database here
        self.stratum = check_stratum(study.strata, stratum)
        self._keep, self._on_change = keep, on_change
        self._running: dict[int, _Running] = {}
        self._done: queue.Queue[int] = queue.Queue()
        self._started = 0
        self._failures: Counter[int] = Counter()  # of each pull
        self._in_a_row = InARow()
        self._paused: list[_Paused] = []  # failed, and handed back after a while
        self._refused: dict[int, int] = {}  # slot: its pull, which was refused
        self._stuck: dict[int, int] = {}  # token: its slot, where nobody could end a call in time
        self._slots = list(range(self.workers))  # the names that workers go by now
        self._names = self.workers  # how many there have been
        #: what a cell that cannot be measured counts as; None: there are no cells
        self._counts: Counts | None = None
        if study.algorithm.worst_score(study.problem) is not None:
            self._counts = rule_of(study.meta)
            self._failures.update(self._failed_before())
        self._aside: list[_Aside] = []
        self._open: list[_Aside] = []  # that stay open, by the rule of the study
        self._back: set[int] = set()  # failed while nothing worked, and tried once more since then
        self._good: Measurement | None = None  # something that worked
        self._doubt = False  # whether that has to be measured once more
        self._done_now: list[_Done] = []  # measured, and not told yet
        self._exchanging = 0.0  # seconds that the last visit to the study took
        self._measuring = 0.0  # seconds that a measurement takes, lately
        self._slowest = 0.0  # and has taken at most
        self._idle_since: float | None = None  # no worker has had anything to measure since then
        self._said = False  # for whom they wait
        self._again_from = 0  # scores told here, before which no cell is asked again
        self._looked = -math.inf  # when it was last looked whether workers of this host are gone

    def run(self) -> Work:
        """Work until the study is finished, too many measurements fail, or :meth:`interrupt`."""
        self._take_back()
        over = threading.Event()
        threading.Thread(target=self._keep_pulls, args=(over,), daemon=True).start()
        try:
            while not self._over():
                self._step()
        except BaseException:
            self._abandon()
            raise
        finally:
            over.set()
        refused = [(self._name_of(slot), pull) for slot, pull in self._refused.items()]
        self._hand_back(refused, self.work.stopped)
        for one in self._aside + self._open:
            self._hand_back([(self._name_of(one.slot), one.pull)], one.error)
        self.work.finished = self.study.finished
        return self.work

    def interrupt(self, *_: object) -> None:
        """Start nothing new, but still tell what is being measured; called again, give that up.

        Fit to be a signal's handler: nothing is cut short in the middle of being recorded.
        """
        if self.work.stopped == INTERRUPTED:
            raise KeyboardInterrupt
        self.work.stopped = INTERRUPTED
        _log.warning(
            "finishing %d measurements; interrupt again to abandon them",
            sum(len(running.left) for running in self._running.values()),
        )

    def _take_back(self) -> bool:
        """Put back in line what workers of this host had whose processes have ended."""
        self._looked = time.monotonic()
        try:
            others = self.study.keep({})
        except AccessError:  # who compares options has no names
            return False
        gone = [(name, pull) for name in others if is_gone(name) for pull in others[name]]
        back = [self.study.fail(pull, ENDED, name) for name, pull in gone]
        return any(back)

    def _keep_pulls(self, over: threading.Event) -> None:
        """Say every so often which pulls are still being measured here.

        In a thread of its own: working out the next batch may take longer than a lease.
        """
        while not over.wait(_BEAT):
            held = self._held()
            try:
                if held:
                    self.study.keep(held, _LEASE)
            except SurepickError as error:  # the next time, perhaps
                _log.warning("others may measure what is under way here, too: %s", error)

    def _held(self) -> dict[str, list[int]]:
        """What workers here have now, and did not tell or hand back."""
        held: dict[str, list[int]] = {}
        aside = [(one.slot, one.pull) for one in (*self._paused, *self._aside, *self._open)]
        running = [one for one in list(self._running.values()) if one.slot >= 0]
        under_way = [(one.slot, task.pull) for one in running for task in one.tasks]
        done = [(one.slot, one.measured.task.pull) for one in list(self._done_now)]
        for slot, pull in [*under_way, *done, *aside, *list(self._refused.items())]:
            held.setdefault(self._name_of(slot), []).append(pull)
        return held

    def _over(self) -> bool:
        idle = not (self._running or self._done_now or self._paused)
        return idle and (self.work.finished or bool(self.work.stopped))

    def _step(self) -> None:
        wait = self._exchange()
        if self._over():
            return
        self._done_now += self._wait(min(wait, _LOOK_EVERY))
        self._check_time()

    def _wait(self, seconds: float) -> list[_Done]:
        """What has been measured; who finishes a moment later is taken along."""
        found: list[_Done] = []
        end = time.monotonic() + seconds
        while self._running or self._stuck:
            try:
                token = self._done.get(timeout=max(0.0, end - time.monotonic()))
            except queue.Empty:
                break
            self._stuck.pop(token, None)
            running = self._running.pop(token, None)
            if running is not None and running.slot == _NO_SLOT:
                self._once_more(running.measured[0])
            elif running is not None and running.slot == _AGAIN:
                self._keep_again(running.measured[0])
            elif running is not None:  # else it was given up before
                found += [_Done(running.slot, one) for one in running.measured]
                # Waiting for the others must not take long, compared with what it saves.
                end = min(end, time.monotonic() + min(_LINGER, 0.5 * self._exchanging))
        if not found and not self._running:
            if time.monotonic() - self._looked >= _LOOK_FOR_GONE and self._take_back():
                return found
            if not self._held_up():
                self._say_for_whom()
            time.sleep(max(0.0, end - time.monotonic()))
        return found

    def _held_up(self) -> bool:
        """Whether somebody here waits for something else than other workers."""
        return bool(self._paused or self._refused or self._stuck)

    def _say_for_whom(self) -> None:
        """Say who has what nobody here can go on without; once, where it takes a while."""
        now = time.monotonic()
        if self._idle_since is None:
            self._idle_since = now
        if self._said or now - self._idle_since < _PATIENCE:
            return
        self._said = True
        if self._desk is not None:
            _log.warning("%s", self._desk.waits_for())
        else:
            _log.warning("waiting for other workers")

    def _exchange(self) -> float:
        """Tell what has come in and ask for more: one visit to the study for all of it.

        Returns the seconds after which more may be begun, or handed back.
        """
        self._hand_back_in_time()
        self._begin_once_more()
        done, self._done_now = self._done_now, []
        free, wait = self._free()
        if not (done or free):
            return wait
        if self._keep is not None:
            for one in done:
                self._keep(_record(self._name_of(one.slot), one.measured))
        wrong = {id(one): error for one in done if (error := self._what_is_wrong(one))}
        good = [one for one in done if id(one) not in wrong]
        # Where it may be the last failure that is allowed, it is heard of before more is begun.
        asks = free if len(good) == len(done) else []
        allowed, wait = self._allowed(asks, wait)
        started = time.monotonic()
        given = self._visit(good, allowed) if good or allowed else []
        self._exchanging = time.monotonic() - started
        for one in done:
            self._count(one, wrong.get(id(one), ""))
        self._ask_again()
        begun = 0
        for slot, handed in zip(allowed, given):
            if handed.pulls:
                self._start(slot, handed.pulls)
                if any(self.measure.calls_for(pull.arm, pull.item) for pull in handed.pulls):
                    begun += 1
            if handed.finished:
                self.work.finished = True
        for _ in allowed[begun:]:
            self.pace.give_back()
        if allowed and not any(handed.pulls for handed in given):
            self._nothing_to_do()
        if asks is not free:
            return 0.0
        return max(0.0, wait - self._exchanging)  # which has passed meanwhile

    def _free(self) -> tuple[list[int], float]:
        """Workers who could begin something, and the seconds until the next one can."""
        busy = {running.slot for running in self._running.values()}
        busy |= {one.slot for one in self._paused} | set(self._stuck.values())
        now = self.pace.clock()
        wait = min((one.until - now for one in self._paused), default=_LOOK_EVERY)
        stopped = self.work.stopped or len(self._stuck) == self.workers
        if len(self._stuck) == self.workers and not self.work.stopped:
            self.work.stopped = (
                f"{self.workers} calls do not end when they are cancelled, after "
                f"{self.measure.timeout:g} s: let the function pass on asyncio.CancelledError, and "
                "await what takes time"
            )
        asking = self._doubt or _NO_SLOT in busy  # whether anything works, first of all
        free = [] if stopped or asking else [s for s in self._slots if s not in busy]
        return free, wait

    def _allowed(self, free: list[int], wait: float) -> tuple[list[int], float]:
        """Those of them who may begin now, and the seconds until more may.

        Whoever was refused comes first: it has a pull in hand.
        """
        allowed: list[int] = []
        for slot in sorted(free, key=lambda slot: (slot not in self._refused, slot)):
            seconds = self.pace.take()
            if seconds > 0:
                return allowed, min(wait, seconds)
            allowed.append(slot)
        return allowed, wait

    def _what_is_wrong(self, done: _Done) -> str:
        """Why there is no reward, or why it cannot be one; nothing where all is well."""
        if done.measured.reward is None:
            return done.measured.error
        try:
            Reward.of(done.pair).possible(self.study.problem.noise_kind)
            if self._desk is not None:
                self._desk.check_reward(done.pair, None)
        except InvalidInputError as error:
            return str(error)
        return ""

    def _at_once(self) -> int:
        """Pulls that a worker takes with it: about what it can measure during a visit.

        More than one only where no measurement has ever taken any time to speak of: whatever costs
        something is told before the next one begins, so that no crash loses what was in hand.
        """
        if not 0.0 < self._slowest <= _NO_TIME or self.pace.per_minute is not None:
            return 1
        return max(1, min(_MOST_AT_ONCE, int(self._exchanging / self._measuring)))

    def _in_hand(self, slot: int) -> frozenset[int]:
        """The pull of a worker whose call was refused: nothing was measured."""
        return frozenset({self._refused[slot]} if slot in self._refused else ())

    def _visit(self, done: list[_Done], free: list[int]) -> list[Handed]:
        """Tell rewards; pulls for everybody who is free."""
        n = self._at_once()
        lease = _LEASE
        if self._desk is not None:
            tells = [[Reward(*one.pair, self._name_of(one.slot))] for one in done]
            belongs = self.stratum
            asks = [
                Ask(n, self._name_of(one), lease, stratum=belongs, still=self._in_hand(one))
                for one in free
            ]
            told, given = Crowd(self._desk).exchange(tells, asks)
            for one in told:
                _or_raise(one)
            return [_or_raise(one) for one in given]
        for one in done:
            self.study.tell_many([one.pair], self._name_of(one.slot))
        given = []
        for slot in free:
            pulls = self.study.ask(n, self._name_of(slot), lease, stratum=self.stratum)
            given.append(Handed(pulls, not pulls and self.study.finished))
            if not pulls:
                break
        return given

    def _start(self, slot: int, pulls: list[Pull]) -> None:
        cells = self.study.features_by_arm(pull.arm for pull in pulls)
        tasks = [
            Measurement(
                *(x.id, x.arm, x.label, x.attempt, cells[x.arm], x.stratum, x.item),
                *(x.first, x.second),
            )
            for x in pulls
        ]
        self._refused.pop(slot, None)
        self._idle_since, self._said = None, False
        self._begin(_Running(slot, tasks))

    def _begin(self, running: _Running) -> None:
        self._started += 1
        # Commands and coroutines end themselves in time; this is for what nobody can end.
        running.deadline = time.monotonic() + len(running.tasks) * self.measure.timeout + _DEADLINE
        self._running[self._started] = running
        arguments = (self._started, running)
        threading.Thread(target=self._measure, args=arguments, daemon=True).start()

    def _measure(self, token: int, running: _Running) -> None:
        for task in running.tasks:
            started = time.monotonic()
            try:
                measured = self.measure(task)
            except BaseException as error:  # a thread must not end silently
                measured = Measured(task, None, f"{type(error).__name__}: {error}", {})
            running.measured.append(measured)
            seconds = time.monotonic() - started
            self._measuring = max(seconds, 0.5 * self._measuring)
            self._slowest = max(seconds, self._slowest)
        self._done.put(token)

    def _check_time(self) -> None:
        now = time.monotonic()
        for token, running in list(self._running.items()):
            if running.left and running.deadline < now:
                del self._running[token]
                if self.measure.cancels:  # there are never more at a time than workers
                    self._stuck[token] = running.slot
                text = f"no reward after {self.measure.timeout:g} s"
                late = [Measured(x, None, text, {}, _LATE) for x in running.left]
                if running.slot == _NO_SLOT:
                    self._once_more(late[0])
                    continue
                if running.slot == _AGAIN:
                    continue
                all_of_it = running.measured + late
                self._done_now += [_Done(running.slot, one) for one in all_of_it]

    def _count(self, done: _Done, error: str) -> None:
        """Note what came of a measurement; one without a reward is handed back."""
        if error:
            self._failed(done.slot, done.measured, error)
        else:
            self.work.told += 1
            self._works(done.measured.task)
        if self._on_change is not None:
            self._on_change(self.work)

    def _failed(self, slot: int, measured: Measured, error: str) -> None:
        pull, worker = measured.task.pull, self._name_of(slot)
        possible = measured.reward is None  # else it is a number that no reward can be
        fault = measured.fault if possible else Fault("final")
        then = next_of(fault, self._failures[pull] + 1, self.retries, self.pace)
        if not then.made:
            self.work.refused += 1
            self._refused[slot] = pull
            if then.over and not self.work.stopped:
                self.work.stopped = f"{then.over}: {error}"
            return
        self.work.failed += 1
        self._failures[pull] += 1
        self._in_a_row.failed(pull)
        if self._counts is not None and not self.work.stopped:
            if not then.again or not self._in_a_row.ever:
                self._put_aside(slot, measured, error, fault, not then.again)
                return
        else:
            self._give_up(measured.task, error, fault, not then.again)
        if not then.after or self.work.stopped:
            self.study.fail(pull, error, worker)
            return
        self._paused.append(_Paused(slot, pull, error, self.pace.clock() + then.after))

    # -- cells of a table ------------------------------------------------------------------
    def _failed_before(self) -> Counter[int]:
        """How often cells failed in earlier runs; each may be tried once more in this one."""
        try:
            events = self.study.events("failed")
        except AccessError:  # who measures may not see them
            return Counter()
        found = Counter(one.pull for one in events if one.note not in UNTRIED)
        return Counter({pull: min(count, self.retries) for pull, count in found.items()})

    def _put_aside(
        self, slot: int, measured: Measured, error: str, fault: Fault, last: bool
    ) -> None:
        """Keep a cell that failed, and go on with others; its worker goes by another name."""
        task = measured.task
        which = f"measurement {task.pull} ({task.label!r}) failed: {error}"
        which += fault.cure and f"; {fault.cure}"
        away = fault.kind != "final" and task.pull not in self._back
        self._aside.append(_Aside(slot, measured, error, last, away, which))
        if slot in self._slots:
            self._slots[self._slots.index(slot)] = self._names
            self._names += 1
        options = min(self.study.problem.n_arms, _MOST_OPTIONS)
        if fault.kind == "broken" or self._in_a_row.different > max(options + _MORE, self.workers):
            self._ask_whether_anything_works()

    def _nothing_to_do(self) -> None:
        """There is nothing else to measure; what was put aside has to be decided on."""
        idle = not (self._running or self._paused or self._refused or self._done_now)
        if self.work.stopped or self.work.finished or not idle:
            return
        if self._aside:
            self._ask_whether_anything_works()
        elif self._open:
            named = ", ".join(str(one.pull) for one in self._open[:_MORE])
            stay = "stays" if len(self._open) == 1 else "stay"
            self.work.stopped = (
                f"{plural(len(self._open), 'cell')} could not be measured and {stay} open, as this "
                f"study has it (measurement {named}): {self._open[0].error}"
            )

    def _ask_whether_anything_works(self) -> None:
        if self._good is None:
            self._good = self._known_cell()
        if self._good is not None:
            self._doubt = True
        else:
            self._say_that_nothing_works()

    def _say_that_nothing_works(self) -> None:
        if not self.work.stopped:
            count, last = self._in_a_row.count, self._aside[-1].which
            many = f"{count} measurements in a row failed, the last one: " if count > 1 else ""
            self.work.stopped = f"{many}{last}"

    def _known_cell(self) -> Measurement | None:
        """A cell that was measured in an earlier run."""
        try:
            told = self.study.rewards()
            lacking = {one.pull for one in self.study.events("unmeasured")}
        except AccessError:
            return None
        if told.strata is None:
            return None
        rows = zip(told.pulls.tolist(), told.arms.tolist(), told.strata.tolist())
        for pull, arm, item in rows:
            if pull not in lacking and self.measure.calls_for(arm, int(item)):
                cells = self.study.features_by_arm([arm])[arm]
                label = self.study.problem.labels[arm]
                return Measurement(pull, arm, label, 1, cells, None, int(item))
        return None

    def _begin_once_more(self) -> None:
        """Measure what has worked, to know whether anything does; it counts for nothing."""
        if not self._doubt or self.work.stopped or self.pace.take() > 0:
            return
        assert self._good is not None
        self._doubt = False
        self._begin(_Running(_NO_SLOT, [self._good]))

    def _once_more(self, measured: Measured) -> None:
        if self._keep is not None:
            self._keep(_record(self.name, measured) | {"counts": False})
        if measured.reward is not None:
            self._works(measured.task)
        elif measured.fault.kind == "refused":
            self.pace.refused(measured.fault.after)
            self._doubt = True
        else:
            self._say_that_nothing_works()

    def _ask_again(self) -> None:
        """Begin to measure a cell once more, where the plan of the study says that one is due."""
        share = self.study.meta.get(CANARIES, 0.0)
        busy = any(running.slot == _AGAIN for running in self._running.values())
        if not share or busy or self.work.stopped or self.work.told < self._again_from:
            return
        while (task := self.study.canary()) is not None and self.measure.calls_for(
            task.arm, task.item
        ):
            self._again_from = self.work.told
            if self._slowest > _NO_TIME:
                self._begin(_Running(_AGAIN, [task]))
                return
            if not self._keep_again(self.measure(task)):
                return
        self._again_from = self.work.told + max(1, int(0.25 / share))

    def _keep_again(self, measured: Measured) -> bool:
        """Keep what a cell gave that was asked again; what failed is asked for later."""
        if isinstance(measured.reward, int | float):
            try:
                self.study.act("ask-again", pull=measured.task.pull, score=float(measured.reward))
            except SurepickError as error:  # another process was quicker, perhaps
                _log.info("not kept: %s", error)
            else:
                return True
        self._again_from = self.work.told + 1
        return False

    def _works(self, task: Measurement) -> None:
        """Something has worked: what failed before it did so by itself, or with the service."""
        was_away = self._in_a_row.different > 1 or not self._in_a_row.ever
        self._in_a_row.worked()
        self.pace.answered()
        self._good, self._doubt = task, False
        aside, self._aside = self._aside, []
        for one in aside:
            worker = self._name_of(one.slot)
            if was_away:
                self._back.add(one.pull)
            if not one.last or (was_away and one.away):
                self.study.fail(one.pull, one.error, worker)
            elif self._counts == "later":
                self._open.append(one)
            elif self.study.fail(one.pull, one.error, worker, final=True):
                self.work.lowest += 1

    def _give_up(self, task: Measurement, error: str, fault: Fault, last: bool) -> None:
        if self.work.stopped:
            return
        many = self._in_a_row.count
        if last:
            tries = self._failures[task.pull]
            times = "" if fault.cure else " once" if tries == 1 else f" {tries} times"
            which = f"measurement {task.pull} ({task.label!r}) failed{times}: {error}"
            cure = fault.cure or (self.work.told and self._cure(task))
            self.work.stopped = which + (f"; {cure}" if cure else "")
        elif many >= self.workers * (self.retries + 1):
            self.work.stopped = f"{many} measurements in a row failed: {error}"

    def _cure(self, task: Measurement) -> str:
        """What to do where others work, and one option never does; of cells rules say it.

        No number could stand for it: there is no worst one, and whoever left it out would leave
        out what an option does where it fails.
        """
        study = self.study
        if task.first is not None or study.algorithm.refuses_options(study.problem):
            return ""
        gone = typed("retire", study.name, task.label, more="--reason …")
        return f"if this option can never be measured, retire it: {gone}"

    def _hand_back_in_time(self) -> None:
        """Hand back what failed a while ago, so that it is tried again."""
        now = self.pace.clock()
        due = [one for one in self._paused if one.until <= now or self.work.stopped]
        self._paused = [one for one in self._paused if one not in due]
        for one in due:
            self.study.fail(one.pull, one.error, self._name_of(one.slot))

    def _abandon(self) -> None:
        """Give back what is being measured, so that others need not wait for the leases to end."""
        self.measure.stop()
        held = self._held().items()
        self._hand_back([(who, pull) for who, pulls in held for pull in pulls], INTERRUPTED)

    def _hand_back(self, held: list[tuple[str, int]], why: str) -> None:
        for worker, pull in held:
            try:
                self.study.fail(pull, why, worker)
            except SurepickError as error:  # its lease will run out
                _log.warning("pull %d could not be handed back: %s", pull, error)

    def _name_of(self, slot: int) -> str:
        return f"{self.name}-{slot + 1}"


def _or_raise(answer: T | SurepickError) -> T:
    if isinstance(answer, SurepickError):
        raise answer
    return answer


def _record(worker: str, measured: Measured) -> dict[str, Any]:
    task = measured.task
    return {
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "pull": task.pull,
        "arm": task.arm,
        "label": task.label,
        "attempt": task.attempt,
        "worker": worker,
        "reward": measured.reward,
        "error": measured.error,
        **measured.record,
    }
