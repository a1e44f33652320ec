"""Rewards that are not symmetric under the kind of noise that says they are: how often it is wrong.

Pairs of options as people have them: latencies, one with 1 % time-outs; revenue, one visitor in a
hundred buys for 210 or one in twenty for 40; log-normal numbers of different spread. Each run of
the default kind of noise goes on until it is decided, or has 20,000 measurements. Wrong with its
promise: the option with the smaller mean was named, and nothing was said. Taken back: the check of
symmetry fired, and the answer says so. Beside it the same rewards with bounds.

Run with: python -m benchmarks.skewed (``--runs 10`` for a look; three minutes).
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import surepick as sp

RESULT = Path(__file__).parent / "results" / "skewed"
DELTA, MOST = 0.05, 20_000
Draw = Callable[[np.random.Generator, int, int], np.ndarray]


def latency(draw: np.random.Generator, arm: int, n: int) -> np.ndarray:
    """Minus milliseconds: 100 ± 10, or 95 ± 10 and a time-out of 3,000 once in a hundred times."""
    times = draw.normal((100.0, 95.0)[arm], 10.0, n)
    return -np.where((arm == 1) & (draw.random(n) < 0.01), 3000.0, times.clip(0.0, 3000.0))


def revenue(draw: np.random.Generator, arm: int, n: int) -> np.ndarray:
    """What a visitor pays: 210 with 1 %, or 40 with 5 %."""
    return np.where(draw.random(n) < (0.01, 0.05)[arm], (210.0, 40.0)[arm], 0.0)


def lognormal(draw: np.random.Generator, arm: int, n: int) -> np.ndarray:
    """Log-normal numbers, cut at 60: spread 1 and mean 1.65, or spread 0.3 and mean 1.5."""
    middle, spread = ((0.0, 1.0), (0.36, 0.3))[arm]
    return np.exp(draw.normal(middle, spread, n)).clip(0.0, 60.0)


CASES: dict[str, tuple[Draw, tuple[float, float]]] = {
    "latencies, one with 1 % time-outs": (latency, (-3000.0, 0.0)),
    "revenue, 1 % × 210 and 5 % × 40": (revenue, (0.0, 210.0)),
    "log-normals of different spread": (lognormal, (0.0, 60.0)),
}


def outcome(case: Draw, noise: Any, seed: int) -> tuple[str, int]:
    """How a run came out, and its measurements; option 0 has the larger mean."""
    draw, problem = np.random.default_rng(seed), sp.Problem.unstructured(["a", "b"], noise=noise)
    run = sp.algorithms.PooledPeleg(DELTA, max_samples=MOST).start(problem, seed)
    while not run.stopped:
        batch = run.ask()
        arms, rewards = batch.arms, np.empty(len(batch))
        for arm in (0, 1):
            own = arms == arm
            rewards[own] = case(draw, arm, int(own.sum()))
        run.tell(batch, rewards)
    answer = run.answer
    if answer.guarantee.kind == "none":
        return "undecided", answer.samples
    if not answer.guarantee:
        return "taken back", answer.samples
    return ("right" if answer.arm == 0 else "wrong"), answer.samples


def main() -> None:
    """Run all, print a table, and keep it in results/skewed.md."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=100)
    runs, rows = parser.parse_args().runs, []
    for name, (case, bounds) in CASES.items():
        for kind, noise in (("default", None), ("bounds", bounds)):
            found = [outcome(case, noise, seed) for seed in range(runs)]
            kinds = ("wrong", "right", "taken back", "undecided")
            row = {"case": name, "noise": kind, "runs": runs}
            row |= {one: sum(said == one for said, _ in found) for one in kinds}
            rows.append(row | {"median pulls": int(np.median([pulls for _, pulls in found]))})
            print(rows[-1], flush=True)
    head = list(rows[0])
    lines = [f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}"]
    lines += [f"| {' | '.join(str(row[name]) for name in head)} |" for row in rows]
    RESULT.with_suffix(".json").write_text(json.dumps(rows, indent=1) + "\n")
    RESULT.with_suffix(".md").write_text(
        f"# Skewed rewards\n\n`python -m benchmarks.skewed --runs {runs}`: δ = {DELTA}, at most "
        f"{MOST:,} measurements in a run. Wrong, right: with the promise standing. Taken back: the "
        f"check of symmetry fired.\n\n" + "\n".join(lines) + "\n"
    )


if __name__ == "__main__":
    main()
