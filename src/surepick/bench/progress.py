"""How far a plan is, and an honest estimate of the time left."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any


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
    """Counts finished trials cell by cell (a cell: trials of one kind).

    The time left is the sum, over cells, of the trials missing times the mean seconds of that
    cell's finished trials, shared by the processes. Once every cell has been tried, the pace seen
    since then counts instead: it knows how many trials run at a time, and what passing work
    around costs.

    Examples
    --------
    >>> progress = Progress({"peleg": 4})
    >>> progress.update("peleg", [1.0, 1.0])
    >>> progress.done, progress.total
    (2, 4)
    """

    def __init__(
        self,
        trials: Mapping[Any, int],
        jobs: int = 1,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._trials = dict(trials)
        self._jobs = (os.cpu_count() or 1) if jobs == -1 else jobs
        self._clock = clock
        self._done = dict.fromkeys(self._trials, 0)
        self._seconds = dict.fromkeys(self._trials, 0.0)
        self._earlier = 0.0  # busy seconds of earlier runs, which took no time in this one
        self._known_since: tuple[float, float] | None = None  # wall clock, busy seconds by then
        self.total, self.done = sum(self._trials.values()), 0

    def update(self, cell: Hashable, seconds: Iterable[float], *, earlier: bool = False) -> None:
        """Count finished trials of one cell; ``earlier``: they come from an earlier run."""
        took = list(seconds)
        busy = math.fsum(s for s in took if s == s)  # failed trials have none
        self.done += len(took)
        self._done[cell] += len(took)
        self._seconds[cell] += busy
        self._earlier += busy if earlier else 0.0
        if self._known_since is None and all(self._done.values()):
            self._known_since = (self._clock(), self._busy())

    def time_left(self) -> TimeLeft:
        """Estimated from the finished trials of each cell."""
        busy, unknown = 0.0, 0
        for cell, done in self._done.items():
            if done:
                busy += (self._trials[cell] - done) * self._seconds[cell] / done
            else:
                unknown += 1
        if unknown == len(self._done):
            return TimeLeft(None, unknown)
        return TimeLeft(busy * self._pace(), unknown)

    def _busy(self) -> float:
        return math.fsum(self._seconds.values()) - self._earlier

    def _pace(self) -> float:
        """Seconds on the clock for each second of a trial's own."""
        if self._known_since is not None:
            since, before = self._known_since
            busy = self._busy() - before
            if busy > 0:
                return (self._clock() - since) / busy
        return 1.0 / max(1, min(self._jobs, self.total - self.done))


def duration(seconds: float) -> str:
    """A time span in words, no more precise than it deserves."""
    if seconds < 1:
        return "a second"
    if seconds < 99:
        return f"{seconds:.0f} s"
    if seconds < 99 * 60:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
