import math

import numpy as np
import pytest

import surepick as sp
from surepick.errors import InvalidInputError, InvalidTypeError, UnknownNameError
from surepick.simulate import Bernoulli, Bounded, Gaussian, StudentT
from surepick.simulate.noise import noise_family

MEANS = np.array([0.2, 0.5, 0.9])
COUNTS = np.array([1, 10, 400])
DRAWS = 4000

# family -> variance of one reward with mean m and noise scale s
VARIANCE = {
    Gaussian(): lambda m, s: s**2 + 0 * m,
    Bernoulli(): lambda m, s: m * (1 - m),
    Bounded(): lambda m, s: s**2 / 3 + 0 * m,
    StudentT(freedom=5.0): lambda m, s: s**2 + 0 * m,
}


@pytest.mark.parametrize("family", VARIANCE, ids=lambda f: type(f).__name__)
def test_sums_have_the_right_mean_and_variance(family):
    rng, scale = np.random.default_rng(0), 0.7
    n = DRAWS if isinstance(family, Gaussian | Bernoulli) else 1000
    sums = np.array([family.sums(rng, MEANS, COUNTS, scale) for _ in range(n)])
    variance = COUNTS * VARIANCE[family](MEANS, scale)
    assert sums.dtype == float
    assert sums.shape == (n, 3)
    # five standard errors; the variance of a heavy tail is known less well
    assert (np.abs(sums.mean(axis=0) - COUNTS * MEANS) < 5 * np.sqrt(variance / n)).all()
    slack = 0.35 if isinstance(family, StudentT) else 0.2
    np.testing.assert_allclose(sums.var(axis=0), variance, rtol=slack)


def test_gaussian_sums_cost_one_draw_per_arm():
    """A billion pulls are as quick as one, and the very draws of the generator are used."""
    means, counts = np.array([1.0, -1.0]), np.array([10**9, 1])
    sums = Gaussian().sums(np.random.default_rng(1), means, counts, 2.0)
    draws = np.random.default_rng(1).standard_normal(2)
    assert sums.tolist() == (counts * means + 2.0 * np.sqrt(counts) * draws).tolist()


def test_bernoulli_sums_are_whole_and_bounded():
    sums = Bernoulli().sums(np.random.default_rng(0), np.array([0.0, 1.0, 0.5]), COUNTS, 1.0)
    assert sums[:2].tolist() == [0.0, 10.0]
    assert sums[2] == round(sums[2])


def test_bounded_rewards_stay_in_their_interval():
    one = np.ones(2000, dtype=int)
    rewards = Bounded().sums(np.random.default_rng(0), np.full(2000, 3.0), one, 0.5)
    assert 2.5 <= rewards.min() < 2.51
    assert 3.49 < rewards.max() <= 3.5


def test_student_t_has_heavy_tails():
    one = np.ones(20_000, dtype=int)
    rewards = StudentT().sums(np.random.default_rng(0), np.zeros(20_000), one, 1.0)
    assert np.abs(rewards).max() > 8  # where a Gaussian would not get in a lifetime


def test_sums_of_many_pulls_are_drawn_in_pieces(monkeypatch):
    monkeypatch.setattr("surepick.arrays.limits.DRAWS", 7)
    sums = Bounded().sums(np.random.default_rng(0), np.array([5.0]), np.array([100]), 1.0)
    whole = np.random.default_rng(0).uniform(4.0, 6.0, size=100).sum()
    assert sums[0] == pytest.approx(whole)


@pytest.mark.parametrize("theta", [[1.2, 0.5], [0.5, -0.1]])
def test_bernoulli_refuses_means_that_are_no_probabilities(theta):
    instance = sp.simulate.Instance(sp.Problem(np.eye(2), noise=0.5), theta)
    bad = int(np.argmax(np.abs(np.array(theta) - 0.5)))
    with pytest.raises(InvalidInputError, match=f"means between 0 and 1; arm {bad} has"):
        sp.simulate.trials(sp.algorithms.Peleg(0.1), instance, n=1, noise="bernoulli")


def test_bernoulli_forgives_rounding():
    means = np.array([1.0 + 2e-16, -1e-17, 0.1 + 0.2 + 0.7])
    Bernoulli().check(means, 0.5)
    sums = Bernoulli().sums(np.random.default_rng(0), means, np.array([5, 5, 5]), 0.5)
    assert sums.tolist() == [5.0, 0.0, 5.0]


def test_families_by_name():
    assert noise_family("gaussian") == Gaussian()
    assert noise_family("student-t") == StudentT(3.0)
    assert noise_family(StudentT(4.0)) == StudentT(4.0)
    with pytest.raises(UnknownNameError, match="noise family 'gausian'; did you mean 'gaussian'"):
        noise_family("gausian")
    for wrong in (3, None, [1], Gaussian):
        with pytest.raises(InvalidTypeError, match="noise must be"):
            noise_family(wrong)


@pytest.mark.parametrize(
    ("freedom", "error"),
    [(2, InvalidInputError), (math.nan, InvalidInputError), ("3", InvalidTypeError)],
)
def test_student_t_needs_a_variance(freedom, error):
    with pytest.raises(error, match="freedom must be"):
        StudentT(freedom)


@pytest.mark.parametrize("noise", ["gaussian", "bernoulli", "bounded", "student-t"])
def test_every_family_can_be_identified(noise):
    instance = sp.simulate.Instance(sp.Problem(np.eye(3), noise=0.5), [0.9, 0.3, 0.1])
    table = sp.simulate.trials(sp.algorithms.Peleg(0.05), instance, n=30, noise=noise)
    assert table["correct"].mean() > 0.9
