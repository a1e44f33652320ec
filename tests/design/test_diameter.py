"""The longest of many pairs: found, or bounded from above."""

import numpy as np
import pytest

from surepick.arrays import cutoffs
from surepick.design import AllPairs

BACKENDS = pytest.mark.parametrize("backend", ["numpy", "torch"], indirect=True)


def points_of(kind, k, d, seed=0):
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((k, d))
    if kind == "sphere":
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    elif kind == "far away":
        rows += 1e4
    elif kind == "copies":
        rows[k // 2 :] = rows[: k - k // 2]
    return rows


@pytest.mark.some(12)
@BACKENDS
@pytest.mark.parametrize("kind", ["normal", "sphere", "far away", "copies"])
@pytest.mark.parametrize("shape", [(2, 3), (700, 2), (5000, 6)])
def test_the_bound_is_close_and_never_below_the_longest_pair(backend, kind, shape):
    points = points_of(kind, *shape)
    root = np.random.default_rng(1).standard_normal((shape[1], shape[1]))
    exact, _ = AllPairs(points[: shape[0]]).worst(root)
    bound = AllPairs(backend.put(points)).bound(root)
    assert exact * (1 - 1e-9) <= bound <= exact * (1 + 1e-3) + 1e-9


def test_equal_points_have_no_diameter_to_speak_of():
    points = np.ones((10, 3))
    assert AllPairs(points).bound(np.eye(3)) == 0.0


@BACKENDS
def test_too_many_points_are_bounded_by_their_distance_from_the_centre(backend, monkeypatch):
    monkeypatch.setattr(cutoffs, "BOUND_WORK", {"cpu": 1.0, "gpu": 1.0})
    points = points_of("sphere", 800, 6)
    pairs = AllPairs(backend.put(points))
    far = np.sort(np.linalg.norm(points - points.mean(axis=0), axis=1))
    assert pairs.bound(np.eye(6)) == pytest.approx((far[-1] + far[-2]) ** 2)
    assert pairs.bound(np.eye(6)) >= AllPairs(points).worst(np.eye(6))[0]
