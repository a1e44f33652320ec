"""Bets on quantiles: their mean is at most 1 where they must not pay, and they pay elsewhere."""

import itertools
import math

import numpy as np
import pytest

from surepick.proof.payoffs.quantiles import interval, log_capital, payoffs, place_of, quantile

VALUES = np.array([0.0, 1.0, 2.0])


def lower_quantile(shares, p):
    """The least value with a share of at least p at or below it."""
    return VALUES[np.argmax(np.cumsum(shares) >= p - 1e-12)]


def samples(shares, n):
    """All samples of n in any order, ascending, and how likely each is."""
    for places in itertools.combinations_with_replacement(range(3), n):
        met = [places.count(i) for i in range(3)]
        chance = math.factorial(n) * math.prod(
            q**m / math.factorial(m) for q, m in zip(shares, met)
        )
        if chance > 0:
            yield chance, VALUES[list(places)]


def mean_capital(shares, counts, p, smallest):
    """The mean of what bets against the first option come to, over all that can be measured."""
    every = itertools.product(*(samples(own, n) for own, n in zip(shares, counts, strict=True)))
    return sum(
        math.prod(chance for chance, _ in drawn)
        * math.exp(log_capital([values for _, values in drawn], p, smallest)[0])
        for drawn in every
    )


@pytest.mark.parametrize("smallest", [False, True])
@pytest.mark.parametrize("p", [0.5, 0.8])
def test_the_mean_is_at_most_one_for_whoever_has_the_best_quantile(p, smallest):
    # Shares at a tie, with atoms at, just below and just above the quantile.
    options = [
        [p, 0.0, 1 - p],
        [0.0, p, 1 - p],
        [0.3, p - 0.3, 1 - p],
        [p - 0.1, 0.1, 1 - p],
        [p - 0.1, 0.0, 1.1 - p],
    ]
    tried = 0
    for x, r in itertools.product(options, repeat=2):
        sign = -1.0 if smallest else 1.0
        if sign * lower_quantile(x, p) >= sign * lower_quantile(r, p):
            tried += 1
            assert mean_capital([x, r], (3, 3), p, smallest) <= 1.0 + 1e-12
    assert tried > 12


def test_the_mean_is_at_most_one_among_three():
    own = [0.3, 0.2, 0.5]
    assert mean_capital([own, own, [0.6, 0.2, 0.2]], (2, 2, 2), 0.5, False) <= 1.0


def test_a_rule_that_ignores_ties_would_not_keep_it():
    # All that is measured is 1: the quantile of both. Counting ties as below it would pay.
    same = np.ones(20)
    found = log_capital([same, same], 0.5)
    assert (found < 0).all()
    assert payoffs(20, 0.5).up[20] + payoffs(20, 0.5).down[0] > math.log(1e5)


@pytest.mark.parametrize("smallest", [False, True])
def test_it_is_the_least_over_all_numbers(smallest):
    rng = np.random.default_rng(1)
    values = [np.sort(np.round(rng.normal(i, 2, size=7 + i))) for i in range(4)]
    p, every = 0.6, np.unique(np.concatenate(values))
    between = np.concatenate([[every[0] - 1], every, every[:-1] + np.diff(every) / 2, [99.0]])

    def sides(own, v):
        paid = payoffs(len(own), p)
        found = paid.up[(own < v).sum()], paid.down[(own <= v).sum()]
        return found[::-1] if smallest else found

    for x in range(4):
        others = [own for i, own in enumerate(values) if i != x]
        due = min(
            sides(values[x], v)[0] + math.log(np.mean([math.exp(sides(r, v)[1]) for r in others]))
            for v in between
        )
        assert log_capital(values, p, smallest)[x] == pytest.approx(due, abs=1e-12)


def test_smaller_is_better_is_the_other_way_round():
    rng = np.random.default_rng(2)
    values = [np.sort(rng.normal(i / 2, 1, size=40)) for i in range(3)]
    turned = [np.sort(-own) for own in values]
    # Without ties the p-quantile from above is the (1 − p)-quantile from below.
    assert log_capital(turned, 0.3, smallest=True) == pytest.approx(log_capital(values, 0.7))


def test_who_is_behind_is_found_out_and_who_is_not_is_not():
    rng = np.random.default_rng(3)
    values = [np.sort(rng.exponential(scale, 800)) for scale in (1.0, 1.0, 1.6)]
    found = log_capital(values, 0.9)
    assert found[:2].min() > math.log(100)
    assert found[2] < 0


@pytest.mark.some(1)
@pytest.mark.parametrize("p", [0.5, 0.9])
def test_who_is_best_is_hardly_ever_ruled_out_however_often_one_looks(p):
    # Alike, the hardest truth to keep; with a quarter of the measurements and with many.
    wrong, runs, delta = 0, 60, 0.2
    for seed in range(runs):
        mine, other = np.random.default_rng(seed).exponential(size=(2, 640))
        looks = [
            log_capital([np.sort(mine[: max(n // 4, 1)]), np.sort(other[:n])], p)[0]
            for n in (10, 20, 40, 80, 160, 320, 640)
        ]
        wrong += max(looks) >= -math.log(delta)
    assert wrong <= delta * runs


def test_a_payoff_is_an_average_of_products():
    n, p = 6, 0.7
    paid = payoffs(n, p)
    chances = [math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)]
    for side in paid:  # at the edge of what it bets against, its mean is exactly 1
        assert sum(c * math.exp(log) for c, log in zip(chances, side)) == pytest.approx(1.0)
    assert (np.diff(paid.up) > 0).all()
    assert (np.diff(paid.down) < 0).all()


def test_places_of_quantiles():
    assert [place_of(20, p) for p in (0.05, 0.5, 0.95, 0.951)] == [0, 9, 18, 19]
    assert quantile(np.arange(1.0, 101.0), 0.95) == 95.0


def test_intervals_hold_at_all_times():
    missed, runs = 0, 200
    for seed in range(runs):
        drawn = np.floor(2 * np.random.default_rng(seed).exponential(size=300))  # many ties
        truth = 1.0  # P(Y ≤ 0) = 0.39, P(Y ≤ 1) = 0.63
        ends = [interval(np.sort(drawn[:n]), 0.5, 0.2) for n in (5, 10, 20, 40, 80, 160, 300)]
        missed += any(not low <= truth <= high for low, high in ends)
    assert missed <= 0.2 * runs
    assert interval(np.zeros(0), 0.5, 0.1) == (-math.inf, math.inf)
