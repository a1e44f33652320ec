"""How far a plan is, and an honest estimate of the time left."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from surepick.bench.plan import Plan


@dataclass(frozen=True)
class TimeLeft:
    """An estimate of the time left, and what it leaves out."""

    seconds: float | None  #: for the cells with a finished trial; None where there is none
    unknown: int  #: cells of which no trial has finished: nobody knows how long they take

    def __str__(self) -> str:
        if self.seconds is None:
            return "time left: unknown, nothing has finished yet"
        about = f"about {duration(self.seconds)} left"
        if not self.unknown:
            return about
        cells = "1 cell" if self.unknown == 1 else f"{self.unknown} cells"
        return f"{about}, and {cells} of unknown speed"


class Progress:
    """Counts finished trials cell by cell.

    The time left is the sum, over cells, of the trials missing times the mean seconds of that
    cell's finished trials, shared by the processes. Once every cell has been tried it is corrected
    for what the trials' own seconds leave out (passing work around, waiting).
    """

    def __init__(
        self, plan: Plan, jobs: int = 1, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._trials = [plan.trials_of(cell) for cell in plan.cells]
        self._jobs = (os.cpu_count() or 1) if jobs == -1 else jobs
        self._clock = clock
        self._done = [0] * len(plan.cells)
        self._seconds = [0.0] * len(plan.cells)
        self._known_since: tuple[float, float] | None = None  # wall clock, busy seconds by then
        self.total = plan.size

    @property
    def done(self) -> int:
        """Finished trials."""
        return sum(self._done)

    def update(self, row: dict[str, Any]) -> None:
        """Count one row of ``stream``."""
        self._done[row["cell"]] += 1
        if row["seconds"] == row["seconds"]:  # failed trials have none
            self._seconds[row["cell"]] += row["seconds"]
        if self._known_since is None and all(self._done):
            self._known_since = (self._clock(), sum(self._seconds))

    def time_left(self) -> TimeLeft:
        """Estimated from the finished trials of each cell."""
        busy, unknown = 0.0, 0
        for trials, done, seconds in zip(self._trials, self._done, self._seconds, strict=True):
            if done:
                busy += (trials - done) * seconds / done
            else:
                unknown += 1
        if unknown == len(self._done):
            return TimeLeft(None, unknown)
        processes = max(1, min(self._jobs, self.total - self.done))
        return TimeLeft(busy * self._overhead() / processes, unknown)

    def _overhead(self) -> float:
        if self._known_since is None:
            return 1.0
        since, before = self._known_since
        busy = sum(self._seconds) - before
        return max(1.0, (self._clock() - since) * self._jobs / busy) if busy > 0 else 1.0


def duration(seconds: float) -> str:
    """A time span in words, no more precise than it deserves."""
    if seconds < 1:
        return "a second"
    if seconds < 99:
        return f"{seconds:.0f} s"
    if seconds < 99 * 60:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
