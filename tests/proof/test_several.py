"""The m best: m purses against each candidate, the least of which counts."""

import itertools
import math

import numpy as np

from surepick.proof.purses import total
from surepick.proof.several import Several

ACCOUNTS = np.array([1, 2]) / 3


def three_best():
    purses = Several(5, 3, ACCOUNTS)
    purses.make_sure([0, 1, 2])
    assert purses.sure == [0, 1]
    return purses


def test_who_comes_in_the_place_of_another_goes_on_with_what_counted():
    purses = three_best()
    purses.logs += np.array([3.0, 2.0, 1.0])[:, None, None]
    np.testing.assert_allclose(purses.against(), [1.0, 2.0, 1.0, 1.0, 1.0])  # not one's own rival
    purses.make_sure([2, 1, 0])  # another order of the same: all stay
    assert purses.sure == [0, 1]
    purses.make_sure([0, 3, 2])
    assert purses.sure == [0, 3]
    for own in total(purses.logs):  # who stays keeps no more than what was bet on who left
        np.testing.assert_allclose(own, [1.0, 2.0, 1.0, 1.0, 1.0])


def test_who_stays_keeps_its_own_purse_wherever_it_stood():
    purses = three_best()
    purses.logs += np.array([3.0, 1.0, 2.0])[:, None, None]
    purses.make_sure([1, 3, 2])
    assert purses.sure == [1, 3]
    np.testing.assert_allclose(total(purses.logs[1]), [2.0, 1.0, 1.0, 1.0, 1.0])


def test_luck_cannot_choose_which_of_two_counts():
    """All outcomes of fair bets on two that are not among the best; the poorer of them leaves.

    Option 4 is one of the three best, as 2 and 3 are; bets on these grow. Its capital may reach 6.8
    with probability 1/6.8 at most; if who stays kept everything it would in 0.23 of all cases.
    """
    reached = 0
    for flips in itertools.product([0.1, 1.9], repeat=6):
        purses = three_best()
        purses.logs[0] += 9.0
        for k in (0, 1):
            purses.logs[1 + k] += sum(map(math.log, flips[3 * k : 3 * k + 3]))
        richer = int(sum(flips[3:]) > sum(flips[:3]))
        purses.make_sure([richer, 3, 2])
        purses.logs[0] += 9.0
        purses.logs[1 + purses.sure.index(3)] += 9.0
        reached += purses.against()[4] >= math.log(6.8)
    assert reached / 64 <= 1 / 6.8


def test_one_best_has_one_purse():
    purses = Several(3, 1, ACCOUNTS)
    purses.make_sure([2])
    purses.logs[0, 1] += 1.0
    assert purses.sure == []
    np.testing.assert_allclose(purses.against(), [0.0, 1.0, 0.0], atol=1e-12)
