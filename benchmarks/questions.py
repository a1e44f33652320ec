"""Every question, asked where mistakes are easiest: how often it is answered wrongly.

Beside what ``benchmarks.top_m`` (the 2 best) and ``benchmarks.baseline`` (claims without epsilon)
measure: three and five of the best; claims against a baseline with epsilon, where options lie just
outside of it; claims against a number; and intervals of how far an option is behind the one that
leads, whoever that is. Truths are ties and near ties, rewards of every kind, each run goes on for a
fixed number of pulls or until it ends, and a trial counts as wrong if anything was wrong at any
time (with ``fdr``: the mean share of wrong claims at the end). Intervals of these rates are exact
(Clopper–Pearson), 99.9 %.

Run with: OPENBLAS_NUM_THREADS=1 python -m benchmarks.questions --trials 100
"""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np
from benchmarks.baseline import DELTAS, KINDS, gathered, play, rate
from benchmarks.recorded import Record, chunks, options, table

import surepick as sp

EPSILON, PULLS, CHUNK = 0.3, 600, 20


class Case(NamedTuple):
    """A question, and a truth in which it is easily answered wrongly."""

    means: tuple[float, ...]
    asked: dict[str, Any]
    wrong: str  #: what is counted


def boundary(m: int, above: float) -> tuple[float, ...]:
    """Options of which the m-th best is a little above the next ones, which are tied."""
    return (*([0.5] * (m - 1)), above, *([0.0] * 4))


SET, CLAIMS, SHARE, MISSED = "one of the best dropped", "any claim", "share of claims", "interval"
NEAR = (0.0, 0.0, 0.315, -0.315, 0.285)  # the baseline first, then beside epsilon
CASES = {
    "3 of 7, all tied": Case((0.0,) * 7, {"top": 3}, SET),
    "3 of 7, near ties": Case(boundary(3, 0.05), {"top": 3}, SET),
    "3 of 7, two better": Case(boundary(3, 0.0), {"top": 3}, SET),
    "5 of 9, all tied": Case((0.0,) * 9, {"top": 5}, SET),
    "5 of 9, near ties": Case(boundary(5, 0.05), {"top": 5}, SET),
    "baseline, ε": Case(NEAR, {"baseline": 0, "epsilon": EPSILON}, CLAIMS),
    "baseline, ε, fdr": Case(NEAR, {"baseline": 0, "epsilon": EPSILON, "claims": "fdr"}, SHARE),
    "a number": Case((0.0, 0.0, 0.05, -0.05), {"threshold": 0.0}, CLAIMS),
    "behind the leader, ties": Case((0.0,) * 5, {}, MISSED),
    "behind the leader, near ties": Case((0.1, 0.05, 0.0, 0.0, 0.0), {}, MISSED),
}


def wrong(name: str, kind: str, delta: float, i: int, seed: int) -> float:
    """1 where something was wrong, or the share of claims that were."""
    case, scale = CASES[name], 0.4 if kind == "yes-no" else 1.0
    level = 0.3 if kind == "yes-no" else 0.0
    means, asked = level + scale * np.array(case.means), dict(case.asked)
    for setting, shift in (("epsilon", 0.0), ("threshold", level)):
        if setting in asked:
            asked[setting] = shift + scale * asked[setting]
    problem = sp.Problem.unstructured(len(means), noise=KINDS[kind])
    config = sp.algorithms.get("pooled-peleg", delta=delta, max_samples=PULLS, **asked)
    run = config.start(problem)
    lifts = means - (means[0] if "baseline" in asked else asked.get("threshold", 0.0))
    found, share = False, 0.0
    for at in play(run, means, np.random.default_rng([seed, i])):
        question = at.state.question
        if case.wrong == SET:  # of options that are tied, the first: the proof is about any
            found |= not set(range(asked["top"])) <= set(at.active)
        elif case.wrong == MISSED:
            found |= missed(question, means / problem.unit, delta)
        else:
            claims = {one["candidate"]: one["claim"] for one in question.said.made}
            false = sum(_false(lifts[x], claim, config.epsilon) for x, claim in claims.items())
            found, share = found or false > 0, false / max(len(claims), 1)
    return share if case.wrong == SHARE else float(found)


def _false(lift: float, claim: str, epsilon: float) -> bool:
    if claim == "close":
        return bool(abs(lift) > epsilon)
    return bool(lift <= 0) if claim == "better" else bool(lift >= 0)


def missed(question: Any, means: np.ndarray, delta: float) -> bool:
    """Whether an interval of the last option misses its lead over anybody who ever led."""
    return any(
        bool(leads.missing(means - means[leads.about], delta / (k * (k + 1)))[-1])
        for k, leads in question.leaders._kept
        if leads.about != len(means) - 1
    )


def measure(task: tuple[Any, ...]) -> dict[str, Any]:
    *cell, first, count, seed = task
    started = time.process_time()
    found = sum(wrong(*cell, i, seed) for i in range(first, first + count))
    return {
        "trials": count,
        "wrong": found,
        "seconds": round(time.process_time() - started, 2),
    }


def tasks(trials: int, seed: int) -> dict[str, Any]:
    return {
        f"error | {name} | {kind} | {delta:g} | {first} | {count}": (
            *(name, kind, delta),
            *(first, count, seed),
        )
        for first, count in chunks(trials, CHUNK)
        for name in CASES
        for kind in KINDS
        for delta in DELTAS
    }


def tables(parts: dict[str, Any]) -> str:
    rows = []
    for (name, kind, delta), cell in gathered(parts, "error").items():
        counted, n = CASES[name].wrong, cell["trials"]
        said = rate(int(cell["wrong"]), n, float(delta))
        if counted == SHARE:
            said = f"{cell['wrong'] / n:.3f}"
        rows.append([name, counted, kind, delta, said])
    return table(["question and truth", "what is counted", "noise", "δ", "wrong"], rows)


def main() -> None:
    given = options("every question, where mistakes are easiest", trials=100).parse_args()
    settings = {"pulls": PULLS, "trials": given.trials, "seed": given.seed}
    record = Record("questions", settings, given)
    parts = record.fill(tasks(given.trials, given.seed), measure)
    record.write(
        f"# Every question, where mistakes are easiest\n\n{given.trials} trials of each cell, "
        f"{PULLS:,} pulls each at the most. 99.9 % intervals; bold: all of it lies above δ.\n\n"
        f"{tables(parts)}"
    )


if __name__ == "__main__":
    main()
