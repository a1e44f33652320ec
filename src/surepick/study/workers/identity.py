"""Who a worker is: its host, its process and when that began; and whether it is still there.

Names of processes come again: a number is given to another process, a container starts anew, a
machine too. So a name says in which place a number counts (the host, since it was started, and the
container), and when the process began. Whoever reads it in the same place knows whether the very
process is still there; elsewhere nobody knows, and its leases run out.
"""

from __future__ import annotations

import hashlib
import os
import re
import socket
import subprocess
from functools import cache
from pathlib import Path

_NAME = re.compile(r"(?P<place>.+-[0-9a-f]{6})-(?P<pid>\d{1,10})-(?P<begun>[0-9a-f]{6})(-\d+)?")
_DIGITS = 6


def own_name() -> str:
    """The name of this process; without when it began, where that cannot be known."""
    begun = _begun(os.getpid())
    host = socket.gethostname()
    return f"{host}-{os.getpid()}" if begun is None else f"{_place()}-{os.getpid()}-{begun}"


def is_gone(worker: str) -> bool:
    """Whether this is the name of a worker whose process was here and is there no more."""
    found = _NAME.fullmatch(worker)
    if found is None or _begun(os.getpid()) is None or found["place"] != _place():
        return False
    return _begun(int(found["pid"])) != found["begun"]


@cache
def _place() -> str:
    """Where numbers of processes count: this host since it was started, and this container."""
    said = [socket.gethostname()]
    for path in ("/proc/sys/kernel/random/boot_id", "/proc/self/ns/pid"):
        try:
            said.append(os.readlink(path) if "ns" in path else Path(path).read_text())
        except OSError:
            said.append("")
    return f"{said[0]}-{_short(' '.join(said))}"


def _begun(pid: int) -> str | None:
    """When a process began, in a few characters; None: there is none, or it cannot be known."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None if Path("/proc/self/stat").exists() else _told_by_ps(pid)
    state, *rest = text.rpartition(")")[2].split()
    return None if state in "ZX" else _short(rest[18])  # ended, and not yet taken note of


def _told_by_ps(pid: int) -> str | None:
    try:
        done = subprocess.run(
            ["ps", "-o", "lstart=", "-p", str(pid)], capture_output=True, text=True, timeout=5.0
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return _short(done.stdout.strip()) if done.stdout.strip() else None


def _short(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]
