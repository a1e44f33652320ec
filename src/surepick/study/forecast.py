"""How much longer a study will take: simulated once for each complete batch."""

from __future__ import annotations

import threading
from collections.abc import Callable

from surepick.run import Run
from surepick.run.forecast import Ahead
from surepick.storage.records import StudyProgress


class Forecasts:
    """The forecasts of one study; safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: tuple[tuple[int, int], float, Ahead] | None = None

    def of(
        self,
        run: Run,
        at: StudyProgress,
        simulate: Callable[[Run, float], Ahead],
        seconds: float,
    ) -> Ahead:
        """What lies ahead of a run that stands at ``at``; what was told since is taken off.

        One that had at least as much time is taken again.
        """
        key = (at.batch, at.revision)
        with self._lock:
            if self._known is None or self._known[0] != key or self._known[1] < seconds:
                self._known = (key, seconds, simulate(run, seconds))
            found = self._known[2]
        return found if run.stopped else found.less(at.told)
