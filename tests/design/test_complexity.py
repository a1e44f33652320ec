"""Characteristic times: known values, ties, duplicates."""

from __future__ import annotations

import math

import numpy as np
import pytest

from surepick.design import complexity
from surepick.errors import InvalidInputError
from surepick.problem import Problem


def confounding(d, omega):
    extra = np.zeros(d)
    extra[:2] = np.cos(omega), np.sin(omega)
    return Problem(np.vstack([np.eye(d), extra]), noise=1.0)


@pytest.mark.parametrize(
    ("omega", "d", "expected", "digits"),
    [
        (0.1, 2, 440.30, 0.005),
        (0.1, 5, 443.45, 0.005),
        (0.1, 6, 444.50, 0.005),
        (0.1, 10, 448.70, 0.005),
        (0.01, 2, 40400.3, 0.05),
        (0.01, 5, 40403.4, 0.06),
    ],
)
def test_confounding_arms(omega, d, expected, digits):
    theta = np.eye(d)[0]
    rough = complexity(confounding(d, omega), theta, tol=1e-3)
    fine = complexity(confounding(d, omega), theta, tol=1e-7)
    assert 1 / fine.D_star == pytest.approx(expected, abs=digits)
    assert 1 / rough.D_star == pytest.approx(1 / fine.D_star, rel=1e-3)
    assert fine.gap <= 1e-7


@pytest.mark.parametrize("gap", [0.1, 0.5, 3.0])
@pytest.mark.parametrize("k", [2, 3, 5, 20])
def test_standard_basis(k, gap):
    result = complexity(Problem(np.eye(k), noise=1.0), gap * np.eye(k)[0], tol=1e-7)
    assert 1 / result.D_star == pytest.approx((1 + math.sqrt(k - 1)) ** 2 / gap**2, rel=1e-6)
    share = 1 / (1 + math.sqrt(k - 1))  # of the best arm
    assert result.weights[0] == pytest.approx(share, rel=1e-3)


def test_lower_bounds_on_pulls():
    problem = confounding(6, 0.1)
    result = complexity(problem, 2 * np.eye(6)[0])
    bounds = [result.lower_bound(10.0**-i) for i in range(1, 5)]
    np.testing.assert_allclose(bounds, [391, 1001, 1532, 2047], atol=0.5)
    noisy = complexity(Problem(problem.arms, noise=3.0), 2 * np.eye(6)[0])
    assert noisy.D_star == pytest.approx(result.D_star)
    assert noisy.lower_bound(0.1) == pytest.approx(9 * bounds[0])
    assert result.lower_bound(0.7) == 0.0
    with pytest.raises(InvalidInputError, match="delta"):
        result.lower_bound(0.0)


def test_candidates_may_differ_from_arms():
    problem = Problem(np.eye(2), candidates=[[1.0, 1.0], [1.0, 0.0]], noise=1.0)
    # one direction, e₂, with gap 1: all pulls on the second arm
    result = complexity(problem, [0.3, 1.0])
    assert 1 / result.D_star == pytest.approx(1.0, rel=1e-6)
    assert result.weights[1] > 0.999


@pytest.mark.parametrize("large", [False, True])
def test_scales_by_arm_count(large):
    """Two arms of noise 3 and 1 are told apart soonest when they are pulled 3 to 1."""
    problem = Problem(np.eye(2), noise=[3.0, 1.0], large=large)
    result = complexity(problem, [0.5, 0.0])
    assert result.weights == pytest.approx([0.75, 0.25], abs=1e-3)
    assert 1 / result.D_star == pytest.approx((3 + 1) ** 2 / 0.5**2, rel=1e-5)


def test_duplicates_of_the_best_do_not_count_but_ties_do():
    twice = Problem([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]], noise=1.0)
    assert 1 / complexity(twice, [0.5, 0.0]).D_star == pytest.approx(16.0, rel=1e-6)
    with pytest.raises(InvalidInputError, match="not unique"):
        complexity(twice, [0.5, 0.5])
    alone = complexity(Problem([[1.0, 0.0], [1.0, 0.0]], noise=1.0), [1.0, 0.0])
    assert math.isinf(alone.D_star)
    assert alone.lower_bound(0.1) == 0.0


@pytest.mark.parametrize("theta", [[1.0], [[1.0, 0.0]], [1.0, np.nan], ["a", "b"], None])
def test_bad_truth(theta):
    with pytest.raises(InvalidInputError, match="theta"):
        complexity(Problem(np.eye(2), noise=1.0), theta)


def test_several_best():
    """For unrelated arms there is another way to the same number; for one, it is the same."""
    from surepick.algorithms.pooled.direct import pair_counts

    means = np.array([1.0, 0.9, 0.2, 0.1])
    found = complexity(Problem(np.eye(4), noise=1.0), means, top=2)
    ahead, behind = np.repeat([0, 1], 2), np.tile([2, 3], 2)
    pulls = pair_counts((ahead, behind), 1 / (means[ahead] - means[behind]) ** 2, np.ones(4))
    assert 1 / found.D_star <= pulls.sum() <= 1.031 / found.D_star
    assert found.weights.sum() == pytest.approx(1.0)
    with pytest.raises(InvalidInputError, match="candidates 1 and 2 tie"):
        complexity(Problem(np.eye(3), noise=1.0), [1.0, 0.5, 0.5], top=2)
    with pytest.raises(InvalidInputError, match="all of them"):
        complexity(Problem(np.eye(3), noise=1.0), [1.0, 0.5, 0.4], top=3)
