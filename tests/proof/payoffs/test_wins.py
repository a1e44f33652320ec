"""Bets on direct comparisons: exact averages over matchings, fair for every distribution."""

import itertools
import math

import numpy as np
import pytest

from surepick.proof.payoffs import wins
from surepick.proof.payoffs.wins import CAP, MOST, STAKE, log_win_payoff, log_wins, win_moments


def by_enumeration(better, worse, stake, mean=0.5):
    """The average over all ways to give each reward of the fewer another one of the more."""
    total = count = 0
    swap = len(better) > len(worse)
    for chosen in itertools.permutations(better if swap else worse, min(len(better), len(worse))):
        pairs = zip(chosen, worse) if swap else zip(better, chosen)
        product = 1.0
        for r, x in pairs:
            product *= 1.0 + stake * ((r > x) + 0.5 * (r == x) - mean)
        total, count = total + product, count + 1
    return total / count


@pytest.mark.parametrize("seed", range(30))
def test_the_payoff_is_the_average_over_all_matchings(seed):
    rng = np.random.default_rng(seed)
    n, k, values = rng.integers(1, 6), rng.integers(1, 6), int(rng.integers(1, 9))
    better, worse = (rng.integers(values, size=m).astype(float) for m in (n, k))
    mean = float(rng.choice([0.5, 0.4, 0.6]))
    stake = float(rng.uniform(0.0, CAP / mean))
    found = math.exp(log_wins(better, worse, stake, mean))
    assert found == pytest.approx(by_enumeration(better, worse, stake, mean), rel=1e-12)


#: of x and of r: values with their probabilities; r wins half of the comparisons
FAIR = {
    "alike": ([0, 1, 5], [0.5, 0.3, 0.2], [0, 1, 5], [0.5, 0.3, 0.2]),
    "rare and large": ([0, 9], [0.5, 0.5], [5], [1.0]),
    "ties": ([0, 1, 2], [0.2, 0.6, 0.2], [1], [1.0]),
    "three values": ([0, 3, 6], [0.4, 0.2, 0.4], [2, 4], [0.5, 0.5]),
}


@pytest.mark.parametrize("case", FAIR)
@pytest.mark.parametrize(("n", "k"), [(1, 1), (2, 2), (2, 3), (3, 2)])
def test_bets_are_fair_whatever_the_rewards_are_like(case, n, k):
    xs, p, rs, q = FAIR[case]
    won = sum(a * b * ((r > x) + 0.5 * (r == x)) for x, a in zip(xs, p) for r, b in zip(rs, q))
    assert won == pytest.approx(0.5)
    mean = 0.0
    for better in itertools.product(range(len(rs)), repeat=n):
        for worse in itertools.product(range(len(xs)), repeat=k):
            weight = math.prod(q[i] for i in better) * math.prod(p[i] for i in worse)
            told = [np.array([float(v[i]) for i in y]) for v, y in ((rs, better), (xs, worse))]
            mean += weight * math.exp(log_wins(*told, 0.9))
    assert mean == pytest.approx(1.0, abs=1e-12)


def test_a_drift_that_all_share_speaks_for_nobody_where_the_moments_are_dealt():
    # Ten moments, five for each of two that are alike; whoever has the late ones has more.
    moments = np.arange(10.0)
    paid = [
        math.exp(log_wins(moments[list(mine)], np.delete(moments, list(mine)), 1.2))
        for mine in itertools.combinations(range(10), 5)
    ]
    assert np.mean(paid) == pytest.approx(1.0, abs=1e-12)


def test_who_has_more_rewards_does_not_matter():
    rng = np.random.default_rng(1)
    better, worse = rng.integers(4, size=7).astype(float), rng.integers(4, size=4).astype(float)
    direct = by_enumeration(better.tolist(), worse.tolist(), 0.8)
    assert math.exp(log_wins(better, worse, 0.8)) == pytest.approx(direct, rel=1e-12)


@pytest.mark.parametrize("n", [MOST, MOST + 1, 3 * MOST])
def test_large_blocks_are_dealt_into_groups(n):
    rng = np.random.default_rng(n)
    better, worse = rng.normal(0.3, 1.0, n), rng.normal(size=n + 5)
    groups = wins.groups_of(n)
    assert groups == {MOST: 1, MOST + 1: 2, 3 * MOST: 4}[n]
    parts = [log_wins(better[g::groups], worse[g::groups], 0.4) for g in range(groups)]
    assert log_wins(better, worse, 0.4) == pytest.approx(sum(parts))


def test_all_ties_pay_nothing_and_all_wins_all():
    n, moments = 64, np.empty(65)
    win_moments(np.zeros(n, int), np.full(n, n), n, moments)
    assert log_win_payoff(moments, n, 1.5, 0.5) == pytest.approx(0.0, abs=1e-9)
    win_moments(np.full(n, n), np.full(n, n), n, moments)
    assert log_win_payoff(moments, n, 1.5, 0.5) == pytest.approx(n * math.log(1.75))
    win_moments(np.zeros(n, int), np.zeros(n, int), n, moments)
    assert log_win_payoff(moments, n, 1.5, 0.5) == pytest.approx(n * math.log(0.25))


@pytest.mark.parametrize("kind", ["normal", "zeros"])
def test_compiled_bets_are_the_same(kind):
    from surepick.proof.payoffs.wins_kernels import win_payoffs

    rng = np.random.default_rng(2)
    counts = np.array([5, 9, 0, 150])
    told = [rng.normal(size=n) for n in counts]
    if kind == "zeros":
        told = [np.where(one > 0.5, np.round(one, 1), 0.0) for one in told]
    starts, values = np.append(0, np.cumsum(counts)), np.concatenate(told)
    places, rivals = np.arange(4), np.array([3, 0, 2])
    stakes = rng.uniform(0.0, 0.6, size=(4, 3, 2, 5))
    means = rng.uniform(0.4, 0.6, size=(4, 3, 2))
    found = win_payoffs(places, rivals, starts, values, means, stakes)
    for (i, x), (a, r) in itertools.product(enumerate(places), enumerate(rivals)):
        few, many = sorted((counts[x], counts[r]))
        if x == r or not few:
            assert not found[i, a].any()
            continue
        for j in range(2):
            paid = []
            for stake in stakes[i, a, j]:
                mean = means[i, a, j]
                own = min(stake * STAKE / (1 + few / many), CAP / mean)
                paid.append(math.exp(log_wins(told[r], told[x], own, mean)))
            assert found[i, a, j] == pytest.approx(math.log(np.mean(paid)), rel=1e-9)


@pytest.mark.some(1)
@pytest.mark.parametrize(("lead", "least"), [(0.35, 0.85), (1.0, 0.8)])
def test_hardly_anything_is_wasted_beside_a_test_that_knows_the_scale(lead, least):
    rng = np.random.default_rng(3)
    n, trials = 32, 300
    share = 0.5 * (1.0 + math.erf(lead / 2.0))
    gained = [
        log_wins(rng.normal(lead, 1.0, n), rng.normal(size=n), min(6.0 * (share - 0.5), 1.9))
        for _ in range(trials)
    ]
    assert np.mean(gained) / (n * lead**2 / 4.0) > least - 0.1
