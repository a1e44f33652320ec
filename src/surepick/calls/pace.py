"""When calls may begin: not more than so many a minute, and later where a service asks to wait.

Calls begin one after the other, a little further apart than a minute divided by their number. So
any minute has fewer than that many beginnings, even where one is a moment late; and they do not
come in bursts, which many services count by the second.

Where a service refuses a call because there are too many, everybody waits: as long as it says, or a
second, two, four, …, with some of it left to chance, so that those who were refused together do not
come back together. Until a call is answered again they begin at least a second apart.

A call that failed otherwise waits alone, in the same way.

What several processes share: with ``place``, those of one user on one machine. Workers on other
machines have to divide the number among them.
"""

from __future__ import annotations

import contextlib
import hashlib
import math
import os
import random
import struct
import tempfile
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path

from surepick.errors import InvalidInputError

_FEWEST, _MOST = 1e-4, 1e9  # calls a minute
_MARGIN = 1.01  # beginnings are this much further apart than they have to be
_FIRST, _LAST = 1.0, 60.0  # seconds to wait when nobody says how long: the first time, and at most
_PROBING = 1.0  # seconds between beginnings until a call is answered again
_AHEAD = 3600.0  # seconds: times further ahead are from before the machine was started again
_NEVER = -math.inf
_TWO = struct.Struct("<2d")


class Pace:
    """When calls may begin; shared by all who make them.

    Parameters
    ----------
    per_minute
        The most that begin in any minute; None: as many as there are.
    place
        A file through which processes share it.
    clock
        Seconds that only grow; on one machine the same for all processes.
    draw
        Random numbers between 0 and 1.
    """

    def __init__(
        self,
        per_minute: float | None = None,
        *,
        place: Path | None = None,
        clock: Callable[[], float] = time.monotonic,
        draw: Callable[[], float] = random.random,
    ) -> None:
        if per_minute is not None and not (
            isinstance(per_minute, int | float) and _FEWEST <= per_minute <= _MOST
        ):
            raise InvalidInputError(
                f"per_minute must be a number of calls between {_FEWEST:g} (one a week) and "
                f"{_MOST:g}; got {per_minute!r:.80}"
            )
        self.per_minute = per_minute
        self.clock, self._draw = clock, draw
        self._gap = 0.0 if per_minute is None else _MARGIN * 60.0 / per_minute
        self._times = _Times() if place is None else _FileTimes(place, clock)
        self._taken = self._before = _NEVER  # when the last call here began, and the one before
        self._refused = 0  # times in a row
        self._patience = _FIRST

    def take(self) -> float:
        """Let a call begin now: 0, and it counts; or the seconds until one may."""
        with self._times as at:
            now = self.clock()
            gap = max(self._gap, _PROBING) if self._refused else self._gap
            free = max(at.last + gap, at.until)
            if now < free:
                return free - now
            self._before, at.last = at.last, now
            self._taken = now
            return 0.0

    def give_back(self) -> None:
        """A call that was allowed does not begin."""
        with self._times as at:
            if at.last == self._taken:  # nobody else has begun one since
                at.last = self._before

    def wait(self, sleep: Callable[[float], None] = time.sleep) -> None:
        """Wait until a call may begin; it counts."""
        while (seconds := self.take()) > 0:
            sleep(seconds)

    def refused(self, after: float | None = None) -> float:
        """A call was refused, as there were too many: the seconds that everybody waits."""
        with self._times as at:
            now = self.clock()
            if now >= at.until:  # else it is one of those that were refused together
                self._refused += 1
            asked = after is not None
            seconds = after * (1.0 + 0.1 * self._draw()) if asked else self.pause(self._refused)
            at.until = max(at.until, now + seconds)
            return at.until - now

    @property
    def refusals(self) -> int:
        """How often in a row calls were refused; those that were refused together count once."""
        return self._refused

    def answered(self) -> None:
        self._refused = 0

    def pause(self, failures: int) -> float:
        """Seconds before a call that failed so often is tried again."""
        longest = min(_LAST, _FIRST * 2.0 ** min(failures - 1, 30))
        return longest * (0.5 + 0.5 * self._draw())


def shared_by(what: str) -> Path:
    """The file through which processes that do the same share their pace."""
    user = os.getuid() if hasattr(os, "getuid") else 0
    digest = hashlib.sha256(what.encode()).hexdigest()[:16]
    return Path(tempfile.gettempdir()) / f"surepick-pace-{user}-{digest}"


class _Times:
    """When the last call began, and until when all wait; one at a time may look and change them."""

    def __init__(self) -> None:
        self.last = self.until = _NEVER
        self._lock = threading.Lock()

    def __enter__(self) -> _Times:
        self._lock.acquire()
        return self

    def __exit__(self, *_: object) -> None:
        self._lock.release()


class _FileTimes(_Times):
    """When calls may begin, in a file for several processes; without a file, for one process."""

    def __init__(self, path: Path, clock: Callable[[], float]) -> None:
        super().__init__()
        self._clock, self._file = clock, _opened(path)
        self._held = contextlib.ExitStack()
        if self._file is not None:
            weakref.finalize(self, os.close, self._file)

    def __enter__(self) -> _Times:
        super().__enter__()
        if self._file is not None:
            self._held.enter_context(_locked(self._file))
            found = os.pread(self._file, _TWO.size, 0)
            if len(found) == _TWO.size:
                now = self._clock()
                kept = [x if x <= now + _AHEAD else _NEVER for x in _TWO.unpack(found)]
                self.last, self.until = kept
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            os.pwrite(self._file, _TWO.pack(self.last, self.until), 0)
            self._held.close()
        super().__exit__()


def _opened(path: Path) -> int | None:
    """A file of our own; None where there is none, or locks are unknown."""
    if not hasattr(os, "pread") or not hasattr(os, "getuid"):
        return None
    try:
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    except OSError:
        return None
    if os.fstat(file).st_uid != os.getuid():  # somebody else's, who may have put it there
        os.close(file)
        return None
    return file


@contextlib.contextmanager
def _locked(file: int) -> Iterator[None]:
    import fcntl

    fcntl.flock(file, fcntl.LOCK_EX)
    try:
        yield
    finally:
        fcntl.flock(file, fcntl.LOCK_UN)
