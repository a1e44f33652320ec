"""Looking after real processes: waiting for things to happen, and seeing whether one still runs."""

import time
from pathlib import Path


def until(happened, seconds=60.0):
    """Wait until something has happened, and hand back what it came to."""
    end = time.monotonic() + seconds
    while not (found := happened()):
        assert time.monotonic() < end, f"not within {seconds:g} s"
        time.sleep(0.01)
    return found


def number_in(path):
    """The number in a file that a command writes, once it is there."""
    return int(until(lambda: path.exists() and path.read_text().strip()))


def gone(pid):
    """Whether a process has ended, be it waited for or not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True
