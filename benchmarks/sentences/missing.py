"""What is missing is missing for a reason: lost workers, time-outs, corrections, second workers."""

from __future__ import annotations

import heapq
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from benchmarks.sentences.cells import Outcome, cell, of_answer
from benchmarks.sentences.items import drawn
from benchmarks.sentences.repeated import of_comparison

import surepick as sp
from surepick.errors import SurepickError
from surepick.integrations.comparing import compare
from surepick.integrations.evaluations import ScoreTable, decide
from surepick.storage.memory import MemoryStorage

LABELS = ["a", "b"]


def pulled(rng: np.random.Generator, delta: float, noise: Any = "yes-no", **more: Any) -> Any:
    """A study of two options, in memory."""
    return sp.create_study(
        "lab",
        sp.Problem.unstructured(LABELS, noise=noise),
        storage=MemoryStorage(),
        delta=delta,
        seed=drawn(rng),
        **({"max_samples": 1500} | more),
    )


class TimedOut(TimeoutError):
    """A service that did not reply in time; it may be asked again at once."""

    retry_after: ClassVar[float] = 0.0


# -- workers --------------------------------------------------------------------------------------
def _lost(way: str, name_of: Any, breaks: str = "lost") -> None:
    @cell(way, "a study, ask and tell", breaks=breaks)
    def live(rng: np.random.Generator, delta: float) -> Outcome:
        """What measures dies of every third bad result of b; a is better by 0.02."""
        study, lives, died = pulled(rng, delta), 0, False
        rates = (0.52, 0.5)
        for _ in range(4000):
            if study.finished:
                break
            kept = name_of(1) == name_of(2)  # a new worker waits until the lease has run out
            pulls = study.ask(worker=name_of(lives), lease=300.0 if kept else 1e-9)
            if not pulls:
                lives += 1
                continue
            (pull,) = pulls
            value = float(rng.random() < rates[pull.arm])
            if breaks and pull.arm == 1 and not value and rng.random() < 1 / 3:
                lives, died = lives + 1, True  # and it is started again
                continue
            study.tell(pull.id, value, worker=name_of(lives))
        if not study.finished:
            return Outcome(None, why="undecided")
        # Where nobody died, which is so in very short runs, nothing was broken.
        return replace(of_answer(study.answer, "a"), broken=died or not breaks)

    return live


_lost("a worker dies of a bad result and comes back under its name", lambda n: "worker")
_lost("a worker dies of a bad result and another one takes over", lambda n: f"worker {n}")
_lost("as it should be", lambda n: "worker", "")


@cell("calls time out more often where the score is bad", "compare(retries=30)", breaks="lost")
def _timeouts(rng: np.random.Generator, delta: float) -> Outcome:
    """The new one is worse by 0.3; its bad scores are lost four times in five."""

    def old() -> float:
        return float(rng.random() < 0.7)

    def new() -> float:
        value = float(rng.random() < 0.4)
        if not value and rng.random() < 0.8:
            raise TimedOut("no reply in time")
        return value

    try:
        found = compare(
            *(new, old),
            epsilon=0.1,
            max_calls=2000,
            noise="yes-no",
            retries=30,
            delta=delta,
            seed=drawn(rng),
        )
    except SurepickError as error:
        return Outcome(None, why=f"refused: {error}"[:100])
    return of_comparison(found, not_worse=False)


@cell("calls time out more often where the score is bad", "decide(retries=30)", breaks="lost")
def _timeouts_of_cells(rng: np.random.Generator, delta: float) -> Outcome:
    n = 300

    def evaluate(option: str, item: str) -> float:
        value = float(rng.random() < (0.6 if option == "old" else 0.5))
        if option == "new" and not value and rng.random() < 0.8:
            raise TimedOut("no reply in time")
        return value

    table = ScoreTable(["old", "new"], [f"q{i}" for i in range(n)])
    found = decide(table, evaluate, delta=delta, retries=30, seed=int(rng.integers(2**31)))
    return of_answer(found.answer, "old", found) if found else Outcome(None, why="undecided")


@cell("calls time out more often where the score is bad", "identify(retries=30)", breaks="lost")
def _timeouts_of_pulls(rng: np.random.Generator, delta: float) -> Outcome:
    def measure(arm: int) -> float:
        value = float(rng.random() < (0.6, 0.5)[arm])
        if arm == 1 and not value and rng.random() < 0.8:
            raise TimedOut("no reply in time")
        return value

    problem = sp.Problem.unstructured(["old", "new"], noise="yes-no")
    answer = sp.identify(problem, measure, delta, max_samples=2000, retries=30, seed=drawn(rng))
    return of_answer(answer, "old")


@cell("calls time out more often where the score is bad", "a study, run(retries=30)", breaks="lost")
def _timeouts_of_a_study(rng: np.random.Generator, delta: float) -> Outcome:
    study = pulled(rng, delta, max_samples=600)

    def measure(task: Any) -> float:
        value = float(rng.random() < (0.6, 0.5)[task.arm])
        if task.arm == 1 and not value and rng.random() < 0.8:
            raise TimedOut("no reply in time")
        return value

    try:
        answer = study.run(measure, retries=30)
    except SurepickError as error:
        return Outcome(None, why=f"refused: {error}"[:60])
    return of_answer(answer, "a")


# -- a second worker ------------------------------------------------------------------------------
def _hedged(way: str, slow: float, breaks: str) -> None:
    @cell(way, "a study with hedge", breaks=breaks, chunk=10)
    def live(rng: np.random.Generator, delta: float) -> Outcome:
        """Six workers; bad results of b take forty times as long. a is better by 0.04."""
        study, rates = pulled(rng, delta, hedge=True), (0.52, 0.48)
        names = [f"worker {i}" for i in range(6)]
        waiting: list[tuple[float, int, str]] = [(0.0, i, name) for i, name in enumerate(names)]
        told: dict[str, tuple[int, float] | None] = dict.fromkeys(names)
        count = len(names)
        for _ in range(6000):
            if study.finished:
                break
            now, _, name = heapq.heappop(waiting)
            result = told[name]
            if result is not None:
                study.tell_many([result], worker=name)
                told[name] = None
            if study.finished:
                break
            pulls = study.ask(worker=name, lease=3600.0)
            takes = 1.0
            if pulls:
                (pull,) = pulls
                value = float(rng.random() < rates[pull.arm])
                told[name] = (pull.id, value)
                takes = rng.exponential() * (slow if pull.arm == 1 and not value else 1.0)
            count += 1
            heapq.heappush(waiting, (now + takes, count, name))
        return of_answer(study.answer, "a") if study.finished else Outcome(None, why="undecided")


_hedged("bad results take longer, and the first of two counts", 40.0, "duration")
_hedged("as it should be", 1.0, "")


# -- measured again by a rule ---------------------------------------------------------------------
@cell("readings far from all before are measured again", "a study with again", breaks="remeasured")
def _again(rng: np.random.Generator, delta: float) -> Outcome:
    """b fails badly now and then, which is no mistake of the measurement; a never does."""
    study = pulled(rng, delta, noise="symmetric", again=True)

    def measure(task: Any) -> float:
        if task.arm == 1 and rng.random() < 0.3:
            return float(-40.0 + rng.normal())
        return float(rng.normal() + 0.3 * task.arm)

    return of_answer(study.run(measure), "a")


@cell("as it should be", "a study with again")
def _again_well(rng: np.random.Generator, delta: float) -> Outcome:
    study = pulled(rng, delta, noise="symmetric", again=True)
    return of_answer(study.run(lambda task: float(rng.normal() - 0.02 * task.arm)), "a")


# -- corrections --------------------------------------------------------------------------------
@cell("readings that do not please are withdrawn", "a study, withdraw", breaks="edited")
def _withdrawn(rng: np.random.Generator, delta: float) -> Outcome:
    """Whoever likes b looks at the bad ones of b, and finds a reason for a third of them."""
    study, rates = pulled(rng, delta), (0.52, 0.5)
    for _ in range(1500):
        if study.finished:
            break
        (pull,) = study.ask(worker="w")
        value = float(rng.random() < rates[pull.arm])
        study.tell(pull.id, value, worker="w")
        if pull.arm == 1 and not value and rng.random() < 1 / 3 and not study.finished:
            study.withdraw(pull.id, reason="the light was bad")
    return of_answer(study.answer, "a") if study.finished else Outcome(None, why="undecided")
