"""The cheapest option that is good enough: how often the answer is wrong, and what it costs.

Normal noise of scale 1, known; within 0.5 of the best is good enough. *At the edge*: the cheapest
is 0.5 below the best exactly, so it is the answer, and can be shown neither to be good enough nor
not to be; wrong if it is ruled out within 800 measurements. *Just missed*: the cheapest is 0.7
below the best, the next is alike the best. *Many alike*: six alike, so the first is the answer.
*The best is dear*: eight options, the better the dearer. *Tolerance*: as the first with epsilon
0.3, where both of the cheaper ones are right; wrong if another is named. *Any kind*: as *just
missed* with who usually wins, where 0.1 above one half is good enough.

Beside each: measurements that the question for the best takes (at most 50,000 of them).

Run with: python -m benchmarks.cheapest [--trials 400] [--delta 0.2]; the comparison comes from a
twentieth as many. Cells of another delta are added to the record.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from benchmarks.recorded import Record, options, table

import surepick as sp

DELTAS = (0.2, 0.05)
#: means in the order of costs; who may be named
CASES: dict[str, tuple[list[float], set[int]]] = {
    "at the edge": ([0.0, 0.5, 0.4, 0.2], {0}),
    "just missed": ([0.0, 0.7, 0.7, 0.2], {1}),
    "many alike": ([0.0] * 6, {0}),
    "the best is dear": ([-1.5, -1.2, -0.9, -0.6, -0.2, 0.0, 0.1, 0.2], {4}),
    "tolerance": ([0.0, 0.5, 0.4, 0.2], {0, 1}),
    "any kind": ([0.0, 0.7, 0.7, 0.2], {1}),
}


def once(case: str, delta: float, seed: int, **asked: Any) -> Any:
    """One answer."""
    means, _ = CASES[case]
    rng = np.random.default_rng([seed, list(CASES).index(case)])
    noise = "any" if case == "any kind" else 1.0
    costs = np.arange(1.0, len(means) + 1)
    problem = sp.Problem(np.eye(len(means)), noise=noise, costs=costs)
    draw = lambda arms: np.array(means)[arms] + rng.standard_normal(len(arms))  # noqa: E731
    most = 800 if case == "at the edge" else 50_000
    own = {"delta": delta, "seed": seed, "max_samples": most}
    return sp.identify(problem, measure_batch=draw, **own, **asked)


def question(case: str) -> dict[str, Any]:
    """What is asked."""
    within = 0.1 if case == "any kind" else 0.5
    return {"cheapest": True, "within": within, "epsilon": 0.3 if case == "tolerance" else 0.0}


def errors(task: tuple[str, float, int]) -> dict[str, Any]:
    case, delta, trials = task
    found = [once(case, delta, seed, **question(case)) for seed in range(trials)]
    right = CASES[case][1]
    if case == "at the edge":
        wrong = [0 not in answer.survivors for answer in found]
    else:
        wrong = [bool(answer.guarantee) and answer.arm not in right for answer in found]
    pulls = float(np.mean([answer.samples for answer in found]))
    return {"trials": trials, "wrong": float(np.mean(wrong)), "pulls": pulls}


def the_best(task: tuple[str, int]) -> dict[str, Any]:
    case, trials = task
    found = [once(case, 0.05, seed).samples for seed in range(trials)]
    return {"trials": trials, "pulls": float(np.mean(found))}


def main() -> None:
    parser = options(__doc__, trials=400)
    parser.add_argument("--delta", type=float, choices=DELTAS, default=None)
    given = parser.parse_args()
    record = Record("cheapest", {"trials": given.trials}, given)
    tasks = {f"{case}, {d}": (case, d, given.trials) for d in DELTAS for case in CASES}
    now = {key: task for key, task in tasks.items() if given.delta in (None, task[1])}
    record.fill(now, errors)
    wrong = record.parts
    told = [case for case in CASES if case not in ("at the edge", "many alike", "tolerance")]
    best = record.fill(
        {f"best: {one}": (one, max(given.trials // 20, 1)) for one in told}, the_best
    )
    rows = []
    for case in CASES:
        for d in DELTAS:
            found = wrong.get(f"{case}, {d}")
            if found is not None:
                other = best.get(f"best: {case}") if d == 0.05 else None
                beside = "" if other is None else f"{other['pulls']:,.0f}"
                own = [str(found["trials"]), f"{found['wrong']:.3f}", f"{found['pulls']:,.0f}"]
                rows.append([case, f"{d}", *own, beside])
    heads = ["case", "δ", "trials", "wrong", "measurements", "to find the best"]
    record.write(table(heads, rows))


if __name__ == "__main__":
    main()
