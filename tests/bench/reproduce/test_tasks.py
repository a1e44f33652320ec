"""Blocks of trials: what a trial gives does not depend on the block it is in."""

from dataclasses import replace

import pytest

from surepick.bench.reproduce.errors_check import ErrorCheck
from surepick.bench.reproduce.reproduction import Reproduction
from surepick.bench.reproduce.tasks import BOUNDS, COLUMNS, Task, do_task

TASK = Task("a figure", 1.0, "peleg", "gaussian:k=8,d=3,rng=trial", 0.1, first=0, count=6, seed=3)


def in_blocks(task, size):
    starts = range(task.first, task.first + task.count, size)
    return [do_task(replace(task, first=start, count=size)) for start in starts]


@pytest.mark.parametrize("size", [1, 2, 3])
def test_trials_are_the_same_in_blocks_of_any_size(size):
    whole = do_task(TASK)["rows"]
    assert [row for block in in_blocks(TASK, size) for row in block["rows"]] == whole


def test_no_trial_is_made_twice():
    rows = do_task(TASK)["rows"]
    trials = [row[COLUMNS.index("trial")] for row in rows]
    assert trials == list(range(6))
    results = {tuple(v for v, name in zip(row, COLUMNS) if name != "trial") for row in rows}
    assert len(results) > 3


@pytest.mark.validation
def test_bounds_are_those_of_the_instance_of_each_trial():
    task = replace(TASK, algorithm=BOUNDS)
    whole = do_task(task)["bounds"]
    assert [found for block in in_blocks(task, 2) for found in block["bounds"]] == whole
    assert len({str(found) for found in whole}) == 6


@pytest.mark.parametrize("plan", [Reproduction(), ErrorCheck()], ids=["figures", "errors"])
def test_the_blocks_of_a_cell_cover_every_trial_once(plan):
    cells = {}
    for task in plan.tasks():
        cells.setdefault((*task.cell, task.instance, task.delta), []).append(task)
    assert max(map(len, cells.values())) > 1
    for tasks in cells.values():
        seen = [n for task in tasks for n in range(task.first, task.first + task.count)]
        assert sorted(seen) == list(range(len(seen)))
        assert len({task.seed for task in tasks}) == 1
    assert len({task.id for task in plan.tasks()}) == len(plan.tasks())
