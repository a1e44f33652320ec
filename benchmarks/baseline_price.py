"""Where the price of claims against a baseline goes: from the lower bound to what is measured.

The 40 options of ``benchmarks.baseline``, 8 of them better. All numbers are nats, of evidence for a
claim or of what the pulls so far could tell about its lift, averaged over claims at the block that
made them:

- *bound*: what the lower bound asks for, kl(1 − δ, δ), as if each claim stood alone;
- *needed*: what the claim took at that moment, by the steps that make all 39 right together;
- *reached*: the capital that it had, which is more as blocks are not made for one claim alone;
- *told*: what whoever knew the lift would have won by bets on the same blocks. The difference to
  the line before is what bets lose because lifts, and scales where they are unknown, are not known;
- *in blocks*: its mean, lift² × information / 2, block by block from the second on;
- *in all*: the same of all pulls of an option and of the baseline together.

Run with: OPENBLAS_NUM_THREADS=1 python -m benchmarks.baseline_price --trials 10
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from benchmarks.baseline import COST_DELTAS, KINDS, bound, forty, gathered, play
from benchmarks.decomposition import kl
from benchmarks.recorded import Record, chunks, options, table

import surepick as sp
from surepick.proof import claims as steps

CHUNK = 5
COLUMNS = ("bound", "needed", "reached", "told", "in blocks", "in all")


def price(kind: str, delta: float, i: int, seed: int) -> tuple[np.ndarray, float]:
    """Nats of all claims of one run, (claims, columns); and its pulls over the lower bound."""
    lifts = forty(seed + i)
    claimed = np.full(len(lifts) - 1, -1)
    run = sp.algorithms.get("pooled-peleg", delta=delta, baseline=0).start(
        sp.Problem.unstructured(len(lifts), noise=KINDS[kind])
    )
    pulls, sums = np.zeros(len(lifts)), np.zeros(len(lifts))  # before the block
    told, mean = np.zeros(len(lifts)), np.zeros(len(lifts))
    rows: dict[int, list[float]] = {}
    for _ in play(run, lifts, np.random.default_rng([seed, i, 1])):
        n, reward = run.pulls - pulls, run.sums - sums
        if pulls.any():  # nothing is bet on the first block
            both = (n > 0) & (n[0] > 0)
            each = np.maximum(n, 1)
            information = np.where(both, 1 / (1 / each + 1 / each[0]), 0.0)
            seen = np.where(both, reward / each - reward[0] / each[0], 0.0)
            told += information * (seen * lifts - lifts**2 / 2)
            mean += information * lifts**2 / 2
        pulls, sums = run.pulls.copy(), run.sums
        question = run.state.question
        capital = question.sides()[:, question.others]
        for claim in question.said.made[len(rows) :]:
            x = claim["candidate"]
            needed = steps.needed(question.said.weights, capital, claimed, delta)
            side = steps.BETTER if claim["claim"] == "better" else steps.WORSE
            claimed[x - 1] = side
            whole = lifts[x] ** 2 / (2 * (1 / pulls[x] + 1 / pulls[0]))
            rows[x] = [
                kl(delta),
                needed[side, x - 1],
                claim["log_capital"],
                told[x],
                mean[x],
                whole,
            ]
    return np.array(list(rows.values())), run.samples / bound(lifts, delta)


def measure(task: tuple[Any, ...]) -> dict[str, Any]:
    kind, delta, first, count, seed = task
    started = time.process_time()
    found = [price(kind, delta, i, seed) for i in range(first, first + count)]
    return {
        "nats": [nats.mean(axis=0).tolist() for nats, _ in found],
        "ratio": [ratio for _, ratio in found],
        "seconds": round(time.process_time() - started, 2),
    }


def tasks(trials: int, seed: int) -> dict[str, Any]:
    return {
        f"price | {kind} | {delta:g} | {first} | {count}": (kind, delta, first, count, seed)
        for first, count in chunks(trials, CHUNK)
        for kind in ("σ known", "unknown")
        for delta in COST_DELTAS
    }


def tables(parts: dict[str, Any]) -> str:
    rows = []
    for (kind, delta), cell in gathered(parts, "price").items():
        nats = [f"{value:.1f}" for value in np.mean(cell["nats"], axis=0)]
        rows.append([kind, delta, *nats, f"{np.mean(cell['ratio']):.2f}"])
    return table(["noise", "δ", *COLUMNS, "pulls over the bound"], rows)


def main() -> None:
    given = options("where the price of claims goes", trials=10).parse_args()
    record = Record("baseline_price", {"trials": given.trials, "seed": given.seed}, given)
    parts = record.fill(tasks(given.trials, given.seed), measure)
    record.write(
        f"# Where the price of claims against a baseline goes\n\nNats for a claim, averaged over "
        f"all 39 claims of {given.trials} runs; the module says what the columns are.\n\n"
        f"{tables(parts)}"
    )


if __name__ == "__main__":
    main()
