"""Purses on one candidate at a time: the least of m is a bet where all but m − 1 fail."""

import itertools
import math

import numpy as np
import pytest

from surepick.proof.led import NOBODY, Led


def mean(K, m, good, course, blocks=3, sides=2, rows=1):
    """Mean of exp(total) over all outcomes, as ``course`` chooses who leads from the past.

    Those in ``good`` fail in nothing, and pay; each other one fails in one side, by a fair coin.
    """
    others = [k for k in range(K) if k not in good]
    found = 0.0
    for coins in itertools.product((0.5, 1.5), repeat=blocks * len(others)):
        led, coin = Led(rows, np.zeros((K, sides), dtype=bool)), iter(coins)
        for block in range(blocks):
            paid = np.full((K, sides), math.log(3.0))
            for k in others:
                paid[k, k % sides] = math.log(next(coin))
            order = course(block, led)
            led.make_sure(led.places(order[:m]))
            rival = next((one for one in order[:m] if one not in led.sure), NOBODY)
            led.pay(np.array([rival] * rows), np.zeros(rows), lambda _, r, paid=paid: paid[r])
        found += math.exp(led.total()[0]) * 0.5 ** len(coins)
    return found


def by_turns(block, led):
    return [[0, 1, 2, 3], [2, 0, 1, 3], [0, 3, 2, 1]][block]


def greedy(block, led):
    """Whoever has most so far leads."""
    held = [float(led.on(k)[0].min()) for k in range(4)]
    return sorted(range(4), key=lambda k: -held[k])


def away_from_losers(block, led):
    """Who lost goes at once: what is handed on must not be more than was lost."""
    lost = [k for k in led.sure if led.held[led.sure.index(k), 0].min() < 0]
    return sorted(range(4), key=lambda k: (k in lost, (k + block) % 4))


@pytest.mark.parametrize("course", [by_turns, greedy, away_from_losers])
@pytest.mark.parametrize(("m", "good"), [(2, []), (2, [0]), (2, [3]), (3, [0, 2])])
def test_no_course_makes_more_than_one_of_it(course, m, good):
    assert mean(4, m, good, course, blocks=3 if good else 2) <= 1.0 + 1e-12


def test_with_one_place_less_it_would():
    assert mean(4, 1, [0], by_turns) > 1.5


def test_a_side_that_is_certain_is_none():
    certain = np.array([[True, False], [False, False]])
    led = Led(1, certain)
    led.pay(np.array([0]), np.zeros(1), lambda _, r: np.array([[-5.0, 2.0]]))
    assert led.total()[0] == pytest.approx(2.0)


def test_who_is_certain_hands_nothing_on_at_first():
    """Before anybody is sure there is but one purse, to which somebody certain would be all."""
    led = Led(1, np.array([[True], [False], [False]]))
    led.make_sure([0, 1])
    assert led.total()[0] == 0.0
    led.pay(np.array([1]), np.zeros(1), lambda _, r: np.array([[-2.0]]))
    assert led.total()[0] == pytest.approx(-2.0)


def test_who_stays_keeps_no_more_on_any_side_than_who_left():
    led = Led(1, np.zeros((3, 2), dtype=bool))
    led.make_sure([0, 1, 2])
    paid = np.array([[-1.0, 4.0], [3.0, 7.0], [2.0, 2.0]])
    led.pay(np.array([2]), np.zeros(1), lambda _, r: paid[r])
    led.make_sure([1, 2])  # a place less: 0 leaves
    assert led.on(1)[0].tolist() == [[-1.0, -1.0]]
    assert led.total()[0] == pytest.approx(-1.0)


def test_places_stay_with_who_still_leads():
    led = Led(1, np.zeros((5, 1), dtype=bool))
    assert led.places([3, 1, 2]) == [3, 1, 2]
    led.make_sure([3, 1, 2])
    assert led.places([2, 4, 1]) == [1, 2, 4]
    assert led.places([1, 3]) == [3, 1]
    assert led.places([]) == []
