"""The paper's experiments from plan to tables: run (resumable, anywhere), then collect.

Every result but the seconds depends only on the plan: a run that was interrupted, or spread over
many machines, gives the same rows as one that was not.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from surepick.arrays.validate import SEEDS, probability, whole
from surepick.bench.compare.plan import Contender
from surepick.bench.progress import Progress
from surepick.bench.reproduce.claims import judged
from surepick.bench.reproduce.figures import FIGURES, Figure, figure
from surepick.bench.reproduce.tasks import BOUNDS, COLUMNS, Task, do_task
from surepick.bench.store import ResultsFolder
from surepick.bench.summary import summarise
from surepick.engines import Engine
from surepick.errors import UnknownNameError
from surepick.research.levels import LEVELS
from surepick.simulate.table import Table

# Ends the rare trial that lost the best arm and is left with exactly tied losers.
MAX_SAMPLES = 10**9
_BEGINNING = 2  # points of a slow curve in a quick look
TRIALS = 50  # at each point, where nobody says how many
# Long ones: theirs differ by less than a hundredth, as their first phase always has the same length
# and nearly always decides.
LONG_TRIALS = 10
_BOUND_DRAWS = 5  # instances drawn for the bounds, where every trial has its own


@dataclass(frozen=True)
class Reproduction:
    """What to reproduce.

    Parameters
    ----------
    figures
        Letters of the paper's figures.
    algorithms
        What to compare; empty: what each figure compares.
    constants
        Levels at which that is compared: ``"printed"``, ``"program"``, ``"tight"``.
    trials
        At each point; None: 50, or 10 where each of them takes long.
    delta, seed
        As in ``surepick bench``.
    quick
        The slowest algorithm of a figure gets one trial only.
    """

    figures: tuple[str, ...] = tuple(FIGURES)
    algorithms: tuple[str, ...] = ()
    trials: int | None = None
    delta: float = 0.1
    seed: int = 0
    quick: bool = False
    constants: tuple[str, ...] = ("printed",)

    def __post_init__(self) -> None:
        for key in self.figures:
            figure(key)
        for name in self.algorithms:
            Contender.named(name)
        for level in self.constants:
            if level not in LEVELS:
                raise UnknownNameError.among("level of constants", level, LEVELS)
        if self.trials is not None:
            whole(self.trials, "trials", least=1)
        whole(self.seed, "seed", most=SEEDS)
        probability(self.delta, "delta")

    def describe(self, version: str) -> dict[str, Any]:
        """What identifies the results of this plan."""
        return {
            "experiment": "reproduce",
            "version": version,
            "figures": list(self.figures),
            "algorithms": list(self.algorithms) or "those of each figure",
            "constants": list(self.constants),
            "trials": self.trials or self.words,
            "delta": self.delta,
            "seed": self.seed,
            "quick": self.quick,
        }

    @property
    def words(self) -> str:
        """How many trials there are."""
        if self.trials is not None:
            return f"{self.trials} trials at every point"
        return f"{TRIALS} trials at every point ({LONG_TRIALS} of those that take long)"

    @property
    def levels(self) -> tuple[str, ...]:
        """What each figure is drawn for: a level, or the algorithms that were named."""
        return ("",) if self.algorithms else self.constants

    def compared(self, drawn: Figure, level: str | None = None) -> tuple[str, ...]:
        """The algorithms of a figure, of one level or of all."""
        if self.algorithms:
            return self.algorithms
        levels = self.constants if level is None else (level,)
        return tuple(dict.fromkeys(name for one in levels for name in drawn.algorithms(one)))

    def tasks(self) -> list[Task]:
        """All tasks; the first block of every cell comes first, so that costs are known early."""
        first, rest = [], []
        for drawn in map(figure, self.figures):
            for point in drawn.points:
                for algorithm in (BOUNDS, *self.compared(drawn)):
                    if self._left_out(drawn, point, algorithm):
                        continue
                    blocks = self._blocks(drawn, point, algorithm)
                    first.append(blocks[0])
                    rest.extend(blocks[1:])
        return first + rest

    def _left_out(self, drawn: Figure, point: float, algorithm: str) -> bool:
        """Whether a quick look does without: what is slow begins its curve, and no more."""
        if not self.quick or self.algorithms:  # who names algorithms wants to see them
            return False
        return algorithm in drawn.slow and drawn.points.index(point) >= _BEGINNING

    def _trials(self, drawn: Figure, point: float, algorithm: str) -> int:
        if self.trials is not None:
            return self.trials
        return LONG_TRIALS if algorithm in drawn.slow and point in drawn.long else TRIALS

    def _blocks(self, drawn: Figure, point: float, algorithm: str) -> list[Task]:
        trials = self._trials(drawn, point, algorithm)
        if algorithm == BOUNDS:
            trials = min(trials, _BOUND_DRAWS) if drawn.new_arms else 1
        elif self.quick and algorithm in drawn.slow:
            trials = 1
        # Trials on shared arms share their plans, so larger blocks save work.
        size = 1 if drawn.new_arms else 10
        return [
            Task(
                figure=drawn.key,
                point=point,
                algorithm=algorithm,
                instance=drawn.at(point),
                delta=self.delta,
                first=start,
                count=min(size, trials - start),
                seed=self.seed,
                max_samples=MAX_SAMPLES,
            )
            for start in range(0, trials, size)
        ]


def run_tasks(
    tasks: Sequence[Task],
    folder: ResultsFolder,
    engine: Engine,
    on_progress: Callable[[Progress], None] = lambda progress: None,
) -> None:
    """Run what is not yet in the folder, keeping every task as soon as it is finished."""
    cells: Counter[Hashable] = Counter()
    for task in tasks:
        cells[task.cell] += task.count
    progress = Progress(cells, engine.jobs)
    waiting = []
    for task in tasks:
        if folder.has(task.id):
            progress.update(task.cell, folder.get(task.id)["seconds"], earlier=True)
        else:
            waiting.append(task)
    on_progress(progress)
    for task, part in engine.run(do_task, waiting):
        folder.put(task.id, part)
        progress.update(task.cell, part["seconds"])
        on_progress(progress)


@dataclass(frozen=True)
class Results:
    """Everything a finished reproduction says."""

    trials: Table  #: one row per trial, the columns of ``tasks.COLUMNS``
    timings: Table  #: the seconds of each trial: never the same twice
    summary: Table  #: one row per figure, point and algorithm
    table1: Table  #: the paper's Table 1 as numbers, beside what was measured
    theorem: Table  #: PELEG as printed beside the numbers of its theorem
    claims: Table  #: what the paper says of its figures, judged at each level of constants


def collect(plan: Reproduction, folder: ResultsFolder) -> Results:
    """Read all parts of a finished plan and summarise them."""
    rows: list[list[Any]] = []
    seconds: list[float] = []
    bounds: dict[tuple[str, float], dict[str, float]] = {}
    order = {key: i for i, key in enumerate(plan.figures)}
    rank = {a: i for f in plan.figures for i, a in enumerate(plan.compared(figure(f)))}
    draws: dict[tuple[str, float], list[dict[str, float]]] = defaultdict(list)
    for task in sorted(
        plan.tasks(),
        key=lambda t: (order[t.figure], t.point, rank.get(t.algorithm, -1), t.first),
    ):
        part = folder.get(task.id)
        if task.algorithm == BOUNDS:
            draws[task.figure, task.point].extend(part["bounds"])
        else:
            rows.extend(part["rows"])
            seconds.extend(part["seconds"])
    for key, found in draws.items():
        bounds[key] = {name: float(np.mean([f[name] for f in found])) for name in found[0]}
    trials = Table({name: [row[i] for row in rows] for i, name in enumerate(COLUMNS)})
    keys = ("figure", "point", "algorithm", "trial")
    timings = Table({**{k: trials[k] for k in keys}, "seconds": seconds})
    summary = _summary(plan, trials, bounds)
    table1, theorem = _table1(summary, bounds), _theorem(summary, bounds)
    return Results(trials, timings, summary, table1, theorem, judged(summary))


def _theorem(summary: Table, bounds: dict[tuple[str, float], dict[str, float]]) -> Table:
    """Mean pulls of PELEG as printed, the sum of its phase length bounds, and Theorem 1."""
    out = []
    for row in summary.rows():
        if row["algorithm"] == "peleg-paper":
            found = bounds[row["figure"], row["point"]]
            phases, whole = found["phase bounds"], found["theorem 1"]
            out.append(
                {
                    "figure": row["figure"],
                    "point": row["point"],
                    "measured": row["mean"],
                    "phase_bounds": phases,
                    "theorem_1": whole,
                    "theorem_1_over_measured": whole / row["mean"],
                }
            )
    return Table.from_rows(out)


def _summary(
    plan: Reproduction, trials: Table, bounds: dict[tuple[str, float], dict[str, float]]
) -> Table:
    """Figure by figure; the seconds are left out, since they are never the same twice."""
    out = []
    for key in plan.figures:
        members = trials["figure"] == key
        of = {name: trials[name][members] for name in trials.columns}
        points = {text: float(point) for text, point in zip(of["instance"], of["point"])}
        limit = [bounds[key, float(p)]["lower bound"] for p in of["point"]]
        filled = {**of, "lower_bound": limit, "seconds": np.zeros(int(members.sum()))}
        # A trial that lost the best arm and is left with equal losers ends at MAX_SAMPLES: it
        # counts as wrong, but its pulls are left out of the mean, which they would dominate.
        for row in summarise(Table(filled), own_stops_only=True).rows():
            del row["seconds"]
            out.append({"figure": key, "point": points[row["instance"]], **row})
    return Table.from_rows(out)


def _table1(summary: Table, bounds: dict[tuple[str, float], dict[str, float]]) -> Table:
    out = []
    for row in summary.rows():
        bound = bounds[row["figure"], row["point"]].get(row["algorithm"].partition(":")[0])
        if bound is not None:
            out.append(
                {
                    "figure": row["figure"],
                    "point": row["point"],
                    "algorithm": row["algorithm"],
                    "bound": bound,
                    "measured": row["mean"],
                    "measured_over_bound": row["mean"] / bound,
                }
            )
    return Table.from_rows(out)
