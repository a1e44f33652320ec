"""Numbers of any kind (noise="any"): how often a proof is wrong, and what assuming nothing costs.

Error rates, by what is asked: who usually wins. In each case option 0 wins at least half of its
direct comparisons with every other one, most of them exactly half, which is the hardest truth to
keep; in the two cases in which it wins more, its mean is the worse one. A run goes on until it is
decided or has 1,500 measurements; it is wrong if option 0 was ruled out. Beside each δ stands the
share of wrong runs.

Price: mean measurements of normal rewards without features, δ = 0.05, on 12 sets of means, with
noise="any", noise="symmetric" and σ known; the same rewards for all three where they ask alike.

Gain: what a bet on wins gains in a block of 64 pulls of each of two options, over what a Gaussian
test with known σ gains, at leads in units of σ; both with the best stake.

Run with: python -m benchmarks.any_numbers [--trials 1000] [--prices 20] (an hour on two cores;
with --trials 50 a look). Results are kept part by part.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from benchmarks.recorded import Record, options, table

import surepick as sp
from surepick.proof.payoffs.wins import log_wins

MOST = 1500
DELTAS = (0.2, 0.05)
LEADS = (0.35, 0.7, 1.0)
Draw = Callable[[np.ndarray, np.random.Generator], np.ndarray]


def _lognormal(arms: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return rng.lognormal(0.0, 1.0, len(arms))


def _latency(arms: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Minus milliseconds; option 1 is as quick, and times out once in a hundred times."""
    times, late = rng.lognormal(4.6, 0.2, len(arms)), rng.random(len(arms)) < 0.01
    return -np.where((arms == 1) & late, 3000.0, times)


def _revenue(arms: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Nine in ten pay nothing; those who pay do so alike."""
    return np.where(rng.random(len(arms)) < 0.1, rng.lognormal(3.0, 1.0, len(arms)), 0.0)


def _few_sales(arms: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Option 0 sells to 5 % for 40, option 1 to 1 % for 210: more in all, but less often."""
    rate, price = np.array([0.05, 0.01])[arms], np.array([40.0, 210.0])[arms]
    return np.where(rng.random(len(arms)) < rate, price, 0.0)


def _long_tails(arms: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Minus milliseconds; option 0 has the smaller median, option 1 the smaller mean."""
    middle, spread = np.array([4.6, 4.7])[arms], np.array([0.8, 0.3])[arms]
    return -np.exp(middle + spread * rng.normal(size=len(arms)))


def _spread(arms: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Log-normals with the same median and other spreads: half of all comparisons each."""
    return np.exp(np.array([1.0, 0.3, 2.0])[arms] * rng.normal(size=len(arms)))


def _ratings(arms: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return rng.choice(5, p=[0.2, 0.05, 0.05, 0.1, 0.6], size=len(arms)) + 1.0


def _exponential(arms: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return rng.exponential(size=len(arms))


def _zeros(arms: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return np.where(rng.random(len(arms)) < 0.05, rng.exponential(size=len(arms)), 0.0)


def _ties(arms: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return rng.integers(3, size=len(arms)).astype(float)


def _coin(arms: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Option 0 is always ½; the other one is 0.49 or 1,000, each half of the time."""
    return np.where(arms == 0, 0.5, np.where(rng.random(len(arms)) < 0.5, 1000.0, 0.49))


def _drift(arms: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A level that all share rises by half a standard deviation with every measurement."""
    return 0.5 * np.arange(len(arms)) + rng.normal(size=len(arms))


CASES: dict[str, tuple[Draw, int]] = {
    "latencies, one with 1 % time-outs": (_latency, 2),
    "revenue, 1 % × 210 beside 5 % × 40": (_few_sales, 2),
    "log-normal latencies, means the other way round": (_long_tails, 2),
    "ten revenue options alike": (_revenue, 10),
    "log-normals of different spread": (_spread, 3),
    "log-normal, alike": (_lognormal, 2),
    "ratings, J-shaped": (_ratings, 3),
    "exponential, alike": (_exponential, 2),
    "95 % zeros": (_zeros, 2),
    "three values, many ties": (_ties, 2),
    "a constant, and a coin": (_coin, 2),
    "a drift that all share": (_drift, 2),
}
MEANS: dict[str, tuple[float, ...]] = {
    "two, 0.5 apart": (0.0, 0.5),
    "two, 1 apart": (0.0, 1.0),
    "two, 0.25 apart": (0.0, 0.25),
    "four, 0.5 apart": (0.0, 0.0, 0.0, 0.5),
    "four in steps": (0.0, 0.3, 0.6, 0.9),
    "five, one far ahead": (0.0, 0.0, 0.0, 0.0, 2.0),
    "six in steps": (0.0, 0.2, 0.4, 0.6, 0.8, 1.2),
    "ten, 0.5 apart": (*(0.0,) * 9, 0.5),
    "ten, two near": (*(0.0,) * 8, 0.7, 1.0),
    "ten in steps": tuple(np.linspace(0.0, 1.8, 10).tolist()),
    "twenty, 1 apart": (*(0.0,) * 19, 1.0),
    "twenty in steps": tuple(np.linspace(0.0, 3.8, 20).tolist()),
}
KINDS: dict[str, Any] = {"any": "any", "symmetric": "symmetric", "σ known": 1.0}


def _run(noise: Any, n: int, draw: Draw, delta: float, seed: int, most: int) -> Any:
    algorithm = sp.algorithms.PooledPeleg(delta, max_samples=most)
    run = algorithm.start(sp.Problem.unstructured(n, noise=noise), seed)
    rng = np.random.default_rng([seed, 1])
    while not run.stopped:
        batch = run.ask()
        run.tell(batch, draw(batch.arms, rng))
    return run


def errors(task: tuple[str, float, int]) -> dict[str, Any]:
    """How many runs ruled out the one that is not beaten, and how many ended with it alone."""
    name, delta, trials = task
    draw, n = CASES[name]
    wrong = decided = 0
    for seed in range(trials):
        run = _run("any", n, draw, delta, seed, MOST)
        wrong += 0 not in run.active
        decided += len(run.active) == 1
    return {"trials": trials, "wrong": wrong / trials, "decided": decided / trials}


def price(task: tuple[str, str, int]) -> dict[str, Any]:
    """Measurements that one kind of noise takes."""
    name, kind, trials = task
    means = np.array(MEANS[name])

    def draw(arms: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return means[arms] + rng.normal(size=len(arms))

    runs = [_run(KINDS[kind], len(means), draw, 0.05, seed, 10**6) for seed in range(trials)]
    pulls = np.array([run.samples for run in runs])
    wrong = np.mean([run.answer.arm != means.argmax() for run in runs])
    error = pulls.std(ddof=1) / math.sqrt(trials)
    return {"trials": trials, "pulls": pulls.mean(), "error": error, "wrong": float(wrong)}


def gain(task: tuple[float, int]) -> dict[str, float]:
    """Mean log payoff of a block over that of a Gaussian test."""
    lead, blocks = task
    rng, n = np.random.default_rng(int(1000 * lead)), 64
    share = 0.5 * (1.0 + math.erf(lead / 2.0))
    stake = min(6.0 * (share - 0.5), 1.9)
    logs = [log_wins(rng.normal(lead, 1.0, n), rng.normal(size=n), stake) for _ in range(blocks)]
    best = n * lead**2 / 4.0
    error = np.std(logs, ddof=1) / math.sqrt(blocks) / best
    return {"ratio": float(np.mean(logs)) / best, "error": float(error)}


def main() -> None:
    parser = options(__doc__ or "", 1000)
    parser.add_argument("--prices", type=int, default=20, help="trials of each price")
    asked = parser.parse_args()
    few = asked.prices
    record = Record("any_numbers", {"trials": asked.trials, "prices": few}, asked)
    rates = {f"{name}, {d}": (name, d, asked.trials) for name in CASES for d in DELTAS}
    prices = {f"{name}, {kind}": (name, kind, few) for name in MEANS for kind in KINDS}
    wrong, costs = record.fill(rates, errors), record.fill(prices, price)
    gains = record.fill({f"gain, {lead}": (lead, 4000) for lead in LEADS}, gain)
    rows = [
        [
            name,
            *(f"{wrong[f'{name}, {d}']['wrong']:.3f}" for d in DELTAS),
            " and ".join(f"{wrong[f'{name}, {d}']['trials']:,}" for d in DELTAS),
        ]
        for name in CASES
    ]
    parts = [table(["case", *(f"wrong at δ = {d}" for d in DELTAS), "trials"], rows)]
    rows, ratios = [], []
    for name in MEANS:
        mean = {kind: costs[f"{name}, {kind}"]["pulls"] for kind in KINDS}
        ratios.append([mean["any"] / mean[kind] for kind in ("symmetric", "σ known")])
        own = [f"{mean[kind]:.0f} ± {costs[f'{name}, {kind}']['error']:.0f}" for kind in KINDS]
        rows.append([name, *own, *(f"{one:.2f}" for one in ratios[-1])])
    average = [f"{np.exp(np.log(np.array(ratios)[:, i]).mean()):.2f}" for i in (0, 1)]
    rows.append(["geometric mean", "", "", "", *average])
    head = ["means", *KINDS, "any / symmetric", "any / σ known"]
    own = [
        [f"{lead}", "{ratio:.2f} ± {error:.2f}".format(**gains[f"gain, {lead}"])] for lead in LEADS
    ]
    title = "# Numbers of any kind"
    said = f"`python -m benchmarks.any_numbers --trials {asked.trials} --prices {few}`"
    tables = [*parts, table(head, rows), table(["lead / σ", "gain"], own)]
    record.write("\n\n".join([title, said, *tables]))


if __name__ == "__main__":
    main()
