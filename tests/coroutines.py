"""Coroutines in tests."""

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any


def completed(scene: Coroutine[Any, Any, Any]) -> Any:
    """What a coroutine returns, run in a thread: browsers of other tests leave an event loop
    running in this one.
    """
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, scene).result()
