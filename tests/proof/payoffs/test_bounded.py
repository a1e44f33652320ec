import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from surepick.proof.payoffs.bounded import CAP, log_capped_payoff

RATES = (0.0, 0.003, 0.05, 0.3, 0.5, 0.9, 1.0)
EVERYTHING = 1e9  # a stake that is always cut to the cap


def coefficients_of(counts):
    """Direct comparison: mean of the first arm less mean of the second."""
    return np.array([1.0, -1.0]) / counts


def largest(c, means, low=0.0, high=1.0):
    """The stake at which some possible reward would lose everything."""
    return 1.0 / np.where(c > 0, c * (means - low), -c * (high - means)).max()


def yes_no(stakes, c, counts, hits, means):
    results = (np.asarray(part, dtype=float) for part in (counts, hits, 0.0 * hits, means))
    return log_capped_payoff(stakes, c, tuple(results))


def between(stakes, c, rewards, squares, means, low=0.0, high=1.0):
    """Of one pull of each arm, or of sums of rewards."""
    results = (np.ones(len(c)), np.asarray(rewards, dtype=float), squares, means)
    return log_capped_payoff(stakes, c, results, (low, high, False))


@pytest.mark.parametrize("counts", [(1, 1), (3, 2), (2, 7)])
def test_the_mean_of_yes_no_bets_is_at_most_one(counts):
    """All outcomes enumerated: every rate of the rival below that of the candidate."""
    counts = np.array(counts)
    c = coefficients_of(counts)
    outcomes = np.array(list(itertools.product(*(range(n + 1) for n in counts))))
    tightest = 0.0
    for rival, own in itertools.product(RATES, repeat=2):
        if rival > own:
            continue
        chances = binom.pmf(outcomes, counts, [rival, own]).prod(axis=1)
        for guess in itertools.product((0.0, 0.02, 0.4, 0.99), repeat=2):
            means = np.array(guess)
            stakes = np.array([0.0, 0.1, 0.4, 5.0, EVERYTHING])
            if guess[0] == 0.0 and guess[1] == 0.0:
                stakes = stakes[:4]
            paid = np.array([yes_no(stakes, c, counts, hits, means) for hits in outcomes])
            mean = chances @ np.exp(paid)
            assert (mean <= 1 + 1e-12).all()
            if rival == own == guess[0] == guess[1]:
                tightest = max(tightest, mean.min())
    assert tightest == pytest.approx(1.0)  # predictions that are right make the bet fair


def laws():
    """Rewards between −1 and 3: points and their chances, by mean."""
    points = np.array([-1.0, -0.5, 0.0, 2.0, 3.0])
    for chances in ([0.5, 0, 0, 0, 0.5], [0, 0, 1, 0, 0], [0.2] * 5, [0.9, 0.02, 0.03, 0, 0.05]):
        yield points, np.array(chances)


def test_the_mean_of_bounded_bets_is_at_most_one():
    c = np.array([1.0, -1.0])  # one pull of each
    for (x, p), (y, q) in itertools.product(laws(), repeat=2):
        if p @ x > q @ y:
            continue
        for guess in itertools.product((-0.9, 0.2, 2.9), repeat=2):
            means = np.array(guess)
            for share in (0.1, 0.5, 1.0):
                stake = share * CAP * largest(c, means, -1.0, 3.0)
                total = 0.0
                for (i, a), (j, b) in itertools.product(enumerate(x), enumerate(y)):
                    rewards = np.array([a, b])
                    paid = between(stake, c, rewards, (rewards - means) ** 2, means, -1.0, 3.0)
                    exact = stake * (c @ means) + np.log1p(stake * c * (rewards - means)).sum()
                    assert paid <= exact + 1e-9
                    total += p[i] * q[j] * math.exp(float(paid))
                assert total <= 1 + 1e-12


@given(
    counts=st.lists(st.integers(1, 40), min_size=2, max_size=2),
    shares=st.lists(st.floats(0, 1), min_size=2, max_size=2),
    guess=st.lists(st.floats(0.01, 0.99), min_size=2, max_size=2),
    stake=st.floats(0, 1),
)
@settings(max_examples=100, deadline=None)
def test_sums_of_squares_lose_little_on_yes_and_no(counts, shares, guess, stake):
    n, means = np.array(counts), np.array(guess)
    hits = np.floor(shares * n)
    c = coefficients_of(n)
    stake *= CAP * largest(c, means)
    squares = hits * (1 - means) ** 2 + (n - hits) * means**2
    least = float(between(stake, c, hits, squares, means))
    exact = float(yes_no(stake, c, n, hits, means))
    assert least <= exact + 1e-9
    more = hits + np.array([hits[0] < n[0], 0])  # one more success of the rival
    assert float(yes_no(stake, c, n, more, means)) >= exact - 1e-12


def test_a_prediction_without_doubt_needs_no_special_care():
    """Rates predicted as 0 or 1, arms that always or never succeed, a stake of nothing."""
    c = coefficients_of(np.array([5, 5]))
    n, never, always = np.array([5, 5]), np.array([0, 0]), np.array([5, 5])
    for means in (np.zeros(2), np.ones(2), np.array([0.0, 1.0])):
        for hits in (never, always):
            assert np.isfinite(yes_no(np.array([0.0, 2.0]), c, n, hits, means)).all()
        assert yes_no(0.0, c, n, never, means) == 0.0


def test_stakes_are_cut_where_one_reward_could_lose_nearly_everything():
    c, means, n = np.array([1.0, -1.0]), np.array([0.5, 0.5]), np.array([1, 1])
    worst = yes_no(EVERYTHING, c, n, np.array([0, 1]), means)
    assert worst == pytest.approx(yes_no(CAP * largest(c, means), c, n, np.array([0, 1]), means))
    assert worst == pytest.approx(2 * math.log(1 - CAP))


def test_small_variances_pay():
    """At rates of a hundredth, good predictions pay far more than the worst case of one half."""
    n = np.array([2000, 2000])
    c, hits = coefficients_of(n), np.array([40, 10])
    rates = np.array([0.0125, 0.0125])
    best = yes_no(np.linspace(0, CAP * largest(c, rates), 50), c, n, hits, rates).max()
    lead, variance = 0.015, 0.25 * (1 / 2000 + 1 / 2000)
    assert best > 5 * lead**2 / (2 * variance)  # what a known scale of one half could pay at most
