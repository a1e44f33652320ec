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
        #: by what is accepted from now on: where the study stood, seconds, and the forecast
        self._known: dict[float | None, tuple[tuple[int, int], float, Ahead]] = {}

    def of(
        self,
        run: Run,
        at: StudyProgress,
        simulate: Callable[[Run, float], Ahead],
        seconds: float,
        epsilon: float | None = None,
    ) -> Ahead:
        """What lies ahead of a run that stands at ``at``; what was told since is taken off.

        One that had at least as much time is taken again.
        """
        key = (at.batch, at.revision)
        with self._lock:
            there, most, found = self._known.get(epsilon, (None, 0.0, Ahead(0, 0, 0, 0)))
            if there != key or most < seconds:
                self._known = {k: one for k, one in self._known.items() if one[0] == key}
                found = simulate(run, seconds)
                self._known[epsilon] = (key, seconds, found)
        return found if run.stopped else found.less(at.told)
