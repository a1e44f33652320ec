"""How often algorithms are wrong, measured on instances chosen to be hard.

Hard means that mistakes are likely, not that trials are long: small gaps between few candidates.
Phased algorithms cost next to nothing to simulate and are tried most often.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from surepick.algorithms import names
from surepick.algorithms.sequential import SequentialState
from surepick.bench.named import build_instance
from surepick.bench.plan import Contender
from surepick.bench.store import ResultsFolder
from surepick.bench.summary import summarise
from surepick.bench.tasks import COLUMNS, Task
from surepick.problem.validate import probability, whole
from surepick.simulate.table import Table

INSTANCES = (
    "standard:gap=0.7,d=2",
    "standard:gap=1,d=5",
    "confounding:d=2,omega=0.9",
    "confounding:d=4,omega=0.9",
    "unit_sphere:d=2,k=5,gamma=0.3,rng=37,noise=0.2",
    "unit_sphere:d=3,k=8,gamma=0.3,rng=41,noise=0.2",
)
PHASED, ADAPTIVE = 100_000, 5_000  # trials
# Ends the rare trial that lost the best candidate and is left with (nearly) tied losers.
MAX_SAMPLES = 10**7


@dataclass(frozen=True)
class ErrorCheck:
    """What to measure.

    Parameters
    ----------
    algorithms
        What to try; empty: everything with a theorem that needs no oracle.
    trials
        Of every algorithm; by default ``PHASED`` or ``ADAPTIVE``.
    """

    algorithms: tuple[str, ...] = ()
    delta: float = 0.1
    seed: int = 0
    trials: int | None = None

    def __post_init__(self) -> None:
        probability(self.delta, "delta")
        whole(self.seed, "seed")
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
            "trials": self.trials or {"phased": PHASED, "adaptive": ADAPTIVE},
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
            configured = Contender.named(algorithm).configure(example, self.delta)
            state = configured.begin(example.problem, np.random.default_rng(0))
            adaptive = isinstance(state, SequentialState)
            trials = self.trials or (ADAPTIVE if adaptive else PHASED)
            size = 100 if adaptive else 1000
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


def collect(plan: ErrorCheck, folder: ResultsFolder) -> Table:
    """Error rates with their intervals, one row per algorithm and instance."""
    rows: list[list[Any]] = []
    for task in sorted(plan.tasks(), key=lambda t: (t.algorithm, t.point, t.first)):
        rows.extend(folder.get(task.id)["rows"])
    columns: dict[str, Any] = {name: [r[i] for r in rows] for i, name in enumerate(COLUMNS)}
    blank = np.full(len(rows), np.nan)
    summary = summarise(Table({**columns, "lower_bound": blank, "seconds": blank}), 0.999)
    keep = ("algorithm", "instance", "delta", "trials", "failed", "mean", "errors", "error_rate")
    keep += ("error_low", "error_high", "stopped_early")
    out = {name: summary[name] for name in keep}
    # delta is refuted only when the whole interval lies above it
    return Table({**out, "holds": summary["error_low"] <= summary["delta"]})
