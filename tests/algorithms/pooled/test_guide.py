"""Estimates that guide."""

import numpy as np
import pytest

from surepick.algorithms.pooled import guide


@pytest.mark.parametrize("rows", [40, 25])
def test_where_every_arm_has_its_own_feature_least_squares_needs_no_matrix(rows):
    rng = np.random.default_rng(rows)
    points = np.diag(rng.uniform(0.2, 3.0, 40))[rng.permutation(40)]
    x, y, weights = points[:rows], rng.normal(size=rows), rng.uniform(0.1, 10.0, rows)
    theta, root = guide.weighted_fit(x, y, weights)
    fit = guide._fit(x, y, weights)
    assert fit.columns is not None
    assert np.array_equal(fit.values(points), points @ theta)
    assert np.array_equal((fit.white(points) ** 2).sum(axis=1), ((points @ root) ** 2).sum(axis=1))
    assert guide._fit(np.vstack([x, x]), np.tile(y, 2), np.tile(weights, 2)).columns is None
