"""Many workers whose measurements take unequal times: how busy they are, and how long it takes.

Durations are log-normal with σ = 1 (half of them take less than a minute, one in a hundred more
than ten), δ = 0.05, noise of a known scale:

- standard: five options without structure, the best by 0.2;
- layouts: 48 layouts of four factors, with interactions, the best by 0.2;
- many: 40 options with six features, drawn at random, the best by 0.15;
- short: 40 options on a sphere, which are told apart by less than half as many measurements.

Ways to work:

- in turn: a batch starts when the one before is complete;
- overlap: who would wait begins the next batch, as studies do with workers that have names;
- hedge: and those who hold up much are helped, as in studies with ``hedge=True``: what they measure
  is given to a second worker, and the first reward counts.

Pulls are all that were begun until the answer was there, also second ones and those that were not
needed in the end. Busy is the share of the time until then in which a worker measured something.
In all ways the k-th pull of an option has the same reward, so that luck does not tell them apart.

*Errors.* Options that are all alike, δ = 0.2, 64 workers, overlapping batches, 2,000 pulls: how
often the first of them was ruled out. Durations do not depend on rewards, or grow with them.

Run with: OPENBLAS_NUM_THREADS=1 python -m benchmarks.workers --trials 20 --ties 40
"""

from __future__ import annotations

import heapq
import itertools
import math
import time
import zlib
from typing import Any, NamedTuple

import numpy as np
from benchmarks.paired import ratio
from benchmarks.recorded import Record, chunks, options, table

import surepick as sp
from surepick.algorithms.base import Algorithm
from surepick.bench.summary import clopper_pearson
from surepick.simulate import families, instances
from surepick.study.hedge import holds_up
from surepick.study.overlap import worth_it

DELTA, DELTA_TIES, SPREAD = 0.05, 0.2, 1.0
WORKERS = (16, 64)
WAYS = ("in turn", "overlap", "hedge")
GOALS = {16: (0.6, 1.15), 64: (0.45, 1.4)}  # time and pulls, as multiples of those in turn
TIES = (
    *("known scale", "nothing known", "yes or no", "known scale, hedged"),
    "known scale, durations by reward",
)
TIED, MOST, CHUNK, CONFIDENCE = 5, 2_000, 5, 0.999


def instance(name: str) -> sp.simulate.Instance:
    if name == "standard":
        return instances.standard(0.2)
    if name == "layouts":
        return families.factorial("4x3x2x2", gap=0.2)
    if name == "many":
        return families.gaussian(6, 40, gap=0.15, rng=1)
    return instances.unit_sphere(5, 40, rng=2)


INSTANCES = ("standard", "layouts", "many", "short")


class Finished(NamedTuple):
    """How a simulated study went."""

    run: sp.Run
    minutes: float
    begun: int  # pulls
    busy: float  # share of the workers' time


def work(
    algorithm: Algorithm,
    problem: sp.Problem,
    reward: Any,
    duration: Any,
    workers: int,
    way: str,
    rng: np.random.Generator,
) -> Finished:
    """Simulate workers, from event to event; ``reward`` and ``duration`` draw one each."""
    run = algorithm.start(problem)
    now, begun, busy, idle = 0.0, 0, 0.0, workers
    events: list[tuple[float, int, Any, float]] = []  # when, number, (batch, place, reward), since
    batches = [_Open(run.ask(), rng)]
    while not run.stopped:
        while idle:
            early = sum(one.batch.size - one.missing for one in batches[1:])
            held_up = way == "hedge" and holds_up(early, workers - idle, run.samples)
            batch, place = batches[0], batches[0].slowest() if held_up else None
            if place is None:
                fresh = next((one for one in batches if one.left), None)
                if fresh is None:
                    ahead = sum(one.batch.size for one in batches[1:])
                    worth = way != "in turn" and worth_it(ahead, workers, run.samples)
                    more = run.ask_ahead() if worth else None
                    if more is None:
                        break
                    batches.append(_Open(more, rng))
                    continue
                batch, place = fresh, fresh.left.pop()
            value = reward(int(batch.batch.arms[place]))
            begun, idle = begun + 1, idle - 1
            batch.began(place, begun)
            heapq.heappush(events, (now + duration(value), begun, (batch, place, value), now))
        now, _, (batch, place, value), since = heapq.heappop(events)
        idle, busy = idle + 1, busy + now - since
        batch.take(place, value)
        while batches and not batches[0].missing and not run.stopped:
            done = batches.pop(0)
            run.tell(run.ask(), done.rewards)
            if not batches and not run.stopped:
                batches.append(_Open(run.ask(), rng))
    busy += sum(now - since for *_, since in events)
    return Finished(run, now, begun, busy / (workers * now))


class _Open:
    """A batch that is being measured, in an order drawn at random."""

    def __init__(self, batch: Any, rng: np.random.Generator) -> None:
        self.batch = batch
        self.left = rng.permutation(batch.size).tolist()
        self.rewards, self.missing = np.full(batch.size, np.nan), batch.size
        self._with_one: dict[int, int] = {}  # place -> when it was begun, in the order of pulls

    def began(self, place: int, number: int) -> None:
        """A pull was begun; the second time it is with two."""
        if self._with_one.pop(place, None) is None:
            self._with_one[place] = number

    def slowest(self) -> int | None:
        """What one worker alone has had for longest, once everything has been begun."""
        return None if self.left else min(self._with_one, key=self._with_one.get, default=None)

    def take(self, place: int, value: float) -> None:
        """The first reward counts."""
        self._with_one.pop(place, None)
        if np.isnan(self.rewards[place]):
            self.rewards[place] = value
            self.missing -= 1


class _Rewards:
    """Rewards of unit variance; the k-th of an option is the same whoever asks, and when."""

    def __init__(self, means: np.ndarray, seed: Any) -> None:
        self._means = means
        self._drawn = [np.random.default_rng(own) for own in seed.spawn(len(means))]

    def __call__(self, arm: int) -> float:
        return float(self._means[arm] + self._drawn[arm].standard_normal())


def measure(task: tuple[str, int, str, int, int, int]) -> dict[str, Any]:
    """Some trials of one instance, with so many workers."""
    name, workers, way, first, count, seed = task
    started, found = time.process_time(), []
    for trial in range(first, first + count):
        key = zlib.crc32(f"{name} {workers}".encode())
        own = np.random.SeedSequence(seed, spawn_key=(key, trial))
        rng = np.random.default_rng(own)
        if name in TIES:
            found.append(_tie(name, workers, rng))
            continue
        truth = instance(name)
        done = work(
            sp.algorithms.PooledPeleg(DELTA),
            truth.problem,
            _Rewards(truth.means, own),
            lambda value, rng=rng: rng.lognormal(0.0, SPREAD),
            workers,
            way,
            rng,
        )
        right = done.run.answer.arm == truth.best
        found.append([done.minutes, done.begun, done.run.samples, done.busy, right])
    return {"trials": found, "seconds": round(time.process_time() - started, 2)}


def _tie(name: str, workers: int, rng: np.random.Generator) -> list[Any]:
    """Whether the first of several options that are alike was ruled out."""
    noise = {"nothing known": None, "yes or no": "yes-no"}.get(name, 1.0)
    problem = sp.Problem(np.eye(TIED), noise=noise)
    by_reward = name.endswith("by reward")

    def reward(arm: int) -> float:
        return float(rng.random() < 0.5) if noise == "yes-no" else rng.standard_normal()

    def duration(value: float) -> float:
        return math.exp(2 * value) if by_reward else rng.lognormal(0.0, SPREAD)

    algorithm = sp.algorithms.PooledPeleg(DELTA_TIES, max_samples=MOST)
    way = "hedge" if name.endswith("hedged") else "overlap"
    done = work(algorithm, problem, reward, duration, workers, way, rng)
    return [0 not in done.run.active]


def main() -> None:
    parser = options("How busy many workers are, and how long it takes.", trials=40)
    parser.add_argument("--ties", type=int, default=200, help="trials of each kind of tie")
    given = parser.parse_args()
    settings = {"delta": DELTA, "spread": SPREAD, "seed": given.seed}
    record = Record("workers", settings, given)
    tasks: dict[str, Any] = {}
    for name in INSTANCES:
        for workers in WORKERS:
            for way in WAYS:
                for first, count in chunks(given.trials, CHUNK):
                    task = (name, workers, way, first, count, given.seed)
                    tasks[f"{name}, {workers}, {way}, {first}"] = task
    for name in TIES:
        for first, count in chunks(given.ties, 4 * CHUNK):
            tasks[f"{name}, 64, {first}"] = (name, 64, "overlap", first, count, given.seed)
    parts = record.fill(tasks, measure)
    record.write(f"{_speed(tasks, parts)}\n\n{_errors(tasks, parts)}")


def _trials(tasks: dict[str, Any], parts: dict[str, Any], *head: Any) -> np.ndarray:
    own = [parts[key]["trials"] for key, task in tasks.items() if task[: len(head)] == head]
    return np.array([row for part in own for row in part], dtype=float)


def _speed(tasks: dict[str, Any], parts: dict[str, Any]) -> str:
    head = ["workers", "instance", "pulls in turn", "busy in turn", "way"]
    head += ["busy", "time", "pulls", ""]
    rows = []
    for workers in WORKERS:
        for name, way in itertools.product(INSTANCES, WAYS[1:]):
            turn = _trials(tasks, parts, name, workers, WAYS[0])
            ahead = _trials(tasks, parts, name, workers, way)
            times, time_error = ratio(ahead[:, 0], turn[:, 0])
            pulls, pulls_error = ratio(ahead[:, 1], turn[:, 1])
            most_time, most_pulls = GOALS[workers]
            met = ahead[:, 3].mean() >= 0.9 and times <= most_time and pulls <= most_pulls
            rows.append(
                [
                    str(workers),
                    name,
                    f"{turn[:, 1].mean():,.0f}",
                    f"{turn[:, 3].mean():.2f}",
                    way,
                    f"{ahead[:, 3].mean():.2f}",
                    f"{times:.2f} ± {time_error:.2f} (≤ {most_time})",
                    f"{pulls:.2f} ± {pulls_error:.2f} (≤ {most_pulls})",
                    "" if name == "short" else "met" if met else "not met",
                ]
            )
    note = "Time and pulls are multiples of those in turn, ± their standard errors."
    return f"{table(head, rows)}\n\n{note}"


def _errors(tasks: dict[str, Any], parts: dict[str, Any]) -> str:
    rows = []
    for name in TIES:
        wrong = _trials(tasks, parts, name, 64)[:, 0]
        low, high = clopper_pearson(int(wrong.sum()), len(wrong), CONFIDENCE)
        rows.append([name, f"{wrong.mean():.3f}", f"{low:.3f} to {high:.3f}", str(len(wrong))])
    return table(["64 workers, all alike, δ = 0.2", "ruled out", "99.9 % interval", "trials"], rows)


if __name__ == "__main__":
    main()
