"""Threads that talk to the database, each over a connection of its own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from surepick.storage import Storage, Transaction, open_storage

T = TypeVar("T")


class ThreadedStorage(Storage):
    """A storage for many threads: each keeps a connection open, so that none has to wait."""

    def __init__(self, url: str) -> None:
        first = open_storage(url)
        self.url = first.url
        self._address = url
        self._mine = threading.local()
        self._mine.storage = first
        self._all = [first]
        self._lock = threading.Lock()

    def write(self, work: Callable[[Transaction], T]) -> T:
        """See :class:`Storage`."""
        return self._opened().write(work)

    def read(self, work: Callable[[Transaction], T]) -> T:
        """See :class:`Storage`."""
        return self._opened().read(work)

    def close(self) -> None:
        """Let go of all connections."""
        with self._lock:
            for one in self._all:
                one.close()

    def _opened(self) -> Storage:
        try:
            return self._mine.storage
        except AttributeError:
            self._mine.storage = open_storage(self._address)
        with self._lock:
            self._all.append(self._mine.storage)
        return self._mine.storage


class Threads:
    """Quick work for the database, and slow work, which must not hold up the quick."""

    def __init__(self, quick: int, slow: int = 4) -> None:
        self._quick = ThreadPoolExecutor(quick, "surepick-quick")
        self._slow = ThreadPoolExecutor(slow, "surepick-slow")

    async def quick(self, work: Callable[[], T]) -> T:
        """Run a transaction or two."""
        return await asyncio.get_running_loop().run_in_executor(self._quick, work)

    async def slow(self, work: Callable[[], T]) -> T:
        """Run something that may take a while."""
        return await asyncio.get_running_loop().run_in_executor(self._slow, work)

    def close(self) -> None:
        """Wait for what is being done."""
        self._quick.shutdown()
        self._slow.shutdown()
