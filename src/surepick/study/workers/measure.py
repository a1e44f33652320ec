"""Ways to make a measurement: a command that prints a number, or a Python function.

A command is started without any shell: its words are fixed once, and the label is put into them
afterwards, so that whatever characters a label has, it reaches the command as (part of) one
argument, or through the environment.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import math
import numbers
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from surepick.errors import InvalidInputError, MeasurementError

_KEPT = 4000  # characters of each output that are kept
_MOST = 65536  # bytes of output that are looked at: one number is shorter
_SHELLS = {"sh", "bash", "dash", "zsh", "ksh", "fish", "csh", "tcsh", "cmd", "powershell", "pwsh"}
_SHELL_WORDS = {"|", "||", "&", "&&", ";", ">", ">>", "<", "2>", "2>&1"}
_MARKERS = ("{label}", "{arm}", "{pull}")


@dataclass(frozen=True)
class Measurement:
    """One measurement to make, with everything known about the option."""

    pull: int
    arm: int
    label: str
    attempt: int = 1
    features: Mapping[str, Any] = field(default_factory=dict)  #: cells of its row, by column


@dataclass(frozen=True)
class Measured:
    """What came of it: a reward, or the reason why there is none."""

    task: Measurement
    reward: float | None
    error: str
    record: Mapping[str, Any]  #: what to keep about it


class Measure(ABC):
    """A way to measure; may be called from several threads at once."""

    timeout: float  #: seconds that a measurement may take

    @abstractmethod
    def reward_of(self, task: Measurement, record: dict[str, Any]) -> float:
        """Measure, or raise ``MeasurementError``; what is worth keeping goes to ``record``."""

    def __call__(self, task: Measurement) -> Measured:
        """Measure; whatever goes wrong is in what comes back."""
        record: dict[str, Any] = {}
        start = time.monotonic()
        reward, error = None, ""
        try:
            reward = self.reward_of(task, record)
        except MeasurementError as caught:
            error = str(caught)
        record["seconds"] = round(time.monotonic() - start, 3)
        return Measured(task, reward, error, record)

    def stop(self) -> None:  # noqa: B027
        """End what is being measured, where that is possible."""


class Command(Measure):
    """A command that prints one number.

    Parameters
    ----------
    line
        The command; ``{label}``, ``{arm}`` and ``{pull}`` are replaced inside its words.
    timeout
        Seconds; after that the command is killed, with every process it started.

    Examples
    --------
    >>> Command("echo 1.5").words
    ('echo', '1.5')
    """

    def __init__(self, line: str, timeout: float = 60.0) -> None:
        self.timeout = timeout
        self.words = _words(line)
        self._running: set[subprocess.Popen[bytes]] = set()
        self._lock = threading.Lock()
        self._stopped = False

    def reward_of(self, task: Measurement, record: dict[str, Any]) -> float:
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            try:
                code = self._run(task, out, err)
            finally:
                printed, large = _read(out)
                said, _ = _read(err)
                record["stdout"], record["stderr"] = printed[:_KEPT], said[-_KEPT:]
        record["exit"] = code
        if code:
            why = f"by signal {-code}" if code < 0 else f"with exit code {code}"
            raise MeasurementError(f"the command ended {why}{_last_line(said)}")
        if large:
            raise MeasurementError("the command printed more than a number: over 64 kB")
        return one_number(printed)

    def _run(self, task: Measurement, out: IO[bytes], err: IO[bytes]) -> int:
        try:
            with self._lock:
                if self._stopped:
                    raise MeasurementError("interrupted")
                process = subprocess.Popen(
                    self._fill(task),
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=err,
                    env=environment(task),
                    start_new_session=True,  # a group of its own, which can be killed as a whole
                )
                self._running.add(process)
        except (OSError, ValueError) as error:
            raise MeasurementError(f"the command could not be started: {error}") from None
        try:
            return process.wait(self.timeout)
        except subprocess.TimeoutExpired:
            raise MeasurementError(f"the command was killed after {self.timeout:g} s") from None
        finally:
            if process.poll() is None:
                _kill(process)
            with self._lock:
                self._running.discard(process)

    def _fill(self, task: Measurement) -> list[str]:
        values: dict[str, str] = dict(zip(_MARKERS, (task.label, str(task.arm), str(task.pull))))
        # One pass: a label that contains "{pull}" stays as it is.
        pattern = re.compile("|".join(map(re.escape, _MARKERS)))
        return [pattern.sub(lambda found: values[found[0]], word) for word in self.words]

    def stop(self) -> None:
        with self._lock:
            self._stopped = True
            running = list(self._running)
        for process in running:
            _kill(process)


class Call(Measure):
    """A Python function ``module:function``, called with a :class:`Measurement`.

    It may be called from several threads at once. One that takes too long cannot be stopped; its
    result is no longer waited for.
    """

    def __init__(self, name: str, timeout: float = 60.0) -> None:
        self.timeout = timeout
        self.function = _find(name)

    def reward_of(self, task: Measurement, record: dict[str, Any]) -> float:
        try:
            value = self.function(task)
        except Exception as error:
            record["traceback"] = traceback.format_exc()[-_KEPT:]
            raise MeasurementError(f"{type(error).__name__}: {error!s:.300}") from error
        record["returned"] = repr(value)[:_KEPT]
        if isinstance(value, bool) or not isinstance(value, numbers.Real):
            raise MeasurementError(f"the function returned {value!r:.80}, not a number")
        return _finite(float(value), repr(value))


def environment(task: Measurement) -> dict[str, str]:
    """What a command finds in its environment."""
    env = dict(os.environ)
    env["SUREPICK_LABEL"] = task.label
    env["SUREPICK_ARM"], env["SUREPICK_PULL"] = str(task.arm), str(task.pull)
    env["SUREPICK_ATTEMPT"] = str(task.attempt)
    env["SUREPICK_FEATURES"] = json.dumps(dict(task.features))
    seen = set()
    for name, value in task.features.items():
        variable = "SUREPICK_FEATURE_" + re.sub(r"\W", "_", name, flags=re.ASCII)
        if value is not None and variable not in seen:
            env[variable] = str(value)
        seen.add(variable)
    return env


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
        if "_" in words[0]:
            raise ValueError
        return _finite(float(words[0]), words[0])
    except ValueError:
        raise MeasurementError(f"the command printed {words[0]!r:.80}, not a number") from None


def _finite(value: float, shown: str) -> float:
    if not math.isfinite(value):
        raise MeasurementError(f"the reward is {shown}; it must be finite")
    return value


def _words(line: str) -> tuple[str, ...]:
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise InvalidInputError(f"exec: {line!r} cannot be split into words: {error}") from None
    if not words:
        raise InvalidInputError("exec must name a command, such as 'measure.sh {label}'")
    odd = next((word for word in words if word in _SHELL_WORDS), None)
    if odd is not None:
        raise InvalidInputError(
            f"exec: {odd!r} means something only to a shell, and none is used; write a script, or "
            f"sh -c '... \"$SUREPICK_LABEL\" ...'"
        )
    if Path(words[0]).stem.lower() in _SHELLS:
        # What follows -c is a program; words after it are its arguments, and safe for a label.
        flag = next((i for i, word in enumerate(words) if re.match(r"[-/]\w*[cC]", word)), None)
        script = " ".join(words[flag + 1 : flag + 2]) if flag else ""
        if any(place in script for place in _MARKERS):
            raise InvalidInputError(
                "exec: a label must not become part of a shell's program, where its characters "
                'would have a meaning; write "$SUREPICK_LABEL" there instead of {label}'
            )
    program = words[0]
    if shutil.which(program) is None:
        local = Path(program).absolute()
        if not local.is_file():
            raise InvalidInputError(f"exec: there is no program {program!r}")
        if not os.access(local, os.X_OK):
            raise InvalidInputError(f"exec: {program!r} is not executable (chmod +x {program})")
        words[0] = str(local)  # a script in this folder needs no ./
    return tuple(words)


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
        raise InvalidInputError(f"call: {name!r} is not a function but {value!r:.80}")
    return value


def _read(file: IO[bytes]) -> tuple[str, bool]:
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    return file.read(_MOST).decode("utf-8", "replace"), size > _MOST


def _last_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return f": {lines[-1].strip()[:200]}" if lines else ""


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a command and everything it started."""
    with contextlib.suppress(OSError):  # gone already
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    process.wait()
