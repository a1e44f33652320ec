"""Tasks: a block of trials of one algorithm on one instance, the unit of resumable work.

A task is plain data and what it gives depends on nothing else, so it can run anywhere, any number
of times, with the same result. Only the seconds differ from run to run; they are kept apart.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import time
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from surepick.bench.compare.plan import Plan
from surepick.bench.compare.run import instance_of, run_cell

#: what is kept of every trial, in this order
COLUMNS = (
    "figure",
    "point",
    "algorithm",
    "instance",
    "delta",
    "trial",
    "samples",
    "correct",
    "arm",
    "batches",
    "survivors",
    "guarantee",
    "failed",
)
#: the name under which a task computes the bounds of Table 1 instead of running trials
BOUNDS = "bounds"


@dataclass(frozen=True)
class Task:
    """Trials ``first`` to ``first + count - 1`` of one algorithm on one instance."""

    figure: str
    point: float
    algorithm: str
    instance: str
    delta: float
    first: int
    count: int
    seed: int
    max_samples: int | None = None

    @property
    def id(self) -> str:
        """A name for files, which no other task has."""
        text = json.dumps(dataclasses.asdict(self), sort_keys=True)
        head = f"{self.figure}-{self.algorithm.split(':')[0]}-{self.point:g}-{self.first}"
        return f"{head}-{hashlib.sha256(text.encode()).hexdigest()[:12]}"

    @property
    def cell(self) -> tuple[str, float, str]:
        """What is averaged over."""
        return self.figure, self.point, self.algorithm


def do_task(task: Task) -> dict[str, Any]:
    """Rows in the order of ``COLUMNS`` (or the bounds), and the seconds each took."""
    _one_thread()
    return _bounds(task) if task.algorithm == BOUNDS else _trials(task)


@lru_cache(maxsize=1)
def _one_thread() -> None:
    """One BLAS thread from now on: results must not depend on how many cores a machine has."""
    from threadpoolctl import threadpool_limits

    threadpool_limits(limits=1)


def _trials(task: Task) -> dict[str, Any]:
    plan = _plan(task.algorithm, task.instance, task.delta, task.seed, task.max_samples)
    rows, seconds = [], []
    for number in range(task.first, task.first + task.count):
        row = run_cell(plan, 0, number) | {"figure": task.figure, "point": task.point}
        rows.append([row[name] for name in COLUMNS])
        seconds.append(row["seconds"])
    return {"rows": rows, "seconds": seconds}


def _bounds(task: Task) -> dict[str, Any]:
    """The bounds of Table 1 on the instance of each trial of the block."""
    from surepick.bench.reproduce.table1 import bounds

    plan = _plan("peleg", task.instance, task.delta, task.seed, task.max_samples)
    found, seconds = [], []
    for number in range(task.first, task.first + task.count):
        started = time.perf_counter()
        found.append(bounds(instance_of(plan.cells[0].instance, task.seed, number), task.delta))
        seconds.append(time.perf_counter() - started)
    return {"bounds": found, "seconds": seconds}


@lru_cache(maxsize=256)
def _plan(algorithm: str, instance: str, delta: float, seed: int, max_samples: int | None) -> Plan:
    return Plan([algorithm], [instance], [delta], trials=1, seed=seed, max_samples=max_samples)
