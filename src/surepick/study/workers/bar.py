"""A line on stderr that shows how a study is getting on."""

from __future__ import annotations

import time

from surepick.study.core import StudyCore
from surepick.study.workers.work import Work
from surepick.text import plural

_BETWEEN_LOOKS = 0.2  # seconds


class Bar:
    """A line on stderr that shows what is going on."""

    def __init__(self, study: StudyCore) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
        note = TextColumn("{task.fields[note]}")
        self._bar = Progress(*columns, note, console=Console(stderr=True), transient=True)
        self._study = study
        self._task = self._bar.add_task("batch", total=None, note="")
        self._shown = -_BETWEEN_LOOKS

    def __enter__(self) -> Bar:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def show(self, work: Work) -> None:
        now = time.monotonic()
        if now - self._shown < _BETWEEN_LOOKS:  # the study is asked where it stands
            return
        self._shown = now
        at = self._study.progress()
        note = plural(at.samples, "measurement")
        if work.failed:
            note += f", {work.failed:,} failures"
        self._bar.update(
            self._task,
            description=f"batch {at.batch + 1}",
            completed=at.told + at.early,
            total=at.size + at.ahead,
            note=note,
        )
