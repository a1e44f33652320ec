"""Minimax designs: brackets, certificates, agreement with a conic solver, odd inputs."""

from __future__ import annotations

import doctest
import importlib
import subprocess
import sys

import numpy as np
import pytest

from surepick.design import AllPairs, Listed, minimax, one_direction
from surepick.errors import InvalidInputError


def random_problem(seed):
    """Arms of many kinds (scaled, deficient, duplicated, clustered), directions in their span."""
    rng = np.random.default_rng(seed)
    k, d = int(rng.integers(1, 40)), int(rng.integers(1, 9))
    arms = rng.normal(size=(k, d))
    kind = seed % 7
    if kind == 1:
        arms *= 10.0 ** rng.uniform(-6, 6, size=d)
    elif kind == 2:
        rank = int(rng.integers(1, d + 1))
        arms = arms[:, :rank] @ rng.normal(size=(rank, d))
    elif kind == 3:
        arms = arms[rng.integers(0, k, size=k)]
    elif kind == 4:
        arms = rng.integers(-1, 2, size=(k, d)).astype(float)
        arms[0, 0] = 1.0
    elif kind == 5:
        arms *= 10.0 ** rng.uniform(-3, 3, size=(k, 1))
    elif kind == 6:
        arms = arms[0] + 1e-3 * arms
    which = rng.integers(0, 4)
    if which == 0 and k > 1:
        return arms, AllPairs(arms)
    if which == 1:
        return arms, Listed(arms)
    count = 1 if which == 2 else int(rng.integers(2, 400))
    return arms, Listed(rng.normal(size=(count, k)) @ arms)


def worst_variance(arms, weights, directions):
    """max_y yᵀ A⁺ y, computed plainly, in scaled coordinates."""
    scale = np.abs(arms).max(axis=0)
    scale[scale == 0] = 1.0
    x, y = arms / scale, directions / scale
    half = np.sqrt(weights)[:, None] * x
    _, s, vt = np.linalg.svd(half, full_matrices=False)
    keep = s > 1e-11 * s[0]
    return float((((y @ vt[keep].T) / s[keep]) ** 2).sum(axis=1).max())


@pytest.mark.some(1)
@pytest.mark.parametrize("part", range(4))
def test_brackets_hold_and_close(part):
    for seed in range(50 * part, 50 * part + 50):
        arms, family = random_problem(seed)
        rough = minimax(arms, family, tol=0.3)
        fine = minimax(arms, family, tol=1e-7)
        for result in (rough, fine):
            assert result.status == "optimal"
            assert result.weights.shape == (len(arms),)
            assert (result.weights >= 0).all()
            assert result.weights.sum() == pytest.approx(1.0)
        assert fine.gap <= 1e-7
        assert rough.lower_bound <= fine.value * (1 + 1e-9)
        assert fine.lower_bound <= rough.value * (1 + 1e-9)


def test_value_and_certificate_can_be_checked_by_hand():
    for seed in range(0, 140, 3):
        arms, family = random_problem(seed)
        result = minimax(arms, family, tol=1e-4)
        if result.value == 0:
            continue
        every = family.vectors(family.indices())
        assert worst_variance(arms, result.weights, every) == pytest.approx(result.value, rel=1e-6)
        y = family.vectors(result.directions)
        np.testing.assert_allclose((y * result.normals).sum(axis=1), 1.0, rtol=1e-8)
        assert result.direction_weights.sum() == pytest.approx(1.0)
        scores = result.direction_weights @ (result.normals @ arms.T) ** 2
        assert 1.0 / scores.max() == pytest.approx(result.lower_bound, rel=1e-8)


@pytest.mark.some(3)
@pytest.mark.parametrize("seed", range(12))
def test_agrees_with_a_conic_solver(seed):
    cp = pytest.importorskip("cvxpy")
    rng = np.random.default_rng(seed)
    k, d = int(rng.integers(3, 10)), int(rng.integers(2, 5))
    k = max(k, d)
    arms, directions = rng.normal(size=(k, d)), rng.normal(size=(int(rng.integers(1, 8)), d))
    # min Σw such that every y has yᵀA⁻¹y ≤ 1: one second-order cone pair per arm and direction
    w, constraints = cp.Variable(k, nonneg=True), []
    for y in directions:
        c, share = cp.Variable(k), cp.Variable(k, nonneg=True)
        constraints += [arms.T @ c == y, cp.sum(share) <= 1]
        constraints += [
            cp.SOC(w[i] + share[i], cp.hstack([2 * c[i], w[i] - share[i]])) for i in range(k)
        ]
    oracle = cp.Problem(cp.Minimize(cp.sum(w)), constraints).solve(
        solver="CLARABEL", tol_gap_rel=1e-10, tol_feas=1e-10, tol_gap_abs=1e-10
    )
    assert minimax(arms, directions, tol=1e-8).value == pytest.approx(oracle, rel=1e-6)


@pytest.mark.parametrize("seed", range(10))
def test_one_direction_agrees_with_the_linear_program(seed):
    rng = np.random.default_rng(seed)
    arms = rng.normal(size=(15, 4))
    y = rng.normal(size=4)
    exact = one_direction(arms, y)
    assert exact.status == "optimal"
    assert minimax(arms, [y], tol=1e-8).value == pytest.approx(exact.value, rel=1e-7)


@pytest.mark.parametrize("seed", range(10))
def test_linear_maps_change_nothing(seed):
    rng = np.random.default_rng(seed)
    arms, directions = rng.normal(size=(12, 4)), rng.normal(size=(6, 4))
    mapping = rng.normal(size=(4, 4)) * 10.0 ** rng.uniform(-3, 3, size=4)
    here = minimax(arms, directions, tol=1e-7)
    there = minimax(arms @ mapping, directions @ mapping, tol=1e-7)
    assert there.value == pytest.approx(here.value, rel=1e-6)


@pytest.mark.some(2)
@pytest.mark.parametrize(("k", "d"), [(300, 5), (400, 20), (1200, 3)])
def test_working_sets_solve_large_problems(k, d):
    arms = np.random.default_rng(d).normal(size=(k, d))
    result = minimax(arms, AllPairs(arms), tol=1e-5)
    assert result.status == "optimal"
    i, j = np.triu_indices(k, 1)
    assert worst_variance(arms, result.weights, arms[i] - arms[j]) == pytest.approx(result.value)


def test_many_duplicates_share_one_weight():
    rng = np.random.default_rng(0)
    distinct = rng.normal(size=(12, 3))
    arms = distinct[rng.integers(0, 12, size=3000)]
    arms[:12] = distinct
    arms[12:1000] *= -1  # the opposite arm measures the same
    result = minimax(arms, AllPairs(distinct), tol=1e-6, start=np.ones(3000))
    assert result.value == pytest.approx(minimax(distinct, AllPairs(distinct), tol=1e-6).value)
    assert (result.weights > 0).sum() <= 12


def test_a_start_is_used():
    arms = np.random.default_rng(3).normal(size=(200, 6))
    cold = minimax(arms, AllPairs(arms), tol=1e-3)
    warm = minimax(arms, AllPairs(arms), tol=1e-3, start=cold.weights)
    assert warm.status == "optimal"
    assert warm.value == pytest.approx(cold.value, rel=2e-3)


def test_smallest_problems():
    one = minimax([[2.0]], [[3.0]])
    assert one.weights.tolist() == [1.0]
    assert one.value == pytest.approx(9 / 4)
    assert minimax([[1.0], [2.0]], [[3.0]]).value == pytest.approx(9 / 4, rel=1e-3)
    assert minimax([[1.0, 1.0]], [[2.0, 2.0]]).value == pytest.approx(4.0)
    same = minimax([[1.0, 0.0], [0.0, 1.0]], AllPairs([[1.0, 2.0], [1.0, 2.0]]))
    rounded = minimax([[1.0, 0.0], [0.0, 1.0]], AllPairs([[0.1, 0.7]] * 3))
    assert rounded.value == 0.0
    assert (same.value, same.lower_bound, same.gap, same.status) == (0.0, 0.0, 0.0, "optimal")


def test_short_directions_are_not_forgotten():
    # the second arm matters only for a direction 1e-6 times as long as the other
    result = minimax(np.eye(2), [[1.0, 0.0], [0.0, 1e-6]], tol=1e-10)
    assert result.value == pytest.approx(1.0 + 1e-12, rel=1e-9)
    assert result.weights[1] > 0


def test_gives_up_honestly_and_can_be_stopped():
    arms = np.random.default_rng(1).normal(size=(30, 8))
    short = minimax(arms, AllPairs(arms), tol=1e-9, max_rounds=2)
    assert short.status == "inaccurate"
    assert short.rounds == 2
    assert short.gap == pytest.approx(short.value / short.lower_bound - 1)
    seen = []
    stopped = minimax(
        arms, AllPairs(arms), tol=1e-9, on_round=lambda info: seen.append(info) or len(seen) == 3
    )
    assert stopped.rounds == len(seen) == 3
    assert all(info.lower_bound <= info.value for info in seen)


GOOD = [[1.0, 0.0], [0.0, 1.0]]


@pytest.mark.parametrize(
    ("arms", "directions", "options", "message"),
    [
        ([[1.0, float("nan")]], GOOD, {}, "arms at row 0, column 1"),
        (GOOD, [[0.0, 1.0], [float("inf"), 0.0]], {}, "directions at row 1, column 0"),
        (np.ones((2, 2, 2)), GOOD, {}, "arms"),
        (np.empty((0, 2)), GOOD, {}, "arms"),
        (GOOD, np.empty((0, 2)), {}, "directions"),
        (GOOD, [[1.0, 0.0, 0.0]], {}, "directions have 3 features"),
        (np.zeros((2, 2)), GOOD, {}, "arms are all zero"),
        ([[1.0, 0.0]], [[1.0, 0.0], [1.0, 1.0]], {}, "direction 1"),
        ([[1.0, 0.0]], AllPairs([[1.0, 0.0], [2.0, 0.0], [0.0, 3.0]]), {}, "points 0 and 2"),
        (GOOD, GOOD, {"tol": 0.0}, "tol"),
        (GOOD, GOOD, {"tol": float("nan")}, "tol"),
        (GOOD, GOOD, {"max_rounds": 0}, "max_rounds"),
        (GOOD, GOOD, {"start": [1.0]}, "start"),
        (GOOD, GOOD, {"start": [1.0, -1.0]}, "start"),
        (GOOD, GOOD, {"start": [0.0, 0.0]}, "start"),
    ],
)
def test_bad_input_is_named(arms, directions, options, message):
    with pytest.raises(InvalidInputError, match=message):
        minimax(arms, directions, **options)


def test_import_is_light():
    code = "import sys, surepick.design; print([m for m in ('scipy', 'numba') if m in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


@pytest.mark.parametrize("name", ["minimax", "directions", "rounding", "complexity", "optimal"])
def test_examples_run(name):
    module = importlib.import_module(f"surepick.design.{name}")
    failed, attempted = doctest.testmod(module)
    assert attempted > 0
    assert failed == 0
