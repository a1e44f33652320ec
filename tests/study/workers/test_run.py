"""Measuring with a Python function, also with coroutines, until a study is finished."""

import asyncio
import threading

import pytest

import surepick as sp
from surepick.errors import InvalidTypeError, MeasurementError

PROBLEM = sp.Problem([[1.0, 0.0], [0.0, 1.0], [0.7, 0.7]], noise=1.0, labels=["a", "b", "c"])


def reward(task):
    return task.arm + 0.1 * (task.pull % 5)


async def awaited(task):
    await asyncio.sleep(0.001)
    return reward(task)


def make(request, **fields):
    url = f"memory://{request.node.name}"
    return sp.create_study("run", PROBLEM, storage=url, delta=0.1, **fields)


@pytest.mark.some(1)
@pytest.mark.parametrize("measure", [reward, awaited])
@pytest.mark.parametrize("workers", [1, 8])
def test_functions_and_coroutines_find_the_same(request, measure, workers, capfd):
    study = make(request, overlap=False)  # then batches do not depend on who is faster
    answer = study.run(measure, workers=workers, progress=workers > 1)
    alone = sp.create_study("alone", PROBLEM, storage=f"memory://{request.node.name} 2", delta=0.1)
    assert answer.label == "b"
    assert answer.pulls.tolist() == alone.run(reward).pulls.tolist()


def test_coroutines_overlap(request):
    busy, most = 0, 0

    async def measure(task):
        nonlocal busy, most
        busy += 1
        most = max(most, busy)
        await asyncio.sleep(0.02)
        busy -= 1
        return reward(task)

    make(request).run(measure, workers=4)
    assert most > 1


def test_what_fails_too_often_ends_it_and_nothing_is_lost(request):
    study, lock = make(request), threading.Lock()
    calls = []

    def measure(task):
        with lock:
            calls.append(task.pull)
        if len(calls) > 3:
            raise OSError("the sensor is off")
        return reward(task)

    with pytest.raises(
        MeasurementError, match=r"the sensor is off; .* Everything measured so far is kept"
    ):
        study.run(measure, retries=1)
    assert len(study.rewards().pulls) == 3
    assert study.run(reward).label == "b"
    with pytest.raises(InvalidTypeError, match="measure must be a function"):
        study.run("module:function")
