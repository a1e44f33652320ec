import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from surepick.algorithms.base import Pulls
from surepick.study.desk.order import Order


def order(counts, batch=0):
    return Order(batch, Pulls.from_counts(np.array(counts)))


@given(st.lists(st.integers(0, 3000), min_size=1, max_size=6).filter(any), st.integers(0, 5))
def test_every_pull_is_handed_out_once(counts, batch):
    one = order(counts, batch)
    arms = one.arms(0, one.size)
    assert np.bincount(arms, minlength=len(counts)).tolist() == counts


@given(st.lists(st.integers(1, 2000), min_size=1, max_size=5), st.data())
def test_the_order_does_not_depend_on_how_it_is_asked_for(counts, data):
    one = order(counts)
    whole = order(counts).arms(0, one.size)
    first = data.draw(st.integers(0, one.size))
    last = data.draw(st.integers(first, one.size))
    assert one.arms(first, last).tolist() == whole[first:last].tolist()
    assert one.arms(0, first).tolist() == whole[:first].tolist()


def test_the_order_is_the_same_on_every_machine():
    assert order([3, 2, 4], batch=7).arms(0, 9).tolist() == [0, 2, 0, 0, 2, 2, 2, 1, 1]


def test_batches_differ():
    assert order([50, 50], 0).arms(0, 100).tolist() != order([50, 50], 1).arms(0, 100).tolist()


def test_arms_are_spread_over_the_batch():
    arms = order([100_000, 10_000, 100]).arms(0, 110_100)
    for part in np.array_split(arms, 20):
        share = np.bincount(part, minlength=3) / len(part)
        assert share[0] == pytest.approx(100_000 / 110_100, rel=0.02)
        assert share[2] == pytest.approx(100 / 110_100, rel=1.0)


def test_huge_batches_cost_nothing_until_they_are_handed_out():
    one = order([10**12, 3 * 10**12, 7])
    middle = one.arms(2 * 10**12, 2 * 10**12 + 4000)
    assert np.bincount(middle)[0] == pytest.approx(1000, rel=0.1)
    assert len(one.arms(one.size - 5, one.size)) == 5
