"""How a study is getting on: a bar on a terminal, elsewhere a plain line every so often."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

from surepick.errors import AccessError
from surepick.study.core import StudyCore
from surepick.study.workers.work import Work
from surepick.text import plural

_BETWEEN_LOOKS = 0.2  # seconds
_BETWEEN_LINES = 15.0  # seconds, where there is no terminal
_BETWEEN_COUNTS = 10.0  # seconds between two looks at what was spent


class Bar:
    """What is going on, on stderr."""

    def __init__(self, study: StudyCore, clock: Callable[[], float] = time.monotonic) -> None:
        from rich.console import Console

        console = Console(stderr=True)
        self._study, self._clock = study, clock
        self._money = study.problem.costs is not None
        self._limits: dict[str, Any] = {}
        self._counted = -_BETWEEN_COUNTS
        self._shown = clock()
        self._bar: Any = None
        if console.is_terminal or console.is_jupyter:
            self._shown -= _BETWEEN_LOOKS
            self._begin(console)

    def _begin(self, console: Any) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
        note = TextColumn("{task.fields[note]}")
        self._bar = Progress(*columns, note, console=console, transient=True)
        self._task = self._bar.add_task("batch", total=None, note="")

    def __enter__(self) -> Bar:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def show(self, work: Work) -> None:
        now = self._clock()
        pause = _BETWEEN_LINES if self._bar is None else _BETWEEN_LOOKS
        if now - self._shown < pause:  # the study is asked where it stands
            return
        self._shown = now
        at = self._study.progress()
        note = self._note(at.measured, work, now)
        told, size = at.told + at.early, at.size + at.ahead
        if self._bar is None:
            batch = f"batch {at.batch + 1}: {told:,} of {size:,}"
            sys.stderr.write(f"{self._study.name}: {note}; {batch}\n")
            sys.stderr.flush()
            return
        self._bar.update(
            self._task, description=f"batch {at.batch + 1}", completed=told, total=size, note=note
        )

    def _note(self, measured: int, work: Work, now: float) -> str:
        said = [plural(measured, "measurement") + self._spent(now)]
        if work.failed:
            said.append(plural(work.failed, "failure"))
        if work.refused:
            said.append(f"{work.refused:,} refused and tried later")
        if work.lowest:
            said.append(f"{work.lowest:,} counted as the worst score")
        return ", ".join(said)

    def _spent(self, now: float) -> str:
        """What they cost, where costs differ, and of how much."""
        if not self._money:
            return ""
        if now - self._counted >= _BETWEEN_COUNTS:
            self._counted = now
            try:
                self._limits = self._study.status()["limits"]
            except AccessError:  # who compares options does not see where the study stands
                self._money = False
                return ""
        spent, budget = self._limits["spent"], self._limits["budget"]
        return f" (cost {spent:,.6g}{'' if budget is None else f' of {budget:,.6g}'})"
