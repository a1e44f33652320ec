"""Processes for what may take long, so that it holds up nobody who asks or tells.

Threads would not do: Python runs one at a time, and every worker would wait for a reader's export.
A helper does one task at a time, in a process of its own, and sends what comes of it in parts. It
is ended when its task takes too long, or when whoever wanted it has gone; the next task starts
another one. Each caller has one task at a time; others of the same caller wait in line. It ends by
itself once its service is gone, however that came.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import sys
from collections import Counter, deque
from collections.abc import AsyncGenerator
from typing import Any

from surepick import errors
from surepick.errors import (
    InvalidInputError,
    ServiceError,
    ServiceUnreachableError,
    SurepickError,
    TooManyRequestsError,
)

_log = logging.getLogger(__name__)

#: the command that starts a helper
COMMAND = (sys.executable, "-m", "surepick.server.helping")
#: what the frames of a helper hold: a part of the outcome, its end, or what went wrong
PART, END, ERROR = b"P", b"E", b"X"
_MOST_WAITING = 32  # tasks of one caller
_IDLE_SECONDS = 300.0  # after which a helper without work is ended
_LINE = 2**20  # bytes that are read ahead
_PIECE = 2**18  # bytes of a body that are written at a time
_LATE = {
    "plan": "the forecast takes longer than {:g} s: try fewer trials, a larger gap or fewer options"
}  # what is said of a task that takes too long; of others:
_LATE_OTHERS = (
    "this took longer than {:g} s and was stopped: the service is busy, or the study very large; "
    "ask again later"
)


class Helpers:
    """A few helpers, ``most`` at a time."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._idle: deque[_Helper] = deque()
        self._room = asyncio.Semaphore(most)
        self._callers: dict[str, asyncio.Lock] = {}
        self._waiting: Counter[str] = Counter()
        self._ending: asyncio.Task[None] | None = None
        self.closed = False

    async def parts(
        self, caller: str, task: str, seconds: float, given: dict[str, Any], body: bytes = b""
    ) -> AsyncGenerator[bytes]:
        """The parts of what a task comes to; what is not read to its end is not done.

        ``body`` is JSON that the helper parses: a large one would hold up everybody here.
        """
        if self._waiting[caller] >= _MOST_WAITING:
            raise TooManyRequestsError("too many tasks are running for this token; try again later")
        self._waiting[caller] += 1
        try:
            lock = self._callers.setdefault(caller, asyncio.Lock())
            async with lock, self._room:
                helper = await self._find()
                try:
                    async for part in helper.parts(task, seconds, given, body):
                        yield part
                finally:
                    self._put_back(helper)
        finally:
            self._waiting[caller] -= 1
            if not self._waiting[caller]:
                del self._waiting[caller]
                self._callers.pop(caller, None)

    async def whole(
        self, caller: str, task: str, seconds: float, given: dict[str, Any], body: bytes = b""
    ) -> bytes:
        async with contextlib.aclosing(self.parts(caller, task, seconds, given, body)) as parts:
            return b"".join([part async for part in parts])

    async def _find(self) -> _Helper:
        """A helper that lives: somebody may have ended one that had nothing to do."""
        while self._idle:
            helper = self._idle.pop()
            if await helper.lives():
                return helper
            helper.end()
        return await _Helper.start()

    def _put_back(self, helper: _Helper) -> None:
        if helper.ready and not self.closed:
            self._idle.append(helper)
            if self._ending is None or self._ending.done():
                self._ending = asyncio.get_running_loop().create_task(self._end_idle())
        else:
            helper.end()

    async def _end_idle(self) -> None:
        """End those that nobody has needed for a while."""
        loop = asyncio.get_running_loop()
        while self._idle:
            await asyncio.sleep(_IDLE_SECONDS / 10)
            while self._idle and self._idle[0].since < loop.time() - _IDLE_SECONDS:
                self._idle.popleft().end()

    async def warm_up(self) -> None:
        """Start one, so that whoever comes first does not wait for it."""
        with contextlib.suppress(OSError, SurepickError):
            await self.whole("the service", "nothing", 60.0, {})

    def close(self) -> None:
        """End all that have nothing to do."""
        self.closed = True
        if self._ending is not None:
            self._ending.cancel()
        while self._idle:
            self._idle.pop().end()


class _Helper:
    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._busy = False
        self.since = asyncio.get_running_loop().time()

    @classmethod
    async def start(cls) -> _Helper:
        pipe = asyncio.subprocess.PIPE
        return cls(
            await asyncio.create_subprocess_exec(
                *COMMAND,
                stdin=pipe,
                stdout=pipe,
                limit=_LINE,
                start_new_session=True,  # Ctrl-C is for the service, which ends its helpers
            )
        )

    @property
    def ready(self) -> bool:
        return not self._busy and self._process.returncode is None

    async def lives(self) -> bool:
        try:
            async with contextlib.aclosing(self.parts("nothing", 5.0, {})) as parts:
                return bool([part async for part in parts])
        except SurepickError:
            return False

    async def parts(
        self, task: str, seconds: float, given: dict[str, Any], body: bytes = b""
    ) -> AsyncGenerator[bytes]:
        loop = asyncio.get_running_loop()
        end, self._busy = loop.time() + seconds, True
        asked = {"task": task, "seconds": seconds, "given": given, "body": len(body)}
        try:
            await self._write(json.dumps(asked).encode() + b"\n")
            for start in range(0, len(body), _PIECE):
                await self._write(body[start : start + _PIECE])
            while True:
                # Not one timeout around it all: who reads the parts may do so in several tasks.
                kind, content = await asyncio.wait_for(self._read(), end - loop.time())
                if kind != PART:
                    break
                yield content
        except TimeoutError:
            if task in _LATE:
                raise InvalidInputError(_LATE[task].format(seconds)) from None
            raise ServiceUnreachableError(_LATE_OTHERS.format(seconds)) from None
        except (asyncio.IncompleteReadError, OSError):
            _log.warning("a helper ended in the middle of a task (%s; out of memory?)", task)
            raise ServiceError("this was stopped before it was done; it may be too large") from None
        self._busy, self.since = False, loop.time()
        if kind == ERROR:
            raise _error(json.loads(content))

    async def _write(self, line: bytes) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(line)
            await self._process.stdin.drain()
        except RuntimeError as error:  # what uvloop says of a pipe that is closed
            raise BrokenPipeError(str(error)) from None

    async def _read(self) -> tuple[bytes, bytes]:
        assert self._process.stdout is not None
        head = await self._process.stdout.readexactly(5)
        return head[:1], await self._process.stdout.readexactly(int.from_bytes(head[1:], "big"))

    def end(self) -> None:
        if self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()


def _error(said: dict[str, str]) -> SurepickError:
    kind = getattr(errors, said["kind"], None)
    if isinstance(kind, type) and issubclass(kind, SurepickError):
        return kind(said["message"])
    _log.error("a helper failed: %s", said["message"])
    return ServiceError("something went wrong here; see the log of the service")
