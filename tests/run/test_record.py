"""What was told in a run, without a run around it."""

from __future__ import annotations

import numpy as np

from surepick.algorithms.base import Pulls, ToldPulls
from surepick.run.rewards import Record


def told(counts, sums):
    pulls = Pulls.from_counts(np.array(counts))
    return ToldPulls(pulls, np.array(sums, dtype=float)[pulls.arms])


def test_batches_add_up_and_are_kept_in_order():
    record = Record(2)
    for number, one in enumerate((told([2, 0], [3.0, 0.0]), told([1, 4], [1.0, 8.0]))):
        record.add(one)
        record.keep(one, None if number == 0 else 0)
    assert (record.samples, record.pulls.tolist(), record.sums.tolist()) == (7, [3, 4], [4.0, 8.0])
    assert ["after" in batch for batch in record.log] == [False, True]
    assert [one.sums.tolist() for one in record.told(1)] == [[1.0, 8.0]]
    assert not record.in_strata
    assert record.as_one()[0]["counts"].tolist() == [3, 4]


def test_newcomers_have_nothing_and_past_batches_do_not_stay():
    record = Record(1)
    record.add(told([2], [5.0]))
    record.grow(1)
    record.add(told([0, 1], [0.0, 7.0]))
    past = [{"arms": np.array([1]), "counts": np.array([3]), "sums": np.array([1.0])}]
    counts, sums = record.with_past(past)
    assert (counts.tolist(), sums.tolist()) == ([2, 4], [5.0, 8.0])
    assert (record.pulls.tolist(), record.samples) == ([2, 1], 3)


def test_strata_are_known_by_the_last_batch():
    record = Record(1)
    record.keep(told([1], [1.0]), None, "monday")
    assert record.in_strata
