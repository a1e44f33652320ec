"""Several things at a time, in threads that nobody has to wait for."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

_PATIENCE = 3.0  # seconds for those that are under way, when all the others are called off


class Together:
    """Does something with each of many, a few at a time.

    Where one of them raises an error, or somebody interrupts, no more are begun. What is under way
    is waited for, as it may have cost something, but not for long: a call that hangs does not hold
    up the end of a program either.
    """

    def __init__(self, do: Callable[[Any], Any], at_once: int) -> None:
        self._do, self._at_once = do, at_once
        self._changed = threading.Condition()
        self._next = self._done = self._begun = 0
        self._error: BaseException | None = None
        self._called_off = False

    def all(self, some: Sequence[Any]) -> list[Any]:
        """What each comes to, in order."""
        found: list[Any] = [None] * len(some)
        for _ in range(min(self._at_once, len(some))):
            threading.Thread(target=self._work, args=(some, found), daemon=True).start()
        try:
            with self._changed:
                while self._done < len(some) and self._error is None:
                    self._changed.wait()
            if self._error is not None:
                raise self._error
        except BaseException:
            self._call_off()
            raise
        return found

    def _call_off(self) -> None:
        until = time.monotonic() + _PATIENCE
        with self._changed:
            self._called_off = True
            while self._begun > self._done and (left := until - time.monotonic()) > 0:
                self._changed.wait(left)

    def _work(self, some: Sequence[Any], found: list[Any]) -> None:
        while True:
            with self._changed:
                if self._called_off or self._error is not None or self._next == len(some):
                    return
                place, self._next, self._begun = self._next, self._next + 1, self._begun + 1
            try:
                found[place] = self._do(some[place])
            except BaseException as error:
                with self._changed:
                    self._error = self._error or error
            finally:
                with self._changed:
                    self._done += 1
                    self._changed.notify_all()
