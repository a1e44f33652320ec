"""PooledPeleg on arrays of any library: the same bets, the same answers, checked the same way."""

import copy
from functools import cache

import numpy as np
import pytest
from tests.breadth import each_value

import surepick as sp
from surepick.algorithms.pooled.compiled import kernels
from surepick.algorithms.pooled.compiled.market import CompiledMarket
from surepick.algorithms.pooled.fit import Scales, block_fit, least_squares
from surepick.algorithms.pooled.kinds.known import GaussianPayoff
from surepick.algorithms.pooled.large.market import LargeMarket
from surepick.algorithms.pooled.large.planner import LargePlanner
from surepick.algorithms.pooled.large.rounding import information, round_many
from surepick.algorithms.pooled.ledger import Rows
from surepick.arrays.backend import backend_named
from surepick.proof.payoffs.stakes import PRECISIONS
from surepick.simulate.trials import drive

BACKENDS = pytest.mark.parametrize("backend", ["numpy", "torch"])


def run_on(backend, instance_seed=0, k=200, d=6, scale=1.0, **settings):
    plain = sp.simulate.families.catalogue(d, k, scale, rng=instance_seed)
    problem = sp.Problem(plain.problem.arms, backend=backend, large=True, noise=1.0)
    instance = sp.simulate.Instance(problem, plain.theta)
    run = sp.algorithms.PooledPeleg(0.05, **settings).start(instance.problem)
    return run, instance


def finish(run, instance, seed=0):
    drive(run, instance, np.random.default_rng(seed), sp.simulate.Gaussian())
    return run.answer


@cache
def finished(backend, epsilon):
    """A run to its end, which the tests that look at it share."""
    run, instance = run_on(backend, epsilon=epsilon)
    finish(run, instance)
    return run, instance


@BACKENDS
@pytest.mark.parametrize("pulled", [range(0, 40, 2), range(40)], ids=["partly blind", "spanning"])
@pytest.mark.parametrize("shift", [0.0, 0.3])
def test_bets_pay_what_the_compiled_rule_pays(backend, pulled, shift):
    rng = np.random.default_rng(0)
    arms = rng.standard_normal((200, 8))
    arms[100:150] = arms[:50] + 1e-3 * rng.standard_normal((50, 8))  # nearly twins
    arms[::2, 5:] = 0.0  # every other arm lies in a subspace, and so does the truth
    problem = sp.Problem(arms, noise=1.0)
    there = backend_named(backend).put(np.array(problem.features))

    def block(arms_pulled):
        counts = np.zeros(200, dtype=np.int64)
        counts[list(arms_pulled)] = rng.integers(1, 5, len(arms_pulled))
        return counts, counts * arms[:, 0] + np.sqrt(counts) * rng.standard_normal(200)

    first, past, now = block(range(60)), block(range(80)), block(pulled)
    points = problem.features
    past_fit, first_fit = (
        least_squares(problem, *past, Scales()),
        block_fit(problem, Rows.from_counts(*first), Scales()),
    )
    plain = CompiledMarket.by_features(points, past_fit, first_fit, scale=0.1)
    large = LargeMarket(backend_named(backend), there, past_fit, first_fit, 0.1)
    assert large.rivals.tolist() == plain.rivals.tolist()
    alive = np.ones(200, dtype=bool)
    alive[::7] = False
    expected = np.zeros((200, 2))
    found = backend_named(backend).put(np.zeros((200, 2)))
    mask = backend_named(backend).put(alive)
    fit, payoff = block_fit(problem, Rows.from_counts(*now), Scales()), GaussianPayoff(PRECISIONS)
    plain.settle(expected, alive, fit, payoff, closeness=shift or None)
    large.settle(found, mask, fit, payoff, closeness=shift or None)
    assert np.count_nonzero(expected) > 0
    found = backend_named(backend).host(found)
    # against the leader alone, the leader has no rival: the plain rule leaves it out by hand
    keep = np.arange(200) != (plain.rivals[0] if shift else -1)
    np.testing.assert_allclose(found[keep], expected[keep], rtol=1e-9, atol=1e-12)
    few = (np.array([3, 50]), np.array([7]))
    paid = [market.pairs(*few, fit, payoff).paid() for market in (plain, large)]
    np.testing.assert_allclose(paid[1], paid[0], rtol=1e-9, atol=1e-12)


@pytest.mark.some(1)
@pytest.mark.parametrize(("backend", "epsilon"), each_value(["numpy", "torch"], [0.0, 0.3]))
def test_answers_are_right_and_their_certificates_hold(backend, epsilon):
    run, instance = finished(backend, epsilon)
    answer = run.answer
    assert isinstance(run.state.suggested.market, LargeMarket)
    assert instance.is_correct(answer.arm, epsilon)
    assert answer.guarantee.kind in ("pac", "eps-pac")
    if backend == "numpy":
        checked = sp.verify(answer.certificate())
        assert checked.candidate == answer.arm


@pytest.mark.validation
def test_backends_come_to_the_same():
    """Which pulls are asked for may hang on the last digit of a sum, which libraries make."""
    runs = [finished(name, 0.0)[0] for name in ("numpy", "torch")]
    assert len({run.answer.arm for run in runs}) == 1
    few, many = sorted(run.answer.samples for run in runs)
    assert many <= 2 * few
    means = [run.sums / np.maximum(run.pulls, 1) for run in runs]
    often = (runs[0].pulls > 20) & (runs[1].pulls > 20)
    assert often.any()
    np.testing.assert_allclose(*(mean[often] for mean in means), atol=1.5)


@pytest.mark.some(1)
@BACKENDS
def test_a_saved_run_goes_on_as_if_nothing_had_happened(backend):
    run, instance = run_on(backend, k=300, scale=0.7, epsilon=0.05, max_batch=40)
    rng = np.random.default_rng(3)
    for _ in range(6):
        batch = run.ask()
        run.tell(batch, instance.means[batch.arms] + rng.standard_normal(batch.size))
    memory = copy.deepcopy(run.state.save())
    assert all(isinstance(memory[name], np.ndarray) for name in ("capital", "close", "spare"))
    other = sp.algorithms.PooledPeleg(0.05, epsilon=0.05, max_batch=40).begin(
        instance.problem, np.random.default_rng(0)
    )
    other.load(memory)
    other.piece = run.state.piece
    again = run.state.propose(10**6)
    assert other.propose(10**6).same(again)
    np.testing.assert_array_equal(other.progress(), run.state.progress())


def test_large_tables_take_this_path_and_small_ones_do_not():
    rng = np.random.default_rng(0)
    small, large = rng.standard_normal((512, 64)), rng.standard_normal((513, 64))
    algorithm = sp.algorithms.PooledPeleg(0.1)
    for arms, market in (small, CompiledMarket), (large, LargeMarket):
        state = algorithm.begin(sp.Problem(arms, noise=1.0), rng)
        pulls = state.propose(10**6)
        state.observe(pulls, np.zeros(len(pulls.arms)))
        assert type(state.suggested.market) is market


@pytest.mark.parametrize("n", [12, 40, 500])
def test_rounding_uses_few_arms_and_all_pulls(n):
    rng = np.random.default_rng(0)
    arms, directions = rng.standard_normal((600, 6)), rng.standard_normal((50, 6))
    weights, shares = rng.dirichlet(np.ones(600)), rng.dirichlet(np.ones(50))
    spanning = np.arange(6)
    counts = round_many(arms, weights, n, directions, shares, spanning, must_span=False)
    assert counts.sum() == n
    assert (counts >= 0).all()
    drawn = [np.bincount(rng.choice(600, size=n, p=weights), minlength=600) for _ in range(21)]
    ours = information(arms, counts, directions, shares)
    assert ours >= 0.95 * np.median([information(arms, some, directions, shares) for some in drawn])
    spread = round_many(arms, weights, n, directions, shares, spanning, must_span=True)
    assert spread.sum() == n
    assert (spread[spanning] >= 1).all()


@pytest.mark.parametrize("arms_pulled", [4, 9, 30])
def test_information_is_that_of_the_compiled_kernel(arms_pulled):
    """Also where the pulls do not span: unseen directions count as nothing in both."""
    rng = np.random.default_rng(arms_pulled)
    arms, directions = rng.standard_normal((30, 6)), rng.standard_normal((50, 6))
    directions[:20] = arms[:2].mean(axis=0) * rng.uniform(0.5, 2.0, 20)[:, None]
    counts = np.zeros(30, dtype=np.int64)
    counts[:arms_pulled] = rng.integers(1, 9, arms_pulled)
    shares = rng.dirichlet(np.ones(50))
    found = information(arms, counts, directions, shares)
    assert found == pytest.approx(kernels.information(arms, counts, directions, shares), rel=1e-6)
    assert found > 0


def test_where_no_arm_tells_of_another_the_first_design_is_even():
    arms = np.random.default_rng(4).normal(size=(25, 25))
    problem = sp.Problem(arms, noise=1.0)
    found = LargePlanner(problem, problem.features).first()
    np.testing.assert_allclose(np.asarray(found.weights).sum(), 1.0)
    around = problem.features - problem.features.mean(axis=0)
    best = sp.design.minimax(problem.features, around, tol=1e-4)
    np.testing.assert_allclose(best.value, 24.0, rtol=1e-3)  # which the even design has
    gram = (problem.features.T * np.asarray(found.weights)) @ problem.features
    worst = np.einsum("ij,jk,ik->i", around, np.linalg.inv(gram), around).max()
    np.testing.assert_allclose(worst, 24.0, rtol=1e-9)
