"""Options that cost different amounts to measure: what is spent by a run that knows it.

Beside it a run on the same rewards that is not told; both are right with the same probability. On
three instances costs should matter: the arm that tells most is dear (confounding), or what is dear
can be worked out from what is cheap (layouts of switches, one pair of which is dear; random arms).
On others they can hardly: options without features each have to be measured, those that are hard to
rule out are the dear ones, or all cost the same.

Run with: OPENBLAS_NUM_THREADS=1 python -m benchmarks.costs
"""

from __future__ import annotations

import itertools
import math
import time
from typing import Any, NamedTuple

import numpy as np
from benchmarks.recorded import Record, chunks, options, table

import surepick as sp


class Instance(NamedTuple):
    """A linear bandit with noise of scale one, and costs."""

    arms: np.ndarray
    theta: np.ndarray
    costs: np.ndarray


def confounding() -> Instance:
    d, omega = 3, 0.3
    mixed = [[math.cos(omega), math.sin(omega), 0.0], [0.2, 1.0, 0.0], [-0.1, 0.9, 0.1]]
    costs = np.array([1.0, 100.0, 1.0, 1.0, 3.0, 2.0])
    return Instance(np.vstack([np.eye(d), mixed]), np.eye(d)[0], costs)


def switches() -> Instance:
    arms = np.array([[1.0, *row] for row in itertools.product([0.0, 1.0], repeat=4)])
    return Instance(arms, np.array([0.0, 0.3, 0.2, 0.25, 0.15]), 1 + 99 * arms[:, 1] * arms[:, 4])


def random_arms() -> Instance:
    rng = np.random.default_rng(8)
    arms = rng.normal(size=(40, 5))
    arms /= np.linalg.norm(arms, axis=1)[:, None]
    theta = arms[0] * 1.0
    return Instance(arms, theta, 10 ** rng.uniform(0, 2, 40))


def unrelated(means: np.ndarray, costs: np.ndarray) -> Instance:
    return Instance(np.eye(len(means)), means, costs)


INSTANCES = {
    "confounding, the telling arm is dear": confounding(),
    "16 layouts, 4 of them dear": switches(),
    "40 random arms, costs 1 to 100": random_arms(),
    "10 unrelated, rivals cost 1 to 100": unrelated(
        np.r_[1.0, np.full(9, 0.5)], np.geomspace(1, 100, 10)
    ),
    "10 unrelated, the hard ones are dear": unrelated(
        np.r_[1.0, np.linspace(0.8, 0.0, 9)], np.geomspace(100, 1, 10)
    ),
    "6 unrelated, all cost the same": unrelated(
        np.array([1.0, 0.6, 0.6, 0.5, 0.4, 0.2]), np.full(6, 7.0)
    ),
}
KINDS: dict[str, Any] = {"σ known": 1.0, "unknown": None}
DELTA = 0.05


def measure(task: tuple[Any, ...]) -> dict[str, Any]:
    name, kind, first, count, seed = task
    case, started = INSTANCES[name], time.process_time()
    means = case.arms @ case.theta
    found: dict[str, Any] = {"told": [], "blind": [], "wrong": 0}
    for i, told in itertools.product(range(first, first + count), (True, False)):
        rng = np.random.default_rng([seed, i])
        costs = case.costs if told else None
        problem = sp.Problem(case.arms, noise=KINDS[kind], costs=costs)
        answer = sp.identify(
            problem,
            measure_batch=lambda arms, rng=rng: means[arms] + rng.normal(size=len(arms)),
            delta=DELTA,
        )
        found["told" if told else "blind"].append(float(answer.pulls @ case.costs))
        found["wrong"] += int(means[answer.arm] < means.max())
    return found | {"trials": count, "seconds": round(time.process_time() - started, 2)}


def tables(parts: dict[str, Any]) -> str:
    cells: dict[tuple[str, str], dict[str, Any]] = {}
    for key, part in parts.items():
        name, kind = key.split(" | ")[:2]
        mine = cells.setdefault((name, kind), {"told": [], "blind": [], "wrong": 0})
        for column in mine:
            mine[column] = mine[column] + part[column]
    rows = []
    for (name, kind), cell in cells.items():
        case = INSTANCES[name]
        problem = sp.Problem(case.arms, noise=1.0, costs=case.costs)
        bound = sp.design.complexity(problem, case.theta, tol=1e-3).lower_bound(DELTA)
        told, blind = float(np.mean(cell["told"])), float(np.mean(cell["blind"]))
        numbers = [f"{told:,.0f}", f"{blind:,.0f}", f"{told / blind:.2f}", f"{bound:,.0f}"]
        rows.append([name, kind, *numbers, str(cell["wrong"])])
    head = ["instance", "noise", "spent", "if not told", "ratio", "lower bound", "wrong"]
    return table(head, rows)


def main() -> None:
    given = options("options that cost different amounts", trials=20).parse_args()
    record = Record("costs", {"trials": given.trials, "seed": given.seed}, given)
    tasks = {
        f"{name} | {kind} | {first} | {count}": (name, kind, first, count, given.seed)
        for first, count in chunks(given.trials, 5)
        for name in INSTANCES
        for kind in KINDS
    }
    parts = record.fill(tasks, measure)
    record.write(
        f"# Options that cost different amounts\n\n{given.trials} trials of each cell, δ = "
        f"{DELTA:g}; means of what was spent until the best was known. The lower bound is that for "
        f"a known scale.\n\n{tables(parts)}"
    )


if __name__ == "__main__":
    main()
