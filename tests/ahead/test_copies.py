"""What lies ahead of a run: truths that fit what was measured, and copies that go on."""

import json
import math
import re

import numpy as np
import pytest

import surepick as sp
from surepick.ahead.copies import ahead
from surepick.ahead.feed import TooSlowError, feed
from surepick.ahead.posterior import Posterior
from surepick.run import Run
from surepick.run.forecast import Ahead
from surepick.simulate import Bernoulli, Gaussian

ROWS = np.c_[np.ones(8), np.repeat(np.eye(4)[:, 1:], 2, axis=0), np.tile([0.0, 1.0], 4)]
MEANS = ROWS @ [1.0, 1.1, -0.8, 2.4, 1.3]


def begun(problem, means=MEANS, batches=3, seed=0, **settings):
    """A run under way, what its rewards are drawn from, and the generator of the rest."""
    noise = Bernoulli() if problem.noise_kind.kind == "yes-no" else Gaussian()
    run = sp.algorithms.PooledPeleg(0.05, **settings).start(problem)
    rng = np.random.default_rng(seed)
    for _ in range(batches):
        with pytest.raises(TooSlowError):
            feed(run, means, noise, 1.0, rng, most=run.samples)
    return run, noise, rng


@pytest.mark.validation
def test_intervals_hold_about_as_often_as_they_say():
    held = 0
    for seed in range(6):  # benchmarks/forecasts.py does it 200 times
        means = 2 * ROWS @ np.random.default_rng(seed).normal(size=5)
        run, noise, rng = begun(sp.Problem(ROWS, noise=1.0), means, 2, seed, max_samples=1000)
        said, before = ahead(run, copies=12), run.samples
        feed(run, means, noise, 1.0, rng)
        if said.low is not None:
            held += said.low <= run.samples - before <= (said.high or math.inf)
    assert held >= 4


def test_it_is_the_same_again_and_changes_nothing():
    run, *_ = begun(sp.Problem(ROWS, noise=1.0))
    before = run.to_json()
    first = ahead(run, copies=12)
    assert ahead(run, copies=12) == first
    assert run.to_json() == before
    assert first.simulated == 12
    assert first.low <= first.middle <= first.high
    assert first.less(first.low + 1).low == 0
    assert f"{first.less(0).text}" == first.text


def test_more_is_ahead_where_more_is_asked():
    sure, unsure = (
        ahead(begun(sp.Problem(ROWS, noise=1.0), means=scale * MEANS, seed=1)[0], copies=12)
        for scale in (1.0, 0.4)
    )
    assert unsure.low is None or sure.high < unsure.low


def test_nothing_is_said_where_it_depends_on_plates_to_come():
    """Copies without plates ended too soon: the study took longer than their intervals said."""
    run = sp.algorithms.PooledPeleg(0.05).start(sp.Problem(ROWS, noise=1.0))
    rng = np.random.default_rng(2)
    for number in range(2):
        batch = run.ask()
        plates = [f"{number}.{i // 12}" for i in range(batch.size)]
        run.tell(batch, MEANS[batch.arms] + rng.normal(size=batch.size), strata=plates)
    said = ahead(run)
    assert (said.low, said.middle, said.high) == (None, None, None)
    assert "plates" in said.text


def test_one_number_is_not_said_to_be_certain():
    assert Ahead(68, 68, 68, 40).text == "Probably about 68 more measurements"
    assert Ahead(68, 68, 68, 40).less(70).high == 1


def test_a_limit_is_part_of_what_lies_ahead():
    run, *_ = begun(sp.Problem(ROWS, noise=1.0), means=0 * MEANS, max_samples=100, batches=2)
    assert ahead(run, copies=12).high == 100 - run.samples


def test_what_cannot_be_said_is_not_said():
    fresh = sp.algorithms.PooledPeleg(0.05).start(sp.Problem(ROWS))
    assert ahead(fresh).text.endswith(
        "It is not known how many more measurements: the first batch is not complete yet"
    )
    others = sp.algorithms.PooledPeleg(0.05).start(sp.Problem(ROWS, ROWS + 1.0, noise=1.0))
    assert ahead(others).low is None
    items = sp.algorithms.PooledPeleg(0.05, items=50).start(
        sp.Problem.unstructured(3, noise="symmetric")
    )
    assert "same items" in ahead(items).why
    # Options that seem to be tied: at least so many, and nobody knows how many at most.
    tied, *_ = begun(sp.Problem.unstructured(4, noise=1.0), means=np.zeros(4), batches=3)
    said = ahead(tied, copies=12)
    assert said.high is None
    assert re.search("it may take very many|too early to say how many at most", said.text)
    in_no_time = ahead(tied, seconds=0.0)
    assert (in_no_time.low, in_no_time.simulated, in_no_time.slow) == (None, 0, True)
    assert in_no_time.text.startswith("It is not known how many more measurements")
    done = ahead(Run.from_json(json.dumps(json.loads(fresh.to_json()) | {"ended": True})))
    assert done == Ahead(0, 0, 0, 0)


def test_truths_fit_what_was_measured():
    rng = np.random.default_rng(1)
    linear = Posterior(begun(sp.Problem(ROWS, noise=1.0))[0])
    means, scales = linear.draw(rng)
    off = means - ROWS @ np.linalg.lstsq(ROWS, means, rcond=None)[0]
    assert np.abs(off).max() < 1e-3  # features are trusted
    assert scales.tolist() == [1.0] * 8
    run = sp.algorithms.PooledPeleg(0.05).start(
        sp.Problem(ROWS, noise="symmetric", misfit=math.inf)
    )
    bumpy = MEANS + np.array([0, 0, 2.0, 0, 0, -2.0, 0, 0])
    run.tell_past(
        np.repeat(np.arange(8), 400),
        np.repeat(bumpy, 400) + rng.normal(size=3200),
        chosen_in_advance=True,
    )
    many = Posterior(run)
    draws = np.array([many.draw(rng)[0] for _ in range(40)])
    assert np.abs(draws.mean(axis=0) - bumpy).max() < 0.15  # each is known by its own rewards
    assert 0.02 < draws.std(axis=0).max() < 0.1  # about 1/√400


def test_rates_stay_rates():
    rates = np.full(6, 0.02)
    run, *_ = begun(sp.Problem.unstructured(6, noise="yes-no"), means=rates, batches=8)
    rng, posterior = np.random.default_rng(0), Posterior(run)
    for _ in range(20):
        means, _ = posterior.draw(rng)
        assert 0 < means.min() < means.max() < 0.5


@pytest.mark.some(3)
@pytest.mark.parametrize("noise", ["symmetric", 1.0, "yes-no", (-9.0, 9.0), [1.0, 2.0, 1.0]])
@pytest.mark.parametrize("own", [True, False])
def test_an_option_that_waits_for_the_end_of_a_batch_is_ahead_too(noise, own):
    """Copies let it in when their batch is done: it needs a mean of its own."""
    means = np.array([0.2, 0.5, 0.7])
    rows = np.eye(3) if own else np.c_[np.ones(3), [0.0, 1.0, 2.0]]
    problem = sp.Problem(rows, noise=noise, misfit=math.inf if own else 0.0)
    run, *_ = begun(problem, means, 2)
    run.ask()
    scales = {"noise": [1.5]} if isinstance(noise, list) else {}
    new = [[0.0, 0.0, 0.0, 1.0]] if own else [[1.0, 3.0]]
    assert not run.add(new, ["late"], **scales)
    means, scales = Posterior(run).draw(np.random.default_rng(0))
    assert means.shape == scales.shape == (4,)
    found = ahead(run, copies=3, seconds=0.5)
    assert found.unit == "measurements"


@pytest.mark.validation
@pytest.mark.parametrize("minimise", [False, True])
def test_numbers_of_any_kind_have_a_forecast_that_minds_only_their_order(minimise):
    means, found = np.array([0.0, 0.3, 0.9, 1.2]), []
    for stretched in (lambda z: z, lambda z: np.exp(4.0 * z)):
        problem = sp.Problem.unstructured(4, minimise=minimise)
        run, rng = sp.algorithms.PooledPeleg(0.05).start(problem, 3), np.random.default_rng(3)
        while run.samples < 60:
            batch = run.ask()
            sign = -1.0 if minimise else 1.0
            run.tell(batch, stretched(sign * means[batch.arms] + rng.normal(size=len(batch))))
        found.append(ahead(run, seconds=60.0))
    assert found[0] == found[1]
    assert found[0].simulated == 40
    assert found[0].low > 20


def test_a_run_that_compares_two_at_a_time():
    """Copies go on with judges that are likely; how long it really takes lies between the ends."""
    from surepick.simulate.judges import Judge, bradley_terry

    run = sp.algorithms.Pairs(0.05).start(sp.Problem.pairs(5), 3)
    assert ahead(run).why == "the first batch is not complete yet"
    judge = Judge(bradley_terry([1.2, 0.3, 0.0, -0.5, -1.0]), left=0.6, ties=0.1, rng=1)
    pairing, found = run.problem.pairing, None
    while not run.stopped:
        batch = run.ask()
        first, second = pairing.firsts(batch.arms), pairing.seconds(batch.arms)
        run.tell(batch, judge.many(first, second))
        if found is None and run.samples >= 60:
            found, since = ahead(run, copies=12, seconds=20.0), run.samples
    assert 0 < found.low <= found.middle
    assert found.low <= run.samples - since <= (found.high or 10**9)
    assert ahead(run).high == 0
