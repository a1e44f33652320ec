"""What it costs not to know the noise: pulls over those of a study that was told it.

PooledPeleg on the 16 instances of the leaderboard, and on options without features (one mean per
option), with Gaussian noise that the study knows (noise = σ), that it knows to be equal for all
(noise = "equal"), and that it knows nothing about (the default). All three see the same seeds.

Run with: OPENBLAS_NUM_THREADS=1 python -m benchmarks.noise_cost --trials 40 --jobs 2
"""

from __future__ import annotations

import math
import zlib
from typing import Any

import numpy as np
from benchmarks.recorded import Record, chunks, options, table

import surepick as sp
from surepick.bench.compare.suites import LEADERBOARD
from surepick.bench.named import build_instance
from surepick.simulate import Gaussian, Instance
from surepick.simulate.trials import trial

DELTAS = (0.1, 1e-6)
KINDS = {"known": "told", "equal": "equal", "unknown": None}
WITHOUT_FEATURES = {f"one mean per option, K={k}": k for k in (5, 20, 50)}
CHUNK = 10  # trials of one part
# Ends the rare trial that lost the best option and is left with tied losers.
MAX_SAMPLES = 10**7


def instance_of(name: str) -> Instance:
    """An instance of the leaderboard, or options of which one leads the others by 0.5 to 1.5."""
    if name not in WITHOUT_FEATURES:
        return build_instance(name)
    k = WITHOUT_FEATURES[name]
    behind = np.concatenate([[0.0], 0.5 + np.linspace(0.0, 1.0, k - 1)])
    return Instance(sp.Problem.unstructured(k, noise=1.0), -behind, name=name)


def measure(task: tuple[str, float, str, int, int, int]) -> dict[str, Any]:
    """Pulls of some trials, and how many of them were wrong or without an end."""
    name, delta, kind, first, count, seed = task
    known = instance_of(name)
    told = KINDS[kind]
    problem = known.problem if told == "told" else known.problem.with_noise(told)
    instance = Instance(problem, known.theta, name=name)
    rows = [
        trial(
            sp.algorithms.PooledPeleg(delta, max_samples=MAX_SAMPLES),
            instance,
            np.random.SeedSequence(seed, spawn_key=(zlib.crc32(name.encode()), i)),
            Gaussian(scale=known.problem.unit),
        )
        for i in range(first, first + count)
    ]
    return {
        "pulls": [row["samples"] for row in rows],
        "wrong": sum(not row["correct"] for row in rows),
        "endless": sum(row["guarantee"] == "none" for row in rows),
        "seconds": round(sum(row["seconds"] for row in rows), 3),
    }


def tasks(names: list[str], trials: int, seed: int) -> dict[str, Any]:
    return {
        f"{name} | {delta:g} | {kind} | {first} | {count}": (name, delta, kind, first, count, seed)
        for first, count in chunks(trials, CHUNK)
        for name in names
        for delta in DELTAS
        for kind in KINDS
    }


def report(parts: dict[str, Any], names: list[str], trials: int) -> str:
    cells: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for key, part in parts.items():
        name, delta, kind, *_ = key.split(" | ")
        cells.setdefault((name, delta, kind), []).append(part)
    pulls = {key: np.array([n for p in found for n in p["pulls"]]) for key, found in cells.items()}
    head = ["instance"]
    for delta in DELTAS:
        head += [f"δ = {delta:g}: pulls, σ known", "equal", "default"]
    rows, ratios = [], {}
    for name in names:
        row = [name]
        for delta in DELTAS:
            base = pulls[name, f"{delta:g}", "known"]
            row.append(f"{base.mean():,.0f}")
            for kind in ("equal", "unknown"):
                ratio, error = _ratio(pulls[name, f"{delta:g}", kind], base)
                ratios[name, delta, kind] = ratio
                row.append(f"{ratio:.2f} ± {error:.2f}")
        rows.append(row)
    groups = {
        "geometric mean, leaderboard": [n for n in names if n not in WITHOUT_FEATURES],
        "largest, leaderboard": [n for n in names if n not in WITHOUT_FEATURES],
        "geometric mean, one mean per option": [n for n in names if n in WITHOUT_FEATURES],
    }
    for label, group in groups.items():
        if group:
            rows.append([label, *_together(label, group, ratios)])
    wrong = {
        kind: sum(p["wrong"] for key, found in cells.items() if key[2] == kind for p in found)
        for kind in KINDS
    }
    endless = sum(p["endless"] for found in cells.values() for p in found)
    minutes = sum(p["seconds"] for found in cells.values() for p in found) / 60
    return "\n".join(
        [
            "# What it costs not to know the noise",
            "",
            f"PooledPeleg, mean pulls over those with known σ, ± one standard error; {trials} "
            f"trials of each cell. Wrong answers in {len(names) * len(DELTAS) * trials:,} trials "
            f"of each kind, half of them at each δ: {wrong['known']} (σ known), {wrong['equal']} "
            f"(equal), {wrong['unknown']} (default); {endless} trials were ended at "
            f"{MAX_SAMPLES:,} pulls. {minutes:.0f} CPU minutes.",
            "",
            table(head, rows),
        ]
    )


def _ratio(pulls: np.ndarray, base: np.ndarray) -> tuple[float, float]:
    """Ratio of means, and its standard error."""
    ratio = pulls.mean() / base.mean()
    parts = [np.var(x, ddof=1) / len(x) / x.mean() ** 2 for x in (pulls, base) if len(x) > 1]
    return ratio, ratio * math.sqrt(sum(parts))


def _together(label: str, group: list[str], ratios: dict[Any, float]) -> list[str]:
    cells = []
    for delta in DELTAS:
        cells.append("")
        for kind in ("equal", "unknown"):
            own = [ratios[name, delta, kind] for name in group]
            value = max(own) if label.startswith("largest") else np.exp(np.mean(np.log(own)))
            cells.append(f"**{value:.3f}**")
    return cells


def main() -> None:
    parser = options(__doc__.splitlines()[0], trials=40)
    parser.add_argument("--only", default="", help="instances whose names contain this")
    given = parser.parse_args()
    every = [*LEADERBOARD.instances, *WITHOUT_FEATURES]
    names = [name for name in every if given.only in name]
    record = Record("noise_cost", {"seed": given.seed}, given)
    parts = record.fill(tasks(names, given.trials, given.seed), measure)
    record.write(report(parts, names, given.trials))


if __name__ == "__main__":
    main()
