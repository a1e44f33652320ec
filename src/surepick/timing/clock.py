"""What is timed: functions of this process, and commands."""

from __future__ import annotations

import gc
import math
import shlex
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

from surepick.calls.caller import end_group
from surepick.errors import InvalidInputError, MeasurementError

_SHORTEST = 20e-6  # seconds: what is quicker is called several times for one measurement
_MOST_CALLS = 2**20
_SHOWN = 500  # characters of what a command that failed said


class Hung(MeasurementError):
    """A run did not end in its time, and was ended."""


class Timed(ABC):
    """Something that takes time."""

    name: str
    most: float = math.inf  #: seconds that a run may take, where it can be ended: of a command

    @abstractmethod
    def once(self) -> float:
        """Run it; the seconds that took."""


class Function(Timed):
    """A function, called without arguments; several times for one measurement if it is quick.

    As the timeit module does, no garbage is collected while the clock runs: who happens to be
    running when it is would pay for what the others left.
    """

    def __init__(self, name: str, function: Callable[[], Any], calls: int = 1) -> None:
        if not callable(function):
            raise InvalidInputError(
                f"{name!r} must be a function that takes no arguments; got {function!r:.80}"
            )
        self.name, self.function, self.calls = name, function, calls

    def once(self) -> float:
        function, calls = self.function, range(self.calls)
        collects = gc.isenabled()
        gc.disable()
        try:
            start = time.perf_counter_ns()
            for _ in calls:
                function()
            return (time.perf_counter_ns() - start) / (1e9 * len(calls))
        finally:
            if collects:
                gc.enable()


class Command(Timed):
    """A command; its output is thrown away.

    Parameters
    ----------
    name
        What to call it.
    command
        As it would be typed.
    shell
        The shell that runs it; None: it is run directly, without one.
    prepare
        A command to run before every measurement, which is not timed.
    any_exit
        Whether an exit code other than 0 is all right.
    """

    def __init__(
        self,
        name: str,
        command: str,
        *,
        shell: str | None = "/bin/sh",
        prepare: str | None = None,
        any_exit: bool = False,
    ) -> None:
        self.name, self.command, self.any_exit = name, command, any_exit
        self._run = called(command, shell)
        self._prepare = None if prepare is None else called(prepare, shell or "/bin/sh")
        self.prepare = prepare

    def once(self) -> float:
        if self._prepare is not None:
            run_to_end(self._prepare, f"what prepares {self.name!r}", self.most)
        start = time.perf_counter_ns()  # whole: readings of a clock that ticks
        code, said = _run(self._run, f"{self.name!r}", self.most)
        taken = (time.perf_counter_ns() - start) / 1e9
        if code and not self.any_exit:
            raise _failed(f"{self.name!r}", code, said)
        return taken


def called(command: str, shell: str | None) -> list[str]:
    """The arguments that a command is started with."""
    if shell is not None:
        return [shell, "-c", command]
    try:
        found = shlex.split(command)
    except ValueError as error:
        raise InvalidInputError(f"command {command!r:.80}: {error}") from None
    if not found:
        raise InvalidInputError("command: there is nothing to run")
    return found


def run_to_end(arguments: Sequence[str], what: str, most: float = math.inf) -> None:
    """Run something that is not timed."""
    try:
        code, said = _run(arguments, what, most)
    except Hung as error:  # without it nothing can be timed
        raise MeasurementError(str(error)) from None
    if code:
        raise _failed(what, code, said)


def _run(arguments: Sequence[str], what: str, most: float) -> tuple[int, bytes]:
    """The exit code, and what was said; everything that it has started ends with it."""
    try:
        process = subprocess.Popen(
            arguments,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,  # a group of its own, which can be ended as a whole
        )
    except OSError as error:
        raise MeasurementError(f"{arguments[0]!r} cannot be started: {error}") from None
    with process:
        try:
            _, said = process.communicate(timeout=None if most == math.inf else most)
        except subprocess.TimeoutExpired:
            raise Hung(
                f"{what} did not end within {most:.3g} s; it was ended, with all it had started"
            ) from None
        finally:
            end_group(process)
    return process.returncode, said


def _failed(what: str, code: int, said: bytes) -> MeasurementError:
    text = said.decode(errors="replace").strip()[-_SHOWN:]
    return MeasurementError(f"{what} ended with exit code {code}{f': {text}' if text else ''}")


def start_up(shell: str | None) -> float:
    """Seconds that starting a process takes before it does anything: the quickest of ten."""
    command = Command("start", ":" if shell else "true", shell=shell)
    return min(command.once() for _ in range(10))


def several_calls(functions: Sequence[Timed]) -> None:
    """Have quick functions called so often for one measurement that the clock can tell; all alike.

    Who is called more often has fewer extreme times, so all of them are called equally often.
    """
    own = [one for one in functions if isinstance(one, Function)]
    calls = 1
    while own and calls < _MOST_CALLS:
        for one in own:
            one.calls = calls
        if min(one.once() for one in own) * calls >= _SHORTEST:
            return
        calls *= 2
