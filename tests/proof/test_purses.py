"""The five operations: after each of them capital is still a bet's, by all outcomes there are."""

import itertools
import math

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from surepick.proof import purses
from surepick.proof.accepting import Shares, for_racing
from surepick.proof.closeness import NOBODY, Closeness

SHARES = np.array([0.25, 0.75])
LOGS = st.lists(st.floats(-5, 5), min_size=6, max_size=6)
GAINS = np.log([[0.4, 1.6], [0.8, 1.2], [0.1, 1.9]])  # each a fair bet on a coin, by account


def mean(capital_after):
    """Of what is worked out from every course of four coins."""
    courses = list(itertools.product((0, 1), repeat=4))
    return sum(math.exp(capital_after(course)) for course in courses) / len(courses)


def paid(course, accounts):
    return sum(GAINS[list(accounts), coin] for coin in course)


def test_a_mixture_of_accounts_has_mean_one():
    own = purses.begun((), SHARES)
    assert mean(lambda course: purses.total(own + paid(course, (0, 2)))) == pytest.approx(1.0)
    shares = np.log([0.5, 0.2, 0.3])
    found = mean(lambda course: purses.mixture(paid(course, (0, 1, 2)), shares))
    assert found == pytest.approx(1.0)


def test_weights_that_follow_the_past_keep_the_mean_in_a_product_over_rounds():
    def capital(course):
        logs, total = np.zeros(3), 0.0
        for coin in course:  # more on what has won so far
            weights = logs - np.logaddexp.reduce(logs)
            total += purses.mixture(GAINS[:, coin], weights)
            logs = logs + GAINS[:, coin]
        return total

    assert mean(capital) == pytest.approx(1.0)


def test_the_least_and_the_average_are_bets():
    def unfair(course):  # of the second it is not true: it grows whatever happens
        return np.array([paid(course, (0,))[0], 4 * math.log(1.9)])

    assert mean(lambda course: purses.least(*unfair(course))) <= 1.0 + 1e-12
    found = mean(lambda course: purses.average(paid(course, (0, 1, 2))))
    assert found == pytest.approx(1.0)


def test_capital_that_is_handed_down_keeps_its_mean():
    """After two coins the poorer of two statements' purses goes on for both."""

    def capital(course):
        first, second = (
            purses.begun((), SHARES) + paid(course[:2], own) for own in ((0, 1), (2, 1))
        )
        least = purses.least(purses.total(first), purses.total(second))
        own = purses.handed_down(first, least)
        return purses.total(own + paid(course[2:], (0, 1)))

    assert mean(capital) <= 1.0 + 1e-12


@given(LOGS, st.lists(st.floats(-5, 5), min_size=3, max_size=3))
def test_nobody_keeps_more_than_is_handed_down(logs, most):
    logs, most = np.array(logs).reshape(3, 2), np.array(most)
    found = purses.handed_down(logs, most)
    np.testing.assert_allclose(purses.total(found), np.minimum(most, purses.total(logs)), atol=1e-9)
    np.testing.assert_allclose(  # in the same proportions
        found[:, 0] - found[:, 1], logs[:, 0] - logs[:, 1], atol=1e-9
    )


def test_totals_do_not_share_memory_with_what_they_are_of():
    for accounts in (1, 2, 3):
        logs = np.zeros((4, accounts))
        purses.total(logs)[0] = 7.0
        assert (logs == 0).all()


def test_tables_are_added_up_along_their_accounts():
    table = np.arange(24.0).reshape(2, 3, 4) / 24
    capital = np.exp(table)
    np.testing.assert_allclose(np.exp(purses.total(table)), capital.sum(axis=-1))
    np.testing.assert_allclose(np.exp(purses.mixture(table)), capital.sum(axis=-1))
    np.testing.assert_allclose(np.exp(purses.mixture(table, axis=1)), capital.sum(axis=1))
    np.testing.assert_allclose(np.exp(purses.average(table)), capital.mean(axis=-1))
    np.testing.assert_allclose(np.exp(purses.average(table, axis=0)), capital.mean(axis=0))


def test_longer_tables_begin_with_what_they_are_given():
    found = purses.longer(np.ones((2, 3, 2)), 2, (0, 1), [5.0, 6.0])
    assert found.shape == (4, 5, 2)
    assert (found[:2, :3] == 1).all()
    assert (found[2:] == [5.0, 6.0]).all()
    assert (found[:2, 3:] == [5.0, 6.0]).all()


@pytest.mark.parametrize("m", [1, 2])
def test_closeness_to_all_that_ever_led_begins_with_less_than_its_share(m):
    near = Closeness(4, SHARES, Shares(0.1), m)
    for leader in range(4):
        near.opened(leader)
    each = [np.exp(near.evidence(leader)[(leader + 1) % 4]) for leader in range(4)]
    assert math.exp(for_racing(0.1)) + sum(each) <= 1.0 + 1e-12
    assert all(near.evidence(leader)[leader] == -math.inf for leader in range(4))


def test_who_is_close_counts_until_somebody_is_retired():
    near, in_ = Closeness(3, SHARES, Shares(0.1)), np.array([True, True, False])
    place = near.opened(0)
    near.logs[place, 1] += 9.0
    near.note(0, np.zeros(3), math.log(20))
    assert near.shown(0).tolist() == [False, True, False]
    assert near.winner(in_) == 0
    assert near.winner(np.ones(3, dtype=bool)) is None
    near.grow(1, np.log(SHARES) - 1.0)
    assert near.shown(0).tolist() == [False, True, False, False]
    saved = Closeness(4, SHARES, Shares(0.1))
    saved.load(near.save())
    assert saved.winner(np.append(in_, False)) == 0
    near.begin_anew()
    assert near.leaders == [NOBODY]
    assert near.winner(np.append(in_, False)) is None
