"""Measuring with a Python function until a study is finished."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from surepick.calls.pace import Pace, shared_by
from surepick.errors import InvalidTypeError, MeasurementError
from surepick.run import Answer
from surepick.study.core import StudyCore
from surepick.study.workers.bar import Bar
from surepick.study.workers.measure import Call, Measurement
from surepick.study.workers.work import Workers

_LONGEST = 86_400.0  # seconds that a measurement may take, where nothing is said


def run_study(
    self: StudyCore,
    measure: Callable[[Measurement], Any],
    workers: int = 1,
    progress: bool = False,
    *,
    timeout: float = math.inf,
    retries: int = 2,
    name: str | None = None,
    stratum: str | None = None,
    per_minute: float | None = None,
) -> Answer:
    """Measure with a Python function until the study is finished; the answer.

    Others may work on the study at the same time. A measurement that fails (raises, takes too
    long, returns no finite number) is made again, after a while where the error says that it
    may pass: a lost connection, status 500. Where too many calls were made (status 429) all
    workers wait, as long as the service says. What would fail again, such as a wrong key, ends
    the work at once.

    Parameters
    ----------
    measure
        Called with a :class:`surepick.study.Measurement` (``label``, ``arm``, ``features``,
        ``pull``, ``attempt``); returns the reward. May be a coroutine function, which is
        cancelled when its time is up.
    workers
        Measurements at a time: threads, or coroutines of one event loop.
    progress
        Show a line on stderr; where that is no terminal, one every so often.
    timeout, retries
        Seconds that a measurement may take, and how often one that failed is tried again.
    name
        What the workers are called; it must be theirs alone.
    stratum
        What all of these measurements belong to, where the study has strata.
    per_minute
        The most measurements that begin in a minute: of all workers, and of all processes on
        this machine that run the study with the same number.
    """
    if not callable(measure):
        raise InvalidTypeError(f"measure must be a function; got {measure!r:.80}")
    call = Call(measure, min(timeout, _LONGEST))
    pace = pace_of(self, per_minute)
    with ExitStack() as stack:
        stack.callback(call.stop)
        bar = stack.enter_context(Bar(self)) if progress else None
        crew = Workers(
            self,
            call,
            workers=workers,
            retries=retries,
            name=name,
            stratum=stratum,
            on_change=None if bar is None else bar.show,
            pace=pace,
        )
        work = crew.run()
    if work.stopped:
        raise MeasurementError(
            f"{work.stopped}. Everything measured so far is kept: run it again to continue"
        )
    return self.answer


def pace_of(study: StudyCore, per_minute: float | None) -> Pace:
    """When measurements for this study may begin: shared by processes of this machine."""
    where = repr(study)  # its name, and the database or service; a file may be named from here
    alone = "memory://" in where
    return Pace(per_minute, place=None if alone else shared_by(f"{os.getcwd()} {where}"))
