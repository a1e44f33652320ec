"""A judge that nobody made: which of two functions was faster, one run of each.

Ten ways to write the same 200 numbers as one line of text. The judge runs two of them once, in the
order in which it is given them, and says which took less time. That is noisy (other programs,
caches, the garbage collector) and has a bias for a position. The full data: every function is run
so many times, in an order drawn anew for each round; one of them beats another if it was faster in
most of all pairs of their runs. The answer must be the one that beats every other in the full data,
which is measured before and after all studies.

Run with: python -m benchmarks.real_judge [--trials 20]
"""

from __future__ import annotations

import io
import time
from typing import Any

import numpy as np
from benchmarks.recorded import Record, options, table

import surepick as sp

NUMBERS = list(range(1000, 1200))
ROUNDS = 300


def _added() -> str:
    text = ""
    for number in NUMBERS:
        text = text + str(number) + ","
    return text


def _written() -> str:
    file = io.StringIO()
    for number in NUMBERS:
        file.write(str(number))
        file.write(",")
    return file.getvalue()


def _appended() -> str:
    found = []
    for number in NUMBERS:
        found.append(str(number))
    return ",".join(found)


def _folded() -> str:
    text = str(NUMBERS[0])
    for number in NUMBERS[1:]:
        text = f"{text},{number}"
    return text


WAYS = {
    "map": lambda: ",".join(map(str, NUMBERS)),
    "list": lambda: ",".join([str(number) for number in NUMBERS]),
    "generator": lambda: ",".join(str(number) for number in NUMBERS),
    "f-string": lambda: ",".join([f"{number}" for number in NUMBERS]),
    "percent": lambda: ",".join(["%d" % number for number in NUMBERS]),  # noqa: UP031
    "format": lambda: ",".join(["{}".format(number) for number in NUMBERS]),  # noqa: UP032
    "append": _appended,
    "add": _added,
    "write": _written,
    "fold": _folded,
}


def seconds(way: Any) -> float:
    start = time.perf_counter()
    way()
    return time.perf_counter() - start


def full(rounds: int, rng: np.random.Generator) -> np.ndarray:
    """How often each way (row) was faster than each other one, of all pairs of their runs."""
    ways = list(WAYS.values())
    found = np.empty((len(ways), rounds))
    for k in range(rounds):
        for i in rng.permutation(len(ways)):
            found[i, k] = seconds(ways[i])
    faster = [
        [(a[:, None] < b).mean() + 0.5 * (a[:, None] == b).mean() for b in found] for a in found
    ]
    return np.array(faster)


def best(shares: np.ndarray) -> tuple[str, str, float]:
    """Who beats every other, whom least clearly, and how often."""
    least = np.where(np.eye(len(shares), dtype=bool), 1.0, shares)
    x = int(least.min(axis=1).argmax())
    rival = int(least[x].argmin())
    return list(WAYS)[x], list(WAYS)[rival], float(least[x, rival])


def measure(trials: int) -> dict[str, Any]:
    rng, labels, ways = np.random.default_rng(0), list(WAYS), list(WAYS.values())
    for way in ways * 3:
        way()
    before = best(full(ROUNDS, rng))
    answers, counts = [], []

    def judge(first: int, second: int) -> float:
        one, other = seconds(ways[first]), seconds(ways[second])
        return 0.5 if one == other else float(one < other)

    for seed in range(trials):
        answer = sp.identify(sp.Problem.pairs(labels), judge=judge, seed=seed, max_samples=20_000)
        answers.append(answer.label if answer.guarantee else "undecided")
        counts.append(answer.samples)
    return {
        "full": [before, best(full(ROUNDS, rng))],
        "answers": {name: answers.count(name) for name in sorted(set(answers))},
        "comparisons": [min(counts), float(np.mean(counts)), max(counts)],
    }


def main() -> None:
    asked = options(__doc__ or "", 20).parse_args()
    record = Record("real_judge", {"trials": asked.trials}, asked)
    found = record.fill({"ways": asked.trials}, measure)["ways"]
    rows = [
        [f"all pairs of {ROUNDS} runs each, {when}", name, f"{share:.2f} against {rival}"]
        for when, (name, rival, share) in zip(("before", "after"), found["full"])
    ]
    low, mean, high = found["comparisons"]
    rows += [
        [
            f"study, {count} of {asked.trials}",
            name,
            f"{low:,} to {high:,} comparisons, mean {mean:,.0f}",
        ]
        for name, count in found["answers"].items()
    ]
    said = (
        f"`python -m benchmarks.real_judge --trials {asked.trials}`: which of ten ways is fastest?"
    )
    record.write(
        "\n\n".join(["# A real judge", said, table(["measured", "beats every other", ""], rows)])
    )


if __name__ == "__main__":
    main()
