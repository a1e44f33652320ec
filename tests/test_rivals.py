"""Rules of other people, written for the benchmarks: that they do what their papers say."""

import math

import numpy as np
import pytest
from benchmarks import mislid, rival_rules, rivals
from scipy.optimize import minimize

K, D, TOP = 6, 2, 2


def drawn(seed):
    rng = np.random.default_rng(seed)
    arms, theta = rng.normal(size=(K, D)), rng.normal(size=D)
    return arms, arms @ theta + rng.uniform(-1, 1, size=K), rng.exponential(size=K), rng


def solved(arms, misfit, means, weights, swap=None):
    """The same problem, given to a solver of any convex problem."""
    fit = np.linalg.lstsq(arms, means, rcond=None)[0]
    conditions = [
        {"type": "ineq", "fun": lambda x, sign=sign: misfit - sign * (x[:K] - arms @ x[K:])}
        for sign in (1, -1)
    ]
    if swap:
        conditions.append({"type": "ineq", "fun": lambda x: x[swap[1]] - x[swap[0]]})
    found = minimize(
        lambda x: 0.5 * weights @ (x[:K] - means) ** 2,
        np.concatenate([arms @ fit, fit]),
        constraints=conditions,
        method="SLSQP",
        options={"ftol": 1e-13, "maxiter": 500},
    )
    return found.x[:K], found.fun


# -- MisLid ----------------------------------------------------------------------------------
@pytest.mark.parametrize("misfit", [0.1, 0.4, 1.0])
def test_nearest_means_that_features_allow(misfit):
    arms, means, weights, _ = drawn(1)
    found, theta = mislid.nearest(arms, misfit, means, weights, np.zeros(D))
    assert np.abs(found - arms @ theta).max() <= misfit + 1e-6
    np.testing.assert_allclose(found, solved(arms, misfit, means, weights)[0], atol=1e-4)


@pytest.mark.parametrize("misfit", [0.05, 0.3, 1.0])
def test_the_nearest_means_under_which_another_set_is_best(misfit):
    formulas = []
    for seed in range(3):
        arms, means, weights, _ = drawn(seed)
        means, theta = mislid.nearest(arms, misfit, means, weights, np.zeros(D))
        found, distance = mislid.alternative(arms, misfit, means, theta, weights, TOP)
        order = np.argsort(-means)
        pairs = [(i, j) for i in order[:TOP] for j in order[TOP:]]
        least = min(solved(arms, misfit, means, weights, pair)[1] for pair in pairs)
        assert distance == pytest.approx(least, rel=1e-3, abs=1e-6)
        assert min(found[order[:TOP]]) <= max(found[order[TOP:]]) + 1e-6
        w = weights
        free = min(0.5 * w[i] * w[j] / (w[i] + w[j]) * (means[i] - means[j]) ** 2 for i, j in pairs)
        formulas.append(distance <= free * (1 + 1e-6))
    assert misfit != 0.05 or not all(formulas)  # features that say much count
    assert misfit != 1.0 or all(formulas)


def test_mislid_stops_once_it_knows():
    arms, means, _, rng = drawn(4)
    best = set(np.argsort(-means)[:TOP])
    pulls, chosen, stopped = mislid.mislid(arms, 3 * means, 3.0, TOP, 0.05, rng)
    assert stopped
    assert set(chosen) == best
    assert pulls > D
    assert not mislid.mislid(arms, means, 1.0, TOP, 0.05, rng, most=20)[2]


def test_the_threshold_for_arbitrary_means_holds():
    """½ Σ pulls·(average − mean)² of pulls in turn stays below it, far more often than not."""
    rng = np.random.default_rng(0)
    level = mislid.thresholds(K, 0.5)["proven"]
    over = 0
    for _ in range(50):
        sums = rng.normal(size=(60, K)).cumsum(axis=0)
        n = np.arange(1, 61)
        far = 0.5 * (sums**2).sum(axis=1) / n
        over += any(far[i] > level(K * (i + 1)) for i in range(60))
    assert over <= 25
    assert level(1000) > mislid.thresholds(K, 0.5)["log log t"](1000) > math.log(2)


# -- options without features ----------------------------------------------------------------
def test_kn_by_hand():
    """Two options whose difference has no noise but what is put in: the triangle by hand."""
    noise = np.zeros((40, 2))
    noise[::2, 0], noise[1::2, 0] = 1.0, -1.0
    zone, alpha, slack = 0.5, 0.05, 10
    h2 = -2 * math.log(2 * alpha)
    for r in range(slack, 41):
        apart = 0.5 + noise[:r, 0]
        if apart.sum() > max(0.0, 0.5 * zone * (h2 * apart.var(ddof=1) / zone**2 - r)):
            break
    found = rival_rules.kn.py_func(np.array([0.5, 0.0]), noise, slack, 40, zone, alpha)
    assert found == (2 * r, 0, True)


def test_survivors_fall_behind_their_mean():
    rounds, alpha = 200, 0.05
    means, noise = np.array([1.0, 0.0, 0.0]), np.zeros((rounds, 3))
    found = rival_rules.survivors.py_func(means, noise, rounds, alpha)
    c = -2 * math.log(2 * alpha)
    r = next(n for n in range(1, rounds) if n / 3 > math.sqrt((c + math.log(n + 1)) * (n + 1)))
    assert found == (3 * r, 0, True)  # both others lose a third of a point a round


# -- elimination -----------------------------------------------------------------------------
@pytest.mark.validation
@pytest.mark.parametrize("rule", rival_rules.RULES)
def test_elimination_stops_no_later(rule):
    """The same draws: the sampling rule knows nothing of it, and the plain stop stays."""
    instance = rivals.unrelated(1.0, 0.0, 0.4)
    for seed in range(5):
        ends = [
            rivals.glr(rule, "proven", how, False)(
                instance, 0.1, np.random.default_rng(seed), 20_000
            )
            for how in (rival_rules.NEVER, rival_rules.SELECTIVE, rival_rules.FULL)
        ]
        assert all(end.stopped and end.answer == 0 for end in ends)
        assert max(end.pulls for end in ends[1:]) <= ends[0].pulls
        assert all(0 not in end.out for end in ends)
