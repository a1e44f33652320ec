"""Functions that are paid for, and whose scores are kept in a file: ``decide``, ``compare``, draws.

Each is called again, in the same way, for as long as an accident stops it.
"""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.accidents.cells import Outcome, cell
from benchmarks.accidents.tables import ODD
from benchmarks.accidents.worlds import ITEMS, OPTIONS, World
from tests.interrupts import hear_interrupts

import surepick as sp
from surepick.integrations.comparing import compare
from surepick.integrations.evaluations import ScoreTable, decide

_TIMES = 4  # that a run is stopped
_PROBES = 12  # calls that may be made once more to know whether anything works
_NAMES = [f"q{i}" for i in range(ITEMS)]
_EPSILON = 0.01  # less than one answer of all


class _Stops:
    """Passes calls on, and stops a few of them in the middle."""

    def __init__(self, rng: np.random.Generator, error: type[BaseException] | None) -> None:
        self.left = [] if error is None else rng.integers(1, 30, _TIMES).tolist()
        self.error, self.stopped = error, 0

    def __call__(self) -> None:
        if self.left:
            self.left[0] -= 1
            if self.left[0] == 0:
                self.left.pop(0)
                self.stopped += 1
                assert self.error is not None
                raise self.error("in the middle")


def _until_done(ask: Callable[[], Any]) -> Any:
    for _ in range(_TIMES + 1):
        try:
            return ask()
        except (KeyboardInterrupt, ConnectionError) as error:
            if getattr(error, "partial", None) is None:
                raise RuntimeError("the error does not carry what was found so far") from None
    return ask()


def _decided(
    rng: np.random.Generator,
    delta: float,
    world: World,
    otherwise: Callable[[], Any],
    stops: Callable[[], None],
    listed: bool = False,
    **how: Any,
) -> Outcome:
    def evaluate(option: str, item: str) -> Any:
        stops()
        return world.call(World.labels.index(option), int(item[1:]), otherwise)

    def evaluate_batch(cells: list[tuple[str, str]]) -> Any:
        for one in cells:
            try:
                yield evaluate(*one)
            except (ValueError, TypeError, TimeoutError) as error:
                yield error

    with tempfile.TemporaryDirectory() as folder:
        own: dict[str, Any] = {"cache": Path(folder) / "scores.jsonl", "delta": delta, "retries": 0}
        own |= {"evaluate_batch": evaluate_batch} if listed else {"evaluate": evaluate}
        own |= {"measure": "one"} | how
        found = _until_done(lambda: decide(ScoreTable(World.labels, _NAMES), **own))
        asked = world.calls.total()
        again = decide(ScoreTable(World.labels, _NAMES), **own)  # once more: nothing is asked for
        asked = world.calls.total() - asked
    table = again.table
    lost = sum(
        bool(np.isnan(table.of(World.labels[arm], _NAMES[item]))) for arm, item in world.worked
    )
    wrong = found.option not in world.best if found else None
    return Outcome(wrong, lost, asked + max(0, world.repeated - _PROBES))


def _compared(
    rng: np.random.Generator,
    delta: float,
    world: World,
    otherwise: Callable[[], Any],
    stops: Callable[[], None],
) -> Outcome:
    def variant(arm: int) -> Callable[[int], Any]:
        def ask(item: int) -> Any:
            stops()
            return world.call(arm, item, otherwise)

        return ask

    new, old = variant(OPTIONS - 2), variant(OPTIONS - 1)
    with tempfile.TemporaryDirectory() as folder:
        how: dict[str, Any] = {"epsilon": _EPSILON, "items": range(ITEMS), "noise": "yes-no"}
        how |= {"delta": delta, "retries": 0, "cache": Path(folder) / "calls.jsonl"}
        found = _until_done(lambda: compare(new, old, **how))
    totals = world.counted().sum(axis=1)
    right = "not worse" if totals[OPTIONS - 2] >= totals[OPTIONS - 1] else "worse"
    wrong = None if found.verdict == "undecided" else found.verdict != right
    lacking = len(world.worked) + len(found.answer.unmeasured) - found.answer.samples
    blocked = found.error if found.verdict == "undecided" else ""
    return Outcome(wrong, max(0, lacking), max(0, world.repeated - _PROBES), blocked)


def _nothing() -> None:
    pass


def _put(name: str, otherwise: Callable[[], Any], **bad: int) -> None:
    @cell(name, "decide")
    def at_decide(rng: np.random.Generator, delta: float) -> Outcome:
        return _decided(rng, delta, World.drawn(rng, **bad), otherwise, _nothing)

    @cell(name, "decide, evaluate_batch")
    def at_batch(rng: np.random.Generator, delta: float) -> Outcome:
        return _decided(rng, delta, World.drawn(rng, **bad), otherwise, _nothing, listed=True)

    @cell(name, "compare, items")
    def at_compare(rng: np.random.Generator, delta: float) -> Outcome:
        return _compared(rng, delta, World.drawn(rng, **bad), otherwise, _nothing)


for _name, _odd in ODD.items():
    _put(_name, _odd, bad=6)
    _put(f"{_name}, of every option on some items", _odd, items=4)


def _put_stops(name: str, error: type[BaseException]) -> None:
    @cell(name, "decide")
    def at_decide(rng: np.random.Generator, delta: float) -> Outcome:
        return _decided(rng, delta, World.drawn(rng), lambda: None, _Stops(rng, error))

    @cell(name, "decide, several at a time")
    def at_several(rng: np.random.Generator, delta: float) -> Outcome:
        stops = _Stops(rng, error)
        return _decided(rng, delta, World.drawn(rng), lambda: None, stops, workers=3)

    @cell(name, "decide, evaluate_batch")
    def at_batch(rng: np.random.Generator, delta: float) -> Outcome:
        stops = _Stops(rng, error)
        return _decided(rng, delta, World.drawn(rng), lambda: None, stops, listed=True)

    @cell(name, "compare, items")
    def at_compare(rng: np.random.Generator, delta: float) -> Outcome:
        return _compared(rng, delta, World.drawn(rng), lambda: None, _Stops(rng, error))

    @cell(name, "identify, draws")
    def at_identify(rng: np.random.Generator, delta: float) -> Outcome:
        rates, stops, made = np.array([0.3, 0.5, 0.52, 0.7]), _Stops(rng, error), [0]
        own = np.random.default_rng(int(rng.integers(2**31)))

        def measure(arm: int) -> float:
            stops()
            made[0] += 1
            return float(own.random() < rates[arm])

        problem = sp.Problem.unstructured(list(World.labels), noise="yes-no")
        with tempfile.TemporaryDirectory() as folder:
            how: dict[str, Any] = {"cache": Path(folder) / "rewards.jsonl", "delta": delta}
            answer = _until_done(lambda: sp.identify(problem, measure, **how))
        wrong = answer.label != "d" if answer.guarantee else None
        return Outcome(wrong, max(0, made[0] - answer.samples), max(0, answer.samples - made[0]))


_put_stops("Ctrl-C, four times", KeyboardInterrupt)


@cell("a disk that is full for a while", "decide")
def full(rng: np.random.Generator, delta: float) -> Outcome:
    write, calls = os.write, [0]
    first, last = sorted(rng.integers(1, 20, 2).tolist())

    def until_full(file: int, content: Any) -> int:
        if first <= calls[0] < last:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(file, content)

    def count() -> None:
        calls[0] += 1

    os.write = until_full
    try:
        return _decided(rng, delta, World.drawn(rng), lambda: None, count)
    finally:
        os.write = write


@cell("a call that hangs", "decide")
def hangs(rng: np.random.Generator, delta: float) -> Outcome:
    world = World.drawn(rng, bad=2)
    how: dict[str, Any] = {"timeout": 0.2}
    return _decided(rng, delta, world, lambda: time.sleep(30), _nothing, **how)


_SCRIPT = """
import json, os, pathlib, sys
from surepick.integrations.comparing import compare
from surepick.integrations.evaluations import ScoreTable, decide

WORLD, ITEMS = json.loads(pathlib.Path("world.json").read_text()), range(%d)
door, delta = sys.argv[1], float(sys.argv[2])
begun = 0

def call(arm, item):
    global begun
    begun += 1
    if begun == int(os.environ["AT"]):
        os.kill(os.getpid(), int(os.environ["SENT"]))
    with open("calls.txt", "a") as file:
        file.write(f"{arm} {item}\\n")
    return WORLD[arm][item]

def evaluate(option, item):
    return call("abcd".index(option), int(item[1:]))

def new(item):
    return call(2, item)

def old(item):
    return call(3, item)

if door == "decide":
    found = decide(ScoreTable("abcd", [f"q{i}" for i in ITEMS]), evaluate, delta=delta)
    print(json.dumps([found.option, found.table.known]))
else:
    how = {"epsilon": %r, "items": ITEMS, "noise": "yes-no"}
    found = compare(new, old, delta=delta, **how)
    print(json.dumps([found.verdict, found.calls]))
"""


def _put_killed(name: str, sent: int) -> None:
    for door in ("decide", "compare"):

        @cell(name, f"{door}, a script", chunk=2)
        def live(rng: np.random.Generator, delta: float, door: str = door) -> Outcome:
            world = World.drawn(rng)
            with tempfile.TemporaryDirectory() as folder:
                place = Path(folder)
                (place / "world.json").write_text(json.dumps(world.scores.tolist()))
                (place / "ask.py").write_text(_SCRIPT % (ITEMS, _EPSILON))
                env = {k: v for k, v in os.environ.items() if k != "SUREPICK_CACHE"}
                printed = ""
                env["SENT"] = str(int(sent))
                for number in [*rng.integers(2, 20, 3).tolist(), 0]:
                    env["AT"] = str(number)
                    words = [sys.executable, "ask.py", door, f"{delta}"]
                    how: dict[str, Any] = {"cwd": folder, "env": env, "capture_output": True}
                    how["preexec_fn"] = hear_interrupts
                    printed = subprocess.run(words, text=True, **how).stdout
                    if printed:
                        break
                if not printed:
                    return Outcome(None, blocked="it never came to an end")
                said, known = json.loads(printed)
                calls = (place / "calls.txt").read_text().splitlines()
            if door == "decide":
                wrong = said not in world.best
            else:
                totals = world.counted().sum(axis=1)
                wrong = said != ("not worse" if totals[2] >= totals[3] else "worse")
            return Outcome(wrong, max(0, len(set(calls)) - known), len(calls) - len(set(calls)))


_put_killed("kill -9, three times", signal.SIGKILL)
_put_killed("Ctrl-C, three times", signal.SIGINT)
