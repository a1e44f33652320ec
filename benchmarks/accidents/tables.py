"""Functions that measure in this process: ``identify`` and ``study.run`` on complete tables."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from benchmarks.accidents.cells import Outcome, cell
from benchmarks.accidents.worlds import CANARIES, HALF, ITEMS, MANY, World

import surepick as sp

_RETRIES = 1
#: of calls that worked, how many may be made once more to know whether anything works: one for
#: each time that nothing else could tell
_PROBES = 12


def _raised(error: BaseException) -> Callable[[], Any]:
    def otherwise() -> Any:
        raise error

    return otherwise


#: what a call gives that gives no score
ODD: dict[str, Callable[[], Any]] = {
    "an exception": _raised(ValueError("the reply cannot be read")),
    "a mistake in the function": _raised(TypeError("'NoneType' object is not subscriptable")),
    "a time-out of the service": _raised(TimeoutError("read timed out")),
    "None": lambda: None,
    "NaN": lambda: float("nan"),
    "a text": lambda: "0.5",
    "several numbers": lambda: [1.0, 0.0],
    "a number out of bounds": lambda: 7.0,
}


def _problem() -> sp.Problem:
    return sp.Problem.unstructured(list(World.labels), noise="yes-no")


def _outcome(world: World, answer: Any, told: int) -> Outcome:
    """What an answer came to that has so many scores, or lowest ones in their place."""
    wrong = not set(answer.labels) <= world.best if answer.guarantee else None
    paid = len(world.worked)
    repeated = max(0, world.repeated - _PROBES)
    return Outcome(wrong, max(0, paid + len(answer.unmeasured) - told), repeated)


@contextmanager
def _study(rng: np.random.Generator, delta: float, **more: Any) -> Iterator[Any]:
    with tempfile.TemporaryDirectory() as folder:
        study = sp.create_study(
            *("s", _problem()),
            storage=f"sqlite:///{folder}/s.db",
            **{"complete": ITEMS, "delta": delta, "seed": int(rng.integers(2**31))} | more,
        )
        with study:
            yield study


def _identify(rng: np.random.Generator, delta: float, world: World, measure: Any) -> Outcome:
    algorithm = sp.algorithms.PooledPeleg(delta, complete=ITEMS)
    seed = int(rng.integers(2**31))
    answer = sp.identify(_problem(), measure, algorithm=algorithm, seed=seed, retries=_RETRIES)
    probed = max(0, len(world.worked) + len(answer.unmeasured) - answer.samples)
    return _outcome(world, answer, answer.samples + min(probed, 1))


def _put(name: str, otherwise: Callable[[], Any], **bad: int) -> None:
    @cell(name, "identify, a table")
    def at_identify(rng: np.random.Generator, delta: float) -> Outcome:
        world = World.drawn(rng, **bad)
        return _identify(rng, delta, world, lambda arm, item: world.call(arm, item, otherwise))

    @cell(name, "study.run, a table")
    def at_study(rng: np.random.Generator, delta: float) -> Outcome:
        world = World.drawn(rng, **bad)
        with _study(rng, delta) as study:
            answer = study.run(
                lambda task: world.call(task.arm, task.item, otherwise),
                workers=int(rng.integers(1, 4)),
                retries=0,
            )
            return _outcome(world, answer, len(study.rewards().pulls))


for _name, _odd in ODD.items():
    _put(_name, _odd, bad=6)
    _put(f"{_name}, of every option on some items", _odd, items=4)


@cell("a call that hangs", "identify, a table")
def hangs(rng: np.random.Generator, delta: float) -> Outcome:
    world = World.drawn(rng, bad=3)

    async def measure(arm: int, item: int) -> Any:
        if (arm, item) in world.bad:
            await asyncio.sleep(60)
        return world.call(arm, item, None)

    algorithm = sp.algorithms.PooledPeleg(delta, complete=ITEMS)
    seed = int(rng.integers(2**31))
    how: dict[str, Any] = {"retries": 0, "timeout": 0.05, "workers": 4}
    measured: Any = measure
    answer = sp.identify(_problem(), measured, algorithm=algorithm, seed=seed, **how)
    return _outcome(world, answer, answer.samples)


@cell("a service that is away for a while", "study.run, a table")
def away(rng: np.random.Generator, delta: float) -> Outcome:
    """The work ends, no cell is spoilt, and the same call goes on later."""
    world = World.drawn(rng)
    first = int(rng.integers(0, 60))
    gone = set(range(first, first + int(rng.integers(5, 30))))
    tries, answer = 0, None
    with _study(rng, delta) as study:

        def measure(task: Any) -> float:
            nonlocal tries
            tries += 1
            if tries - 1 in gone:
                raise ConnectionError("nobody answers") if tries % 2 else TimeoutError("late")
            return world.call(task.arm, task.item, None)

        for _ in range(40):
            try:
                answer = study.run(measure, retries=0)
                break
            except sp.SurepickError:
                continue
        if answer is None:
            return Outcome(None, blocked="it never went on")
        spoilt = len(answer.unmeasured)
        found = _outcome(world, answer, len(study.rewards().pulls))
        return Outcome(found.wrong, found.lost + spoilt, found.repeated)


@cell("a model that changes half-way", "study.run, a table")
def changes(rng: np.random.Generator, delta: float) -> Outcome:
    """What was best is poor from then on: the promise is withdrawn, or names it."""
    old = World.drawn(rng, each=MANY)
    now = old.updated(rng)
    with _study(rng, delta, complete=MANY, canaries=CANARIES) as study:
        answer = study.run(
            lambda task: (old if old.calls.total() < HALF else now).call(task.arm, task.item, None),
            workers=int(rng.integers(1, 4)),
        )
        kept = len(study.rewards().pulls) + len(study.acts("ask-again"))
    made = old.calls.total() + now.calls.total()
    wrong = old.wrong(answer, now, bool(now.calls))
    return Outcome(wrong, max(0, made - kept), max(0, kept - made))
