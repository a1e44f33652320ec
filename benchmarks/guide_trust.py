"""Features that only guide, and costs: what knowing them saves, and what it costs if they mislead.

*Features.* Options with a mean each, and features that say nothing about them (three at random,
half as many as there are options, two columns of categories), that are right but for the best
option, that are partly right (with half of the spread of the means as an error) and that are right.
Rewards vary by 1, 0.2 or 0.05 where the best leads by 0.5 or more. Measurements with features as a
guide (``misfit=inf``) are divided by those without features; the k-th measurement of an option has
the same reward in both.

*Costs.* A table of 30 options that cost 1 to 10 each, without features and with features as a guide
that are partly right. What is spent is divided by what is spent without being told the costs.
Beside it the best that can be hoped for: the same ratio for numbers of pulls that need to know all
means in advance. Each option has to be ruled out by measurements of its own, whatever they cost:
only the shares of the best option and of the others can be moved.

*Strata.* Eight options with right features as a guide, two days that differ by 40 times the noise,
told as strata; beside it the same without days.

Run with: OPENBLAS_NUM_THREADS=1 python -m benchmarks.guide_trust --trials 3 --strata 40
"""

from __future__ import annotations

import itertools
import math
import time
import zlib
from typing import Any

import numpy as np
from benchmarks.paired import ratio
from benchmarks.recorded import Record, chunks, options, table

import surepick as sp
from surepick.algorithms.pooled.direct import direct_counts

DELTA, CHUNK = 0.05, 3
NOISE: dict[str, Any] = {"unknown": "symmetric", "σ known": 1.0}
SIZES, SHAPES, SCALES = (10, 24), ("normal", "one best", "ladder"), (1.0, 0.2, 0.05)
FEATURES = (
    *("three at random", "half as many as options, at random", "categories at random"),
    *("right but for the best", "partly right", "right"),
)
SAYING_NOTHING = FEATURES[:3]
COSTED, PRICED = 30, ("unrelated", "the better the dearer", "the better the cheaper")


def means_of(shape: str, n: int) -> np.ndarray:
    rng = np.random.default_rng([3, n])
    if shape == "normal":
        means = np.sort(rng.normal(size=n))
        means[-1] = means[-2] + 0.5
    elif shape == "one best":
        means = np.append(np.zeros(n - 1), 1.0)
    else:
        means = np.append(np.linspace(-1.0, 1.0, n - 1), 1.6)
    return rng.permutation(means)


def features_of(name: str, means: np.ndarray) -> np.ndarray:
    n, rng = len(means), np.random.default_rng([5, len(means), zlib.crc32(name.encode())])
    if name == "three at random":
        return rng.normal(size=(n, 3))
    if name == "half as many as options, at random":
        return rng.normal(size=(n, n // 2))
    if name == "categories at random":
        first, second = (np.append(np.arange(k), rng.integers(0, k, n - k)) for k in (4, 3))
        return np.hstack([np.eye(4)[first], np.eye(3)[rng.permutation(second)][:, 1:]])
    shown = means.copy()
    if name == "right but for the best":
        shown[np.argmax(means)] = means.min() - 1.0
    if name == "partly right":
        shown += 0.5 * means.std() * rng.normal(size=n)
    return np.column_stack([np.ones(n), shown, rng.normal(size=(n, 2))])


def spent(
    problem: sp.Problem, means: np.ndarray, scale: float, seed: list[int]
) -> tuple[Any, bool]:
    """Pulls of each option until the best is known, and whether it is another one."""
    drawn = [np.random.default_rng([*seed, arm]) for arm in range(len(means))]
    run = sp.algorithms.PooledPeleg(DELTA).start(problem)
    while not run.stopped:
        batch = run.ask()
        run.tell(batch, [means[arm] + scale * drawn[arm].normal() for arm in batch.arms])
    return run.pulls, bool(run.answer.arm != np.argmax(means))


def trust(task: tuple[Any, ...]) -> dict[str, Any]:
    _, kind, n, shape, scale, first, count, seed = task
    started, found, wrong = time.process_time(), [], 0
    means = means_of(shape, n)
    problems = [sp.Problem(np.eye(n), noise=NOISE[kind])]
    for name in FEATURES:
        features = features_of(name, means)
        problems.append(sp.Problem(features, noise=NOISE[kind], misfit=math.inf))
    for trial in range(first, first + count):
        runs = [spent(one, means, scale, [seed, trial]) for one in problems]
        found.append([int(pulls.sum()) for pulls, _ in runs])
        wrong += sum(other for _, other in runs)
    seconds = round(time.process_time() - started, 2)
    return {"pulls": found, "wrong": wrong, "seconds": seconds}


def catalogue(priced: str) -> tuple[np.ndarray, np.ndarray]:
    """Means and costs."""
    rng = np.random.default_rng(5)
    means = np.sort(rng.normal(size=COSTED))
    means[-1] = means[-2] + 0.4
    costs = 10 ** rng.uniform(0.0, 1.0, COSTED)
    if priced != "unrelated":
        costs = np.sort(costs) if priced == "the better the dearer" else np.sort(costs)[::-1]
    order = rng.permutation(COSTED)
    return means[order], costs[order]


def hoped(means: np.ndarray, costs: np.ndarray) -> float:
    """What the best shares for these costs cost, over what the best shares for equal ones do."""
    gaps = means.max() - means
    needs = np.divide(1.0, gaps**2, out=np.zeros_like(gaps), where=gaps > 0)
    leader = int(np.argmax(means))
    told = float(direct_counts(leader, needs, costs).sum())
    return told / float(direct_counts(leader, needs, np.ones(COSTED)) @ costs)


def money(task: tuple[Any, ...]) -> dict[str, Any]:
    _, kind, priced, guided, first, count, seed = task
    started, found, wrong = time.process_time(), [], 0
    means, costs = catalogue(priced)
    table_of = features_of("partly right", means) if guided else np.eye(COSTED)
    for trial in range(first, first + count):
        row = []
        for known in (costs, None):
            problem = sp.Problem(
                table_of, noise=NOISE[kind], costs=known, misfit=math.inf if guided else 0.0
            )
            pulls, other = spent(problem, means, 1.0, [seed, trial])
            row.append(float(pulls @ costs))
            wrong += other
        found.append(row)
    seconds = round(time.process_time() - started, 2)
    return {"spent": found, "wrong": wrong, "seconds": seconds}


def measure(task: tuple[Any, ...]) -> dict[str, Any]:
    return trust(task) if task[0] == "features" else money(task)


# -- strata --------------------------------------------------------------------------------------
GRID = np.linspace(-1.0, 1.0, 8)
BY_DAY = np.column_stack([np.ones(8), GRID, GRID[[3, 0, 6, 1, 7, 2, 5, 4]]])
DAYS, MOST_BY_DAY = 40.0, 5_000


def by_day(task: tuple[int, int, int]) -> list[list[Any]]:
    """Pulls with days and without, and whether another option than the best was named."""
    first, count, seed = task
    means, found = BY_DAY @ np.array([0.0, 3.6, -2.8]), []
    for i, days in itertools.product(range(first, first + count), (True, False)):
        rng = np.random.default_rng([seed, 8, i])
        problem = sp.Problem(BY_DAY, noise="symmetric", misfit=math.inf)
        run = sp.algorithms.PooledPeleg(DELTA, max_samples=MOST_BY_DAY).start(problem, i)
        while not run.stopped:
            batch = run.ask()
            day = rng.integers(0, 2, len(batch))
            rewards = means[batch.arms] + days * DAYS * day + rng.normal(size=len(batch))
            run.tell(batch, rewards, strata=day.astype(str).tolist() if days else None)
        found.append([run.samples, bool(run.answer.arm != means.argmax())])
    return found


def days_report(parts: dict[str, Any], trials: int) -> str:
    mine = [row for part in parts.values() for row in part]
    with_days, without = np.log([[row[0] for row in mine[k::2]] for k in (0, 1)])
    error = math.sqrt((with_days.var(ddof=1) + without.var(ddof=1)) / len(with_days))
    times = math.exp(with_days.mean() - without.mean())
    pulls = [f"{math.exp(logs.mean()):,.0f}" for logs in (with_days, without)]
    wrong = f"{sum(row[1] for row in mine)} of {len(mine)}"
    rows = [[*pulls, f"{times:.2f} ± {times * error:.2f}", wrong]]
    head = ["days as strata", "no days", "ratio", "wrong"]
    return (
        f"# Strata where features guide\n\nδ = {DELTA:g}, {trials} trials of each cell: geometric "
        f"means of pulls, and their ratio, ± one standard error.\n\n{table(head, rows)}"
    )


def main() -> None:
    parser = options("Features that only guide, and costs.", trials=3)
    parser.add_argument("--strata", type=int, default=40, help="trials with days and without")
    given = parser.parse_args()
    days = Record("guide_strata", {"delta": DELTA, "seed": given.seed}, given)
    of_days = {str(first): (first, count, given.seed) for first, count in chunks(given.strata, 10)}
    days.write(days_report(days.fill(of_days, by_day), given.strata))
    record = Record("guide_trust", {"delta": DELTA, "seed": given.seed}, given)
    cells = [("features", *one) for one in itertools.product(NOISE, SIZES, SHAPES, SCALES)]
    cells += [("costs", *one) for one in itertools.product(NOISE, PRICED, (False, True))]
    tasks = {
        " | ".join(map(str, (*cell, first))): (*cell, first, count, given.seed)
        for cell in cells
        for first, count in chunks(given.trials, CHUNK)
    }
    parts = record.fill(tasks, measure)
    wrong = sum(part["wrong"] for part in parts.values())
    runs = sum(
        len(FEATURES) + 1 if "pulls" in part else 2
        for part in parts.values()
        for _ in part.get("pulls", part.get("spent"))
    )
    record.write(
        f"# Features that only guide, and costs\n\nδ = {DELTA:g}, {given.trials} trials of each "
        f"cell; {wrong} of {runs:,} runs named another option than the best.\n\n"
        f"## Measurements with features as a guide, over those without\n\n{_trust(tasks, parts)}"
        f"\n\n## What is spent with costs known, over what is spent without\n\n"
        f"{_money(tasks, parts)}"
    )


def _rows(tasks: dict[str, Any], parts: dict[str, Any], column: str, *head: Any) -> np.ndarray:
    own = [parts[key][column] for key, task in tasks.items() if task[: len(head)] == head]
    return np.array([row for part in own for row in part], dtype=float)


def _trust(tasks: dict[str, Any], parts: dict[str, Any]) -> str:
    rows, means = [], np.zeros((0, len(FEATURES)))
    for kind, scale in itertools.product(NOISE, SCALES):
        for n, shape in itertools.product(SIZES, SHAPES):
            pulls = _rows(tasks, parts, "pulls", "features", kind, n, shape, scale)
            found = [ratio(pulls[:, i], pulls[:, 0])[0] for i in range(1, len(FEATURES) + 1)]
            means = np.vstack([means, found])
            head = [kind, f"{scale:g}", str(n), shape, f"{pulls[:, 0].mean():,.0f}"]
            rows.append([*head, *(f"{one:.2f}" for one in found)])
    for name, line in (
        ("mean", np.exp(np.log(means).mean(axis=0))),
        ("largest", means.max(axis=0)),
    ):
        rows.append([name, "", "", "", "", *(f"{one:.2f}" for one in line)])
    return table(["noise", "scale", "options", "means", "without", *FEATURES], rows)


def _money(tasks: dict[str, Any], parts: dict[str, Any]) -> str:
    rows = []
    for priced in PRICED:
        cells = [f"{hoped(*catalogue(priced)):.2f}"]
        for kind, guided in itertools.product(NOISE, (False, True)):
            money = _rows(tasks, parts, "spent", "costs", kind, priced, guided)
            found, error = ratio(money[:, 0], money[:, 1])
            cells.append(f"{found:.2f} ± {error:.2f}")
        rows.append([priced, *cells])
    ways = [f"{kind}, {how}" for kind in NOISE for how in ("no features", "guided")]
    return table(["costs", "hoped for", *ways], rows)


if __name__ == "__main__":
    main()
