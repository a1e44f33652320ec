"""The m best: how often the set is wrong, and how many pulls it takes.

*Errors.* Truths in which mistakes are easiest: all options tied; near ties at the boundary; one
clearly best and all others tied. Each run goes on for a fixed number of pulls, or until it ends.
Counted are trials in which one of the m best was dropped at any time (of options that are tied, the
first m: the proof is about any m of them), and, with epsilon, trials whose answer is worse than
promised. Intervals of these rates are exact (Clopper–Pearson), 99.9 %.

*Pulls.* Beside m-LinGapE (Réda, Kaufmann, Delahaye-Duriez, "Top-m identification for linear
bandits", AISTATS 2021), with greedy pulls and with the threshold that is proven for it: the
confidence ellipsoid, given a bound on the parameter that is exactly its length. The first two
instances are the paper's: 4 arms in 3 dimensions, the third at an angle ω to the two best, which
are tied; it reports 198 pulls at ω = π/3 and 2,942 at π/6 (noise 0.5, δ = 0.05), with the
threshold above in a form that is a little larger.

Run with: OPENBLAS_NUM_THREADS=1 python -m benchmarks.top_m --trials 200
"""

from __future__ import annotations

import math
import time
from typing import Any, NamedTuple

import numpy as np
from benchmarks.baseline import gathered, rate
from benchmarks.recorded import Record, chunks, options, table

import surepick as sp
from surepick.simulate import Bernoulli, Gaussian

KINDS: dict[str, Any] = {"unknown": None, "equal": "equal", "σ known": 1.0, "yes-no": "yes-no"}
TOP = 2
TRUTHS = {
    "all tied": np.zeros(5),
    "near ties at the boundary": np.array([0.5, 0.05, 0.0, 0.0, 0.0]),
    "one better, others tied": np.array([0.8, 0.0, 0.0, 0.0, 0.0]),
}
EPSILON = 0.3  # with near misses: three of the others are just a little further behind
FAR = np.array([0.5, 0.35, 0.0, 0.0, 0.0])
DELTAS = (0.2, 0.05)
PULLS, CHUNK = 600, 10


# -- errors --------------------------------------------------------------------------------------
def play(run: sp.Run, means: np.ndarray, rng: np.random.Generator) -> None:
    """Rewards of normal noise, or clicks, batch by batch, to the end."""
    yes_no = run.problem.noise_kind.kind == "yes-no"
    noise = Bernoulli() if yes_no else Gaussian()
    means = 0.3 + 0.4 * means if yes_no else means
    while not run.stopped:
        batch = run.ask()
        pulls = batch.pulls
        run.tell_totals(batch, *noise.totals(rng, means[pulls.arms], pulls.counts, 1.0))


def error(name: str, kind: str, delta: float, i: int, seed: int) -> bool:
    """Whether one of the best was dropped, or the answer is too far below them."""
    close = name == "with ε, near misses"
    means = FAR if close else TRUTHS[name]
    epsilon = EPSILON * (0.4 if kind == "yes-no" else 1.0) if close else 0.0
    problem = sp.Problem.unstructured(len(means), noise=KINDS[kind])
    config = sp.algorithms.PooledPeleg(delta, top=TOP, epsilon=epsilon, max_samples=PULLS)
    run = config.start(problem)
    play(run, means, np.random.default_rng([seed, i]))
    if close:
        lowest = np.sort(means)[-TOP] - EPSILON
        return bool(run.answer.guarantee) and bool((means[list(run.answer.arms)] < lowest).any())
    return not set(range(TOP)) <= set(run.active)


# -- pulls ---------------------------------------------------------------------------------------
class Instance(NamedTuple):
    """A linear bandit, and how many of its best arms are asked for."""

    arms: np.ndarray
    theta: np.ndarray
    m: int
    noise: float


def confounding(omega: float) -> Instance:
    arms = [[1, 0, 0], [1, 1, 0], [math.cos(omega), 0, math.sin(omega)], [0, 0, 1]]
    return Instance(np.array(arms, dtype=float), np.array([1.0, 0.0, 0.0]), 2, 0.5)


def sphere(k: int, d: int, m: int, gap: float, seed: int) -> Instance:
    """Random unit vectors, of which those between two values near the m-th best are left out."""
    rng = np.random.default_rng([seed, k, d])
    arms = rng.normal(size=(2 * k, d))
    arms /= np.linalg.norm(arms, axis=1)[:, None]
    theta = rng.normal(size=d)
    theta /= np.linalg.norm(theta)
    arms = arms[np.argsort(-(arms @ theta))]
    means = arms @ theta
    rest = np.flatnonzero(means < means[m - 1] - gap)[: k - m]
    return Instance(np.concatenate([arms[:m], arms[rest]]), theta, m, 0.5)


INSTANCES = {
    "confounding, ω = π/3, 2 of 4": confounding(math.pi / 3),
    "confounding, ω = π/6, 2 of 4": confounding(math.pi / 6),
    "sphere, d = 4, 3 of 20": sphere(20, 4, 3, 0.15, 0),
    "sphere, d = 8, 5 of 40": sphere(40, 8, 5, 0.2, 1),
    "unrelated, 3 of 8": Instance(np.eye(8), np.linspace(1.0, 0.0, 8), 3, 0.5),
}
PUBLISHED = {"confounding, ω = π/3, 2 of 4": "198", "confounding, ω = π/6, 2 of 4": "2,942"}
METHODS = ("pooled-peleg", "m-LinGapE")


def lingape(
    case: Instance, delta: float, rng: np.random.Generator, means: np.ndarray | None = None
) -> tuple[int, np.ndarray]:
    """m-LinGapE: pulls, and the set that it names; ``means`` where features do not say them."""
    arms, m, d = case.arms, case.m, case.arms.shape[1]
    shift = float(np.linalg.norm(case.theta)) / case.noise
    means = (arms @ case.theta if means is None else means) / case.noise
    moment = np.zeros(d)
    inverse, log_det, t = np.eye(d), 0.0, 0
    while True:
        if t < len(arms):
            arm = t
        else:
            values = arms @ (inverse @ moment)
            order = np.argsort(-values, kind="stable")
            inside, outside = order[:m], order[m:]
            apart = arms[outside][:, None] - arms[inside]
            lengths = np.sqrt(np.einsum("oid,de,oie->oi", apart, inverse, apart))
            radius = math.sqrt(2.0 * math.log(1.0 / delta) + log_det) + shift
            index = values[outside][:, None] - values[inside] + radius * lengths
            place = np.unravel_index(int(np.argmax(index)), index.shape)
            if index[place] <= 0.0:
                return t, inside
            towards = arms @ (inverse @ apart[place])
            arm = int(np.argmax(towards**2 / (1.0 + ((arms @ inverse) * arms).sum(axis=1))))
        x, t = arms[arm], t + 1
        moment += x * (means[arm] + rng.normal())
        u = inverse @ x
        g = 1.0 + float(x @ u)
        inverse -= np.outer(u, u) / g
        log_det += math.log(g)


def cost(name: str, method: str, delta: float, first: int, count: int, seed: int) -> dict[str, Any]:
    case, pulls, wrong = INSTANCES[name], [], 0
    means = case.arms @ case.theta
    lowest = np.sort(means)[-case.m]
    problem = sp.Problem(case.arms, noise=case.noise)
    for i in range(first, first + count):
        rng = np.random.default_rng([seed, i, 1])
        if method == "m-LinGapE":
            n, chosen = lingape(case, delta, rng)
        else:
            run = sp.algorithms.PooledPeleg(delta, top=case.m).start(problem)
            while not run.stopped:
                batch = run.ask()
                noise = case.noise * rng.normal(size=batch.size)
                run.tell(batch, means[batch.arms] + noise)
            n, chosen = run.samples, np.array(run.answer.arms)
        pulls.append(n)
        wrong += bool((means[chosen] < lowest).any())
    return {"pulls": pulls, "trials": count, "wrong": wrong}


# -- all of them ---------------------------------------------------------------------------------
def measure(task: tuple[Any, ...]) -> dict[str, Any]:
    started = time.process_time()
    if task[0] == "cost":
        found = cost(*task[1:])
    else:
        *cell, first, count, seed = task[1:]
        found = {
            "trials": count,
            "wrong": sum(error(*cell, i, seed) for i in range(first, first + count)),
        }
    return found | {"seconds": round(time.process_time() - started, 2)}


def tasks(trials: int, costs: int, seed: int) -> dict[str, Any]:
    found = {
        f"error | {name} | {kind} | {delta:g} | {first} | {count}": (
            *("error", name, kind, delta),
            *(first, count, seed),
        )
        for first, count in chunks(trials, CHUNK)
        for name in (*TRUTHS, "with ε, near misses")
        for kind in KINDS
        for delta in DELTAS
    }
    return found | {
        f"cost | {name} | {method} | {first} | {count}": (
            *("cost", name, method, 0.05),
            *(first, count, seed),
        )
        for first, count in chunks(costs, CHUNK)
        for name in INSTANCES
        for method in METHODS
    }


def tables(parts: dict[str, Any]) -> str:
    rows = [
        [name, kind, delta, rate(cell["wrong"], cell["trials"], float(delta))]
        for (name, kind, delta), cell in gathered(parts, "error").items()
    ]
    errors = table(["truth", "noise", "δ", "one of the best dropped"], rows)
    cells, costs = gathered(parts, "cost"), []
    for name, case in INSTANCES.items():
        problem = sp.Problem(case.arms, noise=case.noise)
        bound = sp.design.complexity(problem, case.theta, tol=1e-3, top=case.m).lower_bound(0.05)
        ours, theirs = (np.array(cells[name, method]["pulls"]) for method in METHODS)
        error = ours.std() / math.sqrt(len(ours))
        wrong = sum(cells[name, method]["wrong"] for method in METHODS)
        row = [f"{ours.mean():,.0f} ± {error:,.0f}", f"{theirs.mean():,.0f}"]
        row += [f"{ours.mean() / theirs.mean():.2f}", f"{bound:,.0f}", PUBLISHED.get(name, "")]
        costs.append([name, *row, str(wrong)])
    head = ["instance", "PooledPeleg", "our m-LinGapE", "ratio", "lower bound", "published"]
    return f"{errors}\n\n## Pulls, δ = 0.05\n\n{table([*head, 'wrong'], costs)}"


def main() -> None:
    parser = options("the m best", trials=200)
    parser.add_argument("--costs", type=int, default=40)
    given = parser.parse_args()
    settings = {"pulls": PULLS, "trials": given.trials, "costs": given.costs, "seed": given.seed}
    record = Record("top_m", settings, given)
    parts = record.fill(tasks(given.trials, given.costs, given.seed), measure)
    record.write(
        f"# The m best\n\n{given.trials} trials of each cell, {PULLS:,} pulls each at the most; "
        f"the {TOP} best of 5. 99.9 % intervals; bold: all of it lies above δ.\n\n{tables(parts)}"
    )


if __name__ == "__main__":
    main()
