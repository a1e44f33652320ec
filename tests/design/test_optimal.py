"""G-optimal designs and single directions."""

from __future__ import annotations

import numpy as np
import pytest

from surepick.design import g_optimal, minimax, one_direction
from surepick.errors import InvalidInputError


@pytest.mark.parametrize("tol", [1e-2, 1e-5])
@pytest.mark.parametrize(("k", "d"), [(1, 1), (5, 5), (40, 3), (500, 8), (3000, 15)])
def test_kiefer_wolfowitz(k, d, tol):
    arms = np.random.default_rng(k).normal(size=(k, d))
    result = g_optimal(arms, tol)
    assert result.status == "optimal"
    assert result.lower_bound == d
    information = (arms.T * result.weights) @ arms
    variances = np.einsum("ij,ij->i", arms @ np.linalg.inv(information), arms)
    assert variances.max() == pytest.approx(result.value, rel=1e-9)
    assert d - 1e-9 <= result.value <= d * (1 + tol)
    assert result.weights.sum() == pytest.approx(1.0)
    assert (result.weights >= 0).all()


def test_g_optimal_has_small_support():
    arms = np.random.default_rng(0).normal(size=(2000, 6))
    assert (g_optimal(arms).weights > 0).sum() <= 6 * 7 // 2 + 1


def test_g_optimal_in_a_subspace_and_on_any_scale():
    rng = np.random.default_rng(2)
    arms = rng.normal(size=(60, 3)) @ rng.normal(size=(3, 5)) * [1e6, 1e-6, 1.0, 10.0, 0.1]
    result = g_optimal(arms, 1e-4)
    assert result.lower_bound == 3
    assert result.status == "optimal"


def test_g_optimal_agrees_with_minimax():
    arms = np.random.default_rng(4).normal(size=(30, 4))
    assert g_optimal(arms, 1e-6).value == pytest.approx(minimax(arms, arms, 1e-6).value, rel=3e-6)


def test_g_optimal_gives_up_honestly():
    arms = np.random.default_rng(5).normal(size=(300, 10))
    result = g_optimal(arms, 1e-8, max_rounds=3)
    assert result.status == "inaccurate"
    assert result.gap > 1e-8


def test_one_direction_weights_reach_the_value():
    rng = np.random.default_rng(6)
    for _ in range(20):
        arms, y = rng.normal(size=(12, 4)), rng.normal(size=4) * 10.0 ** rng.uniform(-4, 4)
        result = one_direction(arms, y)
        information = (arms.T * result.weights) @ arms
        assert y @ np.linalg.pinv(information) @ y == pytest.approx(result.value, rel=1e-8)
        (normal,) = result.normals
        assert normal @ y == pytest.approx(1.0)
        assert 1 / np.square(arms @ normal).max() == pytest.approx(result.value, rel=1e-8)


def test_one_direction_bad_input():
    with pytest.raises(InvalidInputError, match="zero"):
        one_direction(np.eye(2), [0.0, 0.0])
    with pytest.raises(InvalidInputError, match="one direction"):
        one_direction(np.eye(2), np.eye(2))
    with pytest.raises(InvalidInputError, match="span"):
        one_direction([[1.0, 0.0]], [1.0, 1.0])
    with pytest.raises(InvalidInputError, match="direction at row 0, column 1"):
        one_direction(np.eye(2), [1.0, np.nan])
