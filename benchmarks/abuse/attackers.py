"""Those who attack, each in a process of its own, and the innocent who only wants to work."""

from __future__ import annotations

import contextlib
import http.client
import json
import math
import multiprocessing
import os
import queue
import secrets
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

_spawn = multiprocessing.get_context("fork")


def innocent(port: int, token: str, seconds: float, study: str = "innocent") -> list[float]:
    """Ask and tell for a study of its own; how long each pair took, in seconds."""
    connection, times, end = _Connection(port, token), [], time.monotonic() + seconds
    worker = f"innocent-{os.getpid()}"
    while time.monotonic() < end:
        started = time.monotonic()
        pulls = connection.post(f"/api/v1/studies/{study}/ask", {"worker": worker})["pulls"]
        for pull in pulls:
            told = {"pull": pull["id"], "reward": math.sin(1.0 + pull["id"])}
            body = {"rewards": [told], "worker": worker}
            connection.post(f"/api/v1/studies/{study}/tell", body)
        times.append(time.monotonic() - started)
        time.sleep(0.01)
    return times


def innocent_and_health(port: int, token: str, seconds: float) -> tuple[list[float], list[float]]:
    """What :func:`innocent` finds, and how long ``/health`` takes meanwhile, by new connections."""
    healths, over = list[float](), threading.Event()

    def look() -> None:
        while not over.wait(0.05):
            started = time.monotonic()
            status, _ = _Connection(port, "").send("GET", "/health")
            if status != 429:  # by an address that has sent too much
                healths.append(time.monotonic() - started if status == 200 else math.inf)

    looking = threading.Thread(target=look)
    looking.start()
    times = innocent(port, token, seconds)
    over.set()
    looking.join()
    return times, healths


@contextlib.contextmanager
def going_on(
    goes: Callable[..., Any], port: int, let_in: list[tuple[str, str]]
) -> Iterator[Callable[[], dict]]:
    """Attackers with these tokens and studies, in threads of one process; yields their counts.

    They take what processor time the service leaves, see :func:`yield_processor`.
    """
    over, answers, counts = _spawn.Event(), _spawn.Queue(), dict[str, int]()

    def attack() -> None:
        yield_processor()
        with ThreadPoolExecutor(len(let_in)) as threads:
            going = [threads.submit(goes, port, token, study, over) for token, study in let_in]
            answers.put(sum((one.result() for one in going), Counter()))

    attacking = process(attack, daemon=True)
    try:
        yield lambda: counts
    finally:
        over.set()
        with contextlib.suppress(queue.Empty):
            found = answers.get(timeout=90)
            counts.update({str(status): count for status, count in sorted(found.items())})
        attacking.join(10)
        if attacking.is_alive():
            attacking.kill()


class _Connection:
    def __init__(self, port: int, token: str) -> None:
        self._port = port
        self._open()
        self._head = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}

    def _open(self) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=120)

    def post(self, path: str, body: dict) -> dict:
        status, content = self.send("POST", path, json.dumps(body).encode())
        assert status == 200, (path, status, content)
        return json.loads(content)

    def send(self, method: str, path: str, body: bytes | None = None) -> tuple[int, bytes]:
        try:
            self._connection.request(method, path, body, self._head)
            reply = self._connection.getresponse()
            return reply.status, reply.read()
        except (http.client.HTTPException, OSError):
            self._open()
            return 0, b""


def in_process(function: Callable[..., Any], *arguments: Any) -> Any:
    """What a function returns, in a process of its own."""
    answers = _spawn.Queue()

    def call() -> None:
        try:
            answers.put((function(*arguments), None))
        except BaseException as error:
            answers.put((None, repr(error)))

    process = _spawn.Process(target=call)
    process.start()
    found, error = answers.get()
    process.join()
    if error is not None:
        raise RuntimeError(f"the innocent was not served: {error}")
    return found


def yield_processor() -> None:
    """Let the service go first on the processor, as it would if this ran on another machine."""
    os.nice(15)
    # Linux shares processors between sessions first, each with a priority of its own.
    shared = Path("/proc/self/autogroup")
    if shared.exists():
        os.setsid()
        shared.write_text("15")


@contextlib.contextmanager
def under_attack(
    kind: str, port: int, tokens: list[str], study: str, *, yielding: bool = False
) -> Iterator[Callable[[], dict]]:
    """An attacker for each token, in threads of one process; yields what they counted.

    ``yielding``: they take what processor time the service leaves, see ``yield_processor``.
    """
    statuses = _spawn.Manager().dict()
    over = _spawn.Event()

    def attack() -> None:
        if yielding:
            yield_processor()
        threads = [
            threading.Thread(target=_KINDS[kind], args=(port, token, study, over, statuses))
            for token in tokens
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    process = _spawn.Process(target=attack)
    process.start()
    counts: dict[str, int] = {}
    try:
        yield lambda: counts
    finally:
        over.set()
        process.join(60)
        if process.is_alive():
            process.kill()
        for key, value in statuses.items():
            status = str(key[0])
            counts[status] = counts.get(status, 0) + value


def _repeat(port: int, token: str, over: Any, statuses: Any, *paths: str) -> None:
    connection, counts = _Connection(port, token), {}
    while not over.is_set():
        for path in paths:
            status, _ = connection.send("GET", path)
            counts[status] = counts.get(status, 0) + 1
            if status == 429:
                time.sleep(0.05)  # who is told to wait, and does not, but for a moment
    for status, count in counts.items():
        statuses[(status, threading.get_ident())] = count


def _guess(port: int, _token: str, _study: str, over: Any, statuses: Any) -> None:
    counts: dict[int, int] = {}
    connection = _Connection(port, "")
    while not over.is_set():
        connection._head["Authorization"] = f"Bearer sp_{secrets.token_urlsafe(32)}"
        status, _ = connection.send("GET", "/api/v1/studies")
        counts[status] = counts.get(status, 0) + 1
    for status, count in counts.items():
        statuses[(status, threading.get_ident())] = count


def _export(port: int, token: str, study: str, over: Any, statuses: Any) -> None:
    _repeat(port, token, over, statuses, f"/api/v1/studies/{study}/export?format=csv")


def _metrics(port: int, token: str, _study: str, over: Any, statuses: Any) -> None:
    _repeat(port, token, over, statuses, "/metrics")


def _pages(port: int, token: str, study: str, over: Any, statuses: Any) -> None:
    place = f"/api/v1/studies/{study}"
    _repeat(port, token, over, statuses, place, f"{place}/history", f"{place}/events")


_KINDS = {"guesses": _guess, "exports": _export, "metrics": _metrics, "pages": _pages}


def send_at_once(port: int, path: str, body: bytes, times: int) -> list[int]:
    """The same body over several connections at the same time; the answers' statuses."""
    found: list[int] = []

    def send() -> None:
        found.append(_Connection(port, "").send("POST", path, body)[0])

    threads = [threading.Thread(target=send) for _ in range(times)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sorted(found)


def connection(port: int, token: str) -> _Connection:
    """A connection that is made again where it is lost."""
    return _Connection(port, token)


def event() -> Any:
    """Something that all processes can wait for."""
    return _spawn.Event()


def process(function: Callable[..., None], *arguments: Any, daemon: bool = False) -> Any:
    """A function in a process of its own, which has begun."""
    started = _spawn.Process(target=function, args=arguments, daemon=daemon)
    started.start()
    return started


def half_head(port: int) -> socket.socket | None:
    """A connection with half a head on it, or None where there is no room for it."""
    try:
        one = socket.create_connection(("127.0.0.1", port), 5)
        one.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\nX-Slow: ")
        return one
    except OSError:
        return None


@contextlib.contextmanager
def half_sent(port: int, token: str, count: int, size: int) -> Iterator[None]:
    """So many bodies that stop one byte before their end, while this lasts."""
    head = f"POST /api/v1/tables HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n"
    sent = f"{head}Content-Length: {size + 1}\r\n\r\n".encode() + b" " * size
    over = _spawn.Event()

    def hold() -> None:
        sockets = []
        for _ in range(count):
            one = socket.create_connection(("127.0.0.1", port), 5)
            with contextlib.suppress(OSError):
                one.sendall(sent)
            sockets.append(one)
        over.wait()

    process = _spawn.Process(target=hold)
    process.start()
    try:
        yield
    finally:
        over.set()
        process.join()


def send_table(service: Any, body: dict, patience: float) -> dict:
    """Create a study, and leave if that takes longer; what came, and when."""
    started = time.monotonic()
    connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=patience)
    head = {"Authorization": f"Bearer {service.token}", "Content-Type": "application/json"}
    try:
        connection.request("POST", "/api/v1/studies", json.dumps(body).encode(), head)
        reply = connection.getresponse()
        came = f"{reply.status} {reply.read().decode()[:300]}"
    except (http.client.HTTPException, OSError) as error:
        came = f"left: {error!r:.80}"
    finally:
        connection.close()
    return {"came": came, "seconds": round(time.monotonic() - started, 2)}


def open_bytes(pid: int) -> int:
    """Bytes of the files that a process and its children write to without a name."""
    import psutil

    total = 0
    with contextlib.suppress(psutil.Error, OSError):
        process = psutil.Process(pid)
        for one in (process, *process.children(recursive=True)):
            for link in Path(f"/proc/{one.pid}/fd").iterdir():
                with contextlib.suppress(OSError):
                    if "(deleted)" in os.readlink(link):
                        total = max(total, link.stat().st_size)
    return total
