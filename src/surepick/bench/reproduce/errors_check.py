"""How often algorithms are wrong, measured on instances chosen to be hard.

Hard means that mistakes are likely, not that trials are long: near-ties between few candidates.
Algorithms that decide at the ends of phases only cost next to nothing to simulate and are tried
most often; those that look after every few pulls less so; those that choose every pull by what
they saw so far least.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from surepick.algorithms import names
from surepick.algorithms.base import Algorithm
from surepick.arrays.validate import SEEDS, probability, whole
from surepick.bench.compare.plan import Contender
from surepick.bench.named import build_instance
from surepick.bench.reproduce.tasks import COLUMNS, Task
from surepick.bench.store import ResultsFolder
from surepick.bench.summary import summarise
from surepick.research.elimination import PhasedState
from surepick.research.sequential import SequentialState
from surepick.simulate.instance import Instance
from surepick.simulate.table import Table

INSTANCES = (
    "standard:gap=0.1,d=2",
    "standard:gap=0.25,d=4",
    "confounding:d=2,omega=0.4",
    "confounding:d=4,omega=0.5",
    "nearly_tied:k=6,d=2,gap=0.2",
    "unit_sphere:d=2,k=4,gamma=0.3,rng=37",
)
TRIALS = {"phased": 100_000, "looking": 20_000, "adaptive": 5_000}
# Ends the rare trial that lost the best candidate and is left with (nearly) tied losers.
MAX_SAMPLES = 10**7
_SHOWN = ("algorithm", "instance", "delta", "trials", "failed", "mean", "errors", "error_rate")
_SHOWN += ("error_low", "error_high", "stopped_early")


@dataclass(frozen=True)
class ErrorCheck:
    """What to measure.

    Parameters
    ----------
    algorithms
        What to try; empty: everything with a theorem that needs no oracle.
    trials
        Of every algorithm; by default what ``TRIALS`` says.
    """

    algorithms: tuple[str, ...] = ()
    delta: float = 0.1
    seed: int = 0
    trials: int | None = None

    def __post_init__(self) -> None:
        probability(self.delta, "delta")
        whole(self.seed, "seed", most=SEEDS)
        if self.trials is not None:
            whole(self.trials, "trials", least=1)
        for name in self.algorithms:
            Contender.named(name)

    def describe(self, version: str) -> dict[str, Any]:
        """What identifies the results of this plan."""
        return {
            "experiment": "check-delta",
            "version": version,
            "algorithms": list(self.compared()),
            "instances": list(INSTANCES),
            "trials": self.trials or TRIALS,
            "delta": self.delta,
            "seed": self.seed,
        }

    def compared(self) -> tuple[str, ...]:
        """The algorithms tried."""
        if self.algorithms:
            return self.algorithms
        example = build_instance(INSTANCES[0])
        known = [Contender.named(name) for name in names()]
        return tuple(
            c.text for c in known if not c.needs_theta and c.configure(example, self.delta).theorem
        )

    def tasks(self) -> list[Task]:
        """All tasks; the first block of every cell comes first, so that costs are known early."""
        first, rest = [], []
        example = build_instance(INSTANCES[0])
        for algorithm in self.compared():
            kind = _kind(Contender.named(algorithm).configure(example, self.delta), example)
            trials = self.trials or TRIALS[kind]
            size = max(TRIALS[kind] // 100, 100)
            for number, instance in enumerate(INSTANCES):
                blocks = [
                    Task(
                        figure="errors",
                        point=float(number),
                        algorithm=algorithm,
                        instance=instance,
                        delta=self.delta,
                        first=start,
                        count=min(size, trials - start),
                        seed=self.seed,
                        max_samples=MAX_SAMPLES,
                    )
                    for start in range(0, trials, size)
                ]
                first.append(blocks[0])
                rest.extend(blocks[1:])
        return first + rest


def _kind(algorithm: Algorithm, example: Instance) -> str:
    """When an algorithm decides: a key of ``TRIALS``."""
    state = algorithm.begin(example.problem, np.random.default_rng(0))
    if isinstance(state, SequentialState):
        return "adaptive"
    return "phased" if isinstance(state, PhasedState) else "looking"


def collect(plan: ErrorCheck, folder: ResultsFolder) -> Table:
    """Error rates with their intervals, one row per algorithm and instance."""
    cells: dict[tuple[str, float], list[Task]] = {}
    for task in sorted(plan.tasks(), key=lambda t: (t.algorithm, t.point, t.first)):
        cells.setdefault((task.algorithm, task.point), []).append(task)
    return Table.from_rows(_summary(tasks, folder) for tasks in cells.values())


def _summary(tasks: list[Task], folder: ResultsFolder) -> dict[str, Any]:
    """The row of one cell."""
    rows = [row for task in tasks for row in folder.get(task.id)["rows"]]
    columns: dict[str, Any] = {name: [r[i] for r in rows] for i, name in enumerate(COLUMNS)}
    blank = np.full(len(rows), np.nan)
    table = Table({**columns, "lower_bound": blank, "seconds": blank})
    (found,) = summarise(table, 0.999).rows()
    # delta is refuted only when the whole interval lies above it
    return {name: found[name] for name in _SHOWN} | {"holds": found["error_low"] <= found["delta"]}
