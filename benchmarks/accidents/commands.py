"""``surepick run``: real processes on a real file, that are interrupted and killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.accidents.cells import Outcome, cell
from benchmarks.accidents.worlds import CANARIES, HALF, ITEMS, MANY, World
from tests.interrupts import hear_interrupts

import surepick as sp

_WORKERS = 4
_CALLED = """
import json, pathlib, time

WORLD = json.loads(pathlib.Path("world.json").read_text())

def note(what, task):
    with open("calls.txt", "a") as file:
        file.write(f"{what} {task.arm} {task.item} {time.time()}\\n")

def f(task):
    note("begun", task)
    time.sleep(0.05)
    if [task.arm, task.item] in WORLD["bad"]:
        raise ValueError("refused")
    note("done", task)
    done = pathlib.Path("calls.txt").read_text().count("done")
    return WORLD["scores" if done <= WORLD["half"] else "later"][task.arm][task.item]
"""


class _Place:
    """A folder with a study, and the function that measures: of two worlds, one after the other."""

    def __init__(self, folder: str, world: World, later: World, seed: int, delta: float) -> None:
        self.folder = Path(folder)
        content: dict[str, Any] = {"scores": world.scores.tolist(), "half": HALF}
        content |= {"later": later.scores.tolist(), "bad": [list(one) for one in world.bad]}
        (self.folder / "world.json").write_text(json.dumps(content))
        (self.folder / "called.py").write_text(_CALLED)
        problem = sp.Problem.unstructured(list(world.labels), noise="yes-no")
        how: dict[str, Any] = {"complete": world.scores.shape[1], "delta": delta, "seed": seed}
        how |= {"canaries": CANARIES} if later is not world else {}
        url = f"sqlite:///{folder}/surepick.db"
        self.study = sp.create_study("s", problem, storage=url, **how)

    def begin(self) -> subprocess.Popen[bytes]:
        words = [sys.executable, "-c", "from surepick.cli import main; main()", "run", "s"]
        words += ["--call", "called:f", "--workers", str(_WORKERS), "--retries", "0"]
        nothing = subprocess.DEVNULL
        how: Any = {"preexec_fn": hear_interrupts}
        return subprocess.Popen(words, cwd=self.folder, stdout=nothing, stderr=nothing, **how)

    def calls(self, what: str = "begun") -> list[tuple[tuple[int, int], float]]:
        try:
            lines = (self.folder / "calls.txt").read_text().splitlines()
        except FileNotFoundError:
            return []
        rows = [line.split() for line in lines if line.startswith(what)]
        return [((int(row[1]), int(row[2])), float(row[3])) for row in rows if len(row) == 4]

    def wait_for(self, calls: int, process: subprocess.Popen[bytes]) -> None:
        end = time.monotonic() + 120.0
        while len(self.calls()) < calls and process.poll() is None and time.monotonic() < end:
            time.sleep(0.01)


def _live(
    rng: np.random.Generator, delta: float, number: int, items: int = 0, changes: bool = False
) -> Outcome:
    world = World.drawn(rng, items=items, each=MANY if changes else ITEMS)
    later = world.updated(rng) if changes else world
    with tempfile.TemporaryDirectory() as folder:
        place = _Place(folder, world, later, int(rng.integers(2**31)), delta)
        under_way, starts, waits = 0, [], []
        for _ in range(3):
            began = time.time()
            process, before = place.begin(), len(place.calls())
            place.wait_for(before + int(rng.integers(8, 40)), process)
            times = [at for _, at in place.calls()[before:]]
            (waits if before else starts).extend(at - began for at in times[:1])
            if process.poll() is not None:
                break
            os.kill(process.pid, number)
            if number == signal.SIGKILL:
                process.wait()
                under_way += _WORKERS
            else:
                process.wait(60)
        process, before = place.begin(), len(place.calls())
        code = process.wait(300)
        if not place.study.finished:
            return Outcome(None, blocked=f"exit code {code}")
        done = Counter(one for one, _ in place.calls("done"))
        told = place.study.rewards()
        there = set(zip(told.arms.tolist(), map(int, told.strata.tolist())))  # type: ignore[union-attr]
        answer = place.study.answer
        wrong = world.wrong(answer, later, changes and done.total() > HALF)
        again = len(place.study.acts("ask-again"))
        repeated = max(0, done.total() - len(done) - under_way - items - again)
        waited = max(0.0, max(waits, default=0.0) - max(starts, default=0.0))
        place.study.close()
    return Outcome(wrong, len(set(done) - there), repeated, seconds=waited)


@cell("kill -9, three times", "surepick run, a table")
def killed(rng: np.random.Generator, delta: float) -> Outcome:
    return _live(rng, delta, signal.SIGKILL)


@cell("Ctrl-C, three times", "surepick run, a table")
def interrupted(rng: np.random.Generator, delta: float) -> Outcome:
    return _live(rng, delta, signal.SIGINT)


@cell("kill -9, and every option fails on some items", "surepick run, a table")
def killed_and_failing(rng: np.random.Generator, delta: float) -> Outcome:
    return _live(rng, delta, signal.SIGKILL, items=3)


@cell("kill -9, and a model that changes half-way", "surepick run, a table")
def killed_and_changing(rng: np.random.Generator, delta: float) -> Outcome:
    return _live(rng, delta, signal.SIGKILL, changes=True)
