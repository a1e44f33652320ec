"""Estimates that guide."""

import math

import numpy as np
import pytest

import surepick as sp
from surepick.algorithms import PooledPeleg
from surepick.algorithms.pooled import guide
from surepick.algorithms.pooled.kinds.bounded import YesNoRewards
from surepick.algorithms.pooled.kinds.reading import pooled_variance
from surepick.algorithms.pooled.ledger import Rows, Totals
from surepick.algorithms.pooled.make import make_reading
from surepick.run.replay import EXACT


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


def drive(run, means, scale, seed):
    """The k-th pull of an option has the same reward in all runs."""
    drawn = [np.random.default_rng([seed, arm]) for arm in range(len(means))]
    while not run.stopped:
        batch = run.ask()
        run.tell(batch, [means[arm] + scale * drawn[arm].normal() for arm in batch.arms])
    assert run.answer.arm == np.argmax(means)
    return run


@pytest.mark.parametrize("noise", ["symmetric", 1.0])
def test_features_that_say_nothing_cost_nothing(noise):
    """Guided by them, it once took many times as many measurements as without."""
    spent = {"none": 0, "as a guide": 0}
    for seed, options in enumerate((10, 24)):
        rng = np.random.default_rng([5, options])
        means = rng.permutation(np.append(np.linspace(-1.0, 1.0, options - 1), 1.6))
        features = rng.normal(size=(options, 3 if seed else options // 2))
        for name, problem in (
            ("none", sp.Problem(np.eye(options), noise=noise)),
            ("as a guide", sp.Problem(features, noise=noise, misfit=math.inf)),
        ):
            run = drive(PooledPeleg(0.05).start(problem), means, 0.1, seed)
            spent[name] += run.samples
    assert spent["as a guide"] <= 1.1 * spent["none"]


def test_features_that_are_right_still_save():
    options, spent = 24, []
    rng = np.random.default_rng(2)
    means = rng.permutation(np.append(np.linspace(-1.0, 1.0, options - 1), 1.6))
    features = np.column_stack([np.ones(options), means, rng.normal(size=options)])
    for rows, misfit in ((np.eye(options), 0.0), (features, math.inf)):
        problem = sp.Problem(rows, noise="symmetric", misfit=misfit)
        spent.append(drive(PooledPeleg(0.05).start(problem), means, 0.1, 1).samples)
    assert spent[1] <= 0.9 * spent[0]


def test_who_leads_is_measured_however_clear_its_lead_is():
    """Whoever is compared with it needs it in the same block."""
    means, blocks = np.linspace(0.0, 1.0, 8), []
    run = PooledPeleg(1e-6).start(sp.Problem(np.eye(8)))
    while not run.stopped:
        batch = run.ask()
        blocks.append(batch.counts)
        rng = np.random.default_rng(len(blocks))
        run.tell(batch, means[batch.arms] + 1e-6 * rng.normal(size=batch.size))
    assert min(counts[7] for counts in blocks) >= 2
    assert run.samples <= 250  # 995 where the leader had what the others left


def test_an_exception_is_known_by_its_own_rewards():
    """The best is far from what its features say, all others are where they should be."""
    x = np.column_stack([np.ones(20), np.arange(20.0)])
    means = x @ [0.0, 0.1]
    means[3] = 5.0
    counts, variances = np.full(20, 2.0), np.ones(20)
    found = guide.features_and_deviations(x, counts, means, variances, math.inf).means
    assert found[3] > 4.7
    others = np.arange(20) != 3
    assert np.abs(found - means)[others].max() < 0.4


def precise(seed):
    """30 options of 6 features, means that differ by 1,000 σ, the best two by 0.35 σ."""
    rng = np.random.default_rng(seed)
    features, theta = rng.normal(size=(30, 6)), rng.normal(size=6)
    theta *= 1000.0 / np.ptp(features @ theta)
    second, first = np.argsort(features @ theta)[-2:]
    apart = features[first] - features[second]
    theta -= apart * (apart @ theta - 0.35) / (apart @ apart)
    return features, features @ theta


@pytest.mark.some(1)
@pytest.mark.parametrize("noise", ["symmetric", "equal"])
def test_trusting_features_costs_no_more_than_not_where_instruments_are_precise(noise):
    spent = {0.0: 0, math.inf: 0}
    for seed in (0, 1):
        features, means = precise(seed)
        for misfit in spent:
            run = PooledPeleg(0.05).start(sp.Problem(features, noise=noise, misfit=misfit))
            spent[misfit] += drive(run, means, 1.0, seed).samples
    assert spent[0.0] <= 1.1 * spent[math.inf]


@pytest.mark.parametrize(("spread", "added"), [(5.0, 1.0), (1000.0, 0.01)])
def test_the_residual_that_is_added_counts_a_hundred_times_the_others_at_most(spread, added):
    """``added``: the share of what the means spread by that counts."""
    rng = np.random.default_rng(1)
    features = rng.normal(size=(30, 6))
    problem = sp.Problem(features, noise="symmetric")
    means = features @ rng.normal(size=6)
    means *= spread / np.std(means, ddof=1)
    totals = Totals(30, True)
    totals.add(Rows.from_counts(np.ones(30, dtype=np.int64), means + rng.normal(size=30)))
    old, new = (pooled_variance(problem, totals, most) for most in (math.inf, 100.0))
    noise = float(np.sum((totals.sums - features @ np.linalg.lstsq(features, totals.sums)[0]) ** 2))
    assert new == (old if added == 1.0 else pytest.approx((1 + 100 / 23) * noise / 25))
    # All residuals 0, as coarse readings may have them: the spread is all there is to go by.
    exact = Totals(30, True)
    exact.add(Rows.from_counts(np.ones(30, dtype=np.int64), 0.0 * means + features[:, 0]))
    assert pooled_variance(problem, exact, 100.0) == pooled_variance(problem, exact)


# -- stakes on rates -------------------------------------------------------------------------
@pytest.mark.parametrize(("rate", "times"), [(0.5, 1.0), (0.02, 49.0), (0.98, 49.0), (0.25, 3.0)])
@pytest.mark.parametrize("options", [11, 12])
def test_stakes_on_rates_expect_leads_that_are_parts_of_the_rate(rate, times, options):
    # One visitor's answer has variance p(1 − p); two rates lie apart by p or so, squared p².
    problem, everyone = sp.Problem.unstructured(options, noise="yes-no"), np.arange(options)
    totals, counts = Totals(options), np.full(options, 10**6)
    totals.add(Rows.from_counts(counts, problem.standardised(everyone, rate * counts)))
    scales = make_reading(problem, ("direct",)).scales(totals)
    varies, expected = scales.of(everyone), scales.for_leads().of(everyone)
    np.testing.assert_allclose(varies / expected, times if options == 12 else 1.0, rtol=1e-3)


def clicks(rates, seed):
    """A run on yes or no, and its certificate."""
    run = PooledPeleg(0.05).start(sp.Problem.unstructured(len(rates), noise="yes-no"))
    rng = np.random.default_rng(seed)
    while not run.stopped:
        batch = run.ask()
        run.tell(batch, sums=rng.binomial(batch.counts, rates))
    return run, run.answer.certificate()


@pytest.mark.validation
def test_rare_successes_take_far_fewer_visitors(monkeypatch):
    """Than by stakes that expect leads by how much single visitors vary."""
    rates = 0.02 * np.array([1.0, *[0.75] * 14])
    pulls = sum(clicks(rates, seed)[0].samples for seed in range(4))
    monkeypatch.setattr(YesNoRewards, "many", math.inf)
    assert pulls < 0.8 * sum(clicks(rates, seed)[0].samples for seed in range(4))


def test_rates_that_levels_seem_to_explain_keep_nobody_for_ever():
    """Less levels of blocks, the second rate would seem to be a tenth of what it is."""
    run = PooledPeleg(0.05).start(sp.Problem.unstructured(2, noise="yes-no"), seed=5)
    rng = np.random.default_rng(7005)
    while not run.stopped and run.samples < 100_000:
        batch = run.ask()
        run.tell(batch, sums=rng.binomial(batch.counts, [0.03, 0.02]))
    assert run.answer.guarantee.kind != "none"


def test_means_near_a_bound_keep_nobody_for_ever():
    """The same between bounds: less its level, a mean would seem to lie beyond the nearer one."""
    run = PooledPeleg(0.05).start(sp.Problem.unstructured(2, noise=(0.0, 1.0)), seed=45)
    rng, means = np.random.default_rng(45), np.array([0.01, 0.005])
    while not run.stopped and run.samples < 40_000:
        batch = run.ask()
        own = means[batch.arms]
        run.tell(batch, rng.beta(3.0 * own, 3.0 * (1.0 - own)))
    assert run.answer.guarantee.kind != "none"


def test_certificates_of_stakes_on_rates_replay():
    run, certificate = clicks(np.array([0.3, *[0.15] * 11]), 1)
    evidence = certificate["evidence"]
    assert evidence["precisions"] == [10.0, 150.0]
    assert sp.Run.from_json(run.to_json()).answer.certificate()["evidence"] == evidence
    assert sp.verify(certificate, replay=True).replay == EXACT


def test_rates_of_trusted_features_are_predicted_by_what_came():
    """Less levels of blocks, the overall rate would seem to be 0, and this run go on for ever."""
    arms = np.array([[1, a, b, c] for a in (0, 1) for b in (0, 1) for c in (0, 1)])
    rates = arms @ [0.015, 0.008, 0.004, 0.004]
    run = PooledPeleg(0.05).start(sp.Problem(arms, noise="yes-no"), seed=14)
    rng = np.random.default_rng([14, 9])
    while not run.stopped and run.samples < 200_000:
        batch = run.ask()
        run.tell(batch, sums=rng.binomial(batch.counts, rates))
    certificate = run.answer.certificate()
    assert run.answer.guarantee.kind == "pac"
    assert sp.verify(certificate, replay=True).replay == EXACT
