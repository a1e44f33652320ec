"""What PooledPeleg's free choices are worth: its pulls with other constants and other rules.

The theorem leaves pulls, rivals and stakes open, so every variant here is as safe as the algorithm.
They are tried at δ = 0.1, where the way to the lower bound is longest, on the instances in
``CHOOSING``. In all of them the k-th pull of an option has the same reward, so luck hardly tells
them apart: a change is that of the trials that both got right. All are compared with the algorithm
as it wusual pace. ``FINALISTS``, those that came out best in this run or in earlier ones
on the same instances, meet again on ``APART``: instances that no variant was chosen by, with other
seeds.
Beside the pulls the tables say what became of which factor (``benchmarks.decomposition`` explains
them).

A variant is a change of the algorithm's constants while a trial runs: no setting of it, as a
certificate accepts the published constants only.

Run with: OPENBLAS_NUM_THREADS=1 python -m benchmarks.fewer_pulls --trials 40
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np
from benchmarks import decomposition
from benchmarks.paired import ratio
from benchmarks.recorded import Record, options, table

from surepick.algorithms.pooled import lacking, planning, settings, state
from surepick.algorithms.pooled.compiled import market
from surepick.algorithms.pooled.kinds.known import GaussianPayoff, KnownScale
from surepick.algorithms.pooled.pace import USUAL, Pace
from surepick.algorithms.pooled.payoff import Bets, News

DELTA = 0.1
CHOOSING = (
    "standard:gap=0.5",
    "unit_sphere:d=10",
    "confounding:d=5",
    "gaussian:d=20,k=50,rng=2",
    "factorial:gap=0.2",
    "wines:noise=2",
    "unit_sphere:d=50,rng=trial",
)
APART = (
    "standard:gap=0.2",
    "unit_sphere:d=20",
    "confounding:d=10",
    "confounding:d=3,omega=0.2,scale=2",
    "probes:d=10,k=60",
    "factorial:levels=2x2x2x2x2x2,interactions=3,gap=0.2",
    "random_features:rng=2",
    "end_of_optimism:d=5",
)
#: arms that are very close to each other, and what helps there
CROWDED = ("many_arms", "gaussian:d=5,k=500,gap=0.1")
FOR_CROWDS = (
    "usual pace",
    "near rivals: any times as much",
    "near rivals: 100 times at most",
    "near rivals: as much as others",
    "less for rivals that trail",
)
Change = tuple[Any, str, Any]  # an object, the name of one of its attributes, another value


def stakes(precisions: tuple[float, ...], accounts: tuple[float, ...]) -> list[Change]:
    """Other accounts."""
    from surepick.algorithms.pooled import evidence

    return [(evidence, "ACCOUNTS", accounts), *pays(GaussianPayoff(precisions))]


def pays(payoff: GaussianPayoff) -> list[Change]:
    return [(KnownScale, "payoff", payoff), (KnownScale, "direct_payoff", payoff)]


class OwnScale(GaussianPayoff):
    """Stakes whose prior precision is that of the estimated lead itself: no unit is needed."""

    def compiled(self, bets: Bets, news: News, block: Any) -> Any:
        variances = 1.0 / np.maximum(bets.information, 1e-300)
        unit = 1.0 / (bets.lead**2 + variances)
        return super().compiled(bets._replace(unit=unit), news, block)


def own_scale(precision: float) -> list[Change]:
    return [*stakes((precision,), (1.0,)), *pays(OwnScale((precision,)))]


def blocks(fewest: float = 2.0, of_missing: float = math.inf) -> list[Change]:
    """Another size of the smallest blocks, in pulls per dimension.

    A block may be smaller than that where it makes ``of_missing`` of the pulls that are missing; it
    has one per dimension at least, as fewer cannot tell most directions at all.
    """

    def size(
        given: Any, going: Pace, settled: float, out: int, missing: float, least: float
    ) -> int:
        rank = least / settings.FEWEST_PULLS
        least = min(fewest * rank, max(rank, of_missing * missing))
        largest = min(given.batch_growth * settled, going.most * missing)
        return settings.whole_batches(given, max(going.least * settled, largest, least))

    return [(planning, "block_size", size)]


def at(**given: float) -> list[Change]:
    """Another pace."""
    pace = USUAL._replace(**given)
    return [(state, "pace_of", lambda *_: pace)]


def first_block(per_dimension: float) -> list[Change]:
    """Another size of the first block."""

    def at_least(given: Any, pulls: float) -> int:
        return math.ceil(pulls / settings.FEWEST_PULLS * per_dimension)

    return [(planning, "whole_batches", at_least)]


def near(most: float | None, trailing: float = 0.0) -> list[Change]:
    """Other shares of rivals: a near one gets ``most`` times as much as others at most.

    And a rival r that itself trails x by z standard errors gets exp(−trailing·z²) of its share.
    """
    given = market.CompiledMarket._pairs

    def pairs(self: Any, *of: Any) -> tuple[Bets, News]:
        bets, news = given(self, *of)
        behind = np.where(bets.lead < 0, bets.lead**2 * bets.information, 0.0)
        return bets._replace(shares=bets.shares - trailing * behind), news

    at_most = math.inf if most is None else most
    return [(market, "NEARNESS", at_most), (market.CompiledMarket, "_pairs", pairs)]


VARIANTS: dict[str, Callable[[], list[Change]]] = {
    "usual pace": list,
    "one account, precision 30": lambda: stakes((30.0,), (1.0,)),
    "one account, precision 50": lambda: stakes((50.0,), (1.0,)),
    "accounts of 30 and 300, 4/5 and 1/5": lambda: stakes((30.0, 300.0), (0.8, 0.2)),
    "accounts of 5 and 50, half each": lambda: stakes((5.0, 50.0), (0.5, 0.5)),
    "precision by the lead itself": lambda: own_scale(2.0),
    "first block: 1 per dimension": lambda: first_block(1.0),
    "first block: 4 per dimension": lambda: first_block(4.0),
    "blocks: 3 per dimension at least": lambda: blocks(3.0),
    "blocks: 1.5 per dimension at least": lambda: blocks(1.5),
    "blocks: down to 1 per dimension at the end": lambda: blocks(of_missing=0.4),
    "blocks: 0.15 of what is missing": lambda: at(most=0.15),
    "blocks: half as large": lambda: at(most=0.15, least=0.015),
    "half the exploration": lambda: at(explore=0.5),
    "both of these: as it is": lambda: at(explore=0.5, most=0.15, least=0.015),
    "a quarter of the exploration": lambda: at(explore=0.25),
    "caution 0.7": lambda: [(lacking, "CAUTION", 0.7)],
    "caution 3": lambda: [(lacking, "CAUTION", 3.0)],
    "doubt 1": lambda: [(market, "DOUBT", 1.0)],
    "doubt 16": lambda: [(market, "DOUBT", 16.0)],
    "3 rivals": lambda: [(market, "RIVALS", 3)],
    "near rivals: any times as much": lambda: near(None),
    "near rivals: 100 times at most": lambda: near(100.0),
    "near rivals: as much as others": lambda: near(1.0),
    "less for rivals that trail": lambda: near(10.0, 1.0),
}


FINALISTS = (
    "usual pace",
    "one account, precision 50",
    "accounts of 30 and 300, 4/5 and 1/5",
    "first block: 4 per dimension",
    "blocks: 1.5 per dimension at least",
    "blocks: half as large",
    "half the exploration",
    "both of these: as it is",
    "caution 0.7",
)


@contextmanager
def changed(changes: list[Change]) -> Iterator[None]:
    """With these values in place of the algorithm's."""
    with ExitStack() as stack:
        for where, name, value in changes:
            stack.enter_context(patch.object(where, name, value))
        yield


def the_same_rewards(run: Any, instance: Any, seeds: np.random.SeedSequence) -> None:
    """The k-th pull of an arm has the same reward whatever else is pulled, and when."""
    noise, means = instance.problem.noise, instance.means
    draws = [np.random.default_rng(own) for own in seeds.spawn(len(means))]
    while not run.stopped:
        batch = run.ask()
        pulled = zip(batch.pulls.arms, batch.pulls.counts)
        sums = [n * means[arm] + noise * draws[arm].standard_normal(n).sum() for arm, n in pulled]
        run.tell_totals(batch, np.array(sums), None)


def measure(task: tuple[str, str, int, int]) -> dict[str, Any]:
    variant, text, trials, seed = task
    with changed([*at(), *VARIANTS[variant]()]):  # all beside the usual pace
        found = decomposition.measure((text, DELTA, 0, trials, seed), the_same_rewards)
    short = [[float(f"{number:.5g}") for number in row] for row in found["rows"]]
    return found | {"rows": short}  # thousands of trials are kept


def tasks(trials: int, apart: int, seed: int) -> dict[str, Any]:
    chosen_by = {
        f"{variant} | {text}": (variant, text, trials, seed)
        for variant in VARIANTS
        for text in CHOOSING
    }
    return chosen_by | {
        f"{variant} | {text}": (variant, text, apart, seed + 1)
        for variants, texts in ((FINALISTS, APART), (FOR_CROWDS, CROWDED))
        for variant in variants
        for text in texts
    }


def both_right(one: dict[str, Any], first: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """Pulls of the trials that both got right, of each."""
    by_trial = [dict(zip(part["right"], part["rows"])) for part in (one, first)]
    trials = sorted(by_trial[0].keys() & by_trial[1].keys())
    own, others = (np.array([rows[trial][0] for trial in trials]) for rows in by_trial)
    return own, others


def compared(parts: dict[str, Any], variants: Iterable[str], texts: tuple[str, ...]) -> str:
    """A line for each variant: its ratios, and their change against the first one."""
    rows, first = [], next(iter(variants))
    for variant in variants:
        found = [parts[f"{variant} | {text}"] for text in texts]
        cells = [np.array(part["rows"]) for part in found]
        logs = np.log([cell[:, 0].mean() / decomposition.kl(DELTA) for cell in cells])
        pairs = [both_right(part, parts[f"{first} | {text}"]) for text, part in zip(texts, found)]
        ratios, errors = zip(*(ratio(*pair) for pair in pairs))
        change = math.exp(float(np.log(ratios).mean())) - 1
        error_of_change = float(np.linalg.norm(np.divide(errors, ratios))) / len(texts)
        each = [list(decomposition.factors(cell, DELTA).values()) for cell in cells]
        means = dict(zip(decomposition.FACTORS, np.exp(np.log(each).mean(axis=0)), strict=True))
        rows.append(
            [variant, f"{math.exp(float(logs.mean())):.2f}"]
            + [f"{100 * change:+.1f} ± {100 * error_of_change:.1f} %" if rows else ""]
            + [f"{mean:.2f}" for mean in np.exp(logs)]
            + [f"{means[name]:.2f}" for name in ("overshoot", "stakes", "rivals", "blocks")]
            + [f"{means['luck'] * means['design']:.2f}"]
        )
    head = ["variant", "mean", "change", *(f"`{text}`" for text in texts)]
    return table([*head, "overshoot", "stakes", "rivals", "blocks", "luck × design"], rows)


def main() -> None:
    parser = options("what PooledPeleg's free choices are worth", trials=40)
    parser.add_argument("--apart", type=int, default=100, help="trials on instances kept apart")
    given = parser.parse_args()
    settings = {"trials": given.trials, "apart": given.apart, "seed": given.seed}
    record = Record("fewer_pulls", settings, given)
    parts = record.fill(tasks(given.trials, given.apart, given.seed), measure)
    command = f"--trials {given.trials} --apart {given.apart} --seed {given.seed}"
    record.write(
        f"# What PooledPeleg's free choices are worth\n\n"
        f"`python -m benchmarks.fewer_pulls {command}`: mean pulls over the lower bound at "
        f"δ = {DELTA}. The mean and the last columns are geometric means over the instances; "
        f"changes are against the first line, ± one standard error.\n\n"
        f"## Instances to choose by, {given.trials} trials of each\n\n"
        f"{compared(parts, VARIANTS, CHOOSING)}\n\n"
        f"## Instances kept apart, other seeds, {given.apart} trials of each\n\n"
        f"{compared(parts, FINALISTS, APART)}\n\n"
        f"## Crowds, {given.apart} trials of each\n\n{compared(parts, FOR_CROWDS, CROWDED)}"
    )


if __name__ == "__main__":
    main()
