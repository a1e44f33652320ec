"""Ways to make a measurement: a command that prints a number, or a Python function.

A command is started without any shell: its words are fixed once, and the label is put into them
afterwards, so that whatever characters a label has, it reaches the command as (part of) one
argument, or through the environment.
"""

from __future__ import annotations

import importlib
import json
import math
import numbers
import os
import re
import subprocess
import sys
import threading
import time
import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from surepick.calls.afresh import CURES, SET_BACK, Generators
from surepick.calls.caller import Caller, TooLate, end_group
from surepick.calls.faults import UNKNOWN, Fault, fault_of, of_command
from surepick.errors import InvalidInputError, MeasurementError
from surepick.problem.noise import REWARD
from surepick.study.pulls import preference
from surepick.study.workers.line import MARKERS, words_of
from surepick.study.workers.output import Output

_KEPT = 4000  # characters of each output that are kept


@dataclass(frozen=True)
class Measurement:
    """One measurement to make, with everything known about the option.

    Examples
    --------
    >>> Measurement(0, 2, "large", features={"price": 3}).features["price"]
    3
    """

    pull: int
    arm: int
    label: str
    attempt: int = 1
    features: Mapping[str, Any] = field(default_factory=dict)  #: cells of its row, by column
    stratum: str | None = None  #: the day, plate, … that it belongs to, where there are strata
    item: int | None = None  #: to measure it on, where there are items
    #: where two options are compared: their labels, in the order in which to show them
    first: str | None = None
    second: str | None = None

    def preferred(self, said: str) -> float | None:
        """What the label of the better of two options means, or ``tie``; None: no such text."""
        if self.first is None or self.second is None:
            return None
        try:
            return preference(said, self.first, self.second, f"measurement {self.pull}")
        except InvalidInputError as error:
            raise MeasurementError(str(error)) from None


@dataclass(frozen=True)
class Measured:
    """What came of it: a reward, or the reason why there is none."""

    task: Measurement
    reward: float | dict[str, float] | None  #: with further numbers, all of them by their names
    error: str
    record: Mapping[str, Any]  #: what to keep about it
    fault: Fault = UNKNOWN  #: what the error says about trying again


class _Judged(MeasurementError):
    """An error of which it is known what it says about trying again."""

    def __init__(self, text: str, fault: Fault) -> None:
        super().__init__(text)
        self.fault = fault


class Measure(ABC):
    """A way to measure; may be called from several threads at once."""

    timeout: float  #: seconds that a measurement may take

    @abstractmethod
    def reward_of(self, task: Measurement, record: dict[str, Any]) -> float | dict[str, float]:
        """Measure, or raise ``MeasurementError``; what is worth keeping goes to ``record``."""

    def __call__(self, task: Measurement) -> Measured:
        """Measure; whatever goes wrong is in what comes back."""
        record: dict[str, Any] = {}
        start = time.monotonic()
        reward, error, fault = None, "", UNKNOWN
        try:
            reward = self.reward_of(task, record)
        except MeasurementError as caught:
            error = str(caught)
            fault = caught.fault if isinstance(caught, _Judged) else fault_of(caught)
        record["seconds"] = round(time.monotonic() - start, 3)
        return Measured(task, reward, error, record, fault)

    @property
    def cancels(self) -> bool:
        """Whether what takes longer than it may is ended, so that it is soon over."""
        return False

    def stop(self) -> None:  # noqa: B027
        """End what is being measured, where that is possible."""

    def calls_for(self, arm: int, item: int | None) -> bool:
        """Whether anything is called to measure this, so that it counts for a limit of calls."""
        return True


class Command(Measure):
    """A command that prints one number.

    Parameters
    ----------
    line
        The command; ``{label}``, ``{arm}``, ``{pull}``, ``{item}``, ``{first}`` and ``{second}``
        in its words are replaced.
    timeout
        Seconds; after that the command is killed. What it has started ends with it in any case.

    Examples
    --------
    >>> Command("echo 1.5").words
    ('echo', '1.5')
    """

    def __init__(self, line: str, timeout: float = 60.0) -> None:
        self.timeout = timeout
        self.words = words_of(line)
        self._running: set[subprocess.Popen[bytes]] = set()
        self._lock = threading.Lock()
        self._stopped = False

    @property
    def cancels(self) -> bool:
        return True

    def reward_of(self, task: Measurement, record: dict[str, Any]) -> float | dict[str, float]:
        process = self._start(task)
        output = Output(process)
        try:
            why = output.read(self.timeout)
        finally:
            # Whatever it has left behind ends with it.
            _kill(process)
            with self._lock:
                self._running.discard(process)
            printed, said = output.texts()
            record["stdout"], record["stderr"] = printed[:_KEPT], said[-_KEPT:]
        if why:
            raise _Judged(why, Fault("passing"))
        code = record["exit"] = process.returncode
        if code:
            why = f"by signal {-code}" if code < 0 else f"with exit code {code}"
            raise _Judged(f"the command ended {why}{_last_line(said)}", of_command(code, said))
        if output.large:
            raise MeasurementError("the command printed more than 64 kB instead of a number")
        said = task.preferred(printed) if printed.strip() else None
        if said is None and printed.strip().startswith("{"):
            return several_numbers(printed)
        return one_number(printed) if said is None else said

    def _start(self, task: Measurement) -> subprocess.Popen[bytes]:
        try:
            with self._lock:
                if self._stopped:
                    raise MeasurementError("interrupted")
                process = subprocess.Popen(
                    self._fill(task),
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    env=environment(task),
                    start_new_session=True,  # a group of its own, which can be killed as a whole
                )
                self._running.add(process)
                return process
        except (OSError, ValueError) as error:
            raise MeasurementError(f"the command could not be started: {error}") from None

    def _fill(self, task: Measurement) -> list[str]:
        item = "" if task.item is None else str(task.item)
        both = (task.first or "", task.second or "")
        filled = (task.label, str(task.arm), str(task.pull), item, *both)
        values: dict[str, str] = dict(zip(MARKERS, filled))
        # One pass: a label that contains "{pull}" stays as it is.
        pattern = re.compile("|".join(map(re.escape, MARKERS)))
        return [pattern.sub(lambda found: values[found[0]], word) for word in self.words]

    def stop(self) -> None:
        with self._lock:
            self._stopped = True
            running = list(self._running)
        for process in running:
            end_group(process)


class Call(Measure):
    """A Python function, or its name ``module:function``, called with a :class:`Measurement`.

    It may be called from several threads at once. One that takes too long cannot be stopped; its
    result is no longer waited for. Coroutines all run in one event loop, in a thread of its own,
    and are cancelled when their time is up.
    """

    def __init__(self, function: str | Callable[[Measurement], Any], timeout: float = 60.0) -> None:
        self.timeout = timeout
        self._caller = Caller(_find(function) if isinstance(function, str) else function, timeout)
        self._generators = Generators()

    @property
    def cancels(self) -> bool:
        return self._caller.cancels

    def stop(self) -> None:
        """End the event loop, and what runs in it."""
        self._caller.stop()

    def reward_of(self, task: Measurement, record: dict[str, Any]) -> float | dict[str, float]:
        if task.item is None:  # on an item it may well be the same every time
            self._generators.look()
            if self._generators.set_back:
                raise _Judged(f"{SET_BACK}: {CURES[SET_BACK]}", Fault("broken"))
        try:
            value = self._caller(task)
        except TooLate as error:
            raise MeasurementError(str(error)) from error
        except Exception as error:
            record["traceback"] = traceback.format_exc()[-_KEPT:]
            raise MeasurementError(f"{type(error).__name__}: {error!s:.300}") from error
        record["returned"] = repr(value)[:_KEPT]
        if isinstance(value, str) and task.first is not None:
            value = task.preferred(value)
        if isinstance(value, Mapping):
            return _numbers(value, "the function returned")
        if isinstance(value, bool) or not isinstance(value, numbers.Real):
            raise MeasurementError(f"the function returned {value!r:.80}, not a number")
        return _finite(float(value), repr(value))


def environment(task: Measurement) -> dict[str, str]:
    """What a command finds in its environment."""
    env = dict(os.environ)
    env["SUREPICK_LABEL"] = task.label
    env["SUREPICK_ARM"], env["SUREPICK_PULL"] = str(task.arm), str(task.pull)
    env["SUREPICK_ATTEMPT"] = str(task.attempt)
    if task.stratum is not None:
        env["SUREPICK_STRATUM"] = task.stratum
    if task.item is not None:
        env["SUREPICK_ITEM"] = str(task.item)
    if task.first is not None and task.second is not None:
        env["SUREPICK_FIRST"], env["SUREPICK_SECOND"] = task.first, task.second
    env["SUREPICK_FEATURES"] = json.dumps(dict(task.features))
    seen = set()
    for name, value in task.features.items():
        variable = "SUREPICK_FEATURE_" + re.sub(r"\W", "_", name, flags=re.ASCII)
        if value is not None and variable not in seen:
            env[variable] = str(value)
        seen.add(variable)
    return env


def several_numbers(text: str) -> dict[str, float]:
    """The reward and further numbers that a command printed as a JSON object."""
    try:
        found = json.loads(text)
    except ValueError as error:
        raise MeasurementError(f"the command printed {text.strip()!r:.80}: {error}") from None
    return _numbers(found, "the command printed")


def _numbers(given: Mapping[str, Any], who: str) -> dict[str, float]:
    if REWARD not in given:
        raise MeasurementError(f"{who} {dict(given)!r:.200}, without a {REWARD!r}")
    for name, value in given.items():
        if isinstance(value, bool) or not isinstance(value, numbers.Real):
            raise MeasurementError(f"{who} {value!r:.80} for {name!r:.80}, not a number")
        _finite(float(value), f"{value!r} ({name})")
    return {name: float(value) for name, value in given.items()}


def one_number(text: str) -> float:
    """The number that a command printed, or an error that says what it printed instead."""
    words = text.split()
    if not words:
        raise MeasurementError("the command printed nothing")
    if len(words) > 1:
        raise MeasurementError(
            f"the command printed {len(words)} words, not one number: {text.strip()!r:.80}"
        )
    try:
        if "_" in words[0] or not words[0].isascii():
            raise ValueError
        return _finite(float(words[0]), words[0])
    except ValueError:
        raise MeasurementError(f"the command printed {words[0]!r:.80}, not a number") from None


def _finite(value: float, shown: str) -> float:
    if not math.isfinite(value):
        raise MeasurementError(f"the reward is {shown}; it must be finite")
    return value


def _find(name: str) -> Callable[[Measurement], Any]:
    module, colon, function = name.partition(":")
    if not (colon and module and function):
        raise InvalidInputError(f"call must be module:function; got {name!r}")
    folder = os.getcwd()
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        value: Any = importlib.import_module(module)
        for part in function.split("."):
            value = getattr(value, part)
    except (ImportError, AttributeError) as error:
        raise InvalidInputError(f"call: {name!r} cannot be loaded: {error}") from None
    if not callable(value):
        raise InvalidInputError(f"call: {name!r} is not a function; got {value!r:.80}")
    return value


def _last_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return f": {lines[-1].strip()[:200]}" if lines else ""


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End a command and everything it started, and know how it ended."""
    end_group(process)
    process.wait()
