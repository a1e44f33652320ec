"""Measurements that were made before a run: evidence, or only a guide."""

import json

import numpy as np
import pytest
from scipy.stats import binom

import surepick as sp
from surepick.algorithms import PooledPeleg
from surepick.errors import CertificateError, InvalidInputError, InvalidTypeError, RunStateError
from surepick.run.certificate import fingerprint

DELTA = 0.1
rng = np.random.default_rng(2)
ARMS = np.column_stack([np.ones(20), rng.normal(size=(20, 3))])
MEANS = ARMS @ rng.normal(size=4)
BEST = int(MEANS.argmax())
SECOND = int(np.argsort(-MEANS)[1])
PROBLEM = sp.Problem(ARMS, noise=1.0)


def survey(each, draws, means=MEANS):
    arms = np.repeat(np.arange(20), each)
    return arms, means[arms] + draws.normal(size=len(arms))


def play(past, chosen_in_advance, seed=0, reload=False, algorithm=None):
    draws = np.random.default_rng([5, seed])
    run = (algorithm or PooledPeleg(DELTA)).start(PROBLEM)
    if past is not None:
        run.tell_past(*past(draws), chosen_in_advance=chosen_in_advance)
    while not run.stopped:
        batch = run.ask()
        run.tell(batch, MEANS[batch.arms] + draws.normal(size=batch.size))
        if reload:
            run = sp.Run.from_json(run.to_json())
    return run


def some_arms_only(draws):
    arms = np.repeat([0, 1], 60)
    return arms, MEANS[arms] + draws.normal(size=120)


PASTS = {
    "once each": lambda draws: survey(1, draws),
    "ten of each": lambda draws: survey(10, draws),
    "two options": some_arms_only,
    "one measurement": lambda draws: ([3], [0.5]),
}


@pytest.mark.parametrize("chosen_in_advance", [True, False])
@pytest.mark.parametrize("past", PASTS)
@pytest.mark.parametrize("epsilon", [0.0, 0.3])
def test_certificates_hold_and_saving_changes_nothing(past, chosen_in_advance, epsilon):
    algorithm = PooledPeleg(DELTA, epsilon=epsilon)
    runs = [play(PASTS[past], chosen_in_advance, 1, again, algorithm) for again in (False, True)]
    one, other = (json.dumps(run.answer.certificate()) for run in runs)
    assert one == other
    result = sp.verify(one)
    assert result.guarantee in ("pac", "eps-pac")
    assert ("did not depend on rewards" in result.statement) == chosen_in_advance
    run = runs[1]
    assert run.past is not None
    assert run.past.evidence == chosen_in_advance
    assert run.samples == run.pulls.sum() == json.loads(one)["claim"]["samples"]
    counted = run.past.measurements if chosen_in_advance else 0
    assert run.totals()[0].sum() == run.samples + counted


def test_past_measurements_that_count_save_new_ones():
    pulls = {
        each: np.mean([play(past, True, seed).samples for seed in range(20)])
        for each, past in {
            0: None,
            5: lambda draws: survey(5, draws),
            100: lambda draws: survey(100, draws),
        }.items()
    }
    assert pulls[5] < 0.85 * pulls[0]
    assert pulls[100] == 0  # enough for the answer on their own


def test_the_error_rate_holds_with_past_measurements_that_count():
    runs = [play(lambda draws: survey(10, draws), True, seed) for seed in range(60)]
    errors = sum(run.answer.arm != BEST for run in runs)
    assert errors <= binom.ppf(0.999, len(runs), DELTA)


def pushed(draws):
    """Somebody measured the second best until its average was far too high, the best until low."""
    arms, rewards = survey(30, draws)
    for arm, sign in ((SECOND, 1.0), (BEST, -1.0)):
        lucky = draws.normal(size=400)
        lucky = lucky[lucky * sign > 1.0]
        arms = np.concatenate([arms, np.full(len(lucky), arm)])
        rewards = np.concatenate([rewards, MEANS[arm] + 3 * lucky])
    return arms, rewards


def test_results_that_chose_themselves_only_guide():
    plain = [play(None, True, seed) for seed in range(40)]
    guided = [play(pushed, False, seed) for seed in range(40)]
    errors = sum(run.answer.arm != BEST for run in guided)
    assert errors <= binom.ppf(0.999, len(guided), DELTA)
    # A bad guide costs measurements, but not without bounds.
    cost = [np.mean([run.samples for run in runs]) for runs in (plain, guided)]
    assert cost[1] < 3 * cost[0]
    # The same numbers, counted as evidence, would have been wrong: the difference matters.
    fooled = [play(pushed, True, seed) for seed in range(10)]
    assert sum(run.answer.arm != BEST for run in fooled) >= 8


def test_which_rewards_are_in_which_block_does_not_depend_on_rewards():
    def sorted_table(draws):
        arms, rewards = survey(20, draws)
        order = np.lexsort((rewards, arms))
        return arms[order], rewards[order]

    run = play(sorted_table, True)
    assert run.past is not None
    first, second = (run.past.batches[i] for i in (0, -1))
    means = [batch["sums"].sum() / batch["counts"].sum() for batch in (first, second)]
    assert abs(means[0] - means[1]) < 1.5  # sorted halves would differ by 1.6 and the arms' means
    assert sum(batch["counts"].sum() for batch in run.past.batches) == 400
    assert np.linalg.matrix_rank(ARMS[first["arms"]]) == 4


def test_a_guide_cannot_be_passed_off_as_evidence():
    body = play(lambda draws: survey(10, draws), True).answer.certificate()
    body["past"]["chosen"] = "by results"
    body["digest"] = fingerprint(body)
    with pytest.raises(CertificateError, match="chosen by results count as evidence"):
        sp.verify(body)
    body = play(lambda draws: survey(10, draws), True).answer.certificate()
    body["claim"]["statement"] = body["claim"]["statement"].split(";")[0]
    body["digest"] = fingerprint(body)
    with pytest.raises(CertificateError, match="rests on how past measurements were chosen"):
        sp.verify(body)
    body = play(lambda draws: survey(10, draws), True).answer.certificate()
    body["past"]["batches"][-1]["sums"][0] += 20.0
    body["digest"] = fingerprint(body)
    with pytest.raises(CertificateError):
        sp.verify(body)


def test_other_algorithms_refuse_and_nothing_happens():
    run = sp.algorithms.Peleg(DELTA).start(PROBLEM)
    with pytest.raises(InvalidInputError, match="pooled-peleg can"):
        run.tell_past([0], [1.0], chosen_in_advance=True)
    assert run.past is None
    assert run.ask().size > 0


def test_bad_past():
    run = PooledPeleg(DELTA).start(PROBLEM)
    for arms, rewards, error, said in (
        ([0, 1], [1.0], InvalidInputError, "2 arms and 1 rewards"),
        ([], [], InvalidInputError, "one measurement at least"),
        ([20], [1.0], InvalidInputError, r"arms\[0\] is 20; arms are numbered from 0 to 19"),
        ([0.5], [1.0], InvalidInputError, r"arms\[0\] is 0.5"),
        ([0, 1], [1.0, float("nan")], InvalidInputError, r"rewards\[1\] is nan"),
        ([0], [1e300], InvalidInputError, "too large"),
        (["a"], [1.0], InvalidTypeError, "arms must be a list of numbers"),
    ):
        with pytest.raises(error, match=said):
            run.tell_past(arms, rewards, chosen_in_advance=True)
    with pytest.raises(InvalidTypeError, match="true or false"):
        run.tell_past([0], [1.0], chosen_in_advance="yes")  # pyright: ignore
    run.tell_past([0], [1.0], chosen_in_advance=True)
    with pytest.raises(RunStateError, match="once, before the first ask"):
        run.tell_past([0], [1.0], chosen_in_advance=True)
    run = PooledPeleg(DELTA).start(PROBLEM)
    run.ask()
    with pytest.raises(RunStateError, match="before the first ask"):
        run.tell_past([0], [1.0], chosen_in_advance=True)


def test_one_candidate_needs_no_past():
    run = PooledPeleg(DELTA).start(sp.Problem([[1.0, 2.0]], noise=1.0))
    run.tell_past([0, 0], [1.0, 2.0], chosen_in_advance=True)
    assert run.stopped
    assert sp.verify(run.answer.certificate()).candidate == 0
