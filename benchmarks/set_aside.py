"""How often the best option is ruled out in studies of which days or plates were set aside.

Three options that are all alike, δ = 0.2; the first counts as the best, as in ``error_rates``.
These are real studies in memory, through ``record``, ``tell_many`` and ``set_aside``.

*In advance.* One day in four, drawn at random, is set aside before it begins.
*Blind.* After each day, one that is over is set aside with probability a quarter, drawn at random.
*By visits.* A day is set aside where more visitors came than on most, whatever they did.
*By leads.* A day is set aside where the first option was ahead of the second one. Whoever does so
breaks the condition that the answer states; it is here to show that the condition is needed.

Run with: OPENBLAS_NUM_THREADS=1 python -m benchmarks.set_aside --trials 100
"""

from __future__ import annotations

import time
import zlib
from typing import Any

import numpy as np
from benchmarks.recorded import Record, chunks, options, table

import surepick as sp
from surepick.bench.summary import clopper_pearson
from surepick.storage.memory import MemoryStorage

DELTA, SHARE, RATE = 0.2, 0.25, 0.3
LABELS = ["first", "second", "third"]
DAYS, VISITS = 30, 900  # periods of a test, and how many come on most days
PLATES, READINGS = 24, 18
ADVANCE, BLIND, COUNTS, LEADS, NONE = "in advance", "blind", "by visits", "by leads", "nothing"
WAYS = {"visitors": (NONE, ADVANCE, BLIND, COUNTS, LEADS), "plates": (NONE, ADVANCE, BLIND, LEADS)}
CHUNK = 20


def visitors(way: str, rng: np.random.Generator) -> bool:
    """Whether the first of several versions that are alike is ruled out at the end."""
    problem = sp.Problem.unstructured(LABELS, noise="yes-no")
    storage, seed = MemoryStorage(), int(rng.integers(2**31))
    study = sp.create_study("alike", problem, storage=storage, delta=DELTA, traffic=True, seed=seed)
    over: list[str] = []
    for number in range(DAYS):
        if study.finished:
            break
        name = f"day {number}"
        if way == ADVANCE and rng.random() < SHARE:
            study.set_aside(period=name, reason="a holiday", by="calendar")
        shares, many = study.split(period=name).shares, rng.random() < SHARE
        counts = rng.multinomial((3 if many else 1) * VISITS, list(shares.values()))
        hits = rng.binomial(counts, RATE)
        study.record(dict(zip(shares, zip(counts.tolist(), hits.tolist()))), name)
        over.append(name)
        means = hits[:2] / np.maximum(counts[:2], 1)
        if way == BLIND and rng.random() < SHARE:
            gone = over.pop(int(rng.integers(len(over))))
            study.set_aside(period=gone, reason="maintenance", blind=True, by="ann")
        if (way == COUNTS and many) or (way == LEADS and means[0] > means[1]):
            over.remove(name)
            study.set_aside(period=name, reason="it looks odd", blind=way == COUNTS, by="ann")
    return 0 not in study.current_run.active


def plates(way: str, rng: np.random.Generator) -> bool:
    """The same where single readings belong to plates."""
    problem = sp.Problem(np.eye(len(LABELS)), noise="yes-no", labels=LABELS)
    algorithm = sp.algorithms.PooledPeleg(DELTA)
    seed = int(rng.integers(2**31))
    study = sp.create_study("alike", problem, algorithm, MemoryStorage(), strata="plate", seed=seed)
    over: list[str] = []
    for number in range(PLATES):
        name = f"plate {number}"
        if way == ADVANCE and rng.random() < SHARE:  # it would not be used at all
            study.set_aside(stratum=name, reason="for training", by="calendar")
            continue
        values: dict[int, list[float]] = {0: [], 1: [], 2: []}
        level = rng.uniform(-0.2, 0.2)
        while (room := READINGS - sum(map(len, values.values()))) > 0 and not study.finished:
            pulls = study.ask(room, "ann", stratum=name)
            told = {pull.id: float(rng.random() < 0.5 + level) for pull in pulls}
            study.tell_many(told, "ann")
            for pull in pulls:
                values[pull.arm].append(told[pull.id])
        over.append(name)
        first, second = (float(np.mean(values[k])) if values[k] else 0.0 for k in (0, 1))
        if way == BLIND and rng.random() < SHARE:
            gone = over.pop(int(rng.integers(len(over))))
            study.set_aside(stratum=gone, reason="a broken lamp", blind=True, by="ann")
        if way == LEADS and first > second:
            study.set_aside(stratum=over.pop(), reason="it looks odd", by="ann")
        if study.finished:
            break
    return 0 not in study.current_run.active


SHAPES = {"visitors": visitors, "plates": plates}


def measure(task: tuple[str, str, int, int, int]) -> dict[str, Any]:
    """Some trials of one case."""
    shape, way, first, count, seed = task
    started, wrong = time.process_time(), 0
    for trial in range(first, first + count):
        key = zlib.crc32(f"{shape} {way}".encode())
        rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(key, trial)))
        wrong += SHAPES[shape](way, rng)
    return {"wrong": wrong, "trials": count, "seconds": round(time.process_time() - started, 2)}


def main() -> None:
    parser = options("How often the best is ruled out where days are set aside.", trials=100)
    given = parser.parse_args()
    settings = {"delta": DELTA, "share": SHARE, "rate": RATE, "seed": given.seed}
    settings |= {"days": DAYS, "visits": VISITS, "plates": PLATES, "readings": READINGS}
    record = Record("set_aside", settings, given)
    cases = [(shape, way) for shape, ways in WAYS.items() for way in ways]
    tasks = {
        f"{shape}, {way}, {first}": (shape, way, first, count, given.seed)
        for first, count in chunks(given.trials, CHUNK)
        for shape, way in cases
    }
    parts = record.fill(tasks, measure)
    rows = []
    for shape, way in cases:
        own = [parts[key] for key, task in tasks.items() if task[:2] == (shape, way)]
        wrong, trials = (sum(one[word] for one in own) for word in ("wrong", "trials"))
        low, high = clopper_pearson(wrong, trials, 0.999)
        said = "holds" if low <= DELTA else "broken, as is its condition"
        said = said if way == LEADS or low <= DELTA else "TOO HIGH"
        rate = f"{wrong / trials:.3f}"
        rows.append([shape, way, rate, f"{low:.3f} to {high:.3f}", f"{trials:,}", said])
    head = ["options that are alike", "set aside", "ruled out", "99.9 % interval", "trials"]
    record.write(table([*head, f"δ = {DELTA}"], rows))


if __name__ == "__main__":
    main()
