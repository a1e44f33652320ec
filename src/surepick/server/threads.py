"""Threads that talk to the database; the storage has a connection for each that needs one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


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
