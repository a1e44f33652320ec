"""Studies of rates that never end: how many are still open long after others are decided.

By earlier rules of the guide, what all rewards of a block have in common was taken out before means
were predicted. Where rewards are nearly always 0, a mean could then seem to lie at 0, whatever came
next was taken for another level of the block, and a study went on for ever. Each case is played by
the earlier rule and by the newest one, with the same seeds; a run that makes ten times the median
number of pulls (of the newest rule) is counted as open.

- *two rates*: 3 % and 2 %, yes or no, one mean per option;
- *layouts*: eight layouts of three parts, 1.5 % to 3.1 %, features trusted;
- *small amounts*: two options, rewards between 0 and 1 that follow Beta distributions with means
  0.01 and 0.005.

Run with: OPENBLAS_NUM_THREADS=1 python -m benchmarks.endless --trials 200
and, as fewer of them never end, with --trials 1000 --only "two rates"
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from benchmarks.recorded import Record, chunks, options, table

import surepick as sp

DELTA, MOST, CHUNK = 0.05, 10, 20
LAYOUTS = np.array([[1, *parts] for parts in itertools.product((0, 1), repeat=3)], dtype=float)
#: options, their means, and the number of the earlier rule
CASES: dict[str, tuple[sp.Problem, np.ndarray, int]] = {
    "two rates": (sp.Problem.unstructured(2, noise="yes-no"), np.array([0.03, 0.02]), 2),
    "layouts": (
        sp.Problem(LAYOUTS, noise="yes-no"),
        LAYOUTS @ [0.015, 0.008, 0.004, 0.004],
        1,
    ),
    "small amounts": (
        sp.Problem.unstructured(2, noise=(0, 1)),
        np.array([0.01, 0.005]),
        2,
    ),
}


def play(case: str, newest: bool, seed: int, most: float) -> tuple[int, bool]:
    """Pulls of one run, and whether it ended."""
    problem, means, earlier = CASES[case]
    run = sp.algorithms.PooledPeleg(DELTA).start(problem, seed=seed)
    if not newest:
        run.state.load(run.state.save() | {"guide": earlier})
    rng = np.random.default_rng([seed, 9])
    while not run.stopped and run.samples < most:
        batch = run.ask()
        if problem.noise_kind.successes:
            run.tell(batch, sums=rng.binomial(batch.counts, means))
        else:
            own = means[batch.arms]
            run.tell(batch, rng.beta(own, 1.0 - own))
    return run.samples, run.stopped


def measure(task: tuple[str, bool, int, int]) -> dict[str, Any]:
    case, newest, first, count = task
    usual = float(np.median([play(case, True, 10_000 + i, 1e7)[0] for i in range(5)]))
    rows = [play(case, newest, seed, MOST * usual) for seed in range(first, first + count)]
    return {"pulls": [n for n, _ in rows], "open": sum(not ended for _, ended in rows)}


def report(parts: dict[str, Any]) -> str:
    rows = []
    for case in CASES:
        for rule in ("earlier", "newest"):
            own = [part for key, part in parts.items() if key.startswith(f"{case} | {rule} |")]
            pulls = [n for part in own for n in part["pulls"]]
            stuck = f"{sum(part['open'] for part in own)} of {len(pulls)}"
            rows.append([case, rule, stuck, f"{np.mean(pulls):,.0f}", f"{np.median(pulls):,.0f}"])
    head = ["case", "rule", "open at ten times the median", "mean pulls, cut there", "median"]
    return f"# Studies that never end\n\n{table(head, rows)}"


def main() -> None:
    parser = options((__doc__ or "").splitlines()[0], trials=200)
    parser.add_argument("--only", default="", help="cases whose names contain this")
    given = parser.parse_args()
    record = Record("endless", {"delta": DELTA}, given)
    tasks = {
        f"{case} | {rule} | {first}": (case, rule == "newest", first, count)
        for first, count in chunks(given.trials, CHUNK)
        for case in CASES
        if given.only in case
        for rule in ("earlier", "newest")
    }
    record.fill(tasks, measure)
    record.write(report(record.parts))


if __name__ == "__main__":
    main()
