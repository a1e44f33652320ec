"""Guardrails of traffic studies: how often an answer is wrong.

Four versions that sell to a few per cent of their visitors, 10,000 visits a day by the shares of
the study, every day with a level of its own (±30 %) that all versions share. Only buyers ask for
refunds, so that the two numbers depend on each other. The limit is ``refunds <= old + 0.2%``.

*At the limit*: without a level of the day (margins in points move with it), the best version has
exactly 0.2 points more refunds than the old one; wrong if it is ruled out within 60 days. *A winner
breaks it*: the best seller has a point more. *All break it*: the limit is a number, ``refunds <=
1%``, levels stay, and all have 1.3 to 2 %; wrong if one is said to keep it. *Two limits*: refunds
and complaints, and each of two better sellers breaks another one.

Wrong rates are of all trials; those that are not decided after 60 days count as not wrong, and are
listed.

Run with: python -m benchmarks.guardrails [--trials 300]
"""

from __future__ import annotations

from typing import Any

import numpy as np
from benchmarks.recorded import Record, chunks, options, table

import surepick as sp
from surepick.algorithms.pulls import Pulls, ToldPulls
from surepick.run.report import tell_report
from surepick.run.sharing import Sharing

DELTAS = (0.2, 0.05)
CASES = ("at the limit", "a winner breaks it", "all break it", "two limits")
DAYS, VISITS, SIZE = 60, 10_000, 50
LABELS = ["old", "fair", "pushy", "loud"]


def truth(case: str) -> tuple[list[float], dict[str, list[float]], list[str], int | None]:
    """Rates of sales, of further numbers, the limits, and who is right."""
    margin = ["refunds <= old + 0.2%"]
    if case == "at the limit":
        return [0.040, 0.055, 0.050, 0.045], {"refunds": [0.006, 0.008, 0.006, 0.006]}, margin, 1
    if case == "all break it":
        back = {"refunds": [0.013, 0.014, 0.017, 0.020]}
        return [0.040, 0.055, 0.050, 0.045], back, ["refunds <= 1%"], None
    if case == "two limits":
        bad = {"refunds": [0.006, 0.006, 0.016, 0.006], "complaints": [0.003, 0.003, 0.003, 0.013]}
        return [0.040, 0.052, 0.060, 0.065], bad, [*margin, "complaints <= old + 0.2%"], 1
    return [0.040, 0.050, 0.060, 0.042], {"refunds": [0.006, 0.006, 0.016, 0.006]}, margin, 1


def outcome(case: str, delta: float, seed: int) -> tuple[bool, int | None]:
    """Whether the answer is wrong, and after how many visits; None: not decided."""
    sales, further, keep, right = truth(case)
    rng = np.random.default_rng([seed, CASES.index(case)])
    kinds = dict.fromkeys(further, "yes-no")
    problem = sp.Problem.unstructured(LABELS, noise="yes-no", numbers=kinds)
    run = sp.algorithms.PooledPeleg(delta, keep=keep).start(problem, seed)
    sharing, shares = Sharing(control=0, control_share=0.25), None
    moves = case not in ("at the limit", "all break it")
    for _ in range(DAYS):
        shares = sharing.shares(run, shares)
        counts = rng.multinomial(VISITS, shares)
        level = rng.uniform(0.7, 1.3) if moves else 1.0
        arms = np.flatnonzero(counts)
        n, p = counts[arms], level * np.array(sales)[arms]
        sold = rng.binomial(n, p)
        numbers: dict[str, Any] = {}
        for name, rates in further.items():
            back = rng.binomial(sold, level * np.array(rates)[arms] / p)
            numbers[name] = [back.astype(np.float64), None]
        tell_report(run, ToldPulls(Pulls(arms, n), sold.astype(np.float64), None, numbers))
        if run.stopped or (right is not None and not run.state.alive[right]):
            break
    if right is not None and not run.state.alive[right]:
        return True, run.samples
    if not run.stopped:
        return False, None
    said = run.answer.guarantee.kind == "pac"
    return (said if right is None else run.answer.arm != right), run.samples


def errors(task: tuple[str, float, int, int]) -> list[Any]:
    case, delta, first, trials = task
    return [outcome(case, delta, seed) for seed in range(first, first + trials)]


def main() -> None:
    given = options(__doc__, trials=300).parse_args()
    record = Record("guardrails", {"days": DAYS, "visits": VISITS}, given)
    tasks = {
        f"{case}, {delta}, {first}": (case, delta, first, n)
        for first, n in chunks(given.trials, SIZE)
        for case in CASES
        for delta in DELTAS
    }
    record.fill(tasks, errors)
    rows = []
    for case in CASES:
        for delta in DELTAS:
            begins = f"{case}, {delta}, "
            parts = [part for key, part in record.parts.items() if key.startswith(begins)]
            found = [one for part in parts for one in part]
            wrong = sum(bool(one[0]) for one in found)
            ended = [one[1] for one in found if one[1] is not None]
            mean = f"{np.mean(ended):,.0f}" if ended else "–"
            trials, open_ = len(found), len(found) - len(ended)
            rows.append([case, f"{delta}", f"{trials}", f"{wrong / trials:.3f}", f"{open_}", mean])
    heads = ["case", "δ", "trials", "wrong", "not decided", "visits where decided"]
    record.write(table(heads, rows))


if __name__ == "__main__":
    main()
