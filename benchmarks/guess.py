"""The best guess that a budget buys: how often it is wrong, beside methods made for that.

PooledPeleg with ``guess=True``, which shares out what is left for the guess at the end, and the
same simply cut off by ``max_samples``; neither is told the noise. Beside them

- uniform: every arm as often, one least-squares fit;
- halving: sequential halving (Karnin, Koren and Somekh, "Almost optimal exploration in multi-armed
  bandits", ICML 2013), which does not see the features: in each of ⌈log₂ K⌉ rounds every arm left
  is pulled as often, and the better half by all its pulls so far goes on (the paper looks at those
  of the round only, which is worse);
- OD-LinBAI and GSE, of the library (:mod:`surepick.research.od_linbai`,
  :mod:`surepick.research.gse`); GSE is sequential halving that does see the features;
- Peace-like, after Katz-Samuels, Jain, Karnin and Jamieson ("An empirical process approach to the
  union bound", NeurIPS 2020): in each phase a design for the differences of the arms left, and as
  many of the best go on as can be told apart with half the pulls. Where the paper has the Gaussian
  width of the differences, this has the longest one, and as many phases as OD-LinBAI.

The other rivals are written after these descriptions, for this comparison only. Noise is normal, of
scale 1. An error rate of p has a standard error of √(p(1 − p)/trials).

Run with: OPENBLAS_NUM_THREADS=1 python -m benchmarks.guess --trials 200
"""

from __future__ import annotations

import itertools
import math
import time
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from benchmarks.baseline import gathered
from benchmarks.recorded import Record, chunks, options, table
from benchmarks.top_m import sphere

import surepick as sp

CHUNK = 25


class Instance(NamedTuple):
    """A linear bandit and the number of pulls that there are."""

    arms: np.ndarray
    theta: np.ndarray
    budget: int


def switches() -> np.ndarray:
    return np.array([[1.0, *row] for row in itertools.product([0.0, 1.0], repeat=5)])


def confounding(omega: float) -> np.ndarray:
    return np.vstack([np.eye(5), [math.cos(omega), math.sin(omega), 0.0, 0.0, 0.0]])


INSTANCES = {
    "sphere, d = 8, 40 arms": Instance(*sphere(40, 8, 1, 0.15, 3)[:2], 300),
    "sphere, d = 4, 20 arms": Instance(*sphere(20, 4, 1, 0.1, 5)[:2], 300),
    "32 layouts of 5 switches": Instance(
        switches(), np.array([0.0, 0.45, 0.35, 0.3, 0.25, 0.2]), 250
    ),
    "confounding, d = 5, ω = 0.3": Instance(confounding(0.3), 2.0 * np.eye(5)[0], 150),
    "10 unrelated, evenly spread": Instance(np.eye(10), np.linspace(1.0, 0.0, 10), 400),
    "20 unrelated, one good": Instance(np.eye(20), np.append(0.6, np.zeros(19)), 400),
}


# -- rivals ----------------------------------------------------------------------------------------
def fitted(arms: np.ndarray, means: np.ndarray, n: np.ndarray, rng: np.random.Generator) -> Any:
    """The parameter, by least squares on n fresh pulls of each arm."""
    sums = n * means + np.sqrt(n) * rng.normal(size=len(n))
    return np.linalg.lstsq((arms * n[:, None]).T @ arms, arms.T @ sums, rcond=None)[0]


def uniform(case: Instance, rng: np.random.Generator) -> int:
    arms, K = case.arms, len(case.arms)
    n = np.full(K, case.budget // K)
    n[rng.permutation(K)[: case.budget - n.sum()]] += 1
    return int(np.argmax(arms @ fitted(arms, arms @ case.theta, n, rng)))


def halving(case: Instance, rng: np.random.Generator) -> int:
    means = case.arms @ case.theta
    pulls, sums, left = np.zeros(len(means)), np.zeros(len(means)), np.arange(len(means))
    rounds = math.ceil(math.log2(len(means)))
    for _ in range(rounds):
        n = case.budget // (len(left) * rounds)
        pulls[left] += n
        sums[left] += n * means[left] + np.sqrt(n) * rng.normal(size=len(left))
        order = np.argsort(-sums[left] / np.maximum(pulls[left], 1), kind="stable")
        left = left[order[: math.ceil(len(left) / 2)]]
    return int(left[0])


@cache
def differences(name: str, left: tuple[int, ...]) -> tuple[np.ndarray, float]:
    """A design for all differences of these arms, and the variance that it leaves."""
    arms = INSTANCES[name].arms
    found = sp.design.minimax(arms, sp.design.AllPairs(arms[list(left)]), tol=0.05)
    return found.weights, found.value


def peace_like(name: str, case: Instance, rng: np.random.Generator) -> int:
    arms, phases = case.arms, math.ceil(math.log2(case.arms.shape[1]))
    left, means = list(range(len(arms))), arms @ case.theta
    for phase in range(phases):
        weights, value = differences(name, tuple(sorted(left)))
        n = sp.design.round_design(weights, case.budget // phases, minimum=0)
        order = np.argsort(-(arms @ fitted(arms, means, n, rng))[left], kind="stable")
        best = [left[i] for i in order]
        if phase == phases - 1 or len(best) == 1:
            return best[0]
        low, high = 1, len(best)  # so many of the best: one will do, all are too many
        while high - low > 1:
            some = (low + high) // 2
            few = differences(name, tuple(sorted(best[:some])))[1] <= value / 2
            low, high = (some, high) if few else (low, some)
        left = best[:low]
        if low == 1:
            return best[0]
    return left[0]


# -- of the library --------------------------------------------------------------------------------
def guessed(name: str, case: Instance, rng: np.random.Generator, **how: Any) -> int:
    algorithm = sp.algorithms.get(name, delta=0.05, max_samples=case.budget, **how)
    run = algorithm.start(sp.Problem(case.arms), rng)
    means = case.arms @ case.theta
    while not run.stopped:
        batch = run.ask()
        run.tell(batch, means[batch.arms] + rng.normal(size=batch.size))
    return run.answer.arm


METHODS: dict[str, Any] = {
    "guess": lambda name, case, rng: guessed("pooled-peleg", case, rng, guess=True),
    "cut off": lambda name, case, rng: guessed("pooled-peleg", case, rng),
    "uniform": lambda name, case, rng: uniform(case, rng),
    "halving": lambda name, case, rng: halving(case, rng),
    "od-linbai": lambda name, case, rng: guessed("od-linbai", case, rng),
    "gse": lambda name, case, rng: guessed("gse", case, rng),
    "Peace-like": peace_like,
}


def measure(task: tuple[Any, ...]) -> dict[str, Any]:
    name, method, first, count, seed = task
    case, started = INSTANCES[name], time.process_time()
    best = int(np.argmax(case.arms @ case.theta))
    wrong = sum(
        METHODS[method](name, case, np.random.default_rng([seed, i])) != best
        for i in range(first, first + count)
    )
    seconds = round(time.process_time() - started, 2)
    return {"trials": count, "wrong": int(wrong), "seconds": seconds}


def tasks(trials: int, seed: int) -> dict[str, Any]:
    return {
        f"wrong | {name} | {method} | {first} | {count}": (name, method, first, count, seed)
        for first, count in chunks(trials, CHUNK)
        for name in INSTANCES
        for method in METHODS
    }


def tables(parts: dict[str, Any]) -> str:
    cells = gathered(parts, "wrong")
    rows = []
    for name, case in INSTANCES.items():
        found = [cells[name, method] for method in METHODS]
        rates = [f"{cell['wrong'] / cell['trials']:.3f}" for cell in found]
        rows.append([name, f"{case.budget}", *rates])
    return table(["instance", "pulls", *METHODS], rows)


def main() -> None:
    given = options("the best guess that a budget buys", trials=200).parse_args()
    record = Record("guess", {"trials": given.trials, "seed": given.seed}, given)
    parts = record.fill(tasks(given.trials, given.seed), measure)
    record.write(
        f"# The best guess that a budget buys\n\nShare of {given.trials} trials in which the guess "
        f"is not the best arm.\n\n{tables(parts)}"
    )


if __name__ == "__main__":
    main()
