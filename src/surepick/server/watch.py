"""Watching a study for all who wait: one reader per study, however many workers and pages.

Workers that ask and get nothing wait here until there may be something for them; pages wait for
news. While somebody waits, the study's position is read a few times a second.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from surepick.errors import UnknownStudyError
from surepick.storage.records import StudyProgress
from surepick.study.desk.leases import claimed

_PAUSE = 0.05  # seconds between two reads at least
# Seconds between two reads without a hint: while workers wait, and while only pages do.
_PAUSE_FOR_WORKERS, _PAUSE_FOR_PAGES = 0.25, 1.0


@dataclass(frozen=True)
class Position:
    """Where a study stands, and how many pulls somebody could have right now."""

    at: StudyProgress
    free: int

    @property
    def samples(self) -> int:
        return self.at.samples

    @property
    def news(self) -> dict[str, object]:
        at = self.at
        return {
            "samples": self.samples,
            "batch": at.batch,
            "finished": at.finished,
            "revision": at.revision,
            "paused": at.paused,
        }


Read = Callable[[int], Awaitable[Position]]


class Watch:
    """Who waits for news of one study; ``read`` counts up to so many free pulls."""

    def __init__(self, read: Read) -> None:
        self._read = read
        self._workers: deque[asyncio.Future[None]] = deque()
        self._pages = 0
        self._task: asyncio.Task[None] | None = None
        self._hint = asyncio.Event()
        self._changed = asyncio.Condition()
        self._last: Position | None = None
        self.closed = False  #: the study is deleted or the service stops: nobody waits any more

    @property
    def busy(self) -> bool:
        return bool(self._workers or self._pages)

    def hint(self) -> None:
        """Say that something has changed, so that it is worth reading soon."""
        self._hint.set()

    async def wait_for_work(self, seconds: float) -> None:
        """Come back when there may be a pull to have, or after so many seconds."""
        if self.closed:
            return
        waiter = asyncio.get_running_loop().create_future()
        self._workers.append(waiter)
        self._start()
        try:
            await asyncio.wait([waiter], timeout=seconds)
        finally:
            waiter.cancel()

    async def wait_for_news(self, known: Position | None, seconds: float) -> Position | None:
        """The position, as soon as it is another one than ``known``; None after so long."""

        def changed() -> bool:
            if self.closed:
                return True
            return self._last is not None and (known is None or self._last.news != known.news)

        self._pages += 1
        self._start()
        try:
            async with asyncio.timeout(seconds), self._changed:
                await self._changed.wait_for(changed)
            return None if self.closed else self._last
        except TimeoutError:
            return None
        finally:
            self._pages -= 1

    async def close(self) -> None:
        """End all waiting: the study is deleted, or the service stops."""
        await self._end_waiting()
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _end_waiting(self) -> None:
        self.closed = True
        self._wake(len(self._workers))
        async with self._changed:
            self._changed.notify_all()

    def _start(self) -> None:
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._run())

    async def _run(self) -> None:
        while self.busy and not self.closed:
            self._hint.clear()
            started = time.monotonic()
            try:
                await self._look()
            except UnknownStudyError:  # deleted: there will be no more news
                return await self._end_waiting()
            except Exception:  # workers that are woken now meet the same error, and report it
                self._wake(len(self._workers))
                self._last = None
                await asyncio.sleep(_PAUSE_FOR_PAGES)
                continue
            pause = _PAUSE_FOR_WORKERS if self._workers else _PAUSE_FOR_PAGES
            try:
                async with asyncio.timeout(pause):
                    await self._hint.wait()
            except TimeoutError:
                continue
            await asyncio.sleep(max(0.0, started + _PAUSE - time.monotonic()))

    async def _look(self) -> None:
        while self._workers and self._workers[0].done():
            self._workers.popleft()
        found = await self._read(len(self._workers))
        moved = self._last is not None and found.at.batch != self._last.at.batch
        if self._last is None or found.news != self._last.news:
            self._last = found
            async with self._changed:
                self._changed.notify_all()
        at = found.at
        if at.finished:
            self._wake(len(self._workers))
        elif at.complete:  # one of them may go on to the next batch, unless that is being done
            self._wake(0 if claimed(at) else 1)
        else:
            # Once a batch is complete, more may be asked for ahead: one of them finds out.
            self._wake(max(found.free, int(moved)))

    def _wake(self, count: int) -> None:
        while count > 0 and self._workers:
            waiter = self._workers.popleft()
            if not waiter.done():
                waiter.set_result(None)
                count -= 1
