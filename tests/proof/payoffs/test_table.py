"""Bets on items without replacement: exact by enumeration over all orders."""

import itertools
import math

import numpy as np
import pytest

from surepick.proof.payoffs.table import (
    STAKES,
    WEIGHTS,
    behind,
    log_paid,
    new_items,
    over_rivals,
    walk,
)
from surepick.proof.purses import total

ORDERS = {n: np.array(list(itertools.permutations(range(n)))) for n in (4, 6)}


def capital(leads, unit=1, slack=0):
    """Log capital after each item, (orders, items, stakes), and whether it is certain by then."""
    N = leads.shape[1]
    logs, S = np.zeros((len(leads), STAKES)), np.zeros(len(leads), dtype=np.int64)
    Q, path, sure = np.zeros(len(leads)), [], []
    for t in range(N):
        D = leads[:, t]
        logs = logs + log_paid(S / unit, D / unit, Q, t, N, slack / unit)
        S, Q = S + D, Q + (D / unit) ** 2
        path.append(logs)
        sure.append(behind(S, N - t - 1, unit, slack))
    return np.stack(path, axis=1), np.stack(sure, axis=1)


def tables(n):
    """Leads on n items, up to order, that come to at most 0."""
    every = itertools.combinations_with_replacement((-1, 0, 1), n)
    return [np.array(leads) for leads in every if sum(leads) <= 0]


@pytest.mark.parametrize("n", ORDERS)
def test_over_all_orders_no_stake_gains_where_the_other_is_at_least_as_good(n):
    for leads in tables(n):
        path, sure = capital(leads[ORDERS[n]])
        assert np.exp(path).mean(axis=0).max() <= 1 + 1e-12
        assert not sure.any()  # ties too: it can still be caught up with


@pytest.mark.parametrize("delta", [0.2, 0.5, 0.8])
def test_over_all_orders_the_error_is_at_most_delta(delta):
    worst = 0.0
    for leads in tables(6):
        path, sure = capital(leads[ORDERS[6]])
        held = total(path + np.log(WEIGHTS)).max(axis=1)
        worst = max(worst, float(((held >= -math.log(delta)) | sure.any(axis=1)).mean()))
    assert worst <= delta
    assert worst > 0 or delta < 0.5  # the test can fail


def test_scores_between_bounds_are_no_other():
    leads = np.array([5, -7, 10, -3, -6, 1]) * 7
    path, sure = capital(leads[ORDERS[6]], unit=70)
    assert np.exp(path).mean(axis=0).max() <= 1 + 1e-12
    assert not sure.any()


def test_who_can_still_reach_a_tie_is_not_behind():
    leads = np.array([[1, 1, 1, -1, -1, -1]])
    path, sure = capital(leads)
    assert not sure.any()
    assert (path[0, 3:] == path[0, 2]).all()  # at S = left nothing is bet
    _, sure = capital(np.array([[1, 1, 1, 0, -1, -1]]))
    assert sure[0].tolist() == [False, False, False, True, True, True]


def test_after_the_last_item_everything_is_certain():
    for leads in itertools.product((-1, 0, 1), repeat=4):
        _, sure = capital(np.array([leads]))
        assert sure[0, -1] == (sum(leads) > 0)


def test_closeness_is_the_same_with_an_allowance():
    for leads in itertools.combinations_with_replacement((-1, 0, 1), 6):
        path, sure = capital(np.array(leads)[ORDERS[6]], slack=2)
        if sum(leads) <= -2:
            assert np.exp(path).mean(axis=0).max() <= 1 + 1e-12
            assert not sure.any()
        elif sum(leads) > -2:
            assert sure[:, -1].all()


@pytest.mark.some(1)
@pytest.mark.parametrize("seed", range(4))
def test_over_all_orders_no_average_of_rivals_gains_against_the_best(seed):
    rng = np.random.default_rng(seed)
    table = rng.integers(0, 2, (4, 6))
    best, mean = int(table.sum(axis=1).argmax()), np.zeros((6, STAKES))
    for order in ORDERS[6]:
        own, logs = table[:, order], np.zeros(STAKES)
        for t in range(6):  # weights are chosen anew before each item
            leads = over_rivals(own[:, : t + 1], t, 1)
            ((_, paid),) = walk(leads, t, 6)
            logs = logs + paid[best]
            mean[t] += np.exp(logs) / len(ORDERS[6])
    assert mean.max() <= 1 + 1e-12


def test_the_rival_of_each_is_an_average_of_the_others():
    table = np.array([[1, 1, 1, 0, 1], [1, 0, 0, 0, 0], [0, 0, 0, 0, 1]])
    leads = over_rivals(table, 4, 1)
    for x, row in enumerate(table):
        others = np.delete(table, x, axis=0)
        assert (leads[x] + row >= others.min(axis=0) - 1e-12).all()
        assert (leads[x] + row <= others.max(axis=0) + 1e-12).all()
    assert np.allclose(leads[2], table[0] - table[2], atol=0.2)  # who leads has most of the weight
    assert over_rivals(7 * table, 4, 7) == pytest.approx(leads)


def test_one_item_behind_among_many_that_differ():
    # The check value of the theory is 0.13 at delta = 0.2.
    rng, n, orders = np.random.default_rng(5), 2000, 400
    leads = np.zeros(n, dtype=np.int64)
    leads[:300], leads[300:601] = 1, -1
    path, sure = capital(rng.permuted(np.tile(leads, (orders, 1)), axis=1))
    wrong = (total(path + np.log(WEIGHTS)).max(axis=1) >= math.log(5)).mean()
    assert not sure.any()
    assert 0.05 < wrong < 0.2


def test_new_items_lie_between_the_ends():
    rng, missed = np.random.default_rng(3), 0
    for _ in range(100):
        leads = rng.choice([-1.0, 0.0, 1.0], size=200, p=[0.1, 0.7, 0.2])
        low, high = new_items(leads, 0.1)
        missed += not low <= 0.1 <= high
        assert -1 <= low < high <= 1
    assert missed <= 10
    assert new_items(np.ones(300), 0.05)[0] > 0.9
    assert new_items(np.zeros(0), 0.05) == (-1.0, 1.0)
