"""Rewards that are not symmetric under the kind of noise that says they are: how often it is wrong.

Options as people have them: latencies, one with 1 % time-outs; revenue, one visitor in a hundred
buys for 210 or one in twenty for 40; log-normal numbers of different spread; and options that are
all alike: revenue, ratings, waiting times, mostly zeros. Option 0 has the largest mean, or nobody
has a larger one. Each run with noise="symmetric" goes on until it is decided, or has 4,000
measurements. Wrong: option 0 was ruled out, and nothing was said. Taken back: it was, but the check
of symmetry fired, and the answer says so. Beside it the same rewards with bounds.

Run with: python -m benchmarks.skewed [--trials 200] [--jobs 2] (--trials 20 for a look).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from benchmarks.recorded import Record, options, table

import surepick as sp

DELTAS, MOST = (0.2, 0.05), 4_000
Draw = Callable[[np.ndarray, np.random.Generator], np.ndarray]


def latency(arms: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Minus milliseconds: 100 ± 10, or 95 ± 10 and a time-out of 3,000 once in a hundred times."""
    times = rng.normal(np.array([100.0, 95.0])[arms], 10.0)
    late = (arms == 1) & (rng.random(len(arms)) < 0.01)
    return -np.where(late, 3000.0, times.clip(0.0, 3000.0))


def revenue(arms: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """What a visitor pays: 210 with 1 %, or 40 with 5 %."""
    pays = rng.random(len(arms)) < np.array([0.01, 0.05])[arms]
    return np.where(pays, np.array([210.0, 40.0])[arms], 0.0)


def lognormal(arms: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Log-normal numbers, cut at 60: spread 1 and mean 1.65, or spread 0.3 and mean 1.5."""
    middle, spread = np.array([0.0, 0.36])[arms], np.array([1.0, 0.3])[arms]
    return np.exp(rng.normal(middle, spread)).clip(0.0, 60.0)


def late(arms: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Minus log-normal latencies, cut at 60, of the same mean and different spread."""
    spread = np.array([0.4, 1.0])[arms]
    return -np.exp(rng.normal(-0.5 * spread**2, spread)).clip(0.0, 60.0)


def alike_revenue(arms: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Nine in ten pay nothing."""
    paid = rng.lognormal(3.0, 1.0, len(arms)).clip(0.0, 1000.0)
    return np.where(rng.random(len(arms)) < 0.1, paid, 0.0)


def ratings(arms: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return rng.choice(5, p=[0.2, 0.05, 0.05, 0.1, 0.6], size=len(arms)) + 1.0


def exponential(arms: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return rng.exponential(size=len(arms)).clip(0.0, 30.0)


def alike_lognormal(arms: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return rng.lognormal(0.0, 1.0, len(arms)).clip(0.0, 60.0)


def zeros(arms: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return np.where(rng.random(len(arms)) < 0.05, exponential(arms, rng), 0.0)


def ties(arms: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return rng.choice(3, p=[0.7, 0.2, 0.1], size=len(arms)).astype(float)


#: rewards, how many options, and bounds
CASES: dict[str, tuple[Draw, int, tuple[float, float]]] = {
    "latencies, one with 1 % time-outs": (latency, 2, (-3000.0, 0.0)),
    "revenue, 1 % × 210 and 5 % × 40": (revenue, 2, (0.0, 210.0)),
    "log-normals of different spread": (lognormal, 2, (0.0, 60.0)),
    "log-normal latencies of one mean": (late, 2, (-60.0, 0.0)),
    "ten revenue options alike": (alike_revenue, 10, (0.0, 1000.0)),
    "ratings, J-shaped, alike": (ratings, 3, (1.0, 5.0)),
    "exponential, alike": (exponential, 2, (0.0, 30.0)),
    "log-normal, alike": (alike_lognormal, 2, (0.0, 60.0)),
    "95 % zeros, alike": (zeros, 2, (0.0, 30.0)),
    "three values, alike": (ties, 2, (0.0, 2.0)),
}


def outcomes(task: tuple[str, str, float, int]) -> dict[str, Any]:
    """Shares of runs that were wrong with their promise standing, and wrong with it taken back."""
    name, kind, delta, trials = task
    draw, n, bounds = CASES[name]
    problem = sp.Problem.unstructured(n, noise="symmetric" if kind == "symmetric" else bounds)
    wrong = back = 0
    for seed in range(trials):
        rng = np.random.default_rng([seed, 7])
        run = sp.algorithms.PooledPeleg(delta, max_samples=MOST).start(problem, seed)
        while not run.stopped:
            batch = run.ask()
            run.tell(batch, draw(batch.arms, rng))
        if 0 not in run.active:
            taken_back = run.answer.guarantee.kind == "heuristic"
            back, wrong = back + taken_back, wrong + (not taken_back)
    return {"trials": trials, "wrong": wrong / trials, "taken back": back / trials}


def main() -> None:
    """Run all, print a table, and keep it in results/skewed.md."""
    asked = options(__doc__ or "", 200).parse_args()
    record, kinds = Record("skewed", {"trials": asked.trials}, asked), ("symmetric", "bounds")
    tasks = {
        f"{name}, {kind}, {delta}": (name, kind, delta, asked.trials)
        for name in CASES
        for kind in kinds
        for delta in DELTAS
    }
    found, rows = record.fill(tasks, outcomes), []
    for name in CASES:
        row = [name]
        for delta in DELTAS:
            one, other = (found[f"{name}, {kind}, {delta}"] for kind in kinds)
            row += [f"{one['wrong']:.3f}", f"{one['taken back']:.3f}", f"{other['wrong']:.3f}"]
        rows.append(row)
    head = ["case"]
    for delta in DELTAS:
        head += [f"wrong at δ = {delta}", "taken back", "with bounds"]
    said = (
        f"`python -m benchmarks.skewed --trials {asked.trials}`: shares of runs, of {MOST:,} "
        "measurements at most, in which the best option was ruled out. Wrong: "
        'noise="symmetric", with the promise standing. '
        "Taken back: the check of symmetry fired. With bounds: the same rewards, "
        "given their bounds."
    )
    record.write("\n\n".join(["# Skewed rewards", said, table(head, rows)]))


if __name__ == "__main__":
    main()
