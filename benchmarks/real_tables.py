"""Real tables: which of many settings of a model is the best, from single predictions.

Three tables that scikit-learn carries. Options are settings of a model, cross-validated on all
examples of the table; a measurement is one prediction. Which one is the best over all examples is
known here, so an answer can be seen to be wrong.

- *digits*: 30 support vector machines (C and gamma, on logarithmic scales), right or wrong on one
  of 900 images. The two settings work against each other.
- *tumours*: 56 nearest-neighbour rules (neighbours, metric, weights, scaling), right or wrong on
  one of 569 samples. Nearly linear, with many settings close to the best.
- *diabetes*: 24 nearest-neighbour regressions (neighbours, weights), the error of one of 442
  predictions, as a share of the largest possible one. The best number of neighbours is in the
  middle.

Each is decided in four ways: features trusted, features as a guide, without features, and on common
items (``items=``), which also lets features guide. An answer counts as wrong when it is further
from the best than epsilon while its guarantee stands. The check of the fit is made at the end of
the first way, as studies make it. The number of different predictions is given, too: whoever keeps
what was predicted pays for these only.

Run with: OPENBLAS_NUM_THREADS=1 python -m benchmarks.real_tables --trials 20
(needs scikit-learn; the predictions take a minute)
"""

from __future__ import annotations

import math
import time
import zlib
from collections.abc import Callable
from functools import cache
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from benchmarks.misfit import spoke
from benchmarks.recorded import Record, chunks, options, table

import surepick as sp
from surepick.arrays.types import FloatArray
from surepick.run.diagnostics import ArmSummary

DELTA = 0.05
MOST = 300_000  # evaluations of one trial
WAYS = ("features trusted", "features as a guide", "without features", "on common items")


class Table(NamedTuple):
    """Results of all options on all items."""

    features: FloatArray
    results: FloatArray  #: (options, items); larger is better
    noise: Any  #: as ``Problem`` takes it
    epsilon: float


@cache
def digits() -> Table:
    from sklearn.datasets import load_digits
    from sklearn.model_selection import cross_val_predict
    from sklearn.svm import SVC

    images, names = load_digits(return_X_y=True)
    images, names = images[:900] / 16.0, names[:900]
    grid = list(product((0.1, 0.3, 1.0, 3.0, 10.0), (0.01, 0.03, 0.1, 0.3, 1.0, 3.0)))
    right = [cross_val_predict(SVC(C=c, gamma=g), images, names, cv=5) == names for c, g in grid]
    return Table(np.log(grid), np.array(right, dtype=float), "yes-no", 0.01)


@cache
def tumours() -> Table:
    from sklearn.datasets import load_breast_cancer
    from sklearn.model_selection import cross_val_predict
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    samples, names = load_breast_cancer(return_X_y=True)
    grid = list(product((1, 3, 5, 9, 15, 25, 45), (1, 2), ("uniform", "distance"), (False, True)))
    right, features = [], []
    for neighbours, metric, weights, scaled in grid:
        rule = KNeighborsClassifier(neighbours, p=metric, weights=weights)
        model = make_pipeline(StandardScaler(), rule) if scaled else rule
        right.append(cross_val_predict(model, samples, names, cv=5) == names)
        features.append([math.log(neighbours), metric, weights == "distance", scaled])
    return Table(np.array(features, dtype=float), np.array(right, dtype=float), "yes-no", 0.01)


@cache
def diabetes() -> Table:
    from sklearn.datasets import load_diabetes
    from sklearn.model_selection import cross_val_predict
    from sklearn.neighbors import KNeighborsRegressor

    patients, progress = load_diabetes(return_X_y=True)
    widest = float(np.ptp(progress))
    grid = list(product((1, 2, 3, 5, 8, 12, 18, 25, 35, 50, 70, 100), ("uniform", "distance")))
    close, features = [], []
    for neighbours, weights in grid:
        model = KNeighborsRegressor(neighbours, weights=weights)
        predicted = cross_val_predict(model, patients, progress, cv=10)
        close.append(1.0 - np.abs(predicted - progress) / widest)
        features.append([math.log(neighbours), weights == "distance"])
    return Table(np.array(features, dtype=float), np.array(close), (0.0, 1.0), 0.01)


TABLES: dict[str, Callable[[], Table]] = {
    "digits": digits,
    "tumours": tumours,
    "diabetes": diabetes,
}


def problem_of(of: Table, way: str) -> sp.Problem:
    if way == "without features":
        return sp.Problem.unstructured(len(of.results), noise=of.noise)
    spread = of.features.std(axis=0)
    scaled = (of.features - of.features.mean(axis=0)) / spread
    features = np.column_stack([np.ones(len(scaled)), scaled])
    trusted = way == "features trusted"
    return sp.Problem(features, noise=of.noise, misfit=0.0 if trusted else math.inf)


def trial(of: Table, way: str, rng: np.random.Generator) -> dict[str, Any]:
    """One run: evaluations, different ones, wrong or not, and whether the check spoke."""
    examples = of.results.shape[1]
    problem = problem_of(of, way)
    items = examples if way == "on common items" else None
    algorithm = sp.algorithms.PooledPeleg(DELTA, epsilon=of.epsilon, items=items, max_samples=MOST)
    run = algorithm.start(problem, rng)
    seen, squares = np.zeros(of.results.shape, dtype=bool), np.zeros(len(of.results))
    while not run.stopped:
        batch = run.ask()
        drawn = rng.integers(0, examples, batch.size) if batch.items is None else batch.items
        rewards = of.results[batch.arms, drawn]
        seen[batch.arms, drawn] = True
        np.add.at(squares, batch.arms, rewards**2)
        run.tell(batch, rewards)
    spreads = squares - run.sums**2 / np.maximum(run.pulls, 1)
    told = ArmSummary(run.pulls, run.sums, np.maximum(spreads, 0.0))
    answer, means = run.answer, of.results.mean(axis=1)
    return {
        "evaluations": answer.samples,
        "different": int(seen.sum()),
        "undecided": not answer.guarantee,
        "wrong": bool(answer.guarantee) and bool(means[answer.arm] < means.max() - of.epsilon),
        "spoke": way == WAYS[0] and spoke(run, told),
    }


def measure(task: tuple[str, str, int, int, int]) -> dict[str, Any]:
    """What some trials came to, each number in a column."""
    name, way, first, count, seed = task
    of, started = TABLES[name](), time.process_time()
    key = zlib.crc32(f"{name} {way}".encode())
    found = [
        trial(of, way, np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(key, i))))
        for i in range(first, first + count)
    ]
    columns = {column: [one[column] for one in found] for column in found[0]}
    return columns | {"seconds": round(time.process_time() - started, 2)}


def report(parts: dict[str, Any]) -> str:
    rows = []
    for name, way in product(TABLES, WAYS):
        own = [part for key, part in parts.items() if key.startswith(f"{name} | {way} |")]
        column = {
            of: np.concatenate([part[of] for part in own])
            for of in ("evaluations", "different", "undecided", "wrong", "spoke")
        }
        trials = len(column["wrong"])
        rows.append(
            [
                name,
                way,
                f"{column['evaluations'].mean():,.0f}",
                f"{column['different'].mean():,.0f}",
                f"{column['wrong'].sum()} of {trials}",
                f"{column['spoke'].sum()} of {trials}" if way == WAYS[0] else "",
                f"{column['undecided'].sum()}" if column["undecided"].any() else "",
            ]
        )
    sizes = ", ".join(f"{name} {of().results.size:,}" for name, of in TABLES.items())
    head = ["table", "way", "evaluations", "different ones", "wrong", "check spoke", "undecided"]
    lines = [
        "# Settings of models, decided from single predictions",
        "",
        f"δ = {DELTA:g}; all predictions there are: {sizes}.",
        "",
        table(head, rows),
    ]
    return "\n".join(lines)


def main() -> None:
    given = options(__doc__ or "", 20).parse_args()
    record = Record("real_tables", {"trials": given.trials, "seed": given.seed}, given)
    tasks = {
        f"{name} | {way} | {first} | {count}": (name, way, first, count, given.seed)
        for name, way in product(TABLES, WAYS)
        for first, count in chunks(given.trials, 10)
    }
    record.write(report(record.fill(tasks, measure)))


if __name__ == "__main__":
    main()
