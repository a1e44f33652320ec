"""Levels that drift: pulls and errors when all rewards shift together from batch to batch.

A table of 60 options in three factors, whose mean rewards are linear in the features, noise of one.
To all rewards of a batch a level is added that has nothing to do with the options:

- shifts: in every stretch of time a new one, normal with a standard deviation of 5;
- walk: from one stretch to the next it moves by a normal step of 1;
- cycle: 3 sin(2π t / 500), t the number of pulls so far.

Stretches grow by a tenth, so that hardly two blocks of PooledPeleg fall into one. A batch has the
level of the time when it begins. All methods meet the same tables and the same levels in time:
PooledPeleg with features trusted and not (misfit 0 and inf), with the noise known and not; and,
with the noise known and features trusted, RAGE, whose batches are phases, and LinGapE, which pools
all pulls, one at a time. Phases are long, so RAGE is also tried with the level of the time of each
single pull, options in random order. All end at so many pulls at the latest. A trial is wrong when
it ruled the best option out: its answer is then another one. Intervals are exact
(Clopper–Pearson), 99.9 %.

*Ties.* Twelve options of the same mean, the first of which counts as the best, as it would be if it
led by nothing that can be seen. That puts guarantees to the test, as clear leads do not.

*With every pull.* Through ``identify``: five options of the same mean, noise of one that is not
known beforehand, and a level that rises by so much with every pull. Batches may be of any size, or
of 8 pulls at most, into which blocks are dealt. Beside it, arm by arm, in no random order.

Run with: OPENBLAS_NUM_THREADS=1 python -m benchmarks.drift --trials 50 --ties 40 --rising 60
"""

from __future__ import annotations

import itertools
import math
import time
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
from benchmarks.recorded import Record, chunks, options, table
from benchmarks.truths import Truth, explained, factorial

import surepick as sp
from surepick.algorithms.base import Algorithm
from surepick.arrays.types import FloatArray, IntArray
from surepick.bench.summary import clopper_pearson
from surepick.run import Run
from surepick.simulate import Gaussian

DELTA, DELTA_TIES = 0.05, 0.2
LEVELS, LEVELS_TIES = (3, 4, 5), (2, 2, 3)
LEAST_LEAD = 0.2  # of the best; tables are drawn until they have it
MOST, MOST_TIES = 20_000, 2_000  # pulls
GOAL = 1.15  # of pulls with drift over those without
CONFIDENCE = 0.999
CHUNK = 10
FIRST_STRETCH, GROWTH, STRETCHES = 10, 1.1, 200
DRIFTS = ("none", "shifts", "walk", "cycle")

#: how the study is made: algorithm, noise that it is told, misfit
Way = tuple[Callable[..., Algorithm], Any, float]
WAYS: dict[str, Way] = {
    "PooledPeleg, σ known, misfit 0": (sp.algorithms.PooledPeleg, 1.0, 0.0),
    "PooledPeleg, σ known, misfit inf": (sp.algorithms.PooledPeleg, 1.0, math.inf),
    "PooledPeleg, σ unknown, misfit 0": (sp.algorithms.PooledPeleg, None, 0.0),
    "PooledPeleg, σ unknown, misfit inf": (sp.algorithms.PooledPeleg, None, math.inf),
    "RAGE, σ known": (sp.algorithms.Rage, 1.0, 0.0),
    "RAGE, σ known, levels change within phases": (sp.algorithms.Rage, 1.0, 0.0),
    "LinGapE, σ known": (sp.algorithms.LinGapE, 1.0, 0.0),
}


# -- levels --------------------------------------------------------------------------------------
def levels(drift: str, rng: np.random.Generator) -> Callable[[Any], FloatArray]:
    """The level as a function of time, in pulls so far."""
    steps = rng.normal(size=STRETCHES)
    if drift == "none":
        return lambda t: np.zeros(np.shape(t))
    if drift == "cycle":
        return lambda t: 3.0 * np.sin(2.0 * np.pi * np.asarray(t) / 500.0)
    own = 5.0 * steps if drift == "shifts" else np.cumsum(steps)
    return lambda t: own[stretch(t)]


def stretch(t: Any) -> IntArray:
    """The stretch of time to which pull number ``t`` (from 0) belongs."""
    ratio = np.maximum(t, FIRST_STRETCH) / FIRST_STRETCH
    later = np.floor(np.log(ratio) / math.log(GROWTH) + 1e-9).astype(np.int64) + 1
    return np.where(np.asarray(t) < FIRST_STRETCH, 0, later)


# -- trials --------------------------------------------------------------------------------------
def truth_of(tied: bool, rng: np.random.Generator) -> Truth:
    if tied:
        features = factorial(LEVELS_TIES)
        return Truth(features, np.zeros(len(features)))
    while (truth := explained(LEVELS, 1.0, rng)).lead < LEAST_LEAD:
        pass
    return truth


def once(way: str, drift: str, tied: bool, seeds: np.random.SeedSequence) -> tuple[Run, bool]:
    """A run at its end, and whether it ruled the best option out."""
    for_truth, for_levels, for_rewards, for_run = map(np.random.default_rng, seeds.spawn(4))
    truth, level = truth_of(tied, for_truth), levels(drift, for_levels)
    algorithm, noise, misfit = WAYS[way]
    configured = (
        algorithm(DELTA_TIES, max_samples=MOST_TIES) if tied else algorithm(DELTA, max_samples=MOST)
    )
    problem = sp.Problem(truth.features, noise=noise, misfit=misfit)
    run, family, best = configured.start(problem, for_run), Gaussian(scale=1.0), truth.best
    while not run.stopped:
        batch, now = run.ask(), run.samples
        arms, counts = batch.pulls.arms, batch.pulls.counts
        sums, spreads = family.totals(for_rewards, truth.means[arms], counts, 1.0)
        if "within" in way:  # what pulls vary by in this way is noise to RAGE, which asks for sums
            order = for_levels.permutation(np.repeat(np.arange(len(arms)), counts))
            sums += np.bincount(order, level(now + np.arange(len(order))), len(arms))
        else:
            sums += counts * level(now)
        run.tell_totals(batch, sums, spreads)
        if tied and best not in run.active:
            break  # the others could go on without an end
    return run, best not in run.active


def measure(task: tuple[str, str, bool, int, int, int]) -> dict[str, Any]:
    way, drift, tied, first, count, seed = task
    started, pulls, wrong, ended = time.process_time(), [], 0, 0
    for i in range(first, first + count):
        seeds = np.random.SeedSequence(seed, spawn_key=(zlib.crc32(b"drift"), int(tied), i))
        run, lost = once(way, drift, tied, seeds)
        pulls.append(run.samples)
        wrong += lost
        ended += run.stopped and not run.state.finished
    seconds = round(time.process_time() - started, 2)
    return {"pulls": pulls, "trials": count, "wrong": wrong, "endless": ended, "seconds": seconds}


def tasks(trials: int, ties: int, seed: int) -> dict[str, Any]:
    return {
        f"{way} | {drift} | {'tied' if tied else 'led'} | {first} | {count}": (
            *(way, drift, tied),
            *(first, count, seed),
        )
        for tied, number in ((False, trials), (True, ties))
        for first, count in chunks(number, CHUNK)
        for way in WAYS
        for drift in DRIFTS
    }


# -- the tables ----------------------------------------------------------------------------------
def gathered(parts: dict[str, Any]) -> dict[tuple[str, str, str], dict[str, Any]]:
    """Parts of a cell put together, in the order of trials."""
    cells: dict[tuple[str, str, str], dict[str, Any]] = {}
    for key in sorted(parts, key=lambda key: int(key.split(" | ")[3])):
        way, drift, which, *_ = key.split(" | ")
        mine = cells.setdefault((way, drift, which), {})
        for column, value in parts[key].items():
            mine[column] = mine[column] + value if column in mine else value
    return cells


def ratio(pulls: list[int], base: list[int]) -> tuple[float, float]:
    """Geometric mean of the ratios, trial by trial, and its standard error."""
    logs = np.log(np.array(pulls) / np.array(base))
    mean = math.exp(logs.mean())
    return mean, mean * float(logs.std(ddof=1)) / math.sqrt(len(logs)) if len(logs) > 1 else 0.0


def leads_table(cells: dict[tuple[str, str, str], dict[str, Any]]) -> str:
    rows = []
    for way in WAYS:
        base = cells[way, "none", "led"]["pulls"]
        for drift in DRIFTS:
            cell = cells[way, drift, "led"]
            times, wide = ratio(cell["pulls"], base)
            text = f"{times:.2f} ± {wide:.2f}"
            if round(times, 2) > GOAL and way.startswith("Pooled"):
                text = f"**{times:.2f}** ± {wide:.2f}"
            pulls = f"{math.exp(np.log(cell['pulls']).mean()):,.0f}"
            row = [way, drift, pulls, "" if drift == "none" else text]
            rows.append([*row, f"{cell['endless']}", *_rate(cell, DELTA)])
    head = [
        "method",
        "drift",
        "pulls",
        "ratio",
        f"not ended by {MOST:,}",
        "wrong",
        "99.9 % interval",
    ]
    return table(head, rows)


def ties_table(cells: dict[tuple[str, str, str], dict[str, Any]]) -> str:
    rows = []
    for way in WAYS:
        for drift in DRIFTS:
            rows.append([way, drift, *_rate(cells[way, drift, "tied"], DELTA_TIES)])
    return table(["method", "drift", "wrong", "99.9 % interval"], rows)


def _rate(cell: dict[str, Any], delta: float) -> list[str]:
    low, high = clopper_pearson(cell["wrong"], cell["trials"], CONFIDENCE)
    text = f"{cell['wrong']} of {cell['trials']:,}"
    return [f"**{text}**" if low > delta else text, f"{low:.3f} – {high:.3f}"]


# -- a level that rises with every pull ----------------------------------------------------------
RISES = (0.001, 0.1)
BATCHES: dict[str, int | None] = {"of any size": None, "of 8 pulls at most": 8}
ORDERS = ("dealt", "arm by arm")
RISING_OPTIONS, MOST_RISING = 5, 2_000


def rising(task: tuple[float, str, str, int, int, int]) -> dict[str, Any]:
    """How often the first option was ruled out, though it is as good as the others."""
    rise, batches, order, first, count, seed = task
    wrong = 0
    for i in range(first, first + count):
        rng, made = np.random.default_rng([seed, zlib.crc32(b"rising"), i]), 0

        def measure(arms: IntArray, rng: Any = rng) -> FloatArray:
            nonlocal made
            made += len(arms)
            return rise * (made - len(arms) + np.arange(len(arms))) + rng.normal(size=len(arms))

        settings = {"max_batch": BATCHES[batches], "max_samples": MOST_RISING}
        algorithm = sp.algorithms.PooledPeleg(DELTA, **settings)
        problem = sp.Problem.unstructured(RISING_OPTIONS, noise="symmetric")
        if order == "dealt":
            answer = sp.identify(
                problem, None, DELTA, algorithm=algorithm, seed=i, measure_batch=measure
            )
        else:
            run = algorithm.start(problem, i)
            run.order_seed = None
            while not run.stopped:
                run.tell(batch := run.ask(), measure(batch.arms))
            answer = run.answer
        wrong += 0 not in answer.survivors
    return {"trials": count, "wrong": wrong}


def rising_tasks(trials: int, seed: int) -> dict[str, Any]:
    cells = itertools.product(RISES, BATCHES, ORDERS, chunks(trials, CHUNK))
    return {
        f"{rise:g} | {batches} | {order} | {first} | {count}": (
            *(rise, batches, order),
            *(first, count, seed),
        )
        for rise, batches, order, (first, count) in cells
    }


def rising_report(parts: dict[str, Any]) -> str:
    rows = []
    for rise, batches, order in itertools.product(RISES, BATCHES, ORDERS):
        start = f"{rise:g} | {batches} | {order} | "
        mine = [part for key, part in parts.items() if key.startswith(start)]
        cell = {name: sum(part[name] for part in mine) for name in ("trials", "wrong")}
        rows.append([f"{rise:g}", batches, order, *_rate(cell, DELTA)])
    head = ["rise per pull, in σ", "batches", "pulls are", "wrong", "99.9 % interval"]
    return "\n".join(
        [
            "# A level that rises with every pull",
            "",
            f"{RISING_OPTIONS} options of the same mean, δ = {DELTA:g}, at most {MOST_RISING:,} "
            f"pulls: how often the first option was ruled out. Bold: the whole interval lies above "
            f"δ. Arm by arm: in no random order.",
            "",
            table(head, rows),
        ]
    )


def report(parts: dict[str, Any], trials: int, ties: int) -> str:
    cells = gathered(parts)
    minutes = sum(part["seconds"] for part in parts.values()) / 60
    return "\n".join(
        [
            "# Levels that drift",
            "",
            f"{minutes:.0f} CPU minutes. Bold among wrong ones: the whole interval lies above δ.",
            "",
            "## Pulls until the best of 60 options is known",
            "",
            f"δ = {DELTA:g}, {trials} trials of each cell: geometric mean of pulls, and of their "
            f"ratios to the same trials without drift, ± one standard error. Goal for PooledPeleg: "
            f"{GOAL:g} at most; bold: above. Trials that had not ended count with the pulls that "
            f"they had by then.",
            "",
            leads_table(cells),
            "",
            "## Twelve tied options",
            "",
            f"δ = {DELTA_TIES:g}, {ties} trials of each cell, up to {MOST_TIES:,} pulls: how often "
            f"the first option was ruled out.",
            "",
            ties_table(cells),
        ]
    )


def main() -> None:
    parser = options(__doc__.splitlines()[0], trials=50)
    parser.add_argument("--ties", type=int, default=40, help="trials of each rate with ties")
    parser.add_argument("--rising", type=int, default=60, help="trials with a level that rises")
    given = parser.parse_args()
    settings = {"seed": given.seed, "most": [MOST, MOST_TIES]}
    record = Record("drift", settings, given)
    parts = record.fill(tasks(given.trials, given.ties, given.seed), measure)
    record.write(report(parts, given.trials, given.ties))
    record = Record("drift_rising", {"seed": given.seed, "most": MOST_RISING}, given)
    record.write(rising_report(record.fill(rising_tasks(given.rising, given.seed), rising)))


if __name__ == "__main__":
    main()
