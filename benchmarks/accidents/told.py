"""Numbers that people type: one of them ten times too large, asked about, and corrected later."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from typing import Any

import numpy as np
from benchmarks.accidents.cells import Outcome, cell

import surepick as sp

MEANS = {"a": 0.7, "b": 0.8, "c": 0.9, "d": 0.93}  #: the last is the best
NOISE = 0.05
_TOGETHER, _MOST = 4, 4_000
_READINGS = 3  # of an option, from which on a number is asked about


def command(folder: str, *words: str) -> tuple[float, str]:
    """``surepick`` in a process of its own: its seconds, and what it said."""
    run = [sys.executable, "-c", "from surepick.cli import main; main()", *words]
    began = time.monotonic()
    done = subprocess.run(run, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{words[0]}: exit code {done.returncode}: {done.stderr[-150:]}")
    return time.monotonic() - began, done.stdout + done.stderr


class _Bench:
    """A study that is told by hand, and what was really read."""

    def __init__(self, rng: np.random.Generator, folder: str, by_command: bool) -> None:
        self.rng, self.folder, self.by_command = rng, folder, by_command
        self.read: dict[int, float] = {}
        self.counts = dict.fromkeys(MEANS, 0)
        self.start = 0.0  # seconds that a command takes

    def read_one(self, pull: Any) -> float:
        self.read[pull.id] = float(MEANS[pull.label] + NOISE * self.rng.normal())
        self.counts[pull.label] += 1
        return self.read[pull.id]

    def mistype(self, study: Any, pull: Any) -> bool:
        """Whether a tenfold number is asked about."""
        value = 10.0 * self.read_one(pull)
        if not self.by_command:
            return "typed right?" in (study.tell(pull.id, value).warning or "")
        self.start, said = command(self.folder, "tell", "s", str(pull.id), f"{value!r}")
        return "typed right?" in said

    def correct(self, study: Any, pull: int) -> tuple[float, list[Any]]:
        """Put it right; the seconds until the next ones are handed out, and these."""
        began = time.monotonic()
        if self.by_command:
            words = ["correct", "s", str(pull), f"{self.read[pull]!r}", "--reason", "typed"]
            command(self.folder, *words)
        else:
            study.correct(pull, self.read[pull], reason="the point was forgotten")
        pulls = [] if study.finished else study.ask(_TOGETHER)
        return max(0.0, time.monotonic() - began - self.start), pulls


def _live(rng: np.random.Generator, delta: float, by_command: bool) -> Outcome:
    wrong_at, corrected_at = np.cumsum(rng.integers(0, 40, 2)).tolist()
    typed: int | None = None
    waited: float | None = None
    with tempfile.TemporaryDirectory() as folder:
        bench = _Bench(rng, folder, by_command)
        problem, seed = sp.Problem.unstructured(list(MEANS), noise="symmetric"), rng.integers(2**31)
        url = f"sqlite:///{folder}/surepick.db"
        with sp.create_study("s", problem, storage=url, delta=delta, seed=int(seed)) as study:
            pulls = study.ask(_TOGETHER)
            while len(bench.read) < _MOST and (pulls or (typed is not None and waited is None)):
                for pull in pulls:
                    often = bench.counts[pull.label] + 1 >= _READINGS
                    if typed is None and often and len(bench.read) >= wrong_at:
                        typed = pull.id
                        if not bench.mistype(study, pull):
                            return Outcome(None, blocked="a tenfold number was not asked about")
                    else:
                        study.tell(pull.id, bench.read_one(pull))
                late = study.finished or len(bench.read) >= corrected_at
                if typed is not None and late and waited is None:
                    waited, pulls = bench.correct(study, typed)
                else:
                    pulls = study.ask(_TOGETHER) if not study.finished else []
            rewards = study.rewards()
            kept = dict(zip(rewards.pulls.tolist(), rewards.values.tolist()))
            lost = sum(kept.get(pull) != value for pull, value in bench.read.items())
            if not study.finished:
                return Outcome(None, lost, blocked="it never came to an end")
            answer = study.answer
    wrong = answer.label != "d" if answer.guarantee else None
    return Outcome(wrong, lost, max(0, len(kept) - len(bench.read)), seconds=waited or 0.0)


@cell("a number ten times too large", "tell, correct")
def by_library(rng: np.random.Generator, delta: float) -> Outcome:
    return _live(rng, delta, by_command=False)


@cell("a number ten times too large", "surepick tell, surepick correct")
def by_command(rng: np.random.Generator, delta: float) -> Outcome:
    return _live(rng, delta, by_command=True)
