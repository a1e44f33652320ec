"""Many calls of one function, some at a time: paced, tried again where that makes sense."""

from __future__ import annotations

import inspect
import math
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self

from surepick.calls.afresh import Generators
from surepick.calls.caller import Caller
from surepick.calls.faults import LONGEST, Fault, InARow, fault_of
from surepick.calls.pace import Pace
from surepick.errors import InvalidInputError

_REFUSALS = 10  # in a row, after which a service is left alone
AT_ONCE = 64  #: coroutines at a time, where nobody says how many


@dataclass(frozen=True)
class Failed:
    """A call that gave nothing, and will not."""

    error: BaseException
    fault: Fault
    tries: int
    few: bool = True  #: whether only a few different calls had failed since one worked

    def __str__(self) -> str:
        """What went wrong, in a line."""
        text = f"{type(self.error).__name__}: {self.error!s:.300}".removesuffix(": ")
        return f"{text} (tried {self.tries} times)" if self.tries > 1 else text


class Calls:
    """Calls a function with many arguments.

    Parameters
    ----------
    function
        A function, or a coroutine function.
    workers
        Calls at a time: by default 64 coroutines, or one function. With one, a function is called
        in the thread that asks.
    pace
        When calls may begin.
    timeout
        Seconds after which a coroutine is cancelled, and counts as failed.
    retries
        How often a call is tried again that failed in a way that may pass. Calls that were refused,
        because there were too many, are made again in any case.
    sleep
        How to wait.

    Examples
    --------
    >>> with Calls(lambda number: 1 / number) as calls:
    ...     found = calls.all([(2,), (0,)])
    >>> found[0], str(found[1])
    (0.5, 'ZeroDivisionError: division by zero')
    """

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        workers: int | None = None,
        pace: Pace | None = None,
        timeout: float | None = None,
        retries: int = 0,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        if workers is None:
            workers = AT_ONCE if inspect.iscoroutinefunction(function) else 1
        if not isinstance(workers, int) or workers < 1:
            raise InvalidInputError(f"workers must be a whole number from 1; got {workers!r:.80}")
        if not isinstance(retries, int) or retries < 0:
            raise InvalidInputError(f"retries must be a whole number from 0; got {retries!r:.80}")
        if timeout is not None and not timeout > 0:
            raise InvalidInputError(f"timeout must be a number of seconds; got {timeout!r:.80}")
        self._caller = Caller(function, math.inf if timeout is None else timeout)
        self.workers, self.retries = workers, retries
        self.pace = Pace() if pace is None else pace
        self.again = 0  #: calls that failed, and worked when they were made again
        self.generators = Generators()  #: whether calls set random numbers back
        self.in_a_row = InARow()
        self._sleep, self._lock = sleep, threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._caller.stop()

    def all(self, arguments: Sequence[tuple[Any, ...]], fatal: bool = False) -> list[Any]:
        """What each call gave, or how it :class:`Failed`; with ``fatal`` the first error is raised.

        What was begun by then is waited for.
        """
        if self.workers == 1 or len(arguments) < 2:
            return [self._one(row, fatal) for row in arguments]
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(min(self.workers, len(arguments))) as pool:
            asked = [pool.submit(self._one, row, fatal) for row in arguments]
            try:
                return [one.result() for one in asked]
            except BaseException:
                for one in asked:
                    one.cancel()
                raise

    def scores(
        self, arguments: Sequence[tuple[Any, ...]], worst: float | None
    ) -> tuple[list[Any], list[tuple[int, Failed]]]:
        """What each call gave; those that failed count as the worst score, and are listed.

        Where there is no worst score, nothing has worked yet, or too many fail, the error is
        raised instead.
        """
        found, failed = self.all(arguments, fatal=worst is None), []
        for place, one in enumerate(found):
            if isinstance(one, Failed):
                if not (one.few and self.in_a_row.own(one.fault)):
                    raise one.error
                failed.append((place, one))
                found[place] = worst
        return found, failed

    def _one(self, arguments: tuple[Any, ...], fatal: bool) -> Any:
        tries = 0
        while True:
            self.pace.wait(self._sleep)
            self.generators.look()
            try:
                value = self._caller(*arguments)
            except Exception as error:
                fault = fault_of(error)
                tries += fault.kind != "refused"
                if self._pause(fault, tries, arguments):
                    continue
                if fatal:
                    raise
                return Failed(error, fault, max(1, tries), self.in_a_row.few)
            self.pace.answered()
            with self._lock:
                self.in_a_row.worked()
                self.again += tries > 0
            return value

    def _pause(self, fault: Fault, tries: int, which: tuple[Any, ...]) -> bool:
        """Wait before a call is made again; False where it is not."""
        if fault.kind == "refused":
            self.pace.refused(fault.after)
            return (fault.after or 0.0) <= LONGEST and self.pace.refusals <= _REFUSALS
        with self._lock:
            self.in_a_row.failed(which)
            if not fault.again or tries > self.retries:
                return False
        if fault.kind == "passing":
            self._sleep(fault.after if fault.after is not None else self.pace.pause(tries))
        return True
