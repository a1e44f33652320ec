import numpy as np
import pytest

from surepick.study.checks.failures import uneven, warnings

LABELS = tuple("abcdefghij")


def found(failed, told):
    return warnings(np.array(failed), np.array(told), LABELS)


def test_no_failures_no_warnings():
    assert found([0, 0, 0], [10, 10, 10]) == []
    assert found([0, 0], [0, 0]) == []


def test_an_arm_that_fails_far_more_often_is_named():
    (text,) = found([0, 8, 1], [100, 30, 100])
    assert text.startswith("'b' failed 8 of 38 times")


def test_few_or_even_failures_are_not():
    assert found([2, 0], [0, 1000]) == []
    assert found([10, 12, 9], [100, 100, 100]) == []


def test_many_failures_in_all_are_said_to_be_many():
    assert found([20, 22, 18], [40, 40, 40]) == ["60 of 180 measurements failed"]
    assert found([3, 3, 3], [4, 4, 4]) == []  # too few to say


def test_an_only_arm_has_nobody_to_be_compared_with():
    assert found([2], [5]) == []


@pytest.mark.parametrize("rate", [0.02, 0.1, 0.25])
def test_random_failures_are_rarely_taken_for_uneven_ones(rate):
    draws = np.random.default_rng(0)
    alarms = 0
    for _ in range(400):
        told = draws.integers(5, 200, size=10)
        failed = draws.negative_binomial(told, 1 - rate)
        alarms += bool(uneven(failed, told))
    assert alarms <= 4


def test_failures_that_depend_on_the_value_are_found():
    draws = np.random.default_rng(0)
    hits = 0
    for _ in range(100):
        told = np.full(10, 50)
        rate = np.where(np.arange(10) == 3, 0.4, 0.05)
        hits += uneven(draws.negative_binomial(told, 1 - rate), told) == [3]
    assert hits >= 95
