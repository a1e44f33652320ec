"""The check of the fit where features may be wrong by a given size."""

from __future__ import annotations

import numpy as np
import pytest

import surepick as sp
from surepick.run.diagnostics import lack_of_fit
from surepick.run.diagnostics.fit import least_excess, sway

ROWS = np.column_stack([np.ones(12), np.arange(12.0), np.arange(12) % 3])


@pytest.mark.parametrize("size", [0.0, 0.05, 0.4, 3.0])
@pytest.mark.parametrize("seed", range(3))
def test_the_smallest_excess_is_that_of_a_conic_solver(seed, size):
    import cvxpy as cp  # takes a second: every process of tests reads every file

    rng = np.random.default_rng(seed)
    w, y = rng.integers(1, 400, 12).astype(float), rng.normal(size=12)
    allowed = np.full(12, size)
    theta, eta = cp.Variable(3), cp.Variable(12)
    cost = cp.sum_squares(cp.multiply(np.sqrt(w), y - eta - ROWS @ theta))
    smallest = cp.Problem(cp.Minimize(cost), [cp.abs(eta) <= size]).solve(solver=cp.CLARABEL)
    bound, over = least_excess(ROWS, w, y, allowed)
    assert bound <= smallest + 1e-5
    assert bound == pytest.approx(smallest, rel=1e-5, abs=1e-5)
    assert w @ over**2 >= bound - 1e-9


def test_no_deviation_that_is_allowed_moves_a_residual_further():
    rng = np.random.default_rng(1)
    n, allowed = rng.integers(1, 50, 12).astype(float), rng.random(12)
    most = sway(ROWS, n, allowed)
    theta = np.linalg.pinv((ROWS.T * n) @ ROWS) @ (ROWS.T * n)
    rest = np.eye(12) - ROWS @ theta
    worst = np.sign(rest) * allowed
    assert (rest * worst).sum(axis=1) == pytest.approx(most, rel=1e-9)


@pytest.mark.validation
def test_no_more_false_alarms_than_allowed_with_deviations_against_the_features():
    """Deviations of the full size, zigzag or in one option; looked at after every round.

    Of 60 studies more than 9 with a false alarm are less likely than 0.001 at the level of 0.05.
    """
    problem, alarms = sp.Problem(ROWS, noise=1.0, misfit=0.5), 0
    zigzag, single = 0.5 * (-1.0) ** np.arange(12), 0.5 * (np.arange(12) == 7)
    for seed in range(60):
        rng = np.random.default_rng(seed)
        means = ROWS @ rng.normal(size=3) + (zigzag if seed % 2 else single)
        counts, sums = np.zeros(12), np.zeros(12)
        seen = False
        for _ in range(5):
            counts += 50
            sums += 50 * means + np.sqrt(50) * rng.normal(size=12)
            seen |= lack_of_fit(problem, counts, sums).alarm
        alarms += seen
    assert alarms <= 9


def test_deviations_beyond_what_is_allowed_are_noticed_and_named():
    problem = sp.Problem(ROWS, noise=1.0, misfit=0.5)
    means = ROWS @ [1.0, 0.2, -1.0] + 2.0 * (np.arange(12) == 7)
    counts = np.full(12, 400)
    finding = lack_of_fit(problem, counts, counts * means)
    assert finding.arms == (7,)
    assert "more than the allowed 0.5" in finding.message
    assert not lack_of_fit(problem, counts, counts * (means - 1.5 * (np.arange(12) == 7)))


def test_it_says_what_would_have_been_noticed_beyond_what_is_allowed():
    problem, counts = sp.Problem(ROWS, noise=1.0, misfit=0.5), np.full(12, 400)
    exact = lack_of_fit(sp.Problem(ROWS, noise=1.0), counts, 0.0 * counts)
    finding = lack_of_fit(problem, counts, 0.0 * counts)
    assert finding.noticeable == pytest.approx(0.5 + exact.noticeable)
    assert "beyond the allowed 0.5" in finding.message
    unsure = lack_of_fit(problem, counts, 0.0 * counts, matters=exact.noticeable / 2)
    assert "right to within 0.5" in unsure.message
