"""Where PooledPeleg's pulls go: its ratio to the lower bound, factor by factor.

The bound is 2·kl·B pulls, kl = kl(1−δ, δ): with the best design every pull earns 1/(2B) nats of
evidence against the candidates that are hardest to tell from the best one. A trial ends when the
last rival x is dropped, with log capital of log(1/δ) or more. Between the pulls of the trial, N,
and the bound lie, each of them a number of pulls or of nats (means over the trials):

- *first block*: N over the pulls on which something was bet, N′: nothing is on the first block.
- *design*: N′ over 2B·J. J = Δ²·I/2 is what one estimate from all of N′ knows of x, in nats: I is
  the information of pooled least squares about the lead Δ of the best over x.
- *blocks*: J over J′, the same with the information of every block by itself, added up.
- *luck*: J′ over G, which somebody who knew the truth would have earned by betting with the stake
  Δ on the best against x. G has mean J′ for a rival that is fixed beforehand (Wald); the last
  one is mostly one against whom rewards were unlucky. It is measured more for that, and so *design*
  may be below 1.
- *stakes*: G over what bets on the best alone, with the algorithm's own stakes, earned.
- *rivals*: that over the log capital against x.
- *overshoot*: the log capital over log(1/δ): the last block ends a little late.
- *threshold*: log(1/δ) over kl.

Their product is mean N over the bound, because each one begins where the one before it ends. Trials
with a wrong answer are left out, and counted.

Run with: OPENBLAS_NUM_THREADS=1 python -m benchmarks.decomposition --trials 40
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, cast

import numpy as np
from benchmarks.recorded import Record, chunks, options, table

import surepick as sp
from surepick.algorithms.pooled.market import all_accounts
from surepick.arrays.backend import HOST
from surepick.bench.compare.suites import LEADERBOARD
from surepick.bench.named import instance_named
from surepick.simulate.trials import drive

FACTORS = (
    "first block",
    "design",
    "blocks",
    "luck",
    "stakes",
    "rivals",
    "overshoot",
    "threshold",
)
#: beside the leaderboard's: many dimensions, with arms of their own in every trial
SPHERES = ("unit_sphere:d=10,rng=trial", "unit_sphere:d=50,rng=trial")
DELTAS, CHUNK = (0.1, 0.01, 1e-6), 10


class Watch:
    """Beside a run on a problem whose truth is known: what bets on the best would have earned."""

    def __init__(self, run: sp.Run, instance: sp.simulate.Instance) -> None:
        state: Any = run.state
        problem, self.question = instance.problem, state.question
        if problem.noise_kind.kind != "known" or len(problem.distinct) != problem.n_candidates:
            raise ValueError("only for a known noise, and candidates that all differ")
        self.best, self.gaps = instance.best, instance.gaps / problem.unit
        M = len(self.gaps)
        self.information, self.score = np.zeros(M), np.zeros(M)  # block by block, about the leads
        self.alone = np.tile(np.log(state.ways.accounts), (M, 1))  # log capital, on the best
        self._settle, self.question.bet = self.question.bet, self._bet

    def _bet(self, market: Any, blocks: list[Any], pulls: int) -> dict[str, Any]:
        everyone, best = np.arange(len(self.gaps)), np.array([self.best])
        payoff = self.question.ground.ways.reading.payoff
        pairs = market.pairs(everyone, best, blocks[0], payoff)
        information, others = pairs.news.information[:, 0], everyone != self.best
        self.information[others] += information[others]
        self.score[others] += (information * pairs.news.lead[:, 0])[others]
        self.alone[others] += pairs.paid()[others, 0]
        return self._settle(market, blocks, pulls)

    def last(self) -> int:
        """Who was dropped last; of several, who was the closest call."""
        dropped = np.where(np.arange(len(self.gaps)) == self.best, -1, self.question.dropped_at)
        late = np.flatnonzero(dropped == dropped.max())
        return int(late[np.argmin(self.question.against()[late])])


def as_in_any_trial(run: sp.Run, instance: sp.simulate.Instance, seeds: Any) -> None:
    """Rewards that are drawn as they come."""
    _, for_rewards = seeds.spawn(2)
    drive(run, instance, np.random.default_rng(for_rewards))


def steps(
    algorithm: Any,
    instance: sp.simulate.Instance,
    seeds: np.random.SeedSequence,
    feed: Callable[..., None] = as_in_any_trial,
) -> list[float] | None:
    """Of one trial: pulls, those bet on, and nats, as above; None where the answer is wrong."""
    problem, run = instance.problem, algorithm.start(instance.problem)
    watch = Watch(run, instance)
    feed(run, instance, seeds)
    if run.answer.arm != instance.best:
        return None
    x, state = watch.last(), cast(Any, run.state)
    lead = problem.targets[watch.best] - problem.targets[x]
    used = state.totals.counts - state.first
    arms = np.flatnonzero(used)
    rows = problem.feature_rows(arms)
    known = 1.0 / float(lead @ np.linalg.pinv(rows.T * used[arms] @ rows, hermitian=True) @ lead)
    gap, against = watch.gaps[x], float(state.question.against()[x])
    return [
        float(run.samples),
        float(used.sum()),
        0.5 * gap**2 * known,
        0.5 * gap**2 * watch.information[x],
        gap * watch.score[x] - 0.5 * gap**2 * watch.information[x],
        float(all_accounts(HOST, watch.alone)[x]),
        against,
    ]


def measure(
    task: tuple[str, float, int, int, int], feed: Callable[..., None] = as_in_any_trial
) -> dict[str, Any]:
    """Trials with the right answer, by row and by number, and how many were wrong."""
    text, delta, first, count, seed = task
    named, algorithm = instance_named(text), sp.algorithms.get("pooled-peleg", delta=delta)
    rows, right = [], []
    for i in range(first, first + count):
        instance = named.build(np.random.SeedSequence(seed, spawn_key=(i, 1)))
        found = steps(algorithm, instance, np.random.SeedSequence(seed, spawn_key=(i,)), feed)
        if found is None:
            continue
        bound = sp.design.complexity(instance.problem, instance.theta).lower_bound(delta)
        per_nat = bound / kl(delta)
        rows.append([found[0] / per_nat, found[1] / per_nat, *found[2:]])
        right.append(i)
    return {"wrong": count - len(rows), "rows": rows, "right": right}


def kl(delta: float) -> float:
    """kl(1 − δ, δ)."""
    return (1.0 - 2.0 * delta) * math.log((1.0 - delta) / delta)


def factors(rows: np.ndarray, delta: float) -> dict[str, float]:
    """Of trials (n, 7), pulls being divided by 2B: every factor, in the order of ``FACTORS``."""
    chain = [*rows.mean(axis=0), math.log(1.0 / delta), kl(delta)]
    return dict(zip(FACTORS, np.divide(chain[:-1], chain[1:]).tolist(), strict=True))


def tasks(texts: list[str], trials: int, seed: int) -> dict[str, Any]:
    return {
        f"{text} | {delta:g} | {first} | {count}": (text, delta, first, count, seed)
        for text in texts
        for delta in DELTAS
        for first, count in chunks(trials, CHUNK)
    }


def gathered(parts: dict[str, Any]) -> dict[tuple[str, str], dict[str, Any]]:
    """Trials and wrong answers of each instance and δ."""
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for key, part in parts.items():
        text, delta, _, _ = key.split(" | ")
        cell = found.setdefault((text, delta), {"wrong": 0, "rows": []})
        cell["wrong"] += part["wrong"]
        cell["rows"] += part["rows"]
    return found


def tables(parts: dict[str, Any]) -> str:
    """One table for each δ, the geometric means of all instances below."""
    cells, found = gathered(parts), []
    for delta in dict.fromkeys(delta for _, delta in cells):
        rows, logs = [], []
        for (text, at), cell in cells.items():
            if at != delta:
                continue
            trials = np.array(cell["rows"])
            each = factors(trials, float(delta))
            ratios = trials[:, 0] / kl(float(delta))
            error = ratios.std() / math.sqrt(len(ratios))
            logs.append([*np.log(list(each.values())), math.log(ratios.mean())])
            rows.append(
                [f"`{text}`", *(f"{factor:.2f}" for factor in each.values())]
                + [f"{ratios.mean():.2f} ± {error:.2f}", str(cell["wrong"] or "")]
            )
        means = np.exp(np.mean(logs, axis=0))
        rows.append(["geometric mean", *(f"{mean:.2f}" for mean in means), ""])
        head = ["instance", *FACTORS, "pulls / bound", "wrong"]
        found.append(f"## δ = {delta}\n\n{table(head, rows)}")
    return "\n\n".join(found)


def main() -> None:
    parser = options("where PooledPeleg's pulls go", trials=40)
    parser.add_argument("--instances", nargs="*", help="by default the leaderboard's and spheres")
    given = parser.parse_args()
    texts = given.instances or [*LEADERBOARD.instances, *SPHERES]
    settings = {"instances": texts, "trials": given.trials, "seed": given.seed}
    record = Record("decomposition", settings, given)
    parts = record.fill(tasks(texts, given.trials, given.seed), measure)
    command = f"python -m benchmarks.decomposition --trials {given.trials} --seed {given.seed}"
    record.write(
        f"# Where PooledPeleg's pulls go\n\n`{command}`, which also says what each factor is. The "
        f"factors of a row multiply to its last number, mean pulls over the lower bound (± one "
        f"standard error).\n\n{tables(parts)}"
    )


if __name__ == "__main__":
    main()
