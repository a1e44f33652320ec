"""Many calls of one function, some at a time: paced, tried again where that makes sense."""

from __future__ import annotations

import inspect
import math
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from surepick.calls.afresh import Generators
from surepick.calls.caller import Caller
from surepick.calls.faults import Fault, InARow, fault_of
from surepick.calls.kept import UNKNOWN, Kept
from surepick.calls.pace import Pace
from surepick.calls.rule import may_again, next_of
from surepick.calls.together import Together
from surepick.errors import InvalidInputError, MeasurementError

_PROBES = 3  # calls that are tried where none has worked yet
AT_ONCE = 64  #: coroutines at a time, where nobody says how many


def _as_it_is(value: Any) -> Any:
    return value


@dataclass(frozen=True)
class Failed:
    """A call that gave nothing, and will not."""

    error: BaseException
    fault: Fault
    tries: int
    moment: int = 0  #: when it was given up, see :class:`InARow`
    key: Any = None  #: under what it is known

    def __str__(self) -> str:
        if not self.tries:  # it was said before
            return str(self.error)
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
        Seconds after which a call has failed: a coroutine is cancelled, a function left alone.
    retries
        How often a call is tried again that failed in a way that may pass. Calls that were refused,
        because there were too many, are made again in any case.
    read
        Makes a score of what a call gave, or raises an error: then the call has failed.
    kept
        What is known of earlier calls, which are not made again, and where each is noted.
    listed
        Whether the function takes the arguments of all calls in one list, and gives what each comes
        to, as a list or one by one. In the place of a score may be the error that it ended in.
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
        read: Callable[[Any], Any] = _as_it_is,
        kept: Kept | None = None,
        listed: bool = False,
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
        self._caller = Caller(function, math.inf if timeout is None else timeout, gives_up=True)
        self.workers, self.retries = workers, retries
        self.pace = Pace() if pace is None else pace
        self.again = 0  #: calls that failed, and worked when they were made again
        self.made = 0  #: calls that gave a score, or that count as failed
        self.unanswered = 0  #: calls that were begun, of which nothing is known yet
        self.kept = kept
        self.generators = Generators()  #: whether calls set random numbers back
        self.in_a_row = InARow()
        self._read, self._sleep, self._lock = read, sleep, threading.Lock()
        self._good: tuple[Any, ...] | None = None  # the arguments of a call that worked
        self._listed = listed
        self.gave_up: Failed | None = None  #: the failure that ended it, as its error was raised

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._caller.stop()

    def all(self, arguments: Sequence[tuple[Any, ...]], fatal: bool = False) -> list[Any]:
        """What each call gave, or how it :class:`Failed`; with ``fatal`` the first error is raised.

        What was begun by then is waited for.
        """
        keys, found, left = self._left(arguments)
        rows = [(arguments[place], keys[place]) for place in left]
        made = self._made_together(rows) if self._listed else self._made(rows, fatal)
        for place, one in zip(left, made):
            found[place] = one
        return found

    def alone(self, arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        """What each of these calls gave, which do not count and which nobody keeps."""
        return self._made([(row, None) for row in arguments], fatal=False)

    def _made(self, rows: list[tuple[Any, Any]], fatal: bool) -> list[Any]:
        """What calls give that have to be made."""
        if self.workers == 1 or len(rows) < 2:
            return [self._one(row, fatal, key=key) for row, key in rows]
        made = Together(lambda one: self._one(one[0], fatal, key=one[1]), self.workers)
        return made.all(rows)

    def _made_together(self, rows: list[tuple[Any, Any]]) -> list[Any]:
        """What one call gives for many rows; each is noted as it comes."""
        if not rows:
            return []
        given = self._one(([row for row, _ in rows],), fatal=True)
        self.unanswered, found = sum(key is not None for _, key in rows), list[Any]()
        for (row, key), value in zip(rows, _checked(given, len(rows)), strict=False):
            try:
                if isinstance(value, Exception):
                    raise value
                score = self._read(value)
            except Exception as error:
                self.in_a_row.failed(row)
                found.append(Failed(error, fault_of(error), 1, self.in_a_row.moment, key))
                continue
            self.in_a_row.worked()
            self._good = row
            if self.kept is not None and key is not None:
                self.unanswered, self.made = self.unanswered - 1, self.made + 1
                self.kept.put(key, score)
            found.append(score)
        if len(found) < len(rows):
            raise _wrong_number(len(rows), len(found))
        return found

    def _left(self, rows: Sequence[tuple[Any, ...]]) -> tuple[list[Any], list[Any], list[int]]:
        """Under what calls are known, what is known of them, and the places of the others."""
        keys: list[Any] = [None] * len(rows)
        found: list[Any] = [UNKNOWN] * len(rows)
        if self.kept is not None:
            keys = self.kept.keys(rows)
            found = [self._known(self.kept, key) for key in keys]
        left = [place for place, one in enumerate(found) if one is UNKNOWN]
        return keys, found, left

    def _known(self, kept: Kept, key: Any) -> Any:
        """What an earlier call came to; how it failed, where it is not to be tried again."""
        line = kept.failed.get(key)
        if line is not None and not may_again(line["again"], line["tries"], self.retries):
            return Failed(MeasurementError(line["failed"]), Fault("final"), 0)
        return kept.get(key)

    def scores(
        self,
        arguments: Sequence[tuple[Any, ...]],
        worst: float | None,
        others: Sequence[tuple[Any, ...]] = (),
    ) -> tuple[list[Any], list[tuple[int, Failed]]]:
        """What each call gave; those that failed count as the worst score, and are listed.

        Where it is not clear whether anything works, a call that did is made once more; where none
        ever has, the first few of ``others`` are tried. Where there is no worst score, or nothing
        works, the error is raised instead.
        """
        found, failed = self.all(arguments, fatal=worst is None), []
        for place, one in enumerate(found):
            if isinstance(one, Failed):
                if worst is None or not self.is_own(one, others):
                    if one.key is not None:
                        named = ", ".join(map(str, one.key))
                        one.error.add_note(f"surepick: in the call for {named}")
                    self.gave_up = one
                    raise one.error
                self.counts(one)
                failed.append((place, one))
                found[place] = worst
        return found, failed

    def counts(self, failed: Failed) -> None:
        """A call that failed counts, by the rule of the table, and is not to be made again."""
        if failed.tries and failed.key is not None:
            self.unanswered, self.made = self.unanswered - 1, self.made + 1
            if self.kept is not None:
                again = failed.fault.kind != "final"
                self.kept.fail(failed.key, str(failed), tries=failed.tries, again=again)

    def is_own(self, failed: Failed, others: Sequence[tuple[Any, ...]] = ()) -> bool:
        """Whether a call failed by itself: others work; see :meth:`scores`."""
        if not failed.tries or self.in_a_row.worked_since(failed.moment):
            return True  # (without a try: it was known before)
        if self._good is not None:
            return self._works(self._good, None)
        kept = self.kept is not None and self.kept.fixed  # then it is a cell, known from now on
        return any(self._works(row, row if kept else None) for row in others[:_PROBES])

    def _works(self, row: tuple[Any, ...], key: Any) -> bool:
        """Whether this call gives a score now."""
        if not self._listed:
            return not isinstance(self._one(row, False, 0, key), Failed)
        before = self.unanswered
        try:
            return not isinstance(self._made_together([(row, key)])[0], Failed)
        except Exception:
            return False
        finally:
            self.unanswered = before

    def _one(
        self,
        arguments: tuple[Any, ...],
        fatal: bool,
        retries: int | None = None,
        key: Any = None,
    ) -> Any:
        most = self.retries if retries is None else retries
        tries = 0 if self.kept is None else self.kept.tries(key)
        while True:
            self.pace.wait(self._sleep)
            self.generators.look()
            begun = time.monotonic()
            with self._lock:
                self.unanswered += key is not None
            try:
                value = self._caller(*arguments)
                value = value if self._listed else self._read(value)
            except Exception as error:
                fault = fault_of(error)
                then = next_of(fault, tries + 1, most, self.pace)
                with self._lock:
                    tries += then.made
                    self.unanswered -= then.again and key is not None
                    if then.made:
                        self.in_a_row.failed(arguments)
                if then.again:
                    if then.after:
                        self._sleep(then.after)
                    continue
                failed = Failed(error, fault, max(1, tries), self.in_a_row.moment, key)
                if fatal:
                    self.gave_up = failed
                    raise
                return failed
            self.pace.answered()
            with self._lock:
                self.unanswered -= key is not None
                self.made += key is not None
                if not self._listed:  # whether a list of scores works is seen in each of them
                    self.in_a_row.worked()
                    self._good = arguments
                self.again += tries > 0
            if self.kept is not None and key is not None:
                self.kept.put(key, value, tries=tries + 1, seconds=time.monotonic() - begun)
            return value


def _checked(given: Any, wanted: int) -> Iterable[Any]:
    """What a call gave for so many rows, one by one."""
    if isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable):
        raise InvalidInputError(
            f"evaluate_batch must return one score for each of {wanted} pairs; got {given!r:.80}"
        )
    if hasattr(given, "__len__") and len(given) != wanted:  # pyright: ignore[reportArgumentType]
        raise _wrong_number(wanted, len(given))  # pyright: ignore[reportArgumentType]
    return given


def _wrong_number(wanted: int, got: int) -> InvalidInputError:
    return InvalidInputError(
        f"evaluate_batch must return one score for each of {wanted} pairs; got {got}"
    )
