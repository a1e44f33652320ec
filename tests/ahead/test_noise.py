import math

import numpy as np
import pytest

import surepick as sp
from surepick.ahead.kinds import noise_family
from surepick.ahead.noise import Correlated
from surepick.errors import InvalidInputError, InvalidTypeError, UnknownNameError
from surepick.simulate import (
    Bernoulli,
    Beta,
    Bounded,
    Exponential,
    Gaussian,
    StudentT,
    TwoPoint,
    trials,
)
from surepick.simulate.trials import drive

MEANS = np.array([0.2, 0.5, 0.9])
COUNTS = np.array([1, 10, 400])
DRAWS = 4000

# family -> variance of one reward with mean m and noise scale s
VARIANCE = {
    Gaussian(): lambda m, s: s**2 + 0 * m,
    Bernoulli(): lambda m, s: m * (1 - m),
    Bounded(): lambda m, s: s**2 / 3 + 0 * m,
    StudentT(freedom=5.0): lambda m, s: s**2 + 0 * m,
    Exponential(): lambda m, s: s**2 + 0 * m,
    Beta(concentration=3.0): lambda m, s: m * (1 - m) / 4,
    TwoPoint(-1.0, 3.0): lambda m, s: (m + 1) * (3 - m),
}


@pytest.mark.some(4)
@pytest.mark.parametrize("family", VARIANCE, ids=lambda f: type(f).__name__)
def test_sums_have_the_right_mean_and_variance(family):
    rng, scale = np.random.default_rng(0), 0.7
    n = DRAWS if isinstance(family, Gaussian | TwoPoint) else 1000
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
    monkeypatch.setattr("surepick.arrays.cutoffs.DRAWS", 7)
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
    ("make", "error", "said"),
    [
        (lambda: StudentT(0), InvalidInputError, "freedom must be"),
        (lambda: StudentT(math.nan), InvalidInputError, "freedom must be"),
        (lambda: StudentT("3"), InvalidTypeError, "freedom must be"),
        (lambda: Gaussian(scale=0.0), InvalidInputError, "scale must be"),
        (lambda: Gaussian(scale=[1.0, -1.0]), InvalidInputError, r"scale\[1\] must be"),
        (lambda: Beta(concentration=0), InvalidInputError, "concentration must be"),
        (lambda: TwoPoint(1.0, 1.0), InvalidInputError, "low must be below high"),
    ],
)
def test_bad_settings_are_named(make, error, said):
    with pytest.raises(error, match=said):
        make()


def test_with_two_degrees_of_freedom_the_scale_is_the_unit():
    rewards = StudentT(2).draw(np.random.default_rng(0), 5.0, 40_000, 3.0)
    # the quartiles of t with two degrees of freedom: ±√(2/3)
    assert np.quantile(rewards, (0.25, 0.75)) == pytest.approx([2.551, 7.449], abs=0.08)


def test_spreads_are_about_the_mean_of_the_rewards():
    for family in (Gaussian(), Beta(), TwoPoint(), Exponential()):
        rng = np.random.default_rng(0)
        found = [family.totals(rng, MEANS, COUNTS, 0.1)[1] for _ in range(300)]
        variance = family.draw(rng, 0.9, 10**5, 0.1).var()
        assert np.mean(found, axis=0)[0] == pytest.approx(0.0, abs=1e-12)
        assert np.mean(found, axis=0)[2] == pytest.approx(399 * variance, rel=0.05)


# -- what is drawn by default, and what is refused -------------------------------------------
def test_yes_no_problems_draw_yes_and_no():
    problem = sp.Problem(np.eye(3), noise="yes-no")
    instance = sp.simulate.Instance(problem, [0.6, 0.3, 0.2])
    algorithm = sp.algorithms.PooledPeleg(0.1)
    default = trials(algorithm, instance, n=3)
    named = trials(algorithm, instance, n=3, noise="bernoulli")
    assert default["samples"].tolist() == named["samples"].tolist()
    run = algorithm.start(problem)
    drive(run, instance, np.random.default_rng(0))
    assert (run.sums == np.round(run.sums)).all()
    assert run.answer.arm == 0


def test_bounded_problems_draw_between_their_bounds():
    kind = sp.Problem([[1.0]], noise=(-2, 3)).noise_kind
    assert noise_family(None, kind) == noise_family("beta", kind) == Beta(-2.0, 3.0)
    assert noise_family("two-point", kind) == TwoPoint(-2.0, 3.0)
    assert noise_family(None, sp.Problem([[1.0]]).noise_kind) == Gaussian()


@pytest.mark.parametrize(
    ("kind", "noise"),
    [
        ("yes-no", "gaussian"),
        ("yes-no", "beta"),
        ("yes-no", Bounded(scale=0.1)),
        ((0.0, 1.0), "student-t"),
        ((0.0, 1.0), TwoPoint(0.0, 2.0)),
        ((0.0, 1.0), Exponential(scale=0.01)),
        ((0.0, 1.0), Bounded(scale=0.4)),
    ],
)
def test_rewards_that_cannot_occur_are_refused(kind, noise):
    instance = sp.simulate.Instance(sp.Problem(np.eye(2), noise=kind), [0.7, 0.5])
    with pytest.raises(InvalidInputError, match="leave noise out"):
        trials(sp.algorithms.PooledPeleg(0.1), instance, n=1, noise=noise)


def test_rewards_that_can_occur_are_not():
    for kind, noise in (((0.0, 1.0), Bounded(scale=0.3)), ("yes-no", TwoPoint())):
        instance = sp.simulate.Instance(sp.Problem(np.eye(2), noise=kind), [0.7, 0.4])
        table = trials(sp.algorithms.PooledPeleg(0.1, max_samples=50), instance, n=1, noise=noise)
        assert table["samples"][0] <= 50


# -- scales that differ ----------------------------------------------------------------------
@pytest.mark.parametrize("algorithm", ["pooled-peleg", "peleg", "uniform"])
def test_arms_of_known_scales_have_noise_of_these_scales(algorithm):
    scales = np.array([0.1, 4.0, 1.0])
    problem = sp.Problem(np.eye(3), noise=scales)
    instance = sp.simulate.Instance(problem, [1.0, 0.0, 0.5])
    apart = []
    for seed in range(20):
        run = sp.algorithms.get(algorithm, delta=0.1, max_samples=400).start(problem)
        drive(run, instance, np.random.default_rng(seed))
        apart.append((run.sums - run.pulls * instance.means) / np.sqrt(run.pulls))
    assert (np.abs(apart) < 5 * scales).all()
    assert np.std(apart, axis=0) == pytest.approx(scales, rel=0.75)


def test_gaussian_brings_its_own_scales():
    problem = sp.Problem(np.eye(2))
    instance = sp.simulate.Instance(problem, [3.0, 0.0])
    for noise in (Gaussian(scale=[0.01, 0.02]), Gaussian(scale=0.02)):
        run = sp.algorithms.PooledPeleg(0.1).start(problem)
        drive(run, instance, np.random.default_rng(0), noise)
        assert np.abs(run.sums / run.pulls - [3.0, 0.0]).max() < 0.1
    with pytest.raises(InvalidInputError, match="each of the 2 arms; got 3"):
        trials(sp.algorithms.PooledPeleg(0.1), instance, n=1, noise=Gaussian(scale=[1, 2, 3]))


@pytest.mark.parametrize(
    "noise", ["gaussian", "bernoulli", "bounded", "student-t", "beta", "two-point"]
)
def test_every_family_can_be_identified(noise):
    instance = sp.simulate.Instance(sp.Problem(np.eye(3), noise=0.5), [0.9, 0.3, 0.1])
    table = sp.simulate.trials(sp.algorithms.Peleg(0.05), instance, n=30, noise=noise)
    assert table["correct"].mean() > 0.9


def test_correlated_errors_lean_on_the_one_before_also_from_batch_to_batch():
    """Variance as without, and the correlation that was asked for."""
    rng, family = np.random.default_rng(0), Correlated(0.8)
    one = np.array([1])
    errors = np.array([family.sums(rng, np.zeros(1), one, 2.0)[0] for _ in range(5000)])
    assert np.corrcoef(errors[1:], errors[:-1])[0, 1] == pytest.approx(0.8, abs=0.05)
    assert errors.std() == pytest.approx(2.0, rel=0.1)
    counts = np.array([4000, 8000])
    sums, spreads = family.totals(rng, np.array([1.0, 2.0]), counts, 1.0)
    assert sums / counts == pytest.approx([1.0, 2.0], abs=0.2)
    assert spreads / counts == pytest.approx([1.0, 1.0], rel=0.15)


def test_misfit_moves_each_mean_by_at_most_zeta_and_equal_options_alike():
    instance = sp.simulate.Instance(sp.Problem([[1, 0], [0, 1], [1, 0]], noise=1.0), [0.5, 0.2])
    off = instance.off_by(0.1, np.random.default_rng(1))
    moved = off.means - instance.means
    assert 0 < np.abs(moved).max() <= 0.1
    assert moved[0] == moved[2]
    assert (off.values == off.means).all()
