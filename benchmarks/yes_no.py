"""Clicks: how many visitors each way of testing takes, at best rates from one half to 0.5 %.

24 options in four factors, δ = 0.05. The best option's rate is p; every other level of a factor
takes away a tenth of p or more, so that the second best has 0.9 p and the worst 0.43 p. Ways:

- yes-no: PooledPeleg with noise = "yes-no"; with the factors, and with one mean per option;
- σ = ½: PooledPeleg with the scale that every yes/no reward has at most, with the factors;
- A/B/n test: a number of visitors fixed in advance, one mean per option: z-tests with binomial
  variances, Bonferroni over the others, 80 % power against the second best (which one has to know);
- asymptotic: elimination by confidence sequences that hold in the limit of many visitors (Waudby-
  Smith, Arbour, Sinha, Kennedy and Ramdas, "Time-uniform central limit theory and asymptotic
  confidence sequences"), every option left in turn, with the factors and with one mean per option.

Run with: OPENBLAS_NUM_THREADS=1 python -m benchmarks.yes_no --trials 40 --jobs 2
"""

from __future__ import annotations

import itertools
import math
import time
import zlib
from typing import Any

import numpy as np
from benchmarks.recorded import Record, chunks, options, table
from scipy.optimize import minimize_scalar
from scipy.special import ndtri

import surepick as sp
from surepick.simulate import Bernoulli, Instance
from surepick.simulate.trials import trial

DELTA, POWER = 0.05, 0.8
RATES = (0.5, 0.1, 0.05, 0.02, 0.01, 0.005)
GOALS = (1.0, 0.45, 0.2, 0.1, 0.06, 0.04)  # of yes-no against σ = ½
FACTORS = ((0.0, 0.10, 0.20), (0.0, 0.12), (0.0, 0.15), (0.0, 0.10))  # of the best rate
WAYS = ("yes-no", "yes-no, no factors", "σ = ½", "A/B/n", "asymptotic", "asymptotic, no factors")
CHUNK = 5
_ENDLESS = 50.0  # times the median of the visitors
GROWTH = 1.01  # of the visitors between two looks
BURN_IN = 10.0  # expected successes of the best option before the first look


def layouts() -> tuple[np.ndarray, np.ndarray]:
    """Features of the 24 options (an intercept and their levels), and what they lack of the best.

    The best is the first.
    """
    levels = list(itertools.product(*(range(len(effects)) for effects in FACTORS)))
    columns = [np.ones(len(levels))]
    for i, effects in enumerate(FACTORS):
        columns += [
            np.array([float(one[i] == level) for one in levels]) for level in range(1, len(effects))
        ]
    lacking = np.array([sum(FACTORS[i][j] for i, j in enumerate(one)) for one in levels])
    return np.column_stack(columns), lacking


def instance_of(best: float, noise: Any, factors: bool) -> Instance:
    features, lacking = layouts()
    rates = best * (1.0 - lacking)
    if not factors:
        return Instance(sp.Problem.unstructured(len(rates), noise=noise), rates)
    theta = np.linalg.lstsq(features, rates, rcond=None)[0]
    return Instance(sp.Problem(features, noise=noise), theta)


def measure(task: tuple[str, float, int, int, int]) -> dict[str, Any]:
    """Visitors that some trials of one way took, and which answers were right."""
    way, best, first, count, seed = task
    started, pulls, right = time.process_time(), [], []
    for i in range(first, first + count):
        seeds = np.random.SeedSequence(seed, spawn_key=(zlib.crc32(f"{way} {best}".encode()), i))
        taken, correct = _once(way, best, seeds)
        pulls.append(taken)
        right.append(correct)
    return {"pulls": pulls, "right": right, "seconds": round(time.process_time() - started, 2)}


def _once(way: str, best: float, seeds: np.random.SeedSequence) -> tuple[int, bool]:
    factors = not way.endswith("no factors")
    if way.startswith("asymptotic"):
        return eliminate(best, factors, np.random.default_rng(seeds))
    if way == "A/B/n":
        return ab_test(best, np.random.default_rng(seeds))
    noise = 0.5 if way == "σ = ½" else "yes-no"
    algorithm = sp.algorithms.PooledPeleg(DELTA, max_samples=10**12)
    row = trial(algorithm, instance_of(best, noise, factors), seeds, Bernoulli())
    return row["samples"], row["correct"]


# -- the lower bound -------------------------------------------------------------------------
def nats_apart(best: Any, other: Any, n: Any, others: Any) -> Any:
    """What so many visitors of two options tell about which is better: nats, on average.

    n·kl(best, m) + others·kl(other, m), m being the rate that both would have if they were alike.
    """
    both = np.maximum(n + others, 1e-300)
    level = (n * best + others * other) / both
    return n * divergence(best, level) + others * divergence(other, level)


def divergence(p: Any, q: Any) -> Any:
    """kl(p, q) of two rates."""
    return p * np.log(p / q) + (1.0 - p) * np.log((1.0 - p) / (1.0 - q))


def lower_bound(rates: np.ndarray, delta: float) -> float:
    """Visitors that every δ-PAC test takes on average, one mean per option; the first is best.

    kl(1 − δ, δ) times the fewest, as fractions, that tell one nat about every lead of the best.
    """
    best, others = float(rates[0]), np.asarray(rates[1:])
    least = float((1.0 / divergence(best, others)).max())  # of the best, with all that one likes

    def all_of_them(excess: float) -> float:
        n = least * (1.0 + math.exp(excess))
        low = np.zeros(len(others))  # logs; with more than this, digits would be lost
        high = np.full(len(others), math.log(n) + 14.0)
        for _ in range(80):
            middle = 0.5 * (low + high)
            enough = nats_apart(best, others, n, np.exp(middle)) >= 1.0
            low, high = np.where(enough, low, middle), np.where(enough, middle, high)
        return n + float(np.exp(high).sum())

    found = minimize_scalar(all_of_them, bounds=(-7.0, 7.0), method="bounded")
    return (1.0 - 2.0 * delta) * math.log((1.0 - delta) / delta) * float(found.fun)


# -- a test of fixed size --------------------------------------------------------------------
def ab_size(best: float) -> int:
    """Visitors of each option: v (z + z')² / gap², v the variances of the two best together."""
    lacking = np.sort(layouts()[1])
    second = best * (1.0 - lacking[1])
    variance = best * (1.0 - best) + second * (1.0 - second)
    z = -float(ndtri(DELTA / (len(lacking) - 1))) + float(ndtri(POWER))
    return math.ceil(variance * (z / (best - second)) ** 2)


def ab_test(best: float, rng: np.random.Generator) -> tuple[int, bool]:
    """Visitors, and whether the best was named; naming none is not right either."""
    rates = best * (1.0 - layouts()[1])
    n = ab_size(best)
    seen = rng.binomial(n, rates) / n
    winner = int(np.argmax(seen))
    errors = np.sqrt((seen * (1.0 - seen) + seen[winner] * (1.0 - seen[winner])) / n)
    margin = -float(ndtri(DELTA / (len(rates) - 1))) * errors
    beaten = np.delete(seen[winner] - seen > margin, winner)
    return n * len(rates), bool(beaten.all()) and winner == 0


# -- sequential, in the limit ----------------------------------------------------------------
def bound(variance: np.ndarray, rho2: float, level: float) -> np.ndarray:
    """What a sum of centred terms exceeds with probability ``level`` at any time, in the limit.

    ``variance`` is that of the sum so far. The one-sided boundary of the normal mixture:
    √(2 (V + 1/ρ²) log(1 + √(Vρ² + 1) / (2 level))).
    """
    grown = variance * rho2 + 1.0
    return np.sqrt(2.0 * grown / rho2 * np.log1p(np.sqrt(grown) / (2.0 * level)))


def tightest_at(variance: float, level: float) -> float:
    """The ρ² whose two-sided boundary is smallest at this variance, as published."""
    logs = -2.0 * math.log(level)
    return (logs + math.log(logs + 1.0)) / variance


def eliminate(best: float, factors: bool, rng: np.random.Generator) -> tuple[int, bool]:
    """Visitors, and whether the best was left at last.

    An option is dropped when another one's lead over it is above zero by its sequence at the level
    δ/(K − 1): the best has so many others. Sequences are tuned to the size of the A/B/n test.
    """
    features, lacking = layouts()
    rates, k = best * (1.0 - lacking), len(lacking)
    level = DELTA / (k - 1)
    rho2 = tightest_at(2.0 * best * (1.0 - best) * ab_size(best), level)
    leads, variances = np.zeros((k, k)), np.zeros((k, k))  # sums: of the row's over the column's
    counts, ones = np.zeros(k, dtype=np.int64), np.zeros(k)
    left, rounds, step = np.arange(k), 0, math.ceil(BURN_IN / best)
    while len(left) > 1:
        told = rng.binomial(step, rates[left])
        counts[left] += step
        ones[left] += told
        shares = (ones[left] + 0.5) / (counts[left] + 1.0)
        smooth = features[left] @ np.linalg.pinv(features[left]) if factors else np.eye(len(left))
        fitted = smooth @ told  # Σ over the rounds of least squares on each
        apart = smooth[:, None, :] - smooth[None, :, :]
        where = np.ix_(left, left)
        leads[where] += fitted[:, None] - fitted[None, :]
        variances[where] += step * (apart**2 @ (shares * (1.0 - shares)))
        ahead = leads[where] > bound(variances[where], rho2, level)
        np.fill_diagonal(ahead, False)
        rounds += step
        step = max(1, math.ceil((GROWTH - 1.0) * rounds))
        beaten = ahead.any(axis=0)
        left = left[~beaten] if not beaten.all() else left[[int(np.argmax(fitted))]]
    return int(counts.sum()), int(left[0]) == 0


# -- the table -------------------------------------------------------------------------------
def tasks(trials: int, seed: int) -> dict[str, Any]:
    return {
        f"{way} | {rate:g} | {first} | {count}": (way, rate, first, count, seed)
        for first, count in chunks(trials, CHUNK)
        for rate in RATES
        for way in WAYS
    }


def report(parts: dict[str, Any], trials: int) -> str:
    cells: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for key, part in parts.items():
        way, rate, *_ = key.split(" | ")
        cells.setdefault((way, rate), []).append(part)
    pulls = {key: np.array([n for p in found for n in p["pulls"]]) for key, found in cells.items()}
    wrong = {key: sum(not r for p in found for r in p["right"]) for key, found in cells.items()}
    lost = {  # the best was ruled out, and those that are left may be alike: there is no end
        key: [n for n, right in told(found) if not right and n > _ENDLESS * np.median(pulls[key])]
        for key, found in cells.items()
    }
    pulls = {key: n[~np.isin(n, lost[key])] for key, n in pulls.items()}
    rows = []
    for rate, goal in zip(RATES, GOALS):
        own = {way: pulls[way, f"{rate:g}"] for way in WAYS}
        ratio = own["yes-no"].mean() / own["σ = ½"].mean()
        error = ratio * math.sqrt(
            sum(np.var(own[w]) / len(own[w]) / own[w].mean() ** 2 for w in ("yes-no", "σ = ½"))
        )
        rows.append(
            [f"{100 * rate:g} %"]
            + [f"{own[way].mean():,.0f} ({wrong[way, f'{rate:g}']})" for way in WAYS]
            + [f"**{ratio:.3f}** ± {error:.3f}", f"{goal:g}"]
        )
    minutes = sum(p["seconds"] for p in parts.values()) / 60
    return "\n".join(
        [
            "# Yes or no: visitors until the best of 24 options is known",
            "",
            f"Mean visitors, and in brackets how many of {trials} answers were not the best one. "
            f"δ = {DELTA:g}; the A/B/n test is made for {100 * POWER:g} % power against the second "
            f"best and may name none; asymptotic sequences promise δ only in the limit of many "
            f"visitors. {minutes:.0f} CPU minutes.",
            "",
            table(["best rate", *WAYS, "yes-no / σ = ½", "goal"], rows),
            "",
            *(
                f"Not in the mean of {way} at {100 * float(rate):g} %: {n:,.0f} visitors, most of "
                "them after the best had been ruled out, to tell options of the same rate apart."
                for (way, rate), some in lost.items()
                for n in some
            ),
        ]
    ).rstrip()


def told(parts: list[dict[str, Any]]) -> list[tuple[float, bool]]:
    """What each trial took, and whether it was right."""
    return [one for part in parts for one in zip(part["pulls"], part["right"])]


def main() -> None:
    given = options(__doc__.splitlines()[0], trials=40).parse_args()
    record = Record("yes_no", {"seed": given.seed}, given)
    parts = record.fill(tasks(given.trials, given.seed), measure)
    record.write(report(parts, given.trials))


if __name__ == "__main__":
    main()
