"""One function, called by several threads, and what can be ended of that.

Coroutines run in one event loop and can be cancelled; a command ends with all that it has started.
"""

from __future__ import annotations

import contextlib
import inspect
import math
import os
import signal
import threading
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import asyncio
    import subprocess


class TooLate(TimeoutError):
    """A call took longer than it may."""


class Caller:
    """Calls a function from any thread.

    A coroutine, or whatever else is to be awaited, runs in an event loop in a thread of its own,
    all of them in the same one; past its time it is cancelled. A function that takes too long
    cannot be ended by anybody; with ``gives_up`` it is left alone then.
    """

    def __init__(
        self, function: Callable[..., Any], timeout: float = math.inf, gives_up: bool = False
    ) -> None:
        self.function, self.timeout = function, timeout
        self._gives_up = gives_up and timeout < math.inf and not _is_coroutine(function)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._lock = threading.Lock()
        self._stopped = False

    @property
    def cancels(self) -> bool:
        """Whether calls are ended when their time is up: coroutines are."""
        return self._loop is not None or _is_coroutine(self.function)

    def __call__(self, *arguments: Any) -> Any:
        """What the function returns, or what is awaited of it."""
        value = (self._in_a_thread if self._gives_up else self.function)(*arguments)
        if not inspect.isawaitable(value):
            return value
        import asyncio  # which takes a while to load, and only coroutines need

        loop = self._running()
        if loop is None:
            _let_go(value)
            raise TooLate("it was called after the end")
        return asyncio.run_coroutine_threadsafe(self._in_time(value), loop).result()

    def _in_a_thread(self, *arguments: Any) -> Any:
        """What the function returns, if it does in time; nobody waits for the thread then."""
        ended: list[Any] = []

        def call() -> None:
            try:
                ended.append((self.function(*arguments), None))
            except BaseException as error:
                ended.append((None, error))

        thread = threading.Thread(target=call, daemon=True)
        thread.start()
        thread.join(self.timeout)
        if not ended:
            raise TooLate(f"no reward after {self.timeout:g} s")
        value, error = ended[0]
        if error is not None:
            raise error
        return value

    async def _in_time(self, value: Awaitable[Any]) -> Any:
        import asyncio

        seconds = self.timeout if self.timeout < math.inf else None
        limit = asyncio.timeout(seconds)
        try:
            async with limit:
                return await value
        except TimeoutError:
            if limit.expired():
                raise TooLate(f"no reward after {self.timeout:g} s") from None
            raise

    def _running(self) -> asyncio.AbstractEventLoop | None:
        import asyncio

        with self._lock:
            if self._loop is None and not self._stopped:
                self._loop = asyncio.new_event_loop()
                threading.Thread(target=_serve, args=(self._loop,), daemon=True).start()
            return None if self._stopped else self._loop

    def stop(self) -> None:
        """End the event loop, and what runs in it."""
        with self._lock:
            stopped, self._stopped = self._stopped, True
        if self._loop is not None and not stopped:
            self._loop.call_soon_threadsafe(self._loop.stop)


def _is_coroutine(function: Any) -> bool:
    return inspect.iscoroutinefunction(function)


def _let_go(value: Any) -> None:
    if inspect.iscoroutine(value):
        value.close()


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    """Run what is put into an event loop until it is stopped; what is not done by then is ended."""
    import asyncio

    asyncio.set_event_loop(loop)  # of this thread
    loop.run_forever()
    left = asyncio.all_tasks(loop)
    for task in left:
        task.cancel()
    if left:
        loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
    asyncio.set_event_loop(None)
    loop.close()


def end_group(process: subprocess.Popen[bytes]) -> None:
    """End everything that a command has started, and itself."""
    with contextlib.suppress(OSError):  # gone already
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
