"""Connections: how many one address may have, and how long the head of a request may take.

uvicorn waits for the head of a request as long as the kernel lets it, and for any number of
connections: whoever opens a thousand and sends half a header on each would shut everybody else
out. A connection here has to say what it wants within a few seconds.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import time
from collections import Counter
from functools import cache
from typing import Any

from uvicorn.protocols.http.auto import AutoHTTPProtocol

from surepick.server import metrics
from surepick.server.quotas import neighbourhood
from surepick.server.settings import SETTINGS, Settings

_log = logging.getLogger(__name__)

_HEAD_SECONDS = 10.0  # from the first byte of a request, or the connection, to the end of its head
_HEAD_BYTES = 32 * 2**10
_LINGER = 1.0  # seconds that a connection is kept after its last answer
_HEAD_LINES = 101  # a line for each header, and the first
_UNREAD_SECONDS = 60  # after which a caller who takes nothing of what is sent counts as gone
_FILES_KEPT = 128  # for the database, logs, and processes
_BETWEEN_WARNINGS = 10.0  # seconds
_ANSWER = (
    b"HTTP/1.1 %s\r\nconnection: close\r\ncontent-type: application/json\r\n"
    b'content-length: %d\r\n\r\n{"error":{"kind":"%s","message":"%s"}}'
)


def _answer(status: bytes, kind: bytes, message: bytes) -> bytes:
    empty = len(b'{"error":{"kind":"","message":""}}')
    return _ANSWER % (status, empty + len(kind) + len(message), kind, message)


_BUSY = _answer(
    b"429 Too Many Requests\r\nretry-after: 10", b"TooManyRequestsError", b"too many connections"
)
_LONG_LINE = _answer(
    b"414 URI Too Long", b"InvalidInputError", b"the address of the request is too long"
)
_LONG_HEAD = _answer(
    b"431 Request Header Fields Too Large",
    b"InvalidInputError",
    b"the request has more than %d headers, or more than %d bytes of them"
    % (_HEAD_LINES - 1, _HEAD_BYTES),
)


class Connected:
    """Who is connected: ``most`` of one address, ``room`` in all.

    Connections of ``proxies``, which come for many, are limited by the room alone.
    """

    def __init__(self, most: int, proxies: tuple[str, ...], room: int) -> None:
        self._most, self._proxies, self._room = most, frozenset(proxies), room
        self._here: Counter[str] = Counter()
        self._all = 0
        self._warned = -_BETWEEN_WARNINGS
        self._refused: Counter[str] = Counter()  # since the last warning

    def enter(self, address: str) -> bool:
        """Count a connection, unless there are too many."""
        most = self._room if address in self._proxies else self._most
        if self._here[address] >= most or self._all >= self._room:
            self._warn(address)
            return False
        self._here[address] += 1
        self._all += 1
        return True

    def leave(self, address: str) -> None:
        self._all -= 1
        self._here[address] -= 1
        if not self._here[address]:
            del self._here[address]

    def slow(self, address: str) -> None:
        metrics.refused.labels("slow head").inc()
        self._warn(address)

    def _warn(self, address: str) -> None:
        """Say who is turned away; not for each connection, as there may be very many."""
        self._refused[address] += 1
        now = time.monotonic()
        if now - self._warned < _BETWEEN_WARNINGS:
            return
        self._warned = now
        (worst, times), others = self._refused.most_common(1)[0], len(self._refused) - 1
        more = f" and {others} others" if others else ""
        _log.warning(
            "connections turned away: %d of %s%s (it has %d of at most %d; %d in all, of at most "
            "%d), as there are too many or no request comes within %g s",
            *(times, worst, more, self._here[worst], self._most, self._all, self._room),
            _HEAD_SECONDS,
        )
        self._refused.clear()


@cache
def _settings() -> Settings:
    return Settings.from_json(os.environ[SETTINGS])


@cache
def _connected() -> Connected:
    settings = _settings()
    room = max(open_files() - _FILES_KEPT, 64)
    return Connected(min(settings.max_connections, room), settings.proxy, room)


class Connection(AutoHTTPProtocol):
    """One connection, as uvicorn has it, with the limits."""

    _address: str | None = None  # None: not counted
    _timer: asyncio.TimerHandle | None = None
    _waited_for = 0  # bytes that came without making a whole head
    _lines = 0  # of them
    _over = False  # what still comes is not looked at

    # uvicorn's two protocols share these, which their common type does not say
    client: Any
    config: Any
    cycle: Any
    loop: Any
    transport: Any

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        address = neighbourhood(self.client[0] if self.client else "unknown")
        if not _connected().enter(address):
            metrics.refused.labels("connections").inc()
            transport.write(_BUSY)
            transport.close()
            return
        self._address = address
        _let_go_of_the_dead(transport.get_extra_info("socket"))
        self._start_waiting()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        if self._address is not None:
            _connected().leave(self._address)
            self._address = None
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take in what comes; a head must be whole soon, and not be too long."""
        if self._address is None:
            return
        if self._over:
            self._waited_for += len(data)
            if self._waited_for > 2 * _HEAD_BYTES:  # and more comes all the time
                self._turn_away()
            return
        refusal = self._too_long(data)
        if refusal is not None:
            metrics.refused.labels("head").inc()
            self._stop_waiting()
            self._over = True
            self.transport.write(refusal)
            # Closed before the rest has come, it would be cut, and the answer not be read.
            self.loop.call_later(_LINGER, self.transport.close)
            return
        super().data_received(data)
        cycle = self.cycle
        if cycle is not None and not cycle.response_complete:
            self._stop_waiting()
            return
        self._waited_for += len(data)
        # After an early answer (413, 401) the rest of the request's body comes, and is dropped.
        rest = cycle is not None and cycle.more_body
        if self._waited_for > _HEAD_BYTES + (_settings().max_body if rest else 0):
            self._turn_away()
        elif self._timer is None:
            self._start_waiting()

    def _too_long(self, data: bytes) -> bytes | None:
        """What to say to a head that would take long to read; it is not read, only measured."""
        cycle = self.cycle
        if cycle is not None and (not cycle.response_complete or cycle.more_body):
            return None  # of the body
        end = data.find(b"\r\n\r\n")
        end = len(data) if end < 0 else end
        if not self._lines:
            first = data.find(b"\n", 0, end)
            if self._waited_for + (end if first < 0 else first) > _HEAD_BYTES:
                return _LONG_LINE
        self._lines += data.count(b"\n", 0, end)
        too_long = self._lines > _HEAD_LINES or self._waited_for + end > _HEAD_BYTES
        return _LONG_HEAD if too_long else None

    def _start_waiting(self) -> None:
        self._timer = self.loop.call_later(_HEAD_SECONDS, self._turn_away)

    def _stop_waiting(self) -> None:
        self._waited_for = self._lines = 0
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _turn_away(self) -> None:
        self._stop_waiting()
        if self._address is not None and not self.transport.is_closing():
            _connected().slow(self._address)
            self.transport.abort()


def _let_go_of_the_dead(connected: Any) -> None:
    """Have the kernel end a connection whose other end takes nothing for long."""
    option = getattr(socket, "TCP_USER_TIMEOUT", None)  # Linux
    if option is not None and connected is not None:
        connected.setsockopt(socket.IPPROTO_TCP, option, 1000 * _UNREAD_SECONDS)


def open_files() -> int:
    """How many files and connections this process may have open."""
    try:
        import resource
    except ImportError:  # Windows
        return 2**16
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 2**16 if soft == resource.RLIM_INFINITY else soft


def raise_open_files(most: int = 2**16) -> None:
    """Let this process have as many open as it is allowed to (and no more than ``most``)."""
    try:
        import resource
    except ImportError:
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = most if hard == resource.RLIM_INFINITY else min(hard, most)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
