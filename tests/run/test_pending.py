"""Batches that were asked for and not told, without a run around them."""

from __future__ import annotations

import numpy as np

from surepick.algorithms import PooledPeleg
from surepick.algorithms.base import Pulls
from surepick.problem import Problem
from surepick.run.batch import Batch, PendingBatches

PROBLEM = Problem(np.eye(3), noise=1.0)


def batch(number, counts):
    return Batch("run", number, Pulls.from_counts(np.array(counts)), 3)


def pending(state):
    found = PendingBatches()
    found.open = batch(0, [1, 2, 3])
    later = iter(([1, 0, 0], [0, 4, 0]))
    for _ in range(2):
        found.ask_ahead(
            found.open, state, 10, 0, lambda asked: Pulls.from_counts(np.array(next(later)))
        )
    return found


def begun():
    return PooledPeleg(0.1).begin(PROBLEM, np.random.default_rng(0))


def test_pulls_that_are_out_are_those_of_all_batches():
    found = pending(begun())
    assert (len(found), found.ahead) == (3, 2)
    assert found.pulls(4).tolist() == [2, 6, 3, 0]  # also where an option has come since


def test_those_asked_for_ahead_open_in_their_order():
    found, state = pending(begun()), begun()
    found.open = None
    for number, counts in ((5, [1, 0, 0]), (6, [0, 4, 0])):
        opened = found.open_next(number, state)
        assert opened is found.open
        assert (opened.number, opened.counts.tolist(), opened.after) == (number, counts, 0)
        assert state.block.whole.same(opened.pulls)
        found.open = None
    assert found.open_next(7, state) is None
    assert not found


def test_nothing_is_asked_for_ahead_without_budget():
    found, state = PendingBatches(), begun()
    assert found.ask_ahead(batch(0, [2, 2, 2]), state, 0, 0) is None
    assert found.ahead == 0


def test_saved_and_loaded_they_are_the_same():
    before, state = pending(begun()), begun()
    assert before.open is not None
    said = before.save() | {"batches": 0, "open": before.open.pulls.columns()}
    after = PendingBatches()
    after.load(said, "run", 3, state, None)
    assert after.open == before.open
    assert after.save() == before.save()
    assert PendingBatches().save() == {"after": None, "ahead": []}
