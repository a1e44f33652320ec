"""Counts of sessions scatter more from period to period than those of visitors."""

import numpy as np
import pytest

from surepick.statistics.scatter import scatter

RATES = np.array([0.04, 0.05, 0.06])


def days(rng, many, each=1, visits=2000):
    """Days with a level of their own and shares that move; every visitor counts so many times."""
    for _ in range(many):
        n = rng.multinomial(3 * visits, rng.dirichlet([30.0, 30.0, 30.0]))
        yes = rng.binomial(n, RATES * rng.uniform(0.7, 1.3))
        yield each * n.astype(float), each * yes.astype(float)


@pytest.mark.some(2)
@pytest.mark.parametrize("many", [2, 10, 40])
def test_visitors_are_hardly_ever_taken_for_sessions(many):
    rng = np.random.default_rng(many)
    found = [scatter([*days(rng, many)])[1] for _ in range(100)]
    assert max(found) < np.log(1000)


@pytest.mark.parametrize("each", [6, 10])
def test_sessions_are_seen_within_two_weeks(each):
    rng = np.random.default_rng(each)
    found = [scatter([*days(rng, 14, each, 2000 // each)]) for _ in range(20)]
    assert min(evidence for _, evidence in found) > np.log(1000)
    assert np.mean([times for times, _ in found]) == pytest.approx(each, rel=0.3)


def test_where_there_is_nothing_to_compare_nothing_is_said():
    assert scatter([]) == (1.0, 0.0)
    alone = [(np.array([100.0, 0.0]), np.array([50.0, 0.0]))] * 5
    assert scatter(alone) == (1.0, 0.0)
    rare = [(np.array([100.0, 100.0]), np.array([1.0, 0.0]))] * 3
    assert scatter(rare) == (1.0, 0.0)
    later = [(np.array([900.0, 900.0]), np.array([50.0, 40.0]))] * 2
    later.append((np.array([900.0, 900.0, 900.0]), np.array([50.0, 40.0, 90.0])))
    assert scatter(later)[1] == 0.0
