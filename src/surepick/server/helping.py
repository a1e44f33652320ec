"""A helper's process: takes tasks on stdin, and sends parts of what comes of them on stdout.

A task is a line of JSON, which says how many bytes of a body follow it. A thread reads all the
time, so that the process ends as soon as stdin does: nobody is there any more for whom to work.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import sys
import threading
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from surepick.errors import OutOfMemoryError, SurepickError
from surepick.server.helpers import END, ERROR, PART
from surepick.server.settings import SETTINGS, Settings
from surepick.server.tasks import Tasks

_GRACE = 5.0  # seconds after which a task ends even where nobody ends it
_PATIENCE = 10  # of 19: how far helpers stand back for the service
_LEAST = 64 * 2**10  # bytes sent together


def main() -> None:
    """Do tasks until stdin ends."""
    settings = Settings.from_json(os.environ[SETTINGS])
    _take_less(settings.helper_memory)
    # What anything prints must not come between the parts.
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    tasks, waiting = Tasks(settings), queue.SimpleQueue()
    threading.Thread(target=_read, args=(sys.stdin.buffer, waiting), daemon=True).start()
    while True:
        asked, body = waiting.get()
        if hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_REAL, asked["seconds"] + _GRACE)
        try:
            for part in _gathered(tasks.do(asked["task"], asked["given"], body)):
                _send(out, PART, part)
            _send(out, END, b"")
        except BrokenPipeError:
            break
        except MemoryError:
            _send_error(out, OutOfMemoryError("this needs more memory than the service allows"))
            break  # a process of this size is not kept
        except Exception as error:
            _send_error(out, error)
        if hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_REAL, 0)
    os._exit(0)  # an orderly end would wait for the thread that reads


def _read(source: BinaryIO, waiting: queue.SimpleQueue[tuple[dict[str, Any], bytes]]) -> None:
    """Take in tasks as they come, until whoever sends them is gone; so is this process then."""
    for line in source:
        asked = json.loads(line)
        waiting.put((asked, source.read(asked.get("body", 0))))
    os._exit(0)  # in the middle of a task, too


def _take_less(memory: int) -> None:
    """Do not take the memory of the whole machine, and let those go first who ask and tell."""
    try:
        import resource
    except ImportError:  # Windows
        return
    resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
    os.nice(_PATIENCE)
    # Linux shares processors between sessions first; a helper is a session of its own.
    if os.getsid(0) != os.getpid():
        return
    with contextlib.suppress(OSError):
        Path("/proc/self/autogroup").write_text(str(_PATIENCE))


def _gathered(parts: Iterator[bytes]) -> Iterator[bytes]:
    """Parts joined into pieces that are large enough to be worth sending."""
    waiting, size = [], 0
    for part in parts:
        waiting.append(part)
        size += len(part)
        if size >= _LEAST:
            yield b"".join(waiting)
            waiting, size = [], 0
    if waiting:
        yield b"".join(waiting)


def _send(out: BinaryIO, kind: bytes, content: bytes) -> None:
    out.write(kind + len(content).to_bytes(4, "big") + content)
    out.flush()


def _send_error(out: BinaryIO, error: Exception) -> None:
    known = isinstance(error, SurepickError)
    said = str(error) if known else traceback.format_exc()[-2000:]
    content = {"kind": type(error).__name__ if known else "", "message": said}
    _send(out, ERROR, json.dumps(content).encode())


if __name__ == "__main__":
    main()
