"""Sums that somebody else added up: what rewards differ by is never taken for too little."""

from fractions import Fraction

import numpy as np
import pytest

from surepick.statistics.reported import Reported


def sums(rewards, order):
    """Σ y and Σ y² as a site may add them up."""
    if order == "one by one":
        total = squares = 0.0
        for y in rewards.tolist():
            total, squares = total + y, squares + y * y
        return total, squares
    return float(np.sum(rewards)), float(np.sum(rewards * rewards))


@pytest.mark.some(3)
@pytest.mark.parametrize("order", ["one by one", "in pairs"])
@pytest.mark.parametrize("offset", [0.0, 0.3, -1e3, 1e5, 1e8, -1e12])
def test_squared_distances_from_every_prediction_are_never_too_small(offset, order):
    rng = np.random.default_rng([len(order), int(abs(offset))])
    for n, rate in [(2, 0.5), (37, 0.01), (2000, 0.5)]:
        rewards = offset + rng.choice([0.0, 0.125, 1.0], n, p=[1 - rate, 0.0, rate])
        told = Reported(n, *sums(rewards, order), offset, offset + 1.0)
        exact = [Fraction(y) for y in rewards.tolist()]
        for m in np.linspace(offset, offset + 1.0, 5).tolist():
            needed = sum((y - Fraction(m)) ** 2 for y in exact)
            taken = Fraction(told.spread) + n * (Fraction(told.total) / n - Fraction(m)) ** 2
            assert needed <= taken
        assert told.spread <= 0.2501 * n + 1e-15 * n * (n + 64) * (1 + abs(offset))


def test_numbers_near_nought_lose_nothing():
    rewards = np.random.default_rng(0).random(1000)
    told = Reported(1000, *sums(rewards, "one by one"), 0.0, 1.0)
    assert told.spread == pytest.approx(float(((rewards - rewards.mean()) ** 2).sum()), rel=1e-10)
    assert Reported(1, 0.3, 0.09, 0.0, 1.0).spread == 0.0
    assert Reported(50, 0.0, 0.0, 0.0, 1.0).spread == 0.0
