"""Options that are compared with their own past: what is found, and how seldom without cause."""

import math

import numpy as np
import pytest

from surepick.statistics.own_past import LEVEL, OwnPast
from surepick.verifier.own_past import went_their_own_way


def site(rng, rates, days, fault=lambda day, rates: rates, visits=8000):
    """Reports of a site whose level and whose shares move from day to day."""
    found = []
    for day in range(days):
        counts = rng.multinomial(visits, rng.dirichlet(np.full(len(rates), 8.0)))
        level = 1.0 + 0.4 * math.sin(day)
        found.append((counts, rng.binomial(counts, fault(day, level * np.array(rates)))))
    return found


def looked(reports):
    past = OwnPast(len(reports[0][0]))
    for visits, hits in reports:
        past.add(visits, hits)
    return past


def hit(option, factor, days):
    def fault(day, rates):
        return np.where((np.arange(len(rates)) == option) & days(day), factor * rates, rates)

    return fault


RATES = (0.05, 0.06, 0.055, 0.045)


@pytest.mark.some(3)
@pytest.mark.parametrize(
    ("fault", "period"),
    [
        (hit(2, 3.0, lambda day: day == 0), 1),  # seen when the next day is there
        (hit(2, 3.0, lambda day: day == 1), 1),
        (hit(2, 3.0, lambda day: day == 2), 2),
        (hit(2, 0.0, lambda day: day >= 2), 2),
        (hit(2, 0.0, lambda day: day >= 0), 0),
    ],
)
def test_who_moved_is_named_with_the_period(fault, period):
    for seed in range(5):
        first = looked(site(np.random.default_rng(seed), RATES, 4, fault, 16_000)).found[0]
        assert (first.option, first.other, first.period) == (2, None, period)


def test_a_change_of_places_is_found():
    def fault(day, rates):
        return np.where(np.arange(4) == 1, rates * (1.6 if day < 5 else 0.6), rates)

    reports = site(np.random.default_rng(0), RATES, 10, fault, visits=20_000)
    assert [one for one in looked(reports).found if one.other is not None]


def test_levels_and_shares_that_move_raise_no_alarm():
    rng, alarms = np.random.default_rng(1), 0
    for _ in range(40):
        alarms += bool(looked(site(rng, rng.uniform(0.02, 0.08, 5), 10)).found)
    assert alarms <= 2


def test_the_law_of_a_first_period_is_one_and_the_null_never_lower():
    """Summed over all that can come, the evidence is at most 1."""
    visits, rho, total = np.array([40.0, 60.0]), 1.3, 12
    q = rho * visits[0] / (rho * visits[0] + visits[1])
    mean = 0.0
    for a in range(total + 1):
        for b in range(total + 1):
            past = OwnPast(2)
            past.add(visits, np.array([a, total - a], dtype=float))
            past.add(visits, np.array([b, total - b], dtype=float))
            chance = 1.0
            for own in (a, b):
                chance *= math.comb(total, own) * q**own * (1 - q) ** (total - own)
            mean += chance * math.exp(float((past._law - past._likeliest())[0]))
    assert 0.1 < mean <= 1.0


def test_the_verifier_sees_the_same():
    rng = np.random.default_rng(3)
    faults = [
        lambda day, rates: rates,
        hit(0, 2.2, lambda day: day == 1),
        hit(1, 0.0, lambda day: day >= 1),
        hit(2, 1.8, lambda day: day % 2 == 0),
    ]
    seen = set()
    for trial in range(24):
        reports = site(rng, rng.uniform(0.02, 0.1, 3), 5, faults[trial % 4], visits=3000)
        found = looked(reports).found
        said = went_their_own_way([(v.astype(float), h.astype(float)) for v, h in reports])
        assert bool(said) == bool(found)
        if found:
            assert f"(period {found[0].period + 1})" in said
        seen.add(bool(found))
    assert seen == {True, False}


def test_many_options_and_empty_periods_are_no_trouble():
    past = OwnPast(80)
    visits = np.full(80, 50)
    visits[3:40] = 0
    for _ in range(3):
        past.add(visits, (visits > 0) * 2)
    assert past.found == []
    assert past.log_evidence < -math.log(LEVEL)
    alone = OwnPast(1)
    alone.add(np.array([10]), np.array([3]))
    assert alone.found == []
