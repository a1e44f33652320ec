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

With ``--yes-no`` the same for rewards that say yes or no, of options without features: those of
``benchmarks.yes_no`` at its best rates, and some others. Nats are then those of binomial counts:
two options with n and n′ pulls differ by n·kl(p, m) + n′·kl(p′, m), m being their common rate. The
lower bound is the number of pulls whose best shares make that kl for every rival; J takes all
counts together, J′ adds the blocks up, and G is what likelihood ratios of the truth earn.

Run with: OPENBLAS_NUM_THREADS=1 python -m benchmarks.decomposition --trials 40 [--yes-no]
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any, cast

import numpy as np
from benchmarks.recorded import Record, chunks, options, table
from benchmarks.yes_no import RATES, layouts, lower_bound, nats_apart

import surepick as sp
from surepick.arrays.types import FloatArray, IntArray
from surepick.bench.compare.suites import LEADERBOARD
from surepick.bench.named import instance_named
from surepick.proof.purses import total
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
#: rates of options that say yes or no, the best first: those of ``benchmarks.yes_no``, and others
CLICKS = {f"24 layouts, {100 * best:g} %": best * (1.0 - layouts()[1]) for best in RATES} | {
    "3 % beside 2.5 %": np.array([0.03, 0.025]),
    "1.2 % beside eleven of 1 %": np.array([0.012] + [0.01] * 11),
    "5, 4.5, 4, 3, 2 and 1 %": np.array([0.05, 0.045, 0.04, 0.03, 0.02, 0.01]),
    "91 % beside 90 to 80 %": np.append(0.91, np.linspace(0.9, 0.8, 7)),
}
CLICK_DELTAS = (0.05, 0.001)


class Watch:
    """Beside a run on a problem whose truth is known: what bets on the best would have earned."""

    def __init__(self, run: sp.Run, instance: sp.simulate.Instance) -> None:
        state: Any = run.state
        problem, self.question = instance.problem, state.question
        if problem.noise_kind.kind != self.kind or len(problem.distinct) != problem.n_candidates:
            raise ValueError("only for a known noise or yes/no, and candidates that all differ")
        self.problem, self.best, self.gaps = problem, instance.best, instance.gaps / problem.unit
        M = len(self.gaps)
        self.apart = np.zeros(M)  # nats that the blocks tell about leads, one by one
        self.earned = np.zeros(M)  # and what betting on the truth earned
        self.alone = np.tile(np.log(state.ways.accounts), (M, 1))  # log capital, on the best
        self._settle, self.question.bet = self.question.bet, self._bet

    kind = "known"

    def _bet(self, market: Any, blocks: list[Any], pulls: int) -> dict[str, Any]:
        everyone, best = np.arange(len(self.gaps)), np.array([self.best])
        payoff = self.question.ground.ways.payoff(self.question.ground.ways.ways[0])
        pairs = market.pairs(everyone, best, blocks[0], payoff)
        others = everyone != self.best
        apart, earned = self.told(pairs, blocks[0])
        self.apart[others] += apart[others]
        self.earned[others] += earned[others]
        self.alone[others] += pairs.paid()[others, 0]
        return self._settle(market, blocks, pulls)

    def told(self, pairs: Any, block: Any) -> tuple[FloatArray, FloatArray]:
        """What a block tells about the lead over each, and what betting on the truth earns."""
        information, lead = pairs.news.information[:, 0], pairs.news.lead[:, 0]
        apart = 0.5 * self.gaps**2 * information
        return apart, self.gaps * information * lead - apart

    def pooled(self, x: int, used: IntArray) -> float:
        """What one estimate from so many pulls of each arm knows of the lead over x."""
        lead = self.problem.targets[self.best] - self.problem.targets[x]
        arms = np.flatnonzero(used)
        rows = self.problem.feature_rows(arms)
        noise = lead @ np.linalg.pinv(rows.T * used[arms] @ rows, hermitian=True) @ lead
        return 0.5 * float(self.gaps[x]) ** 2 / float(noise)

    def last(self) -> int:
        """Who was dropped last; of several, who was the closest call."""
        dropped = np.where(np.arange(len(self.gaps)) == self.best, -1, self.question.dropped_at)
        late = np.flatnonzero(dropped == dropped.max())
        return int(late[np.argmin(self.question.against()[late])])


class WatchRates(Watch):
    """The same where rewards say yes or no, of options that are compared by their own."""

    kind = "yes-no"

    def __init__(self, run: sp.Run, instance: sp.simulate.Instance) -> None:
        super().__init__(run, instance)
        self.rates = instance.means

    def told(self, pairs: Any, block: Any) -> tuple[FloatArray, FloatArray]:
        counts, yes = block.facts.counts, np.round(block.facts.sums * self.problem.unit)
        best, n = self.rates[self.best], counts[self.best]
        there = np.minimum(counts, n) > 0
        both = np.maximum(counts + n, 1.0)
        level = (n * best + counts * self.rates) / both  # that would explain both best

        def log_ratio(rate: Any, of: FloatArray, n: Any, yes: Any) -> FloatArray:
            return yes * np.log(rate / of) + (n - yes) * np.log((1.0 - rate) / (1.0 - of))

        earned = log_ratio(best, level, n, yes[self.best])
        earned = earned + log_ratio(self.rates, level, counts, yes)
        apart = nats_apart(best, self.rates, n, counts)
        return np.where(there, apart, 0.0), np.where(there, earned, 0.0)

    def pooled(self, x: int, used: IntArray) -> float:
        n, m = float(used[self.best]), float(used[x])
        return float(nats_apart(self.rates[self.best], self.rates[x], n, m))


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
    run = algorithm.start(instance.problem)
    kinds: dict[str, type[Watch]] = {"known": Watch, "yes-no": WatchRates}
    watch = kinds[instance.problem.noise_kind.kind](run, instance)
    feed(run, instance, seeds)
    if run.answer.arm != instance.best:
        return None
    x, state = watch.last(), cast(Any, run.state)
    used = state.totals.counts - state.first
    return [
        float(run.samples),
        float(used.sum()),
        watch.pooled(x, used),
        float(watch.apart[x]),
        float(watch.earned[x]),
        float(total(watch.alone)[x]),
        float(state.question.against()[x]),
    ]


def measure(
    task: tuple[str, float, int, int, int], feed: Callable[..., None] = as_in_any_trial
) -> dict[str, Any]:
    """Trials with the right answer, by row and by number, and how many were wrong."""
    text, delta, first, count, seed = task
    algorithm = sp.algorithms.get("pooled-peleg", delta=delta)
    rows, right = [], []
    for i in range(first, first + count):
        instance, bound = _made(text, delta, np.random.SeedSequence(seed, spawn_key=(i, 1)))
        found = steps(algorithm, instance, np.random.SeedSequence(seed, spawn_key=(i,)), feed)
        if found is None:
            continue
        per_nat = bound / kl(delta)
        rows.append([found[0] / per_nat, found[1] / per_nat, *found[2:]])
        right.append(i)
    return {"wrong": count - len(rows), "rows": rows, "right": right}


def _made(text: str, delta: float, seeds: Any) -> tuple[sp.simulate.Instance, float]:
    """The instance, and its lower bound."""
    if text not in CLICKS:
        instance = instance_named(text).build(seeds)
        return instance, sp.design.complexity(instance.problem, instance.theta).lower_bound(delta)
    rates = CLICKS[text]
    problem = sp.Problem.unstructured(len(rates), noise="yes-no")
    return sp.simulate.Instance(problem, rates), _click_bound(text, delta)


@cache
def _click_bound(text: str, delta: float) -> float:
    return lower_bound(CLICKS[text], delta)


def kl(delta: float) -> float:
    """kl(1 − δ, δ)."""
    return (1.0 - 2.0 * delta) * math.log((1.0 - delta) / delta)


def factors(rows: np.ndarray, delta: float) -> dict[str, float]:
    """Of trials (n, 7), pulls being divided by 2B: every factor, in the order of ``FACTORS``."""
    chain = [*rows.mean(axis=0), math.log(1.0 / delta), kl(delta)]
    return dict(zip(FACTORS, np.divide(chain[:-1], chain[1:]).tolist(), strict=True))


def tasks(
    texts: list[str], trials: int, seed: int, deltas: tuple[float, ...] | None = None
) -> dict[str, Any]:
    return {
        f"{text} | {delta:g} | {first} | {count}": (text, delta, first, count, seed)
        for text in texts
        for delta in deltas or DELTAS
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
    parser.add_argument("--yes-no", action="store_true", help="of rewards that say yes or no")
    given = parser.parse_args()
    texts = given.instances or list(CLICKS if given.yes_no else [*LEADERBOARD.instances, *SPHERES])
    settings = {"instances": texts, "trials": given.trials, "seed": given.seed}
    record = Record(f"decomposition{'_yes_no' if given.yes_no else ''}", settings, given)
    deltas = CLICK_DELTAS if given.yes_no else None
    parts = record.fill(tasks(texts, given.trials, given.seed, deltas), measure)
    how = f"--trials {given.trials} --seed {given.seed}{' --yes-no' if given.yes_no else ''}"
    record.write(
        f"# Where PooledPeleg's pulls go\n\n`python -m benchmarks.decomposition {how}`, which also "
        f"says what each factor is. The factors of a row multiply to its last number, mean pulls "
        f"over the lower bound (± one standard error).\n\n{tables(parts)}"
    )


if __name__ == "__main__":
    main()
