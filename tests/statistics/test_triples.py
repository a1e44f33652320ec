"""The check of symmetry, three rewards at a time."""

import itertools
import math

import numpy as np
import pytest

from surepick.statistics.triples import STAKES, Triples

SYMMETRIC = {
    "normal": lambda draw, n: draw.normal(size=n),
    "two points": lambda draw, n: draw.choice([-1.0, 1.0], n),
    "t with 2 degrees of freedom": lambda draw, n: draw.standard_t(2, n),
    "Cauchy": lambda draw, n: draw.standard_cauchy(n),
    "of changing scale": lambda draw, n: draw.normal(size=n) * np.repeat([1.0, 9.0], n // 2),
}
SKEWED = {
    "exponential": (300, lambda draw, n: draw.exponential(size=n)),
    "log-normal": (300, lambda draw, n: np.exp(draw.normal(size=n))),
    "one sale in twenty": (600, lambda draw, n: 40.0 * (draw.random(n) < 0.05)),
    "one time-out in fifty": (
        1500,
        lambda draw, n: draw.normal(size=n) + 90 * (draw.random(n) < 0.02),
    ),
}


def evidence(rewards, arms=1, blocks=4):
    found, of = Triples(arms), np.arange(len(rewards)) % arms
    for part in np.array_split(np.arange(len(rewards)), blocks):
        found.add(of[part], rewards[part])
    return found.log_evidence


@pytest.mark.parametrize("law", SYMMETRIC)
def test_false_alarms_are_rare(law):
    alarms = 0
    for seed in range(100):
        draw = np.random.default_rng(seed)
        alarms += evidence(SYMMETRIC[law](draw, 300), 1 + seed % 4) >= math.log(20)
    assert alarms <= 5


@pytest.mark.parametrize("law", SKEWED)
def test_skew_is_noticed(law):
    n, make = SKEWED[law]
    found = [evidence(make(np.random.default_rng(seed), n)) >= math.log(100) for seed in range(20)]
    assert np.mean(found) >= 0.6


def test_bets_are_fair_whatever_the_sizes_are():
    """All signs of three triples with given sizes: the capital of each bet is 1 on average."""
    sizes, capital = (1.0, 5.0, 0.3), []
    for signs in itertools.product([-1.0, 1.0], repeat=3):
        found = Triples(1)
        for size, sign in zip(sizes, signs):
            found.add(np.zeros(3, dtype=int), np.array([0.0, 0.0, size]) * sign)
        capital.append(np.exp(found.arms[0][2:]))
    assert np.mean(capital, axis=0) == pytest.approx(np.ones(2 * len(STAKES)))


def test_one_arm_of_many_is_noticed_and_named():
    draw, found = np.random.default_rng(1), Triples(20)
    for _ in range(15):
        arms = np.repeat(np.arange(20), 60)
        found.add(arms, np.where(arms == 7, draw.exponential(size=1200), draw.normal(size=1200)))
    assert found.log_evidence > math.log(100)
    assert found.leaning()[0] == 7


def test_it_is_kept_and_goes_on():
    draw = np.random.default_rng(0)
    one, rewards = Triples(2), draw.exponential(size=(4, 30))
    one.add(np.tile([0, 1], 15), rewards[0])
    other = Triples.load(one.save())
    for found in (one, other):
        for part in rewards[1:]:
            found.add(np.tile([0, 1], 15), part)
    assert other.log_evidence == one.log_evidence
    assert other.count == one.count == 40


def test_nothing_is_bet_on_rewards_that_are_all_the_same():
    found = Triples(1)
    found.add(np.zeros(60, dtype=int), np.ones(60))
    assert (found.log_evidence, found.count) == (0.0, 20)


def test_an_arm_that_comes_later_has_had_its_share_from_the_beginning():
    """Whoever comes because the others have lost does not make up for their losses."""
    capital = []
    for signs in itertools.product([-1.0, 1.0], repeat=4):
        found = Triples(3)
        for size, sign in zip((1.0, 1.5), signs):
            found.add(np.zeros(3, dtype=int), np.array([0.0, 0.0, size]) * sign)
        late = 1 if found._now() < 0 else 0
        for size, sign in zip((1.0, 3.0), signs[2:]):
            found.add(np.full(3, late), np.array([0.0, 0.0, size]) * sign)
        capital.append(math.exp(found._now()))
    assert np.mean(capital) == pytest.approx(1.0, abs=1e-12)
    assert np.ptp(capital) > 0.1
