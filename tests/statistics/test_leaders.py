"""Very many points: whoever is beaten by one of those with the highest estimates is found."""

import numpy as np
import pytest

from surepick.arrays import cutoffs
from surepick.statistics.estimate import LeastSquares

LEADERS = (1, 20, 100)


@pytest.mark.parametrize("seed", range(10))
def test_no_leader_is_forgotten(seed, monkeypatch):
    """Not even where another leader is farther ahead, but less surely so."""
    monkeypatch.setattr(cutoffs, "EVERY_PAIR", 0)
    monkeypatch.setattr(cutoffs, "LEADERS", LEADERS)
    rng = np.random.default_rng(seed)
    counts = np.array([10_000, 1])  # one direction is known far better than the other
    fit = LeastSquares(np.eye(2), counts, rng.uniform(0.5, 1.0, size=2) * counts)
    points, level = rng.normal(size=(300, 2)), 0.01
    found = fit.beaten(points, level)
    leaders = np.argsort(-(points @ fit.theta), kind="stable")[: sum(LEADERS)]
    y = points[leaders][None] - points[:, None]
    surplus = y @ fit.theta
    for row, directions in zip(surplus, y, strict=True):
        row -= fit.widths(fit.variances(directions), level)
    expected = (surplus > 1e-12).any(axis=1)
    assert 0 < expected.sum() < len(points)
    assert found.beaten.tolist() == expected.tolist()
