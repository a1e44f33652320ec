import math

import numpy as np
import pytest

import surepick as sp
from surepick.errors import InvalidInputError, InvalidTypeError
from surepick.simulate import Instance, instances


def test_standard_is_the_standard_basis_with_one_better_arm():
    instance = instances.standard(0.3)
    np.testing.assert_array_equal(instance.problem.arms, np.eye(5))
    assert instance.theta.tolist() == [0.3, 0, 0, 0, 0]
    assert instance.best == 0
    assert instance.gaps.tolist() == [0, 0.3, 0.3, 0.3, 0.3]
    assert instances.standard(0.1, d=3, noise=2.0).problem.noise == 2.0


def test_confounding_has_one_arm_close_to_the_best():
    instance = instances.confounding(4, omega=0.2, scale=2.0)
    np.testing.assert_array_equal(instance.problem.arms[:4], np.eye(4))
    assert instance.problem.arms[4].tolist() == [math.cos(0.2), math.sin(0.2), 0, 0]
    assert instance.theta.tolist() == [2, 0, 0, 0]
    assert instance.gaps[4] == pytest.approx(2 * (1 - math.cos(0.2)))
    assert instance.name == "confounding(d=4, omega=0.2, scale=2)"
    assert instances.confounding(4).name == "confounding(d=4, omega=0.1)"


def test_unit_sphere_puts_theta_beside_the_closest_pair():
    instance = instances.unit_sphere(6, k=40, gamma=0.01, rng=3)
    arms = instance.problem.arms
    assert arms.shape == (40, 6)
    np.testing.assert_allclose(np.linalg.norm(arms, axis=1), 1.0)
    products = arms @ arms.T - 2 * np.eye(40)
    u, v = np.unravel_index(np.argmax(products), products.shape)
    assert instance.best == u
    np.testing.assert_allclose(instance.theta, arms[u] + 0.01 * (arms[v] - arms[u]))
    assert np.argsort(instance.gaps)[1] == v


def test_unit_sphere_depends_on_its_seed_only():
    one, two = (instances.unit_sphere(3, rng=5).problem for _ in range(2))
    assert one == two == instances.unit_sphere(3, rng=np.random.default_rng(5)).problem
    assert one != instances.unit_sphere(3, rng=6).problem


def test_values_are_those_of_the_candidates():
    problem = sp.Problem(np.eye(2), [[1, 1], [2, -1], [1, 1]], noise=1.0)
    instance = Instance(problem, [1.0, 0.5], name="mine")
    assert instance.means.tolist() == [1.0, 0.5]
    assert instance.values.tolist() == [1.5, 1.5, 1.5]
    assert instance.best == 0
    assert "mine" in repr(instance)


def test_correct_is_any_best_candidate_or_one_within_epsilon():
    problem = sp.Problem([[1.0, 0], [0, 1.0], [1.0, 0], [0.9, 0]], noise=1.0)
    instance = Instance(problem, [1.0, 0.0])
    assert [instance.is_correct(i) for i in range(4)] == [True, False, True, False]
    assert [instance.is_correct(i, 0.2) for i in range(4)] == [True, False, True, True]


def test_ties_are_all_correct():
    instance = Instance(sp.Problem(np.eye(3), noise=1.0), [1.0, 1.0, 0.0])
    assert [instance.is_correct(i) for i in range(3)] == [True, True, False]


def test_theta_is_copied_and_cannot_be_written():
    theta = np.array([1.0, 2.0])
    instance = Instance(sp.Problem(np.eye(2), noise=1.0), theta)
    theta[0] = 9.0
    assert instance.theta[0] == 1.0
    with pytest.raises(ValueError, match="read-only"):
        instance.theta[0] = 2.0


@pytest.mark.parametrize(
    ("theta", "error"),
    [
        ([1.0], InvalidInputError),
        ([[1.0, 2.0]], InvalidInputError),
        (1.0, InvalidInputError),
        ([1.0, math.nan], InvalidInputError),
        ([1.0, math.inf], InvalidInputError),
        (["a", "b"], InvalidTypeError),
        (None, InvalidInputError),
        ({"a": 1}, InvalidTypeError),
    ],
)
def test_theta_must_be_one_finite_number_per_feature(theta, error):
    with pytest.raises(error, match="theta must be"):
        Instance(sp.Problem(np.eye(2), noise=1.0), theta)


def test_an_instance_needs_a_problem():
    with pytest.raises(InvalidTypeError, match=r"problem must be a surepick\.Problem"):
        Instance(np.eye(2), [1.0, 0.0])


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: instances.standard(0), InvalidInputError, "gap must be above 0"),
        (lambda: instances.standard(-1), InvalidInputError, "gap must be above 0"),
        (lambda: instances.standard("a"), InvalidTypeError, "gap must be a number"),
        (lambda: instances.standard(0.1, d=1), InvalidInputError, "d must be at least 2"),
        (lambda: instances.standard(0.1, d=2.0), InvalidTypeError, "d must be a whole number"),
        (lambda: instances.confounding(1), InvalidInputError, "d must be at least 2"),
        (lambda: instances.confounding(3, math.nan), InvalidInputError, "omega must be finite"),
        (lambda: instances.confounding(3, "x"), InvalidTypeError, "omega must be a number"),
        (lambda: instances.confounding(3, scale=0), InvalidInputError, "scale must be above 0"),
        (lambda: instances.unit_sphere(3, k=1), InvalidInputError, "k must be at least 2"),
        (lambda: instances.unit_sphere(0), InvalidInputError, "d must be at least 1"),
        (lambda: instances.unit_sphere(2, gamma=math.inf), InvalidInputError, "gamma must be"),
        (lambda: instances.standard(0.1, noise=0), InvalidInputError, "noise must be above 0"),
    ],
)
def test_bad_settings_of_instances_are_named(make, error, message):
    with pytest.raises(error, match=message):
        make()
