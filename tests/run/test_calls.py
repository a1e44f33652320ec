"""``identify`` with functions and coroutines that call out: several at a time, paced, failing."""

import asyncio
import json
import subprocess
import sys

import numpy as np
import pytest
from tests.coroutines import Meeting

import surepick as sp
from surepick.calls import pace as paces
from surepick.run.details import Unmeasured

N = 40
SCORES = (np.random.default_rng(5).random((4, N)) < [[0.2], [0.4], [0.5], [0.9]]).astype(float)


class Status(Exception):
    def __init__(self, status):
        super().__init__(f"status {status}")
        self.status_code = status


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    monkeypatch.setattr(paces, "_PROBING", 0.01)
    monkeypatch.setattr(paces, "_FIRST", 0.01)


def on_table(measure, **how):
    problem = sp.Problem.unstructured(list("abcd"), noise="yes-no")
    algorithm = sp.algorithms.PooledPeleg(0.1, complete=N)
    return sp.identify(problem, measure, algorithm=algorithm, seed=3, **how)


ALONE = on_table(lambda arm, item: SCORES[arm, item])


def test_coroutines_and_threads_find_what_one_call_after_the_other_finds():
    together = Meeting(3)

    async def measure(arm, item):
        async with together:
            return SCORES[arm, item]

    found = on_table(measure, workers=3)
    assert found == ALONE
    assert together.most == 3
    assert on_table(lambda arm, item: SCORES[arm, item], workers=3) == ALONE


def test_refused_and_failed_calls_are_made_again():
    asked = []

    def measure(arm, item):
        asked.append((arm, item))
        if asked.count((arm, item)) == 1 and item % 3 == 0:
            raise Status(429 if arm % 2 else 500)
        return SCORES[arm, item]

    found = on_table(measure, retries=1)
    assert (found.label, found.samples, found.unmeasured) == (ALONE.label, ALONE.samples, ())
    assert "some were made again" in str(found.guarantee)
    assert sp.verify(json.loads(json.dumps(found.certificate())), replay=True).replayed
    asked.clear()
    with pytest.raises(Status):
        sp.identify(sp.Problem([[1.0], [2.0]]), lambda arm: measure(0, 9))  # no retries


def test_a_cell_that_fails_for_good_counts_as_the_worst_score():
    def measure(arm, item):
        if (arm, item) == (1, cell):
            raise Status(400)
        return SCORES[arm, item]

    batch = ALONE.certificate()["batches"][3]
    seen = []
    on_table(lambda arm, item: seen.append((arm, item)) or SCORES[arm, item])
    cell = next(item for arm, item in seen[len(batch["arms"]) :] if arm == 1)
    found = on_table(measure)
    assert found.unmeasured == (Unmeasured("b", cell, "Status: status 400"),)
    assert f"b on item {cell} (Status: status 400)" in found.plain
    assert sp.verify(found.certificate())


@pytest.mark.parametrize("given", [None, float("nan"), "one", 7.0])
def test_an_item_that_nobody_answers_is_a_tie_and_ends_nothing(given):
    """Also where it is the first one of all, and several options fail on others."""
    first = []

    def measure(arm, item):
        first.append(item)
        return given if item in (first[0], 5) else SCORES[arm, item]

    found = on_table(measure)
    assert found.label == ALONE.label
    assert {cell.item for cell in found.unmeasured} <= {first[0], 5}
    assert [cell.item for cell in found.unmeasured].count(first[0]) == len(SCORES)
    assert sp.verify(found.certificate(), replay=True).replayed


def test_a_coroutine_that_hangs_is_cancelled():
    async def measure(arm):
        await asyncio.sleep(60)

    with pytest.raises(TimeoutError, match=r"no reward after 0\.05 s"):
        sp.identify(sp.Problem([[1.0], [2.0]]), measure, timeout=0.05)


def test_calls_begin_no_faster_than_allowed(monkeypatch):
    waited = []
    monkeypatch.setattr(paces.Pace, "wait", lambda self, sleep: waited.append(self.per_minute))
    found = on_table(lambda arm, item: SCORES[arm, item], per_minute=600)
    assert waited == [600] * found.samples


def test_whoever_awaits_nothing_does_not_load_what_that_takes():
    code = (
        "import sys, surepick as sp; sp.identify(sp.Problem([[1.0], [2.0]]), float); "
        "sys.exit('asyncio' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
