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
    study: StudyCore,
    measure: Callable[[Measurement], Any],
    workers: int = 1,
    progress: bool = False,
    timeout: float = math.inf,
    retries: int = 2,
    name: str | None = None,
    stratum: str | None = None,
    per_minute: float | None = None,
) -> Answer:
    """See :meth:`surepick.Study.run`."""
    if not callable(measure):
        raise InvalidTypeError(f"measure must be a function; got {measure!r:.80}")
    call = Call(measure, min(timeout, _LONGEST))
    pace = pace_of(study, per_minute)
    with ExitStack() as stack:
        stack.callback(call.stop)
        bar = stack.enter_context(Bar(study)) if progress else None
        crew = Workers(
            study,
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
    return study.answer


def pace_of(study: StudyCore, per_minute: float | None) -> Pace:
    """When measurements for this study may begin: shared by processes of this machine."""
    where = repr(study)  # its name, and the database or service; a file may be named from here
    alone = "memory://" in where
    return Pace(per_minute, place=None if alone else shared_by(f"{os.getcwd()} {where}"))
