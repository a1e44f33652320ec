"""Options against a baseline: how often claims and intervals are wrong, and what claims cost.

*Errors.* Truths in which mistakes are easiest: all options tied with the baseline; half of them
tied and half of them near ties; a few better, the rest tied. Each run goes on for a fixed number of
pulls. Counted are trials with a wrong claim at any time (``claims="all"``), the share of wrong
claims at the end (``"fdr"``), and trials in which the interval of one option, the last, misses its
lift after any block. Intervals of these rates are exact (Clopper–Pearson), 99.9 %.

*Costs.* 40 options without features, 8 of them better by half a standard deviation or more, the
others worse by as much; pulls until all are decided, over the lower bound: with one allocation
w of pulls, every lift must be told apart from 0, T · lift² / (2 (1/w_x + 1/w_b)) ≥ kl(1 − δ, δ),
smallest T.

Run with: OPENBLAS_NUM_THREADS=1 python -m benchmarks.baseline --trials 200
"""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
from benchmarks.decomposition import kl
from benchmarks.recorded import Record, chunks, options, table

import surepick as sp
from surepick.algorithms.pooled.direct import direct_counts
from surepick.bench.summary import clopper_pearson
from surepick.simulate import Bernoulli, Gaussian

KINDS: dict[str, Any] = {"unknown": None, "equal": "equal", "σ known": 1.0, "yes-no": "yes-no"}
LIFTS = {
    "all tied": np.zeros(6),
    "ties and near ties": np.array([0.0, 0.0, 0.05, -0.05, 0.0]),
    "one better, others tied": np.array([0.6, 0.0, 0.0, 0.0, 0.0]),
}
CONTROLS, DELTAS = ("all", "fdr"), (0.2, 0.05)
PULLS, CHUNK, CONFIDENCE = 1500, 10, 0.999
OPTIONS, BETTER, COST_DELTAS = 40, 8, (0.05, 1e-6)


def means_of(name: str, kind: str) -> np.ndarray:
    """The baseline first."""
    lifts = np.append(0.0, LIFTS[name])
    return 0.3 + 0.4 * lifts if kind == "yes-no" else lifts


def play(run: sp.Run, means: np.ndarray, rng: np.random.Generator) -> Any:
    """Rewards of normal noise, or clicks, batch by batch."""
    noise = Bernoulli() if run.problem.noise_kind.kind == "yes-no" else Gaussian()
    while not run.stopped:
        batch = run.ask()
        pulls = batch.pulls
        run.tell_totals(batch, *noise.totals(rng, means[pulls.arms], pulls.counts, 1.0))
        yield run


def errors(name: str, kind: str, control: str, delta: float, i: int, seed: int) -> tuple[bool, ...]:
    """Whether a claim was wrong, the share of wrong ones at the end, whether an interval missed."""
    means = means_of(name, kind)
    lifts, last = means - means[0], len(means) - 1
    problem = sp.Problem.unstructured(len(means), noise=KINDS[kind])
    settings: dict[str, Any] = {"baseline": 0, "claims": control, "max_samples": PULLS}
    run = sp.algorithms.get("pooled-peleg", delta=delta, **settings).start(problem)
    rng = np.random.default_rng([seed, i])
    wrong, missed, share = False, False, 0.0
    truth = np.array(lifts) / problem.unit
    for at in play(run, means, rng):
        question = at.state.question
        claims = {one["candidate"]: one["claim"] for one in question.said.made}
        false = sum(_false(lifts[x], claim) for x, claim in claims.items())
        share = false / max(len(claims), 1)
        wrong |= false > 0
        missed |= question.lifts.missing(truth, delta)[last]
    return bool(wrong), float(share), bool(missed)


def _false(lift: float, claim: str) -> bool:
    return bool(lift <= 0) if claim == "better" else bool(lift >= 0)


def measure(task: tuple[Any, ...]) -> dict[str, Any]:
    if task[0] == "cost":
        return cost(*task[1:])
    *cell, first, count, seed = task[1:]
    started = time.process_time()
    found = [errors(*cell, i, seed) for i in range(first, first + count)]
    return {
        "trials": count,
        "wrong": sum(one[0] for one in found),
        "share": float(sum(one[1] for one in found)),
        "missed": sum(one[2] for one in found),
        "seconds": round(time.process_time() - started, 2),
    }


# -- what claims cost ----------------------------------------------------------------------------
def forty(seed: int) -> np.ndarray:
    rng = np.random.default_rng([seed, 40])
    lifts = np.append(0.0, -rng.uniform(0.5, 1.5, OPTIONS - 1))
    lifts[1 : BETTER + 1] *= -1
    return lifts


def bound(lifts: np.ndarray, delta: float) -> float:
    needs = np.zeros(len(lifts))
    needs[1:] = 2.0 * kl(delta) / lifts[1:] ** 2
    return float(direct_counts(0, needs, np.ones(len(lifts))).sum())


def cost(kind: str, delta: float, first: int, count: int, seed: int) -> dict[str, Any]:
    pulls, best, wrong = [], [], 0
    for i in range(first, first + count):
        lifts = forty(seed + i)
        problem = sp.Problem.unstructured(len(lifts), noise=KINDS[kind])
        run = sp.algorithms.get("pooled-peleg", delta=delta, baseline=0).start(problem)
        for _ in play(run, lifts, np.random.default_rng([seed, i, 1])):
            pass
        claims = {one["candidate"]: one["claim"] for one in run.state.question.said.made}
        wrong += any(_false(lifts[x], claim) for x, claim in claims.items())
        pulls.append(run.samples / bound(lifts, delta))
        best.append(run.samples)
    return {"ratio": pulls, "pulls": best, "trials": count, "wrong": wrong}


# -- all of them ---------------------------------------------------------------------------------
def tasks(trials: int, costs: int, seed: int) -> dict[str, Any]:
    found = {
        f"error | {name} | {kind} | {control} | {delta:g} | {first} | {count}": (
            *("error", name, kind, control, delta),
            *(first, count, seed),
        )
        for first, count in chunks(trials, CHUNK)
        for name in LIFTS
        for kind in KINDS
        for control in CONTROLS
        for delta in DELTAS
    }
    return found | {
        f"cost | {kind} | {delta:g} | {first} | {count}": ("cost", kind, delta, first, count, seed)
        for first, count in chunks(costs, 5)
        for kind in ("unknown", "equal", "σ known")
        for delta in COST_DELTAS
    }


def gathered(parts: dict[str, Any], which: str) -> dict[tuple[str, ...], dict[str, Any]]:
    cells: dict[tuple[str, ...], dict[str, Any]] = {}
    for key, part in parts.items():
        head, *cell, _, _ = key.split(" | ")
        if head == which:
            mine = cells.setdefault(tuple(cell), {})
            for column, value in part.items():
                mine[column] = mine[column] + value if column in mine else value
    return cells


def rate(wrong: int, trials: int, delta: float) -> str:
    low, high = clopper_pearson(wrong, trials, CONFIDENCE)
    text = f"{wrong / trials:.3f}"
    return f"{f'**{text}**' if low > delta else text} ({low:.3f}–{high:.3f})"


def tables(parts: dict[str, Any]) -> str:
    rows = []
    for (name, kind, control, delta), cell in gathered(parts, "error").items():
        n, level = cell["trials"], float(delta)
        claims = rate(cell["wrong"], n, level) if control == "all" else f"{cell['share'] / n:.3f}"
        rows.append([name, kind, control, delta, claims, rate(cell["missed"], n, level)])
    head = ["truth", "noise", "control", "δ", "wrong claims", "interval ever missed"]
    costs = [
        [kind, delta, f"{np.mean(c['pulls']):,.0f}", _mean(c["ratio"]), str(c["wrong"])]
        for (kind, delta), c in gathered(parts, "cost").items()
    ]
    costs_head = ["noise", "δ", "pulls", "over the lower bound", "trials with a wrong claim"]
    return f"{table(head, rows)}\n\n## What claims cost\n\n{table(costs_head, costs)}"


def _mean(values: list[float]) -> str:
    return f"{np.mean(values):.2f} ± {np.std(values) / math.sqrt(len(values)):.2f}"


def main() -> None:
    parser = options("options against a baseline", trials=200)
    parser.add_argument("--costs", type=int, default=40)
    given = parser.parse_args()
    settings = {"pulls": PULLS, "trials": given.trials, "costs": given.costs, "seed": given.seed}
    record = Record("baseline", settings, given)
    parts = record.fill(tasks(given.trials, given.costs, given.seed), measure)
    record.write(
        f"# Options against a baseline\n\n{given.trials} trials of each cell, {PULLS:,} pulls "
        f"each. Wrong claims: with `all`, the share of trials with any wrong claim at any time; "
        f"with `fdr`, the mean share of wrong claims at the end. 99.9 % intervals; bold: all of "
        f"it lies above δ.\n\n{tables(parts)}"
    )


if __name__ == "__main__":
    main()
