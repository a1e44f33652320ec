"""Coroutines in tests."""

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any

_PATIENCE = 60.0  # seconds: the machine may be busy


def completed(scene: Coroutine[Any, Any, Any]) -> Any:
    """What a coroutine returns, run in a thread: browsers of other tests leave an event loop
    running in this one.
    """
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, scene).result()


class Meeting:
    """Counts the calls that are under way; each is made inside ``async with``.

    The first ones wait until ``size`` are there: without calls at the same time none returns.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._now = 0
        self._met = asyncio.Event()
        self.most = 0  #: calls that were under way at a time

    async def __aenter__(self) -> None:
        self._now += 1
        self.most = max(self.most, self._now)
        if self._now == self._size:
            self._met.set()
        await asyncio.wait_for(self._met.wait(), _PATIENCE)
        await asyncio.sleep(0.001)

    async def __aexit__(self, *_: object) -> None:
        self._now -= 1
