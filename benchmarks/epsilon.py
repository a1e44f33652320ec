"""What it costs to accept an answer that is within ε of the best, and whether that is ever wrong.

Eight options, δ = 0.05. The best is ahead of the next one by a multiple of ε, and the others are
further behind. Each is measured with the same random numbers with ε and without:

- pulls: means, noise of scale 1, ε = 0.2; 60,000 pulls at most;
- counts: yes or no at 10 %, a report of 2,000 visitors a day, ε = 0.01; 300 days at most;
- table: 1,000 items right or wrong, ε = 0.04; every cell once, so no more than 8,000 of them;
- small table: the same with 200 items, whose end is nearer;
- pairs: before a Bradley–Terry judge, ε = 0.1; 20,000 comparisons at most.

The ratio is that of average costs, with its standard error (by resampling trials). Where nothing
ends without ε, costs are those at the limit, and the ratio is at most that.

*Errors*, δ = 0.2, two options: the lead is a little over ε, so that nothing but the best may be
named; or, of three, two are alike and one is a little over ε below them.

Run with: OPENBLAS_NUM_THREADS=1 python -m benchmarks.epsilon [--trials 100] [--ties 1000]
"""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
from benchmarks.recorded import Record, chunks, options, table

import surepick as sp
from surepick.algorithms.pairs.pairs import Pairs
from surepick.arrays.types import FloatArray
from surepick.bench.summary import clopper_pearson
from surepick.simulate.judges import Judge, bradley_terry, decided

DELTA, RARE = 0.05, 0.2
EPSILON = {"pulls": 0.2, "counts": 0.01, "table": 0.04, "small table": 0.04, "pairs": 0.1}
ITEMS = {"table": 1000, "small table": 200}
GAPS = (0.0, 0.5, 1.0, 2.0, 4.0, 8.0)  # times ε
OPTIONS = 8
MOST = {"pulls": 60_000, "counts": 600_000, "table": 8_000, "small table": 1_600, "pairs": 20_000}
FEWER = {"counts": 2, "pairs": 2}  # so many times fewer trials of what takes long
DAY, RATE = 2_000, 0.1
OVER = 1.02  # times ε, where only the best may be named
NULLS = ("a little over ε", "two alike, a third a little over ε below")
CHUNK = 25


def leads(name: str, gap: float) -> FloatArray:
    """How far each option is below the best: the second by ``gap`` times ε, the others more."""
    apart = gap * EPSILON[name]
    return np.concatenate([[0.0], apart + EPSILON[name] * np.array([0, 2, 2, 4, 4, 8, 8])])


def one(name: str, below: FloatArray, delta: float, epsilon: float, seed: int) -> tuple[int, int]:
    """Who is named, −1 for nobody, and what that cost."""
    rng = np.random.default_rng([seed, zlib.crc32(name.encode())])
    if name in ITEMS:
        return _table(ITEMS[name], below, delta, epsilon, rng)
    if name == "pairs":
        return _pairs(below, delta, epsilon, rng, seed)
    return (_pulls if name == "pulls" else _counts)(below, delta, epsilon, rng, seed)


def _pulls(
    below: FloatArray, delta: float, epsilon: float, rng: np.random.Generator, seed: int
) -> tuple[int, int]:
    problem = sp.Problem.unstructured(len(below), noise=1.0)
    most = MOST["pulls"]
    run = sp.algorithms.PooledPeleg(delta, epsilon=epsilon, max_samples=most).start(problem, seed)
    while not run.stopped:
        batch = run.ask()
        run.tell(batch, rng.standard_normal(len(batch.arms)) - below[batch.arms])
    return _named(run)


def _counts(
    below: FloatArray, delta: float, epsilon: float, rng: np.random.Generator, seed: int
) -> tuple[int, int]:
    problem = sp.Problem.unstructured(len(below), noise="yes-no")
    algorithm = sp.algorithms.PooledPeleg(
        delta, epsilon=epsilon, min_batch=DAY, max_batch=DAY, max_samples=MOST["counts"]
    )
    run = algorithm.start(problem, seed)
    rates = RATE + 0.08 - below
    while not run.stopped:
        batch = run.ask()
        run.tell(batch, sums=rng.binomial(batch.counts, rates))
    return _named(run)


def _named(run: Any) -> tuple[int, int]:
    return (int(run.answer.arm) if run.answer.guarantee else -1), run.samples


def _table(
    N: int, below: FloatArray, delta: float, epsilon: float, rng: np.random.Generator
) -> tuple[int, int]:
    """Right or wrong so that totals are exactly as far apart as they should be."""
    totals = np.round(0.8 * N - below * N).astype(int)
    scores = np.zeros((len(below), N))
    hard = rng.standard_normal(N)
    for row, total in enumerate(totals):  # half of what is right is so for all alike
        order = np.argsort(hard + rng.standard_normal(N))
        scores[row, order[: max(total, 0)]] = 1.0
    problem = sp.Problem.unstructured(len(below), noise="yes-no")
    state = sp.algorithms.PooledPeleg(delta, epsilon=epsilon, complete=N).begin(problem, rng)
    cells = 0
    while not state.finished:
        pulls = state.propose(scores.size)
        items = state.items_of(pulls)
        cells += len(items)
        state.observe(pulls, scores[pulls.arms, items] / problem.unit)
    return state.leader(), cells


def _pairs(
    below: FloatArray, delta: float, epsilon: float, rng: np.random.Generator, seed: int
) -> tuple[int, int]:
    strengths = -np.log((0.5 + np.minimum(below, 0.48)) / (0.5 - np.minimum(below, 0.48)))
    judge = Judge(bradley_terry(strengths), rng=rng)
    algorithm = Pairs(delta, epsilon=epsilon, max_samples=MOST["pairs"], confirm=False)
    state = decided(algorithm, sp.Problem.pairs(len(below)), judge, seed)
    return (state.leader() if state.finished else -1), state.samples


def costs(task: tuple[str, float, int, int]) -> dict[str, Any]:
    name, gap, first, count = task
    below, epsilon = leads(name, gap), EPSILON[name]
    seeds = range(first, first + count)
    found = {
        "with": [one(name, below, DELTA, epsilon, seed) for seed in seeds],
        "without": [one(name, below, DELTA, 0.0, seed) for seed in seeds],
    }
    return {way: [int(cost) for _, cost in runs] for way, runs in found.items()} | {
        "wrong": int(sum(who >= 0 and below[who] > epsilon for who, _ in found["with"]))
    }


def errors(task: tuple[str, str, int, int]) -> dict[str, int]:
    """How often an option that is not close enough was named."""
    name, null, first, count = task
    epsilon = EPSILON[name]
    over = OVER * epsilon if name not in ITEMS else epsilon + 1.0 / ITEMS[name]
    below = np.array([0.0, over] if null == NULLS[0] else [0.0, 0.0, over])
    named = [one(name, below, RARE, epsilon, seed)[0] for seed in range(first, first + count)]
    return {"trials": count, "wrong": int(sum(who == len(below) - 1 for who in named))}


def tasks(trials: int, ties: int) -> dict[str, tuple[Any, ...]]:
    found: dict[str, tuple[Any, ...]] = {}
    for name in EPSILON:
        few = FEWER.get(name, 1)
        for gap in GAPS:
            for first, count in chunks(trials // few, CHUNK):
                found[f"{name}, {gap:g} ε, from {first}"] = (name, gap, first, count)
        for null in NULLS:
            for first, count in chunks(ties // few, CHUNK):
                found[f"{name}, {null}, from {first}"] = (name, null, first, count)
    return found


def part(task: tuple[Any, ...]) -> dict[str, Any]:
    return errors(task) if isinstance(task[1], str) else costs(task)


def _ratio(found: list[dict[str, Any]]) -> str:
    both = [np.array([cost for part in found for cost in part[way]]) for way in ("with", "without")]
    draw = np.random.default_rng(0)
    rows = draw.integers(len(both[0]), size=(400, len(both[0])))
    spread = float(np.std(both[0][rows].mean(axis=1) / both[1][rows].mean(axis=1)))
    return f"{both[0].mean() / both[1].mean():.3f} ± {spread:.3f}"


def main() -> None:
    parser = options(__doc__ or "", 100)
    parser.add_argument("--ties", type=int, default=1000)
    asked = parser.parse_args()
    record = Record("epsilon", {"delta": DELTA, "options": OPTIONS}, asked)
    parts = record.fill(tasks(asked.trials, asked.ties), part)
    rows, wrong = [], []
    for name in EPSILON:
        row = [name]
        for gap in GAPS:
            found = [one for key, one in parts.items() if key.startswith(f"{name}, {gap:g} ε, ")]
            row.append(_ratio(found))
        rows.append(row)
        for null in NULLS:
            found = [one for key, one in parts.items() if key.startswith(f"{name}, {null}, ")]
            n, bad = (sum(one[what] for one in found) for what in ("trials", "wrong"))
            low, high = clopper_pearson(bad, n, 0.95)
            rate = f"{bad / max(n, 1):.3f} ({low:.3f} – {high:.3f})"
            wrong.append([name, null, f"{n:,}", rate])
    named = sum(found.get("wrong", 0) for found in parts.values() if "with" in found)
    trials = sum(len(found["with"]) for found in parts.values() if "with" in found)
    head = ["cost with ε / without", *(f"lead {gap:g} ε" for gap in GAPS)]
    record.write(
        f"{OPTIONS} options, δ = {DELTA}: cost with ε over cost without, average over trials. "
        f"Of {trials:,} answers with ε {named} were more than ε below the best.\n\n"
        + table(head, rows)
        + f"\n\nErrors at δ = {RARE}, where an option a little over ε below may not be named "
        "(95 % intervals):\n\n" + table(["", "", "trials", "wrong"], wrong)
    )


if __name__ == "__main__":
    main()
