"""The least that limits take: beside a search through alternatives that knows nothing of duals."""

import numpy as np
import pytest
from benchmarks.limits_bound import best, bound
from scipy.optimize import minimize, minimize_scalar

import surepick as sp


def nearest(shares, y, c, covariance):
    """The cheapest instance with another answer, by a general solver from several starts."""
    K, L = c.shape
    inverse, here = np.linalg.inv(covariance), np.column_stack([y, c])
    right = best(y, c, np.zeros(L))
    assert right is not None

    def price(flat):
        moved = flat.reshape(K, 1 + L) - here
        return 0.5 * float(np.einsum("k,ki,ij,kj->", shares, moved, inverse, moved))

    def solved(*constraints):
        found = [{"type": "ineq", "fun": one} for one in constraints]
        ends = minimize(price, here.ravel(), constraints=found, method="SLSQP", tol=1e-12)
        return ends.fun

    prices = [
        solved(lambda flat, j=j: flat.reshape(K, -1)[right, 1 + j]) for j in range(L)
    ]  # the answer breaks a limit
    for r in set(range(K)) - {right}:
        kept = lambda flat, r=r: -flat.reshape(K, -1)[r, 1:]  # noqa: E731
        lead = lambda flat, r=r: flat.reshape(K, -1)[r, 0] - flat.reshape(K, -1)[right, 0]  # noqa: E731
        prices.append(solved(kept, lead))
    return min(prices)


@pytest.mark.some(5)
@pytest.mark.parametrize("rho", [0.0, 0.8, -0.6])
@pytest.mark.parametrize(
    ("y", "c"),
    [
        ([1.0, 0.4], [[-0.5], [-0.7]]),  # worse
        ([0.0, 0.4], [[-0.5], [0.6]]),  # better, and breaks it
        ([0.5, 0.2], [[-0.4], [0.3]]),  # both
    ],
)
def test_the_best_shares_are_those_of_a_search(y, c, rho):
    y, c = np.array(y), np.array(c)
    covariance = np.array([[1.0, rho], [rho, 1.0]])
    found = bound(y, c, np.zeros(1), covariance)
    tried = minimize_scalar(
        lambda w: -nearest(np.array([w, 1 - w]), y, c, covariance),
        bounds=(0.01, 0.99),
        options={"xatol": 1e-4},
    )
    assert pytest.approx(-tried.fun, rel=1e-3) == found.D


def test_three_options_with_two_limits_that_depend_on_each_other():
    y, c = np.array([0.6, 0.9, 0.2]), np.array([[-0.5, -0.4], [0.3, 0.2], [-0.3, 0.4]])
    covariance = np.array([[1.0, 0.5, 0.2], [0.5, 1.0, 0.4], [0.2, 0.4, 2.0]])
    found = bound(y, c, np.zeros(2), covariance)
    assert pytest.approx(nearest(found.shares, y, c, covariance), rel=1e-3) == found.D
    rng = np.random.default_rng(0)
    for shares in rng.dirichlet(np.ones(3), 10):
        assert nearest(shares, y, c, covariance) <= found.D * (1 + 1e-6)


def test_limits_that_all_keep_by_far_cost_nothing():
    y = np.array([1.0, 0.6, 0.5, 0.2])
    found = bound(y, np.full((4, 1), -50.0), np.zeros(1), np.eye(2))
    plain = sp.design.complexity(sp.Problem.unstructured(4, noise=1.0), y)
    assert found.measurements(0.05) == pytest.approx(plain.lower_bound(0.05), rel=1e-3)
    assert found.shares == pytest.approx(plain.weights, abs=0.01)


def test_where_nobody_keeps_them_each_has_to_be_shown_to_break_one():
    c = np.array([[0.1], [0.2], [0.5]])
    found = bound(np.zeros(3), c, np.zeros(1), np.eye(2))
    assert pytest.approx((2.0 / c**2).sum(), rel=1e-3) == 1 / found.D
