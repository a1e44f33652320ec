"""A file of JSON lines to which several processes add: each line stands in it whole, or not at all.

A line is written at once, under a lock, so that two processes do not write into each other's lines,
and a process that is killed loses only the line that it was writing. The next one begins a line of
its own behind what is left of that, and readers leave it out, and say so.
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

try:
    import fcntl
except ImportError:  # Windows: lines of several processes may then meet
    fcntl = None

_SYNC = 1.0  # seconds for which the machine may keep lines to itself, which only a power cut loses
_FAR = 1 << 40  # places behind all that a file has: what is locked there is only a name
_NAMES = 1 << 32

_HOW = os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0)
_OPEN: dict[Path, Lines] = {}
_OPENING = threading.Lock()


class Lines:
    """The file; one object wherever it is opened in a process, as locks belong to processes."""

    @classmethod
    def at(cls, path: Path) -> Lines:
        path = path.absolute()
        with _OPENING:
            return _OPEN.setdefault(path, cls(path))

    def __init__(self, path: Path) -> None:
        self.path = path
        self.damaged = 0  #: lines that could not be read
        self._file: int | None = None
        self._lock = threading.RLock()
        self._held: set[str] = set()
        self._synced = -_SYNC

    def read(self) -> list[dict[str, Any]]:
        """All lines that are whole."""
        with self._lock:
            if self._file is None and not self.path.exists():
                return []
            parts, file = [], self._opened()  # (to close another one would let go of all locks)
            os.lseek(file, 0, os.SEEK_SET)
            while part := os.read(file, 1 << 20):
                parts.append(part)
        found: list[dict[str, Any]] = []
        self.damaged = 0
        for line in b"".join(parts).split(b"\n"):
            try:
                one = json.loads(line) if line.strip() else None
            except ValueError:
                one = line
            if isinstance(one, dict):
                found.append(one)
            else:
                self.damaged += one is not None
        return found

    def add(self, *some: Mapping[str, Any]) -> None:
        """Add lines; all of them are there when this returns, or none."""
        text = "".join(json.dumps(one, ensure_ascii=False, default=_plain) + "\n" for one in some)
        with self._lock, self._alone() as file:
            size = os.fstat(file).st_size
            os.lseek(file, max(0, size - 1), os.SEEK_SET)
            torn = os.read(file, 1) not in (b"", b"\n")
            left = memoryview((b"\n" if torn else b"") + text.encode("utf-8", "backslashreplace"))
            try:
                while left:
                    left = left[os.write(file, left) :]
            except OSError:
                with contextlib.suppress(OSError):
                    os.ftruncate(file, size)
                raise
            if time.monotonic() > self._synced + _SYNC:
                os.fsync(file)
                self._synced = time.monotonic()

    # -- who has what ---------------------------------------------------------------------------
    def take(self, name: str) -> bool:
        """Have something of this file to oneself, unless somebody has it who is still running."""
        with self._lock:
            if name in self._held:
                return False
            if not self._locked(_place(name), wait=False):
                return False
            self._held.add(name)
            return True

    def let_go(self, name: str) -> None:
        with self._lock:
            if name in self._held:
                self._held.discard(name)
                self._unlocked(_place(name))

    def remove(self) -> None:
        """Remove the file; whoever writes to it still begins a new one."""
        with self._lock, self._alone():
            self.path.unlink(missing_ok=True)

    def _opened(self) -> int:
        if self._file is not None and not os.fstat(self._file).st_nlink:  # it was removed
            os.close(self._file)
            self._file = None
        if self._file is None:
            self._file = os.open(self.path, _HOW, 0o600)
        return self._file

    @contextlib.contextmanager
    def _alone(self) -> Iterator[int]:
        """The file, while no other process writes."""
        while True:
            file = self._opened()
            self._locked(_FAR, wait=True)
            if os.fstat(file).st_nlink:  # nobody removed it meanwhile
                break
        try:
            yield file
        finally:
            self._unlocked(_FAR)

    def _locked(self, place: int, wait: bool) -> bool:
        if fcntl is None:
            return True
        how = fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB)
        try:
            fcntl.lockf(self._opened(), how, 1, place)
        except BlockingIOError:
            return False
        except PermissionError:  # the same, on some systems
            return False
        except OSError:  # a file system without locks
            return True
        return True

    def _unlocked(self, place: int) -> None:
        if fcntl is not None and self._file is not None:
            with contextlib.suppress(OSError):
                fcntl.lockf(self._file, fcntl.LOCK_UN, 1, place)


if hasattr(os, "register_at_fork"):  # a child has none of the locks of its parent
    os.register_at_fork(after_in_child=_OPEN.clear)


def _place(name: str) -> int:
    import hashlib

    return _FAR + 1 + int.from_bytes(hashlib.sha256(name.encode()).digest()[:4]) % _NAMES


def _plain(value: Any) -> Any:
    """Numbers of NumPy and others, as JSON has them."""
    if hasattr(value, "item"):
        return value.item()
    raise TypeError(f"{type(value).__name__} cannot be written")
