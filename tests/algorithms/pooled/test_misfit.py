"""Features that may be wrong, and levels that drift: what PooledPeleg proves all the same."""

import itertools
import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.breadth import each_value

import surepick as sp
from surepick.algorithms.pooled.allowed import leaning
from surepick.algorithms.pooled.ledger import Rows
from surepick.algorithms.pooled.values import allowances
from surepick.errors import CertificateError, InvalidInputError
from surepick.run.certificate import fingerprint
from surepick.simulate.conformance.tools import chance, failures

KINDS = ["symmetric", "equal", 0.4, "yes-no", (0, 1)]


def draw(kind, means, rng):
    if kind == "yes-no":
        return (rng.random(len(means)) < means).astype(float)
    if kind == (0, 1):
        return rng.beta(3 * means, 3 * (1 - means))
    return means + 0.4 * rng.normal(size=len(means))


def drive(run, kind, truth, rng, levels=None):
    while not run.stopped:
        batch = run.ask()
        level = 0.0 if levels is None else levels(len(run.state.blocks))
        run.tell(batch, level + draw(kind, truth[batch.arms], rng))
    return run.answer


def table(K, d, rng):
    return np.c_[np.ones(K), rng.normal(size=(K, d - 1))]


# -- the lemma --------------------------------------------------------------------------------
@given(
    seed=st.integers(0, 10**6),
    K=st.integers(2, 8),
    d=st.integers(1, 4),
    misfit=st.sampled_from([1e-3, 0.1, 1.0, 30.0]),
)
@settings(max_examples=200, deadline=None)
def test_no_misfit_moves_a_lead_by_more_than_is_allowed_for(seed, K, d, misfit):
    """However means deviate: while x is the best, the estimate's mean is at most the allowance.

    Signs of the deviations against x reach it, so no smaller allowance would do.
    """
    rng = np.random.default_rng(seed)
    problem = sp.Problem(table(K, min(d, K), rng), noise=1.0, misfit=misfit)
    pulled = np.flatnonzero(rng.random(K) < 0.7)
    if len(pulled) == 0:
        return
    noise = 1.0 / rng.integers(1, 20, len(pulled))
    takes, seen = leaning(problem, pulled, noise)
    everyone = np.arange(K)
    off = allowances(seen.allowance, everyone, everyone)
    for x, r in itertools.permutations(range(K), 2):
        if np.abs(seen.outside[r] - seen.outside[x]).max() > 1e-9:
            continue  # nothing is said about this pair
        lean = np.zeros(K)
        lean[pulled] = takes[r] - takes[x]
        lean[x] += 1.0
        lean[r] -= 1.0
        worst = misfit * np.sign(lean)
        # features say that both are alike once their own deviations are taken into account
        theta = np.zeros(problem.rank)
        y = problem.targets[r] - problem.targets[x]
        if y @ y > 1e-12:
            theta = y * (worst[x] - worst[r]) / (y @ y)
        elif worst[r] > worst[x]:
            continue  # x would not be the best
        means = problem.targets @ theta + worst
        assert means[r] <= means[x] + 1e-9
        estimate = (takes[r] - takes[x]) @ means[pulled]
        assert estimate <= off[x, r] + 1e-9 * (1 + misfit)
        if y @ y > 1e-12:
            assert estimate == pytest.approx(off[x, r], rel=1e-6, abs=1e-9)


def test_measured_often_an_option_needs_no_allowance():
    problem = sp.Problem(table(6, 3, np.random.default_rng(0)), noise=1.0, misfit=0.5)
    everyone = np.arange(6)
    off = []
    for pulls in (1, 100, 10**6):
        _, seen = leaning(problem, everyone, np.full(6, 1.0 / pulls))
        off.append(allowances(seen.allowance, everyone, everyone).max())
    assert off[0] > 5 * off[1] > 50 * off[2]


@pytest.mark.some(2)
@pytest.mark.parametrize("misfit", [0.3, math.inf])
@pytest.mark.parametrize("kind", ["yes-no", "symmetric"])
def test_the_mean_of_every_factor_is_at_most_one(kind, misfit):
    """All outcomes of a block enumerated, with deviations against the best option."""
    arms = np.array([[1.0, 0.0], [1.0, 0.5], [1.0, 1.0]])
    problem = sp.Problem(arms, noise=kind, misfit=misfit)
    rng = np.random.default_rng(5)
    for truth in ([0.3, 0.6, 0.6], [0.5, 0.2, 0.5], [0.4, 0.4, 0.4], [0.9, 0.3, 0.1]):
        means = np.array(truth)
        best = means == means.max()
        state = sp.algorithms.PooledPeleg(1e-9).begin(problem, rng)
        unit = problem.unit
        for _ in range(2):
            pulls = state.propose(1000)
            rewards = [draw(kind, np.repeat(means[a], n), rng) for a, n in zip(*pulls[:2])]
            spreads = np.array([((r - r.mean()) ** 2).sum() for r in rewards]) / unit**2
            state.observe_spread(pulls, spreads)
            state.observe(pulls, np.array([r.sum() for r in rewards]) / unit)
        counts = np.array([2, 1, 2])
        before, market, scales = (
            state.question.capital.copy(),
            state.suggested.market,
            state.suggested.scales,
        )
        total = np.zeros_like(before)
        for outcome in itertools.product((0, 1), repeat=5):
            arms_of = np.repeat(np.arange(3), counts)
            signs = np.array(outcome)
            if kind == "yes-no":
                values = signs.astype(float)
                chance = np.prod(np.where(signs, means[arms_of], 1 - means[arms_of]))
            else:  # two values around the mean, far apart for the first option
                values = means[arms_of] + (2 * signs - 1) * np.array([3.0, 1.0, 0.2])[arms_of]
                chance = 0.5**5
            parts = np.array([0, 1, 0, 0, 1])
            rows = Rows(arms_of, parts, np.ones(5, dtype=int), values / unit, np.zeros(5))
            if kind == "yes-no":
                rows = rows._replace(parts=np.zeros(5, dtype=int))._merged(arms_of)
            capital = before.copy()
            state.ways.settle(
                market, capital, np.ones(3, dtype=bool), state.ways.read(rows, scales)
            )
            total += chance * np.exp(capital - before)
        assert (total[best] <= 1 + 1e-9).all()


# -- where features are not trusted -------------------------------------------------------------
@pytest.mark.some(3)
@pytest.mark.parametrize("kind", KINDS)
def test_without_trust_one_feature_per_option_is_no_features(kind):
    """The same run, pull by pull, as that of options without features."""
    truth, runs = np.array([0.2, 0.5, 0.3, 0.8]), []
    for problem in (
        sp.Problem(np.eye(4), noise=kind, misfit=math.inf),
        sp.Problem.unstructured(4, noise=kind),
    ):
        run = sp.algorithms.PooledPeleg(0.05).start(problem)
        drive(run, kind, truth, np.random.default_rng(1))
        runs.append(run)
    assert runs[0].samples == runs[1].samples
    np.testing.assert_array_equal(runs[0].pulls, runs[1].pulls)
    np.testing.assert_array_equal(runs[0].state.question.capital, runs[1].state.question.capital)


@pytest.mark.validation
@pytest.mark.parametrize("kind", KINDS)
def test_features_that_mislead_do_no_harm(kind):
    """One option is far above what its features say, and the features hardly lie."""
    arms = np.c_[np.ones(12), np.linspace(0, 1, 12)]
    truth = 0.1 + 0.5 * np.linspace(0, 1, 12)
    truth[2] = 0.85
    trusted, right = [], []
    for misfit, found in (0.0, trusted), (math.inf, right):
        for seed in range(4):
            problem = sp.Problem(arms, noise=kind, misfit=misfit)
            run = sp.algorithms.PooledPeleg(0.05, max_samples=20_000).start(problem)
            found.append(drive(run, kind, truth, np.random.default_rng(seed)).arm)
    assert right == [2] * 4
    assert trusted == [11] * 4  # with its guarantee standing, which says on what it stands


def test_options_with_the_same_features_may_differ():
    arms = [[1.0, 0.0], [1.0, 1.0], [1.0, 1.0]]
    assert len(sp.Problem(arms, noise=1.0).distinct) == 2
    problem = sp.Problem(arms, noise=0.1, misfit=math.inf)
    assert len(problem.distinct) == 3
    truth = np.array([0.0, 0.2, 0.6])
    run = sp.algorithms.PooledPeleg(0.05).start(problem)
    answer = drive(run, 0.4, truth, np.random.default_rng(0))
    assert answer.arm == 2
    assert answer.equivalent == ()


@pytest.mark.validation
def test_errors_stay_rare_whatever_features_say():
    """Ten tied options whose features are nothing but noise; a false proof of any is an error.

    With 50 trials at delta = 0.2, a true rate of 0.5 is caught with probability 0.94.
    """

    def wrong(seed):
        rng = np.random.default_rng(seed)
        problem = sp.Problem(table(10, 4, rng), noise="symmetric", misfit=math.inf)
        run = sp.algorithms.PooledPeleg(0.2, max_samples=800).start(problem)
        drive(run, None, np.zeros(10), rng)
        return run.state.question.dropped_at[0]

    most = chance(50, 0.2)
    assert failures(wrong, 50, most) <= most


# -- certificates -------------------------------------------------------------------------------
@pytest.mark.some(2)
@pytest.mark.parametrize(
    ("kind", "misfit", "epsilon"), each_value([*KINDS, "by arm"], [0.15, math.inf], [0.0, 0.1])
)
def test_certificates_are_verified(kind, misfit, epsilon):
    rng = np.random.default_rng(3)
    arms = table(9, 3, rng)
    truth = np.linspace(0.1, 0.9, 9)
    noise = np.full(9, 0.4) * np.linspace(1, 2, 9) if kind == "by arm" else kind
    problem = sp.Problem(arms, noise=noise, misfit=misfit)
    run = sp.algorithms.PooledPeleg(0.05, epsilon=epsilon, max_samples=1500).start(problem)
    answer = drive(run, kind, truth, rng, lambda block: 0.1 * (block % 2) * (kind == "symmetric"))
    certificate = json.loads(json.dumps(answer.certificate()))
    sp.verify(certificate)
    trusted = json.loads(json.dumps(certificate))
    del trusted["problem"]["misfit"]
    for change in ({}, {"ways": ["linear"]}):
        trusted["evidence"] |= change
        trusted["digest"] = fingerprint({k: v for k, v in trusted.items() if k != "digest"})
        with pytest.raises(CertificateError):
            sp.verify(trusted)


def test_a_run_goes_on_after_it_was_saved():
    rng = np.random.default_rng(0)
    problem = sp.Problem(table(8, 3, rng), noise="symmetric", misfit=math.inf)
    run = sp.algorithms.PooledPeleg(0.1, max_samples=300).start(problem)
    again = sp.Run.from_json(run.to_json())
    assert again.problem == problem
    assert again.problem.misfit == math.inf
    for _ in range(6):
        batch = run.ask()
        rewards = draw(None, np.linspace(0, 1, 8)[batch.arms], rng)
        run.tell(batch, rewards)
        again.tell(again.ask(), rewards)
        again = sp.Run.from_json(again.to_json())
    np.testing.assert_array_equal(run.state.question.capital, again.state.question.capital)


# -- levels -------------------------------------------------------------------------------------
@pytest.mark.parametrize("misfit", [0.0, 0.1, math.inf])
@pytest.mark.parametrize("kind", ["symmetric", "equal", 0.4])
def test_levels_of_blocks_leave_every_bet_as_it_is(kind, misfit):
    rng = np.random.default_rng(2)
    problem = sp.Problem(table(7, 3, rng), noise=kind, misfit=misfit)
    capital = []
    for shifts in ((0.0, 0.0), (3.0, -40.0)):
        run, noise = sp.algorithms.PooledPeleg(0.05).start(problem), np.random.default_rng(8)
        for shift in shifts:
            batch = run.ask()
            run.tell(batch, shift + draw(kind, np.linspace(0, 1, 7)[batch.arms], noise))
        capital.append(run.state.question.capital)
    np.testing.assert_allclose(*capital, atol=1e-7)


@pytest.mark.validation
@pytest.mark.parametrize("misfit", [0.0, math.inf])
def test_levels_that_jump_cost_little(misfit):
    """Five scales of the noise between blocks; without a level for each, runs did not end."""
    samples = []
    for size in (0.0, 5.0):
        for seed in (0, 1, 2, 3, 5, 6):  # with 4 the two best are as good as equal
            rng = np.random.default_rng(seed)
            problem = sp.Problem(table(12, 3, rng), noise="symmetric", misfit=misfit)
            truth = np.linspace(0, 1.5, 12)
            levels = np.random.default_rng(seed).normal(size=1000) * size
            run = sp.algorithms.PooledPeleg(0.05, max_samples=20_000).start(problem)
            problem_truth = problem.arms @ np.linalg.lstsq(problem.arms, truth, rcond=None)[0]
            drive(run, None, problem_truth, rng, lambda block, a=levels: a[block])
            samples.append(run.samples)
    still, moving = np.log(samples[:6]).mean(), np.log(samples[6:]).mean()
    assert moving - still < math.log(2.0)


def test_levels_cancel_only_where_options_are_compared_within_a_batch():
    rng = np.random.default_rng(0)
    features = table(6, 3, rng)
    assert sp.algorithms.PooledPeleg(0.1).levels_cancel(sp.Problem(features))
    # Without an intercept features take a level for an effect, unless they only guide.
    without = features[:, 1:]
    assert not sp.algorithms.PooledPeleg(0.1).levels_cancel(sp.Problem(without))
    assert sp.algorithms.PooledPeleg(0.1).levels_cancel(sp.Problem(without, misfit=math.inf))
    # A block that is asked for in pieces may have several levels.
    assert not sp.algorithms.PooledPeleg(0.1, max_batch=4).levels_cancel(sp.Problem(features))
    assert not sp.algorithms.Rage(0.1).levels_cancel(sp.Problem(features, noise=1.0))


# -- bad input ----------------------------------------------------------------------------------
@pytest.mark.parametrize("misfit", [-0.1, math.nan, "0.1", None, True])
def test_a_misfit_is_a_number_of_at_least_zero(misfit):
    with pytest.raises(sp.SurepickError, match="misfit"):
        sp.Problem(np.eye(2), misfit=misfit)


def test_candidates_that_are_not_measured_need_trust():
    with pytest.raises(InvalidInputError, match=r"misfit=0\.1"):
        sp.Problem(np.eye(2), np.array([[1.0, 1.0]]), misfit=math.inf)


def test_other_algorithms_trust_features():
    problem = sp.Problem(table(5, 2, np.random.default_rng(0)), noise=1.0, misfit=0.1)
    with pytest.raises(InvalidInputError, match="pooled-peleg"):
        sp.algorithms.Rage(0.1).start(problem)
