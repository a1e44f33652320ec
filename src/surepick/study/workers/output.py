"""What a command prints, read while it runs: not too long, and not too much."""

from __future__ import annotations

import contextlib
import os
import selectors
import subprocess
import time

from surepick.calls.caller import end_group

_MOST = 2**20  # bytes of all output together: one number is shorter
_LOOKED_AT = 65536  # bytes of each output
_PIECE = 65536
_PAUSE = 0.02  # seconds between looks at a command that has closed its output


class Output:
    """The two outputs of a command.

    Nothing goes to a file: a command that prints without end is ended, and has filled no disk.
    """

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        assert process.stdout is not None
        assert process.stderr is not None
        self._files = (process.stdout, process.stderr)
        self._kept = (bytearray(), bytearray())
        self._size = 0

    def read(self, seconds: float) -> str:
        """Read until the command has ended; why that was too late, if it was."""
        end = time.monotonic() + seconds
        with selectors.DefaultSelector() as selector:
            for file, kept in zip(self._files, self._kept):
                os.set_blocking(file.fileno(), False)
                selector.register(file, selectors.EVENT_READ, kept)
            # The command itself counts, not those to whom it may have left its output.
            while self._process.poll() is None:
                left = end - time.monotonic()
                if left <= 0:
                    return f"the command was killed after {seconds:g} s"
                if selector.get_map():
                    self._take(selector, min(left, _PAUSE))
                else:
                    with contextlib.suppress(subprocess.TimeoutExpired):
                        self._process.wait(left)
                if self._size > _MOST:
                    return "the command was killed: it printed more than 1 MB instead of a number"
            end_group(self._process)
            while selector.get_map() and self._take(selector, 0.0):
                if self._size > _MOST:
                    return "the command printed more than 1 MB instead of a number"
        return ""

    def _take(self, selector: selectors.BaseSelector, seconds: float) -> bool:
        """Take in what is there; whether anything was."""
        found = selector.select(seconds)
        for key, _ in found:
            piece = os.read(key.fd, _PIECE)
            if not piece:
                selector.unregister(key.fileobj)
            self._size += len(piece)
            key.data.extend(piece[: max(0, _MOST - len(key.data))])
        return bool(found)

    @property
    def large(self) -> bool:
        """Whether more was printed than is looked at."""
        return len(self._kept[0]) > _LOOKED_AT

    def texts(self) -> tuple[str, str]:
        """What was printed, and what was said beside it; closes both."""
        for file in self._files:
            file.close()
        out, err = (bytes(kept) for kept in self._kept)
        return out[:_LOOKED_AT].decode("utf-8", "replace"), err[-_LOOKED_AT:].decode(
            "utf-8", "replace"
        )
