"""The best quantile: how often a proof is wrong at ties, and how many measurements it takes.

Ten latencies, log-normal; the smallest 95th percentile is looked for, and the smallest median.

Errors: at ties, the hardest truth to keep. Options have other shapes, or many equal values,
and the same quantile. A run goes on until it is decided or has 3,000 measurements; it is wrong if
it ruled out option 0, which is as good as any.

Measurements: until the best is proven, beside the same number of measurements of every option, each
with an exact interval for its quantile that holds at all times (the 2/α of each option, with α =
δ/K), until one interval lies beyond all others.

Run with: python -m benchmarks.quantiles [--trials 1000] (some five minutes for 200 trials on
one core). Results are kept part by part.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from benchmarks.recorded import Record, options, table

import surepick as sp
from surepick.proof.payoffs.quantiles import interval

MOST, MANY = 3000, 200_000
DELTAS = (0.2, 0.05)
USUAL = np.array([100, 105, 110, 110, 120, 120, 130, 140, 150, 160.0])
SPREAD = np.array([0.2, 0.25, 0.25, 0.3, 0.3, 0.25, 0.35, 0.3, 0.25, 0.3])
ASKED = {"95th percentile": 0.95, "median": 0.5}
Z95 = 1.6448536269514722


def latencies(arms: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return USUAL[arms] * np.exp(SPREAD[arms] * rng.normal(size=len(arms)))


def tied(p: float) -> Any:
    """Ten latencies of other shapes with the same quantile."""
    z = Z95 if p > 0.5 else 0.0

    def draw(arms: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return 150.0 * np.exp(SPREAD[arms] * (rng.normal(size=len(arms)) - z))

    return draw


def atoms(p: float) -> Any:
    """Whole milliseconds: 5 is the quantile of all; how many are below it varies by option."""

    def draw(arms: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        u, below = rng.random(len(arms)), p * np.linspace(0.1, 0.9, 10)[arms]
        return np.where(u < below, 1.0, np.where(u < p + 0.5 * (1.0 - p), 5.0, 9.0))

    return draw


TIES = {
    "ten latencies of other shapes": (tied, 10),
    "ten with ties at the quantile": (atoms, 10),
    "two alike": (lambda p: lambda arms, rng: rng.lognormal(size=len(arms)), 2),
}


def _run(
    p: float, n: int, draw: Any, delta: float, seed: int, most: int, seen: list[float] | None = None
) -> Any:
    problem = sp.Problem.unstructured(n, noise="any").with_direction(True)
    run = sp.algorithms.PooledPeleg(delta, quantile=p, max_samples=most).start(problem, seed)
    rng = np.random.default_rng([seed, 1])
    while not run.stopped:
        batch = run.ask()
        run.tell(batch, draw(batch.arms, rng))
        if seen is not None:
            seen.append(run.standing()["p_value"][0])
    return run


def errors(task: tuple[str, str, int]) -> dict[str, Any]:
    """How often option 0 was ruled out, or would have been with a larger δ: by its p-value."""
    name, asked, trials = task
    (make, n), p = TIES[name], ASKED[asked]
    least = []
    for seed in range(trials):
        found: list[float] = []
        _run(p, n, make(p), min(DELTAS), seed, MOST, found)
        least.append(min(found))
    wrong = {str(d): float(np.mean(np.array(least) <= d)) for d in DELTAS}
    return {"trials": trials, "wrong": wrong, "least": min(least)}


def takes(task: tuple[str, float, int]) -> dict[str, Any]:
    """Measurements until the best is proven."""
    asked, delta, trials = task
    p = ASKED[asked]
    best = int(np.argmin(USUAL * np.exp(SPREAD * (Z95 if p > 0.5 else 0.0))))
    runs = [_run(p, 10, latencies, delta, seed, MANY) for seed in range(trials)]
    pulls = np.array([run.samples for run in runs])
    wrong = float(np.mean([run.answer.arm != best for run in runs]))
    error = pulls.std(ddof=1) / math.sqrt(trials)
    return {"trials": trials, "pulls": pulls.mean(), "error": error, "wrong": wrong}


def evenly(task: tuple[str, float, int]) -> dict[str, Any]:
    """The same with as many measurements of every option, and an interval for each."""
    asked, delta, trials = task
    p, K, pulls = ASKED[asked], len(USUAL), []
    for seed in range(trials):
        rng, n = np.random.default_rng([seed, 2]), 20
        own = np.zeros((K, 0))
        while True:
            more = [latencies(np.full(n - own.shape[1], k), rng) for k in range(K)]
            own = np.hstack([own, np.array(more)])
            ends = np.array([interval(np.sort(values), p, delta / K) for values in own])
            first = int(ends[:, 1].argmin())
            if ends[first, 1] < np.delete(ends[:, 0], first).min() or n * K > MANY:
                break
            n = math.ceil(1.1 * n)
        pulls.append(n * K)
    found = np.array(pulls)
    error = found.std(ddof=1) / math.sqrt(trials)
    return {"trials": trials, "pulls": found.mean(), "error": error}


def main() -> None:
    parser = options(__doc__ or "", 1000)
    asked = parser.parse_args()
    few = max(20, asked.trials // 5)
    record = Record("quantiles", {"trials": asked.trials}, asked)
    cells = [(name, what) for name in TIES for what in ASKED]
    both = [(what, d) for what in ASKED for d in DELTAS]
    ours = record.fill({f"ours, {what}, {d}": (what, d, few) for what, d in both}, takes)
    even = record.fill({f"even, {what}, {d}": (what, d, few) for what, d in both}, evenly)
    wrong = record.fill({", ".join(c): (*c, asked.trials) for c in cells}, errors)
    rows = []
    for c in cells:
        found = wrong[", ".join(c)]
        shares = [f"{found['wrong'][str(d)]:.3f}" for d in DELTAS]
        rows.append([*c, *shares, f"{found['least']:.3f}"])
    first = table(["tie", "asked", *(f"wrong at δ = {d}" for d in DELTAS), "least p-value"], rows)
    rows = []
    for what in ASKED:
        for d in DELTAS:
            own, other = ours[f"ours, {what}, {d}"], even[f"even, {what}, {d}"]
            ratio = own["pulls"] / other["pulls"]
            pulls = [f"{one['pulls']:,.0f} ± {one['error']:,.0f}" for one in (own, other)]
            rows.append([what, f"{d}", *pulls, f"{ratio:.2f}", f"{own['wrong']:.3f}"])
    head = ["smallest", "δ", "PooledPeleg", "evenly, with intervals", "ratio", "wrong"]
    said = f"`python -m benchmarks.quantiles --trials {asked.trials}`; {few} for measurements."
    record.write("\n\n".join(["# The best quantile", said, first, table(head, rows)]))


if __name__ == "__main__":
    main()
