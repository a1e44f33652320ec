"""What people do who do not know the noise, beside bets that need not know it: two options.

Every way is run twice: on options that are exactly as good as each other, where the first counts as
the better one and is called the worse one wrongly, and on options of which the first is better.
Tests that people look at while data come in are looked at after every ten measurements of each
option, and stopped when one side is significant at level δ.

Run with: OPENBLAS_NUM_THREADS=1 python -m benchmarks.peeking --trials 400 --jobs 2
"""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
from benchmarks.recorded import Record, chunks, options, table
from scipy.stats import norm, t

import surepick as sp
from surepick.simulate import Bernoulli, Gaussian, Instance
from surepick.simulate.trials import trial

DELTA, LOOK, MOST, PILOT = 0.05, 10, 4_000, 10
NUMBERS = ("t test, looked at all the time", "z test, scale from a pilot, looked at all the time")
NUMBERS += ("PooledPeleg, scale from a pilot", "PooledPeleg, noise not known")
CLICKS = ("z test of proportions, looked at all the time", "PooledPeleg, noise = ½")
CLICKS += ("PooledPeleg, yes-no",)
CASES = {"numbers": (0.0, 0.5), "clicks": (0.03, 0.06)}  # mean of both; of the better one
CHUNK = 50


def measure(task: tuple[str, str, bool, int, int, int]) -> dict[str, Any]:
    """How often the second option was called better, and after how many measurements."""
    case, way, tied, first, count, seed = task
    called, pulls = [], []
    for i in range(first, first + count):
        key = (zlib.crc32(f"{case} {way} {tied}".encode()), i)
        stopped, taken = _once(case, way, tied, np.random.SeedSequence(seed, spawn_key=key))
        called.append(stopped)
        pulls.append(taken)
    return {"called": called, "pulls": pulls}


def _once(case: str, way: str, tied: bool, seeds: np.random.SeedSequence) -> tuple[bool, int]:
    plain, better = CASES[case]
    means = np.array([plain if tied else better, plain])
    most = MOST if case == "numbers" else 10 * MOST
    if way.startswith("PooledPeleg"):
        return _proven(case, way, means, most, seeds)
    rng = np.random.default_rng(seeds)
    n = most // 2
    if case == "numbers":
        rewards = means + rng.standard_normal((n, 2))
    else:
        rewards = (rng.random((n, 2)) < means).astype(float)
    looks = np.arange(LOOK, n + 1, LOOK)
    sums, squares = rewards.cumsum(axis=0)[looks - 1], (rewards**2).cumsum(axis=0)[looks - 1]
    averages = sums / looks[:, None]
    variances = (squares - looks[:, None] * averages**2) / (looks[:, None] - 1)
    lead = averages[:, 0] - averages[:, 1]
    if way.startswith("t test"):
        spread, limit = variances.sum(axis=1), t.isf(DELTA, 2 * looks - 2)
    elif case == "numbers":
        spread = np.full(len(looks), 2.0 * rng.standard_normal(PILOT).var(ddof=1))
        limit = np.full(len(looks), norm.isf(DELTA))
    else:
        share = sums.sum(axis=1) / (2 * looks)
        spread, limit = 2 * share * (1 - share), np.full(len(looks), norm.isf(DELTA))
    with np.errstate(divide="ignore", invalid="ignore"):
        significant = np.flatnonzero(np.abs(lead) > limit * np.sqrt(spread / looks))
    if not len(significant):
        return False, most
    end = significant[0]
    return bool(lead[end] < 0), 2 * int(looks[end])


def _proven(
    case: str, way: str, means: np.ndarray, most: int, seeds: np.random.SeedSequence
) -> tuple[bool, int]:
    noise: Any = None
    if way.endswith("pilot"):
        noise = float(np.random.default_rng(seeds.spawn(1)[0]).standard_normal(PILOT).std(ddof=1))
    elif case == "clicks":
        noise = "yes-no" if way.endswith("yes-no") else 0.5
    instance = Instance(sp.Problem.unstructured(2, noise=noise), means)
    algorithm = sp.algorithms.PooledPeleg(DELTA, max_samples=most)
    family = Gaussian(scale=1.0) if case == "numbers" else Bernoulli()
    found = trial(algorithm, instance, seeds, family)
    return found["guarantee"] == "pac" and found["arm"] == 1, int(found["samples"])


def main() -> None:
    """Run what is missing and write the results."""
    asked = options("What people do who do not know the noise.", trials=400).parse_args()
    settings = {"seed": asked.seed, "delta": DELTA, "look": LOOK, "most": MOST, "pilot": PILOT}
    record = Record("peeking", settings, asked)
    ways = [(case, way) for case in CASES for way in (NUMBERS if case == "numbers" else CLICKS)]
    tasks = {
        f"{case} | {way} | {'tied' if tied else 'apart'} | {first} | {count}": (
            *(case, way, tied, first, count),
            asked.seed,
        )
        for first, count in chunks(asked.trials, CHUNK)
        for case, way in ways
        for tied in (True, False)
    }
    found = record.fill(tasks, measure)
    rows = []
    for case, way in ways:
        parts = [
            [found[key] for key, task in tasks.items() if task[:3] == (case, way, tied)]
            for tied in (True, False)
        ]
        wrong, missed = (np.concatenate([part["called"] for part in both]) for both in parts)
        pulls = np.concatenate([part["pulls"] for part in parts[1]])
        rows.append(
            [case, way, f"{wrong.mean():.3f}", f"{missed.mean():.3f}", f"{pulls.mean():,.0f}"]
        )
    head = ["", "way", "wrong if equal", "wrong if not", "measurements if not"]
    record.write(f"{asked.trials} trials each, δ = {DELTA}\n\n{table(head, rows)}")


if __name__ == "__main__":
    main()
