"""Best responses against a conic solver (Clarabel)."""

from dataclasses import dataclass

import clarabel
import numpy as np
import pytest
from scipy import sparse

from surepick.arrays.kernels import alternative


@dataclass(frozen=True)
class Alternative:
    values: np.ndarray  # minimum for each direction, inf where there is no feasible point
    points: np.ndarray  # minimiser for each direction, one per row
    best: int  # direction with the smallest minimum

    @property
    def value(self):
        return float(self.values[self.best])


def closest_alternative(metric, directions, eps, radius=np.inf):
    """Minimise lᵀ·metric·l over lᵀy >= eps, ‖l‖ <= radius for each direction y."""
    eigenvalues, basis = np.linalg.eigh(metric)
    coords = np.ascontiguousarray(directions @ basis)
    values, points = np.empty(len(coords)), np.empty_like(coords)
    for i in range(len(coords)):
        values[i] = alternative(coords[i], eigenvalues, eps, radius, points[i])
    return Alternative(values, points @ basis.T, int(np.argmin(values)))


def conic(metric, y, eps, radius):
    """min lᵀ·metric·l, lᵀy >= eps, ‖l‖ <= radius by Clarabel; inf when infeasible."""
    d = len(y)
    rows = [-y[None, :]]
    b = [-eps]
    cones = [clarabel.NonnegativeConeT(1)]
    if np.isfinite(radius):
        rows += [np.zeros((1, d)), -np.eye(d)]
        b += [radius] + [0.0] * d
        cones.append(clarabel.SecondOrderConeT(d + 1))
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-12
    solver = clarabel.DefaultSolver(
        sparse.csc_matrix(2 * metric),
        np.zeros(d),
        sparse.csc_matrix(np.vstack(rows)),
        np.array(b),
        cones,
        settings,
    )
    solution = solver.solve()
    if "Infeasible" in str(solution.status):
        return np.inf, np.zeros(d)
    x = np.array(solution.x)
    return float(x @ metric @ x), x


def random_metric(rng, d):
    root = rng.normal(size=(d + 2, d)) * np.exp(rng.normal(size=d))
    return root.T @ root


@pytest.mark.parametrize("seed", range(40))
def test_against_clarabel(seed):
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, 6))
    metric = random_metric(rng, d)
    directions = rng.normal(size=(4, d))
    eps = float(np.exp(rng.normal()))
    free = closest_alternative(metric, directions, eps)
    lengths = np.linalg.norm(free.points, axis=1)
    shortest = eps / np.linalg.norm(directions, axis=1)
    for i, y in enumerate(directions):
        assert free.values[i] == pytest.approx(conic(metric, y, eps, np.inf)[0], rel=1e-6)
        # ball idle; ball active; ball almost at the only feasible point; infeasible
        between = shortest[i] + (lengths[i] - shortest[i]) * rng.uniform(0.05, 0.95)
        for radius in (lengths[i] * 1.1, between, shortest[i] * 1.02):
            got = closest_alternative(metric, y[None], eps, radius)
            value, _ = conic(metric, y, eps, radius)
            assert got.value == pytest.approx(value, rel=1e-6)
            assert np.linalg.norm(got.points[0]) <= radius * (1 + 1e-9)
            assert got.points[0] @ y == pytest.approx(eps, rel=1e-9)
        none = closest_alternative(metric, y[None], eps, shortest[i] * 0.99)
        assert none.value == np.inf
        assert conic(metric, y, eps, shortest[i] * 0.99)[0] == np.inf


def test_boundary_of_feasibility():
    """eps = radius·‖y‖ leaves one point, y scaled."""
    rng = np.random.default_rng(5)
    metric, y = random_metric(rng, 3), rng.normal(size=3)
    radius = 0.7
    eps = radius * np.linalg.norm(y) * (1 - 1e-12)
    got = closest_alternative(metric, y[None], eps, radius)
    point = radius * y / np.linalg.norm(y)
    assert got.value == pytest.approx(point @ metric @ point, rel=1e-4)


def test_union_takes_the_best_part():
    metric = np.diag([1.0, 4.0])
    got = closest_alternative(metric, np.array([[1.0, 0.0], [0.0, 1.0]]), 1.0)
    assert got.best == 0
    assert got.value == pytest.approx(1.0)
