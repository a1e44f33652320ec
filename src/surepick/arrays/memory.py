"""How much memory there is, and an error before it runs out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from surepick.errors import OutOfMemoryError

_USABLE = 0.95  # share of the free memory that may be asked for at once


Reader = Callable[[str], list[str]]


def lines_of(path: str) -> list[str]:
    """The lines of a file that says something about the system; none where there is none."""
    try:
        return Path(path).read_text(encoding="ascii").splitlines()
    except OSError:
        return []


def free_memory(lines: Reader = lines_of) -> int | None:
    """Bytes of main memory that this process may still take; None where nobody says.

    The least of what the system has left, and what a control group and a resource limit leave, as
    told by the files that ``lines`` reads.
    """
    found = [part(lines) for part in (_system, _control_group, _resource_limit)]
    known = [value for value in found if value is not None]
    return min(known) if known else None


def demand_memory(bytes_per_row: float, rows: int, free: int | None, what: str) -> None:
    """Refuse what would not fit, and say how much of it would."""
    need = bytes_per_row * rows
    if free is None or need <= _USABLE * free:
        return
    fit = int(_USABLE * free / bytes_per_row)
    raise OutOfMemoryError(
        f"{what} would need {_amount(need)}, but only {_amount(free)} are free; about {fit:,} "
        f"rows would fit (there are {rows:,})"
    )


def _amount(count: float) -> str:
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{count / 1e6:.1f} MB"


def _system(lines: Reader) -> int | None:
    for line in lines("/proc/meminfo"):
        if line.startswith("MemAvailable:"):
            return 1024 * int(line.split()[1])
    return None


def _control_group(lines: Reader) -> int | None:
    limit = lines("/sys/fs/cgroup/memory.max")
    used = lines("/sys/fs/cgroup/memory.current")
    if not (limit and used and limit[0].isdigit() and used[0].isdigit()):
        return None
    return max(0, int(limit[0]) - int(used[0]))


def _resource_limit(lines: Reader) -> int | None:
    try:
        import resource
    except ImportError:  # not on this system
        return None
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    used = lines("/proc/self/statm")
    if limit == resource.RLIM_INFINITY or not used:
        return None
    return max(0, limit - int(used[0].split()[0]) * resource.getpagesize())
