"""Calls that fail and hang, at a limited rate: is the limit kept, is a cell lost, is it the same?

A simulated service answers after a moment; 5 % of calls fail, 1 % hang until they are cancelled.
Sixteen coroutines fill in a table for a study in a SQLite file, at most 600 calls a minute. Counted
by the service itself: the most calls that came in within any minute, and that were under way at a
time. Compared with one who asks for one cell after the other, without failures.

    python -m benchmarks.calls

(about two and a half minutes, nearly all of it waiting)
"""

from __future__ import annotations

import argparse
import asyncio
import random
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.recorded import FOLDER, table

import surepick as sp
from surepick.files import write_whole

OPTIONS, ITEMS, LIMIT, WORKERS = 12, 120, 600, 16


class Service:
    """Answers by a table, unless it fails or hangs."""

    def __init__(self, scores: Any, seed: int) -> None:
        self.scores, self.draw = scores, random.Random(seed)
        self.came: list[float] = []
        self.now = self.most = self.failed = self.hung = 0
        self.answered: dict[tuple[int, int], int] = {}

    async def __call__(self, task: Any) -> float:
        self.came.append(time.monotonic())
        self.now += 1
        self.most = max(self.most, self.now)
        try:
            what = self.draw.random()
            if what < 0.01:
                self.hung += 1
                await asyncio.sleep(3600)
            await asyncio.sleep(self.draw.expovariate(3.0))
            if what < 0.06:
                self.failed += 1
                raise ConnectionResetError("the connection was lost")
            cell = task.arm, task.item
            self.answered[cell] = self.answered.get(cell, 0) + 1
            return float(self.scores[cell])
        finally:
            self.now -= 1

    def most_in_a_minute(self) -> int:
        came = np.sort(self.came)
        return int((np.searchsorted(came, came + 60.0, side="left") - np.arange(len(came))).max())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=ITEMS)
    parser.add_argument("--per-minute", type=float, default=LIMIT)
    parser.add_argument("--out", type=Path, default=FOLDER, help="folder of the result")
    given = parser.parse_args()
    rng = np.random.default_rng(0)
    skill = np.linspace(0.55, 0.8, OPTIONS)[:, None]
    scores = (rng.random((OPTIONS, given.items)) < skill).astype(float)
    problem = sp.Problem.unstructured([f"prompt {i}" for i in range(OPTIONS)], noise="yes-no")
    algorithm = sp.algorithms.PooledPeleg(0.05, complete=given.items, min_batch=600)
    alone = sp.identify(problem, lambda *cell: float(scores[cell]), algorithm=algorithm, seed=1)
    service = Service(scores, 2)
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{folder}/calls.db"
        study = sp.create_study("calls", problem, algorithm, url, seed=1)
        started = time.monotonic()
        answer = study.run(
            service, workers=WORKERS, per_minute=given.per_minute, timeout=2.5, retries=5
        )
        seconds = time.monotonic() - started
        told = len(study.rewards().values)
        study.close()
    assert (answer.label, answer.samples) == (alone.label, alone.samples)
    assert told == len(service.answered)
    assert set(service.answered.values()) == {1}
    assert service.most <= WORKERS
    assert service.most_in_a_minute() <= given.per_minute
    head = ["what", "number"]
    rows = [
        ["calls", f"{len(service.came):,}"],
        ["of these failed, and hung", f"{service.failed}, {service.hung}"],
        ["seconds", f"{seconds:.0f}"],
        ["most in any minute, as the service saw them", str(service.most_in_a_minute())],
        ["most under way at a time", str(service.most)],
        ["cells asked for, told, and answered twice", f"{answer.samples:,}, {told:,}, 0"],
        ["answer, and that of one call after the other", f"{answer.label}, {alone.label}"],
    ]
    text = (
        f"# {WORKERS} coroutines, at most {given.per_minute:g} calls a minute\n\n"
        "5 % of calls fail, 1 % hang and are cancelled after 2.5 s. `python -m benchmarks.calls`"
        "\n\n" + table(head, rows)
    )
    print(text)
    write_whole(given.out / "calls.md", text + "\n")


if __name__ == "__main__":
    main()
