"""Measuring for a study until it is finished: several measurements at a time, nothing lost.

The study is asked and told by one thread; each measurement has a thread of its own. A
measurement that gives no reward is handed back to the study, which records it and hands it out
again; one that fails too often ends the work.
"""

from __future__ import annotations

import logging
import os
import queue
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from surepick.arrays.validate import whole
from surepick.errors import InvalidInputError, SurepickError
from surepick.study.core import StudyCore
from surepick.study.workers.measure import Measure, Measured, Measurement

_log = logging.getLogger(__name__)
_GRACE = 30.0  # seconds: a lease is this much longer than a measurement may take
_LOOK_EVERY = 0.2  # seconds between looks at the study while nothing can be done


@dataclass
class Work:
    """What was done."""

    told: int = 0
    failed: int = 0
    finished: bool = False
    stopped: str = ""  #: why work ended before the study was finished


@dataclass
class _Running:
    slot: int
    task: Measurement
    deadline: float
    measured: Measured | None = None  # set by its thread


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
    ) -> None:
        self.study, self.measure = study, measure
        self.workers = whole(workers, "workers", least=1)
        self.retries = whole(retries, "retries")
        self.name = name or f"{socket.gethostname()}-{os.getpid()}"
        self.work = Work()
        self._keep, self._on_change = keep, on_change
        self._running: dict[int, _Running] = {}
        self._done: queue.Queue[int] = queue.Queue()
        self._started = 0
        self._failures: Counter[int] = Counter()  # of each pull
        self._in_a_row = 0

    def run(self) -> Work:
        """Work until the study is finished, too many measurements fail, or :meth:`interrupt`."""
        try:
            while not self._over():
                self._step()
        except BaseException:
            self._abandon()
            raise
        self.work.finished = self.study.finished
        return self.work

    def interrupt(self, *_: object) -> None:
        """Start nothing new, but still tell what is being measured; called again, give that up.

        Fit to be a signal's handler: nothing is cut short in the middle of being recorded.
        """
        if self.work.stopped == "interrupted":
            raise KeyboardInterrupt
        self.work.stopped = "interrupted"
        _log.warning(
            "finishing %d measurements; interrupt again to give them up", len(self._running)
        )

    def _over(self) -> bool:
        return not self._running and (self.work.finished or bool(self.work.stopped))

    def _step(self) -> None:
        self._start_some()
        if self._over():
            return
        try:
            running = self._running.pop(self._done.get(timeout=_LOOK_EVERY), None)
        except queue.Empty:
            running = None
        if running is not None and running.measured is not None:  # else it was given up before
            self._take(running.slot, running.measured)
        self._check_time()

    def _start_some(self) -> None:
        busy = {running.slot for running in self._running.values()}
        for slot in range(self.workers):
            if self.work.stopped:
                return
            if slot in busy:
                continue
            pulls = self.study.ask(1, self._name_of(slot), self.measure.timeout + _GRACE)
            if not pulls:
                self.work.finished = self.study.finished
                return
            pull = pulls[0]
            features = self.study.features_of(pull.arm)
            task = Measurement(pull.id, pull.arm, pull.label, pull.attempt, features)
            self._started += 1
            # Commands end themselves in time; this is for functions, which nobody can end.
            deadline = time.monotonic() + self.measure.timeout + 1.0
            running = self._running[self._started] = _Running(slot, task, deadline)
            arguments = (self._started, running)
            threading.Thread(target=self._measure, args=arguments, daemon=True).start()

    def _measure(self, token: int, running: _Running) -> None:
        task = running.task
        try:
            running.measured = self.measure(task)
        except BaseException as error:  # a thread must not end silently
            running.measured = Measured(task, None, f"{type(error).__name__}: {error}", {})
        self._done.put(token)

    def _check_time(self) -> None:
        now = time.monotonic()
        for token, running in list(self._running.items()):
            if running.measured is None and running.deadline < now:
                del self._running[token]
                text = f"no reward after {self.measure.timeout:g} s"
                self._take(running.slot, Measured(running.task, None, text, {}))

    def _take(self, slot: int, measured: Measured) -> None:
        """Keep what came of a measurement, then tell it to the study."""
        task, worker = measured.task, self._name_of(slot)
        if self._keep is not None:
            self._keep(_record(worker, measured))
        error = measured.error
        if measured.reward is not None:
            try:
                self.study.tell_many([(task.pull, measured.reward)], worker)
            except InvalidInputError as caught:  # a number that no reward can be
                error = str(caught)
        if error:
            self.study.fail(task.pull, error, worker)
            self.work.failed += 1
            self._failures[task.pull] += 1
            self._in_a_row += 1
            self._give_up(task, error)
        else:
            self.work.told += 1
            self._in_a_row = 0
        if self._on_change is not None:
            self._on_change(self.work)

    def _give_up(self, task: Measurement, error: str) -> None:
        if self.work.stopped:
            return
        if self._failures[task.pull] > self.retries:
            times = "once" if not self.retries else f"{self.retries + 1} times"
            self.work.stopped = f"pull {task.pull} ({task.label!r}) failed {times}: {error}"
        elif self._in_a_row >= self.workers * (self.retries + 1):
            self.work.stopped = f"{self._in_a_row} measurements in a row failed: {error}"

    def _abandon(self) -> None:
        """Give back what is being measured, so that others need not wait for the leases to end."""
        self.measure.stop()
        for running in self._running.values():
            try:
                self.study.fail(running.task.pull, "interrupted", self._name_of(running.slot))
            except SurepickError as error:  # its lease will run out
                _log.warning("pull %d could not be handed back: %s", running.task.pull, error)

    def _name_of(self, slot: int) -> str:
        return f"{self.name}-{slot + 1}"


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
