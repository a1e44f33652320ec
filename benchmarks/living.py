"""How often the best option is ruled out in studies that are lived in.

Options that are all alike, δ = 0.2; the first counts as the best, as in ``error_rates``.

*Corrected.* Every twentieth reward, drawn at random, is told wrongly (a point forgotten: ten times
as much; yes for no) and corrected later, some before its batch is complete, most after it, when
everything is worked out again from the log; what is still wrong at the end is corrected then, after
which the study may go on. These are real studies in memory, through ``tell_many`` and ``correct``.
For comparison: the same where the wrong values stay.

*Added.* Whenever the capital against the best is low, somebody adds a copy of it that is better by
a little which nobody can see, up to twenty times. With overlapping batches: see ``workers``.

Run with: OPENBLAS_NUM_THREADS=1 python -m benchmarks.living --trials 120
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
from surepick.study.acts.base import Who
from surepick.study.acts.rewards import CORRECT
from surepick.study.acts.write import OnDesk, carried_out

DELTA, ALIKE, MOST = 0.2, 4, 600  # options, and pulls of a trial
SHARE = 0.05  # of rewards that are told wrongly
NOISE = {"known scale": 1.0, "nothing known": None, "yes or no": "yes-no"}
WAYS = ("corrected", "left wrong")
ADDED, CHUNK = "added", 20


def corrected(noise: Any, way: str, rng: np.random.Generator) -> bool:
    """Whether the first of several options that are alike is ruled out at the end."""
    problem = sp.Problem(np.eye(ALIKE), noise=noise)
    algorithm = sp.algorithms.PooledPeleg(DELTA, max_samples=MOST)
    study = sp.create_study("alike", problem, algorithm, MemoryStorage())
    wrong: dict[int, tuple[float, int]] = {}  # pull -> what is right, and how many asks later
    while True:
        pulls = study.ask(int(rng.integers(1, 40)), "worker")
        told = {}
        for pull in pulls:
            value = float(rng.random() < 0.5) if noise == "yes-no" else rng.standard_normal()
            told[pull.id] = value
            if rng.random() < SHARE:
                told[pull.id] = 1.0 - value if noise == "yes-no" else 10.0 * value
                wrong[pull.id] = (value, int(rng.geometric(0.3)) - 1)
        study.tell_many(told, "worker")
        over = study.finished
        due = {pull: value for pull, (value, later) in wrong.items() if over or not later}
        wrong = {pull: (x, later - 1) for pull, (x, later) in wrong.items() if pull not in due}
        if way == "corrected":
            who = Who("the list was typed in once more", "ann")
            carried_out(OnDesk(study.desk), CORRECT, {"values": dict(due)}, who)
        if study.finished and not wrong:
            return 0 not in study.current_run.active


def added(rng: np.random.Generator) -> bool:
    """Whether the best is ruled out, where better ones come again and again."""
    n, problem = 3, sp.Problem([[1.0, 0.0], [1.0, 0.5], [1.0, 1.0]], noise=1.0)
    run = sp.algorithms.PooledPeleg(DELTA, batch_growth=0.1, max_samples=MOST).start(problem)
    while not run.stopped:
        batch = run.ask()
        run.tell(batch, rng.normal(size=len(batch)))
        if n - 1 not in run.active:
            return True
        if run.state.question.against()[-1] < -0.05 and n < 23 and not run.stopped:
            run.add([[1.0, 1.0 + 0.01 * n]], [f"copy {n}"])
            n += 1
    return False


def measure(task: tuple[str, str, int, int, int]) -> dict[str, Any]:
    """Some trials of one case."""
    name, way, first, count, seed = task
    started, wrong = time.process_time(), 0
    for trial in range(first, first + count):
        key = zlib.crc32(name.encode())
        rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(key, trial)))
        wrong += added(rng) if way == ADDED else corrected(NOISE[name], way, rng)
    return {"wrong": wrong, "trials": count, "seconds": round(time.process_time() - started, 2)}


def main() -> None:
    parser = options("How often the best is ruled out in studies that are lived in.", trials=120)
    given = parser.parse_args()
    settings = {"delta": DELTA, "share": SHARE, "most": MOST, "seed": given.seed}
    record = Record("living", settings, given)
    cases = [(name, way) for way in WAYS for name in NOISE] + [("better copies", ADDED)]
    tasks = {
        f"{name}, {way}, {first}": (name, way, first, count, given.seed)
        for first, count in chunks(given.trials, CHUNK)
        for name, way in cases
    }
    parts = record.fill(tasks, measure)
    rows = []
    for name, way in cases:
        own = [parts[key] for key, task in tasks.items() if task[:2] == (name, way)]
        wrong, trials = (sum(one[word] for one in own) for word in ("wrong", "trials"))
        low, high = clopper_pearson(wrong, trials, 0.999)
        said = "no promise" if way == "left wrong" else "holds" if low <= DELTA else "TOO HIGH"
        rate = f"{wrong / trials:.3f}"
        rows.append([name, way, rate, f"{low:.3f} to {high:.3f}", f"{trials:,}", said])
    head = ["options that are alike", "rewards, options", "ruled out", "99.9 % interval", "trials"]
    record.write(table([*head, f"δ = {DELTA}"], rows))


if __name__ == "__main__":
    main()
