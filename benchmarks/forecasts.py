"""How many more measurements? Whether the interval that studies give holds as often as it says.

Studies are simulated on truths drawn at random: effects of features normal, in half of them with a
deviation of each option's own, a scale of noise that nobody is told, or yes and no. At a quarter,
half and three quarters of the way (the first complete batch from there on) the forecast is made,
and compared with what the study still took. It says that eight of ten end within the interval.

Truths are not screened: where the two best are nearly the same, a study ends when it has measured
as often as it may, which the forecast knows.

Run with: OPENBLAS_NUM_THREADS=1 python -m benchmarks.forecasts --trials 200
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from benchmarks.recorded import Record, chunks, options, table

import surepick as sp
from surepick.bench.summary import clopper_pearson
from surepick.run import Run
from surepick.simulate import Bernoulli, Gaussian
from surepick.simulate.ahead import ahead
from surepick.simulate.trials import TooSlowError, feed

SHARES = (0.25, 0.5, 0.75)  # of the way
OPTIONS, EFFECTS = (8, 12, 24), (2, 3, 4)
DELTA, MOST = 0.05, 20_000
CHUNK = 5  # studies of one part


def study(seed: int, i: int) -> tuple[Run, dict[str, Any], np.random.Generator]:
    """A run that has not begun, how its rewards are drawn, and by what."""
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(i,)))
    which = i % 3
    rows = np.c_[np.ones(OPTIONS[which]), rng.normal(size=(OPTIONS[which], EFFECTS[which]))]
    linear = i % 2 == 0
    means = rows @ rng.normal(size=rows.shape[1])
    if not linear:
        means += 0.5 * rng.normal(size=len(rows))
    yes_no = i % 4 == 3
    if yes_no:
        means = 1.0 / (1.0 + np.exp(-0.5 * means))
    problem = sp.Problem(
        rows, noise="yes-no" if yes_no else None, misfit=0.0 if linear else math.inf
    )
    run = sp.algorithms.PooledPeleg(DELTA, max_samples=MOST).start(problem)
    rewards = {"means": means, "noise": Bernoulli() if yes_no else Gaussian(), "scales": 1.0}
    return run, rewards, rng


def measure(task: dict[str, int]) -> list[dict[str, Any]]:
    """What was forecast, and what came, for some studies."""
    found = []
    for i in range(task["first"], task["first"] + task["count"]):
        run, rewards, rng = study(task["seed"], i)
        saved = []
        while not run.stopped:
            try:
                feed(run, rng=rng, most=run.samples, **rewards)
            except TooSlowError:  # a batch further
                if not run.stopped:
                    saved.append((run.samples, run.to_json()))
        for share in SHARES:
            there = [text for samples, text in saved if samples >= share * run.samples]
            if not there:
                continue  # it ended with the batch that was open then
            at = Run.from_json(there[0])
            seen = ahead(at)
            row = {"study": i, "share": share, "came": run.samples - at.samples}
            found.append(row | seen.to_dict())
    return found


def holds(row: dict[str, Any]) -> bool:
    """Whether what came lies within what was said."""
    return row["low"] <= row["came"] and (row["high"] is None or row["came"] <= row["high"])


def main() -> None:
    given = options(__doc__ or "", trials=200).parse_args()
    record = Record("forecasts", {"delta": DELTA, "most": MOST, "seed": given.seed}, given)
    tasks = {
        f"{first:05d}": {"first": first, "count": count, "seed": given.seed}
        for first, count in chunks(given.trials, CHUNK)
    }
    parts = record.fill(tasks, measure)
    rows = [row for part in parts.values() for row in part]
    lines = []
    for share in SHARES:
        here = [row for row in rows if row["share"] == share]
        said = [row for row in here if row["low"] is not None]
        right = sum(map(holds, said))
        low, high = clopper_pearson(right, len(said), 0.95)
        below = sum(row["came"] < row["low"] for row in said)
        open_end = sum(row["high"] is None for row in said)
        wide = [(row["high"] + 1) / (row["low"] + 1) for row in said if row["high"] is not None]
        lines.append(
            [
                f"{share:g}",
                f"{len(here)}",
                f"{len(here) - len(said)}",
                f"{open_end}",
                f"{right / len(said):.2f} ({low:.2f} – {high:.2f})",
                f"{below / len(said):.2f}",
                f"{np.median(wide):.1f}",
            ]
        )
    head = ["of the way", "studies", "cannot say", "no upper end", "within (95 % interval)"]
    head += ["fewer came", "high / low (median)"]
    record.write(
        f"# Forecasts of studies under way\n\n{given.trials} simulated studies; "
        f"eight of ten should end within the interval.\n\n{table(head, lines)}"
    )


if __name__ == "__main__":
    main()
