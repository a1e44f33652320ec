"""How much memory and computing time a process takes, with everything that it has started."""

from __future__ import annotations

import contextlib
import threading
import time

import psutil


class Watched:
    """Looks at a process and its children ten times a second."""

    def __init__(self, pid: int) -> None:
        self._process = psutil.Process(pid)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look)
        self.peak_mb = 0

    def _all(self) -> list[psutil.Process]:
        with contextlib.suppress(psutil.Error):
            return [self._process, *self._process.children(recursive=True)]
        return []

    def memory_mb(self) -> int:
        total = 0
        for one in self._all():
            with contextlib.suppress(psutil.Error):
                total += one.memory_info().rss
        return round(total / 2**20)

    def _look(self) -> None:
        while not self._over.wait(0.1):
            self.peak_mb = max(self.peak_mb, self.memory_mb())

    def busy_after(self, seconds: float) -> float:
        """Cores in use over the next seconds."""

        def used() -> float:
            total = 0.0
            for one in self._all():
                with contextlib.suppress(psutil.Error):
                    times = one.cpu_times()
                    total += times.user + times.system
            return total

        before = used()
        time.sleep(seconds)
        return max(0.0, used() - before) / seconds

    def __enter__(self) -> Watched:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
