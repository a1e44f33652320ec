"""One option that drifts: is it noticed, and how often is it said where nothing drifts?

*Power.* Whole studies of 6 to 12 options with the default settings (nothing is known about the
noise). One option, any of them, rises in a straight line from 8.3 to 13.3 while so many pulls per
option are made (about as many as such a study takes), at a scatter of 0.3; the others stay. The
checks are looked at after every batch. Wanted: the alarm in 23 of 25, the right option named, where
the trend is clear: a t of 16 in a straight line through all readings of that option.

*False alarms.* Studies in which no option changes on its own, looked at after every batch: levels
that all options share and that jump from batch to batch, walk, rise or swing within batches too;
scales that differ by option; heavy tails; two values only; yes and no; bounded rewards; strata;
options that are measured very unequally often, as some are far better. At most 5 % may raise it.

Intervals are exact (Clopper–Pearson), 95 %.

Run with: OPENBLAS_NUM_THREADS=1 python -m benchmarks.drift_power --trials 25 --quiet 10
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from benchmarks.recorded import Record, chunks, options, table

import surepick as sp
from surepick.bench.summary import clopper_pearson
from surepick.storage.memory import MemoryStorage

SCATTER, FROM, TO = 0.3, 8.3, 13.3
#: others lie between these means; pulls per option over which the rise takes place
RISES = {
    "7.5 – 9.5, 16": (7.5, 9.5, 16),
    "8 – 10, 16": (8.0, 10.0, 16),
    "8 – 10, 20": (8.0, 10.0, 20),
}
FAST = {"7.5 – 9.5, 12": (7.5, 9.5, 12)}
QUIET = (
    *("nothing", "levels jump", "levels walk", "a level rises", "a level swings"),
    *(
        "scales differ",
        "scales differ, levels jump",
        "Student t, 3 degrees",
        "Student t, 2 degrees",
    ),
    *(
        "Cauchy",
        "two values",
        "yes and no",
        "yes and no, levels jump",
        "bounded",
        "strata",
        "unequal",
    ),
)
MOST, LEVEL, CHUNK, CLEAR = 300, 0.05, 5, 16


def rising(seed: int, i: int, low: float, high: float, over: float) -> dict[str, Any]:
    """A study in which one option drifts: what was noticed."""
    rng = np.random.default_rng([seed, 1, i])
    n = 6 + i % 7
    means, odd = rng.uniform(low, high, n), int(rng.integers(n))
    study = sp.create_study(
        "s", sp.Problem.unstructured(n, noise="symmetric"), storage=MemoryStorage(), seed=i
    )
    rows, found, closed = [], None, -1
    while pulls := study.ask(n):
        for pull in pulls:
            rise = (TO - FROM) * min(pull.id / (over * n), 1.0)
            mean = FROM + rise if pull.arm == odd else means[pull.arm]
            value = mean + SCATTER * rng.normal()
            if pull.arm == odd:
                rows.append((pull.id, value))
            study.tell(pull.id, value)
        if found is None and study.progress().batch != closed:
            closed = study.progress().batch
            drift = study.checks().drift
            found = drift if drift.alarm else None
    times, values = np.array(rows).T
    r = float(np.corrcoef(times, values)[0, 1])
    t = r * math.sqrt((len(rows) - 2) / (1 - r * r))
    right = found is not None and found.arms == (odd,)
    samples = study.progress().measured
    return {"alarm": found is not None, "right": right, "samples": samples, "t": t}


def quiet(seed: int, i: int, name: str) -> dict[str, Any]:
    """A study in which no option changes on its own."""
    rng = np.random.default_rng([seed, 2, i])
    n = (3, 6, 10)[i % 3]
    means = 0.5 * rng.normal(size=n)
    means[rng.integers(n)] = means.max()  # often a tie: a long study
    if name == "unequal":
        means = np.where(np.arange(n) < 2, 2.0, means)
    scales = np.exp(1.2 * rng.normal(size=n)) if "scales" in name else np.ones(n)
    noise: Any = {"yes": "yes-no", "bou": (0.0, 1.0)}.get(name[:3])
    fields = {"strata": "plate"} if name == "strata" else {}
    study = sp.create_study(
        "s",
        sp.Problem.unstructured(n, noise=noise),
        storage=MemoryStorage(),
        seed=i,
        max_samples=MOST,
        **fields,
    )
    plates = 2.0 * rng.normal(size=4)
    alarm, closed, level, asked = False, -1, 0.0, 0
    while pulls := study.ask(n, "w", stratum=f"{asked % 4}" if fields else None):
        batch = study.progress().batch
        if batch != closed:
            level = {"j": 5.0 * rng.normal(), "w": level + rng.normal()}.get(_moves(name), 0.0)
        for pull in pulls:
            study.tell(pull.id, _reward(name, pull, means, scales, level, plates[asked % 4], rng))
        asked += 1
        if study.progress().batch != closed and batch != closed:
            closed = batch
            alarm |= study.checks().drift.alarm
    return {
        "alarm": bool(alarm or study.checks().drift.alarm),
        "samples": study.progress().measured,
    }


def _moves(name: str) -> str:
    return "j" if "jump" in name else "w" if "walk" in name else ""


def _reward(
    name: str, pull: Any, means: Any, scales: Any, level: float, plate: float, rng: Any
) -> float:
    mean, scale = means[pull.arm], scales[pull.arm]
    if name.startswith("yes"):
        rate = 0.5 + 0.2 * math.tanh(mean) + 0.05 * math.tanh(level)
        return float(rng.random() < rate)
    if name == "bounded":
        rate = 8.0 * (0.5 + 0.2 * math.tanh(mean))
        return float(rng.beta(rate, 8.0 - rate))
    drawn = {
        "Student t, 3 degrees": lambda: rng.standard_t(3),
        "Student t, 2 degrees": lambda: rng.standard_t(2),
        "Cauchy": rng.standard_cauchy,
        "two values": lambda: rng.choice([-1.0, 1.0]),
    }.get(name, rng.normal)()
    moved = {"a level rises": 5.0 * pull.id / 150, "a level swings": 3.0 * math.sin(pull.id / 16)}
    own = plate if name == "strata" else 0.0
    return float(mean + scale * drawn + level + moved.get(name, 0.0) + own)


def measure(task: tuple[str, str, int, int, int]) -> list[dict[str, Any]]:
    kind, name, first, count, seed = task
    rises = RISES | FAST
    return [
        rising(seed, i, *rises[name]) if kind == "rises" else quiet(seed, i, name)
        for i in range(first, first + count)
    ]


def tasks(trials: int, still: int, seed: int) -> dict[str, Any]:
    kinds = [("rises", name, trials) for name in RISES | FAST]
    kinds += [("quiet", name, still) for name in QUIET]
    return {
        f"{kind} | {name} | {first}": (kind, name, first, count, seed)
        for kind, name, number in kinds
        for first, count in chunks(number, CHUNK)
    }


def report(parts: dict[str, Any]) -> str:
    """Both tables."""

    def rows_of(kind: str, name: str) -> list[dict[str, Any]]:
        return [
            row
            for key, part in parts.items()
            if key.startswith(f"{kind} | {name} | ")
            for row in part
        ]

    power, alarms, in_all = [], [], [0, 0]
    for name in RISES | FAST:
        rows = rows_of("rises", name)
        found, right = sum(row["alarm"] for row in rows), sum(row["right"] for row in rows)
        low, high = clopper_pearson(found, len(rows), 0.95)
        t = f"{np.median([row['t'] for row in rows]):.0f}"
        clear = [row["alarm"] for row in rows if row["t"] >= CLEAR]
        made = f"{np.median([row['samples'] for row in rows]):.0f}"
        rate = [f"{found} of {len(rows)}", f"{low:.2f} – {high:.2f}", f"{right}"]
        power.append([name, t, made, *rate, f"{sum(clear)} of {len(clear)}"])
    for name in QUIET:
        rows = rows_of("quiet", name)
        found = sum(row["alarm"] for row in rows)
        low, high = clopper_pearson(found, len(rows), 0.95)
        in_all[0], in_all[1] = in_all[0] + found, in_all[1] + len(rows)
        text = f"{found} of {len(rows)}"
        alarms.append([name, f"**{text}**" if low > LEVEL else text, f"{low:.3f} – {high:.3f}"])
    low, high = clopper_pearson(in_all[0], in_all[1], 0.95)
    alarms.append(["all of these", f"{in_all[0]} of {in_all[1]}", f"{low:.3f} – {high:.3f}"])
    head = ["others lie at, pulls per option", "t of the trend (median)", "pulls (median)"]
    named = ["alarms", "95 % interval", "the right option named", f"alarms where t ≥ {CLEAR}"]
    return "\n".join(
        [
            "# One option that drifts",
            "",
            f"From {FROM:g} to {TO:g} at a scatter of {SCATTER:g}, 6 to 12 options. Studies that "
            f"end before the rise does have a smaller t.",
            "",
            table([*head, *named], power),
            "",
            "## False alarms",
            "",
            f"Up to {MOST} pulls, looked at after every batch, at most {LEVEL:g} wanted; bold: the "
            f"whole interval lies above.",
            "",
            table(["what happens", "alarms", "95 % interval"], alarms),
        ]
    )


def main() -> None:
    parser = options((__doc__ or "").splitlines()[0], trials=25)
    parser.add_argument("--quiet", type=int, default=10, help="studies without drift, of each kind")
    given = parser.parse_args()
    record = Record("drift_power", {"seed": given.seed, "most": MOST}, given)
    record.write(report(record.fill(tasks(given.trials, given.quiet, given.seed), measure)))


if __name__ == "__main__":
    main()
