"""Designs on many arms and directions: brackets hold, proofs check out, backends agree."""

import numpy as np
import pytest

import surepick as sp
from surepick.arrays.backend import HOST, backend_named
from surepick.arrays.progress import watching
from surepick.design import AllPairs, Leads, Listed, complexity, minimax
from surepick.design.large import recorded, steps
from surepick.design.large.diameter import long_pairs
from surepick.design.large.firstorder import FirstOrder
from surepick.errors import CancelledError, InvalidInputError, SolverError

BACKENDS = pytest.mark.parametrize("backend", ["numpy", "torch"], indirect=True)


def sphere(k, d, seed=0):
    rows = np.random.default_rng(seed).standard_normal((k, d))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@pytest.mark.some(1)
@BACKENDS
def test_the_first_order_bracket_holds_and_can_be_checked(backend):
    arms = sphere(6000, 8)
    scales = 1.0 / np.maximum((arms[0] - arms) @ arms[0], 0.05)
    leads = Leads(backend.put(arms), arms[0], backend.put(scales))
    result = minimax(backend.put(arms), leads, tol=0.05)
    assert result.status == "optimal"
    assert 0 <= result.gap <= 0.05
    # the upper end: any weights, all directions
    inverse = np.linalg.inv((arms.T * result.weights) @ arms)
    y = (arms[0] - arms) * scales[:, None]
    assert np.einsum("ij,jk,ik->i", y, inverse, y).max() == pytest.approx(result.value, rel=1e-9)
    # the lower end: normals of the directions, all arms
    own = np.einsum("ij,ij->i", result.normals, leads.vectors(result.directions))
    np.testing.assert_allclose(own, 1.0, rtol=1e-9)
    assert result.direction_weights.sum() == pytest.approx(1.0)
    scores = (arms @ result.normals.T) ** 2 @ result.direction_weights
    assert result.lower_bound == pytest.approx(1.0 / scores.max(), rel=1e-6)
    assert np.count_nonzero(result.weights) <= 1024


@pytest.mark.validation
@pytest.mark.parametrize("tens", range(10))
def test_bounds_of_many_problems_are_those_of_the_plain_solver(tens):
    """Each on an array of either library; what goes wrong once in five is noticed (99 %)."""
    for seed in range(10 * tens, 10 * tens + 2):
        rng = np.random.default_rng(seed)
        k, d = int(np.exp(rng.uniform(np.log(20), np.log(2000)))), int(rng.integers(2, 10))
        arms = rng.standard_normal((k, d)) * rng.uniform(0.3, 3.0, d)
        theta = arms[int(rng.integers(k))]
        backend = HOST if seed % 10 == 0 else backend_named("torch")
        plain = complexity(sp.Problem(arms, noise=1.0), theta, tol=1e-7)
        other = complexity(
            sp.Problem(arms, backend=backend, large=True, noise=1.0), theta, tol=1e-7
        )
        assert other.D_star == pytest.approx(plain.D_star, rel=1e-6), seed
        pairs, there = AllPairs(arms[:60]), AllPairs(backend.put(arms[:60]))
        expected, found = minimax(arms, pairs, 1e-7), minimax(backend.put(arms), there, 1e-7)
        assert found.value == pytest.approx(expected.value, rel=1e-6), seed
        assert found.lower_bound == pytest.approx(expected.lower_bound, rel=1e-6), seed


@pytest.mark.validation
def test_newton_steps_take_over_where_first_order_steps_are_too_slow():
    arms = sphere(45_000, 6)
    result = complexity(sp.Problem(arms, noise=1.0), arms[0], tol=1e-5)
    assert result.status == "optimal"
    assert result.gap <= 1e-5
    some = complexity(
        sp.Problem(arms[:5000], noise=1.0), arms[0], tol=1e-5
    )  # fewer arms, fewer rivals
    assert result.D_star < 1.1 * some.D_star


@BACKENDS
def test_leads_are_listed_directions(backend):
    points = np.random.default_rng(0).standard_normal((300, 5))
    scales = np.random.default_rng(1).random(300)
    centre, root = points[7], np.random.default_rng(2).standard_normal((5, 5))
    listed = Listed((centre - points) * scales[:, None])
    leads = Leads(backend.put(points), centre, backend.put(scales))
    assert leads.count == listed.count
    assert leads.worst(root)[1] == listed.worst(root)[1]
    assert leads.worst(root)[0] == pytest.approx(listed.worst(root)[0])
    found = leads.violators(root, 3.0, 40)
    assert found.tolist() == listed.violators(root, 3.0, 40).tolist()
    np.testing.assert_allclose(leads.vectors(found), listed.vectors(found))
    with pytest.raises(InvalidInputError, match="centre must be 5 numbers"):
        Leads(points, [1.0])
    with pytest.raises(InvalidInputError, match="scales must be 300 numbers"):
        Leads(points, centre, scales[:3])


@BACKENDS
def test_directions_outside_the_span_are_refused(backend):
    flat = np.hstack([np.random.default_rng(0).standard_normal((9000, 3)), np.zeros((9000, 1))])
    points = flat[:50].copy()
    points[20, 3] = 1.0
    with pytest.raises(InvalidInputError, match="the direction to point 20 lies outside the span"):
        minimax(backend.put(flat), Leads(backend.put(points), flat[0]), tol=0.1)
    result = minimax(backend.put(flat), Leads(backend.put(flat[:50]), flat[0]), tol=0.1)
    assert result.gap <= 0.1


@BACKENDS
@pytest.mark.parametrize("shape", [(3000, 3), (700, 20)])
def test_the_longest_pair_is_found(backend, shape):
    points = np.random.default_rng(0).standard_normal(shape)
    root = np.random.default_rng(1).standard_normal((shape[1], shape[1]))
    bound, i, j, values = long_pairs(backend, backend.put(points), root, points.mean(axis=0), 5)
    expected, index = AllPairs(points).worst(root)
    assert bound == pytest.approx(expected)
    assert values[0] == pytest.approx(expected)
    assert int(i[0]) * len(points) + int(j[0]) == index
    assert (np.diff(values) <= 0).all()


def test_a_search_cut_short_still_bounds_the_longest_pair(monkeypatch):
    monkeypatch.setattr("surepick.arrays.cutoffs.SEARCH_WORK", {"cpu": 1.0, "gpu": 1.0})
    points = sphere(3000, 16)
    exact, _ = AllPairs(points[:2000]).worst(np.eye(16))
    bound, _, _, values = long_pairs(HOST, points[:2000], np.eye(16), points.mean(axis=0), 5)
    assert values[0] <= exact * (1 + 1e-12)
    assert exact <= bound
    assert bound > values[0]


def test_many_copies_of_one_arm_do_not_crowd_out_the_others():
    few = sphere(40, 6)
    arms = np.vstack([np.repeat(few[:1], 20_000, axis=0), few])
    result = minimax(arms, Leads(few, few.mean(axis=0)), tol=0.05)
    expected = minimax(few, few.mean(axis=0) - few, tol=1e-6)
    assert result.status == "optimal"
    assert result.lower_bound <= expected.value * (1 + 1e-9)
    assert result.value >= expected.lower_bound * (1 - 1e-9)


def test_a_good_start_saves_looks():
    arms = sphere(20_000, 12)
    leads = Leads(arms, arms.mean(axis=0))
    cold = FirstOrder(HOST, arms, np.eye(12), leads)
    while cold.gap > 0.05:
        cold.advance(0.05)
    best = cold.upper.arms, cold.upper.weights
    warm = FirstOrder(
        HOST, arms, np.eye(12), leads, best, (cold.lower.directions, cold.lower.weights)
    )
    while warm.gap > 0.05:
        warm.advance(0.05)
    assert warm.looks < cold.looks


def test_progress_is_told_and_a_watcher_can_end_a_solve():
    arms = sphere(20_000, 12)
    seen = []

    def watcher(progress):
        seen.append(progress)
        return len(seen) == 2

    with watching(watcher), pytest.raises(CancelledError, match="ended the design after round 2"):
        minimax(arms, Leads(arms, arms.mean(axis=0)), tol=1e-3)
    assert [p.step for p in seen] == [1, 2]
    assert seen[1].details["lower_bound"] < seen[1].details["value"]
    rounds = []
    minimax(
        arms, Leads(arms, arms.mean(axis=0)), tol=1e-3, on_round=lambda r: rounds.append(r) or 1
    )
    assert len(rounds) == 1


@pytest.mark.validation
def test_dropping_light_arms_does_not_cost_the_accuracy_asked_for():
    instance = sp.simulate.families.catalogue(16, 20_000, rng=0)
    found = sp.design.complexity(instance.problem, instance.theta)  # many arms: 0.05 by default
    assert found.status == "optimal"
    assert found.gap <= 0.05
    finer = sp.design.complexity(instance.problem, instance.theta, tol=0.03)
    assert finer.lower_bound(0.1) <= found.lower_bound(0.1) * (1 + found.gap)
    assert found.lower_bound(0.1) <= finer.lower_bound(0.1) * (1 + finer.gap)


@pytest.mark.parametrize("spread", [1.0, 1e-3])
def test_steps_on_a_device_are_those_on_the_host(spread):
    """Played on tables with rows of zeros behind, five steps at a time."""
    rng = np.random.default_rng(5)
    backend = backend_named("torch")
    table = tuple(backend.put(rng.normal(size=(n, 6)) * spread) for n in (60, 40))
    start = tuple(backend.put(rng.dirichlet(np.ones(n))) for n in (60, 40))
    expected = steps.multiplicative_steps(backend, table, start, 1.5, tol=-1.0)
    for _ in range(2):  # the second time, arrays are full of the first
        found = recorded.recorded_steps(backend, table, start, 1.5, tol=-1.0)
        assert len(found.w) == len(found.chosen) == 60
        assert (found.upper, found.lower) == pytest.approx((expected.upper, expected.lower), 1e-7)
        for name in ("chosen", "average", "told"):
            there, here = (getattr(one, name).numpy() for one in (found, expected))
            np.testing.assert_allclose(there, here, rtol=1e-5, atol=1e-9, err_msg=name)
        np.testing.assert_allclose(found.normals, expected.normals, rtol=1e-5, atol=1e-6 / spread)
        short = recorded.recorded_steps(backend, table, start, 1.5, tol=1e3)
        assert float(short.told.sum()) == pytest.approx(5)
    with pytest.raises(SolverError, match="linear dependence"):
        recorded.recorded_steps(backend, table, (0.0 * start[0], start[1]), 1.5, 0.1)


def test_a_start_may_name_the_weights_that_are_not_zero():
    arms = np.random.default_rng(2).normal(size=(3000, 4))
    start = np.zeros(3000)
    start[[5, 70, 900, 2000, 2500]] = 0.2
    few = np.flatnonzero(start), start[start > 0]
    for tol in (0.2, 0.01):
        pairs = AllPairs(arms[:50])
        whole, named = (minimax(arms, pairs, tol=tol, start=one) for one in (start, few))
        np.testing.assert_array_equal(whole.weights, named.weights)
    assert minimax([[1, 0], [0, 1]], [[1, -1]], start=(0.5, 0.5)).status == "optimal"  # plain ones
