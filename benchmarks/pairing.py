"""Options that are measured on the same items: what pairing saves, and whether it stays honest.

*Costs.* An evaluation of 60 configurations on 1,000 items, drawn anew for every trial: items differ
in difficulty, configurations in skill, and each configuration has strengths and weaknesses of its
own on each item (the interaction); the best leads by two points at least. Evaluations of
PooledPeleg with ``items=1000`` over those of the same table with an item drawn for each evaluation,
for answers that are always the same (``fixed``), for answers drawn anew each time with the
probability of that option on that item (``drawn``), and for scores from 0 to 1. What is right is
the best mean over all 1,000 items.

*Errors.* Options with the same mean over the items, whose rewards on an item depend on each other
from −1 (one is right exactly where the other is wrong) over 0 to 1 (the same items); an error is
to rule out the first of them, in any run up to a number of evaluations. Intervals are exact
(Clopper–Pearson), 99.9 %.

Run with: OPENBLAS_NUM_THREADS=1 python -m benchmarks.pairing --trials 20 --errors 500
"""

from __future__ import annotations

import time
import zlib
from typing import Any

import numpy as np
from benchmarks.recorded import Record, chunks, options, table

import surepick as sp
from surepick.arrays.types import FloatArray
from surepick.bench.summary import clopper_pearson

CONFIGURATIONS, ITEMS = 60, 1_000
MOST = 0.75  # the share of the unpaired evaluations that pairing may take
DELTA = 0.05
LEAD = 0.02  # tables in which the best leads by less are drawn anew: ties have no end
#: spread of skills, of difficulties and of interactions
EVALUATIONS = {
    "skills alike, items not": (0.3, 3.0, 0.5),
    "the same, strong interactions": (0.3, 3.0, 1.5),
    "skills differ as items do": (1.0, 1.0, 0.5),
}
REWARDS = ("fixed", "drawn", "scores")

CORRELATIONS = (-1.0, -0.5, 0.0, 0.5, 1.0)
DELTAS = (0.2, 0.05)
TIED_ITEMS, TIED_MOST = 300, 2_000
CONFIDENCE = 0.999


def generator(seed: int, name: str, i: int) -> np.random.Generator:
    return np.random.default_rng(
        np.random.SeedSequence(seed, spawn_key=(zlib.crc32(name.encode()), i))
    )


# -- what pairing saves --------------------------------------------------------------------------
def chances(name: str, rng: np.random.Generator) -> FloatArray:
    """How likely each configuration is to solve each item; the best one leads by a bit."""
    able, hard, own = EVALUATIONS[name]
    skill = able * rng.normal(size=CONFIGURATIONS)
    skill[skill.argmax()] += 0.5 * able
    difficulty = hard * rng.normal(size=ITEMS)
    interaction = own * rng.normal(size=(CONFIGURATIONS, ITEMS))
    return 1.0 / (1.0 + np.exp(-1.7 * (skill[:, None] - difficulty + interaction)))


def evaluations(name: str, rewards: str, paired: bool, i: int, seed: int) -> tuple[int, bool]:
    """How many one trial took, and whether its answer was wrong."""
    rng = generator(seed, name, i)
    likely = means = np.zeros(0)
    while len(means) == 0 or np.diff(np.sort(means)[-2:])[0] < LEAD:
        likely = chances(name, rng)
        if rewards == "fixed":
            likely = (rng.random(likely.shape) < likely).astype(float)
        means = likely.mean(axis=1)

    def answers(arms: Any, on: Any) -> FloatArray:
        of = likely[arms, on]
        return of if rewards != "drawn" else (rng.random(len(of)) < of).astype(float)

    problem = sp.Problem.unstructured(
        CONFIGURATIONS, noise=(0.0, 1.0) if rewards == "scores" else "yes-no"
    )
    if paired:
        algorithm = sp.algorithms.PooledPeleg(DELTA, items=ITEMS)
        answer = sp.identify(problem, measure_batch=answers, algorithm=algorithm, seed=rng)
    else:
        answer = sp.identify(
            problem,
            measure_batch=lambda arms: answers(arms, rng.integers(0, ITEMS, len(arms))),
            algorithm=sp.algorithms.PooledPeleg(DELTA),
            seed=rng,
        )
    return answer.samples, bool(means[answer.arm] < means.max())


def measure_cost(task: tuple[str, str, int, int, int]) -> dict[str, Any]:
    name, rewards, first, count, seed = task
    started = time.process_time()
    found: dict[str, Any] = {}
    for way, paired in (("paired", True), ("alone", False)):
        rows = [evaluations(name, rewards, paired, i, seed) for i in range(first, first + count)]
        found[way] = [row[0] for row in rows]
        found[f"{way}_wrong"] = sum(row[1] for row in rows)
    return found | {"seconds": round(time.process_time() - started, 2)}


# -- whether it stays honest ----------------------------------------------------------------------
def tied(options: int, correlation: float, rng: np.random.Generator) -> FloatArray:
    """Rows of yes and no with the same mean; the first depends on all others in this way."""
    half = TIED_ITEMS // 2
    first = rng.permutation(np.repeat([0.0, 1.0], half))
    rows = [first]
    for _ in range(options - 1):
        row = first.copy() if correlation > 0 else 1.0 - first
        ones, zeros = np.flatnonzero(row == 1.0), np.flatnonzero(row == 0.0)
        loose = round((1.0 - abs(correlation)) * half)
        part = np.concatenate([rng.choice(ones, loose, False), rng.choice(zeros, loose, False)])
        row[part] = rng.permutation(row[part])
        rows.append(row)
    return np.stack(rows)


def ruled_out(options: int, correlation: float, kind: str, delta: float, i: int, seed: int) -> bool:
    """Whether the first of the tied options was ruled out in one trial."""
    rng = generator(seed, f"{options} {correlation:g} {kind}", i)
    answers = tied(options, correlation, rng)
    problem = sp.Problem.unstructured(options, noise=None if kind == "unknown" else kind)
    algorithm = sp.algorithms.PooledPeleg(delta, items=TIED_ITEMS, max_samples=TIED_MOST)
    run = algorithm.start(problem, rng)
    while not run.stopped:
        batch = run.ask()
        assert batch.items is not None
        run.tell(batch, answers[batch.arms, batch.items])
    return 0 not in run.active


def measure_errors(task: tuple[int, float, str, float, int, int, int]) -> dict[str, Any]:
    *of, first, count, seed = task
    started = time.process_time()
    wrong = sum(ruled_out(*of, i, seed) for i in range(first, first + count))  # type: ignore[arg-type]
    seconds = round(time.process_time() - started, 2)
    return {"trials": count, "wrong": wrong, "seconds": seconds}


# -- all of it ------------------------------------------------------------------------------------
def cost_table(found: dict[str, Any]) -> str:
    rows = []
    for name in EVALUATIONS:
        for rewards in REWARDS:
            parts = [part for key, part in found.items() if key.startswith(f"{name}, {rewards},")]
            paired, alone = (
                np.array([n for part in parts for n in part[way]]) for way in ("paired", "alone")
            )
            wrong = [sum(part[f"{way}_wrong"] for part in parts) for way in ("paired", "alone")]
            ratio = paired.mean() / alone.mean()
            rows.append(
                [
                    name,
                    rewards,
                    f"{paired.mean():,.0f}",
                    f"{alone.mean():,.0f}",
                    f"{ratio:.2f}" + (" (goal missed)" if ratio > MOST else ""),
                    f"{wrong[0]} and {wrong[1]} of {len(paired)}",
                ]
            )
    head = ["evaluation", "rewards", "paired", "an item each", "ratio", "wrong"]
    return table(head, rows)


def error_table(found: dict[str, Any]) -> str:
    rows = []
    for count in (2, 6):
        for kind in ("unknown", "yes-no"):
            for correlation in CORRELATIONS:
                row = [f"{count} tied, {kind}", f"{correlation:g}"]
                for delta in DELTAS:
                    start = f"{count} tied, {kind}, {correlation:g}, {delta:g},"
                    parts = [part for key, part in found.items() if key.startswith(start)]
                    wrong = sum(part["wrong"] for part in parts)
                    trials = sum(part["trials"] for part in parts)
                    low, high = clopper_pearson(wrong, trials, CONFIDENCE)
                    over = " ABOVE" if low > delta else ""
                    row.append(f"{wrong / trials:.3f} ({low:.3f}–{high:.3f}){over}")
                rows.append(row)
    return table(["options", "dependence", *(f"δ = {delta:g}" for delta in DELTAS)], rows)


def main() -> None:
    parser = options(__doc__ or "", 20)
    parser.add_argument("--errors", type=int, default=500, help="trials of each error rate")
    asked = parser.parse_args()
    settings = {"trials": asked.trials, "errors": asked.errors, "seed": asked.seed}
    record = Record("pairing", settings, asked)
    costs = {
        f"{name}, {rewards}, {first}": (name, rewards, first, count, asked.seed)
        for name in EVALUATIONS
        for rewards in REWARDS
        for first, count in chunks(asked.trials, 5)
    }
    errors = {
        f"{count} tied, {kind}, {rho:g}, {delta:g}, {first}": (
            *(count, rho, kind, delta, first, n, asked.seed),
        )
        for count in (2, 6)
        for kind in ("unknown", "yes-no")
        for rho in CORRELATIONS
        for delta in DELTAS
        for first, n in chunks(asked.errors, 100)
    }
    saved = cost_table(record.fill(costs, measure_cost))
    honest = error_table(record.fill(errors, measure_errors))
    record.write(f"{saved}\n\n{honest}")


if __name__ == "__main__":
    main()
