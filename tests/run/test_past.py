"""Measurements that were made before a run: evidence, or only a guide."""

import json

import numpy as np
import pytest
from tests.breadth import each_value

import surepick as sp
from surepick.algorithms import PooledPeleg
from surepick.errors import CertificateError, InvalidInputError, InvalidTypeError, RunStateError
from surepick.run import past
from surepick.run.certificate import fingerprint
from surepick.simulate.conformance.tools import chance, failures

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


def sorted_pair(seed):
    """A table of two options that are nearly alike, sorted by option and reward."""
    draws, problem = np.random.default_rng(seed), sp.Problem(np.eye(2), noise=1.0)
    rewards = np.sort(draws.normal(size=(2, 510)), axis=1) + [[0.0], [0.01]]
    run = PooledPeleg(0.2).start(problem)
    run.tell_past(np.repeat([0, 1], 510), rewards.ravel(), chosen_in_advance=True)
    return run


def test_a_sorted_table_is_not_dealt_by_ranks(monkeypatch):
    most = chance(40, 0.2)
    lost = lambda: failures(lambda i: 1 not in sorted_pair(i).active, 40, most)  # noqa: E731
    assert lost() <= most
    monkeypatch.setattr(past, "_seed", lambda arms, columns: 2_110_231)  # whatever the table
    assert lost() > most


def test_the_order_of_rows_does_not_matter():
    draws = np.random.default_rng(0)
    arms, rewards = survey(8, draws)
    rewards[3:5] = 0.0, -0.0
    told = []
    for order in (np.arange(160), draws.permutation(160), np.lexsort((rewards, arms))):
        run = PooledPeleg(DELTA).start(PROBLEM)
        run.tell_past(arms[order], rewards[order], chosen_in_advance=True)
        told.append(json.dumps([batch["sums"].tolist() for batch in run.past.batches]))
    assert told[0] == told[1] == told[2]
    changed = PooledPeleg(DELTA).start(PROBLEM)
    rewards[-1] += 1e-9
    changed.tell_past(arms, rewards, chosen_in_advance=True)
    first = [batch["arms"].tolist() for batch in changed.past.batches]
    assert first != [batch["arms"].tolist() for batch in run.past.batches]


@pytest.mark.some(1)
@pytest.mark.parametrize(
    ("past", "chosen_in_advance", "epsilon"), each_value(list(PASTS), [True, False], [0.0, 0.3])
)
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
        each: np.mean([play(past, True, seed).samples for seed in range(10)])
        for each, past in {
            0: None,
            5: lambda draws: survey(5, draws),
            100: lambda draws: survey(100, draws),
        }.items()
    }
    assert pulls[5] < 0.85 * pulls[0]
    assert pulls[100] == 0  # enough for the answer on their own


@pytest.mark.validation
def test_the_error_rate_holds_with_past_measurements_that_count():
    def wrong(seed):
        return play(lambda draws: survey(10, draws), True, seed).answer.arm != BEST

    most = chance(60, DELTA)
    assert failures(wrong, 60, most) <= most


def pushed(draws):
    """Somebody measured the second best until its average was far too high, the best until low."""
    arms, rewards = survey(30, draws)
    for arm, sign in ((SECOND, 1.0), (BEST, -1.0)):
        lucky = draws.normal(size=400)
        lucky = lucky[lucky * sign > 1.0]
        arms = np.concatenate([arms, np.full(len(lucky), arm)])
        rewards = np.concatenate([rewards, MEANS[arm] + 3 * lucky])
    return arms, rewards


@pytest.mark.validation
def test_results_that_chose_themselves_only_guide():
    plain = [play(None, True, seed) for seed in range(40)]
    guided = [play(pushed, False, seed) for seed in range(40)]
    errors = sum(run.answer.arm != BEST for run in guided)
    assert errors <= chance(len(guided), DELTA)
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
    with pytest.raises(CertificateError, match="provided that what was measured in the past"):
        sp.verify(body)
    body = play(lambda draws: survey(10, draws), True).answer.certificate()
    body["past"]["batches"][-1]["sums"][0] += 20.0
    body["digest"] = fingerprint(body)
    with pytest.raises(CertificateError):
        sp.verify(body)


def test_other_algorithms_refuse_and_nothing_happens():
    run = sp.algorithms.Peleg(DELTA).start(PROBLEM)
    with pytest.raises(InvalidInputError, match="use pooled-peleg"):
        run.tell_past([0], [1.0], chosen_in_advance=True)
    assert run.past is None
    assert run.ask().size > 0


def test_bad_past():
    run = PooledPeleg(DELTA).start(PROBLEM)
    for arms, rewards, error, said in (
        ([0, 1], [1.0], InvalidInputError, "2 arms and 1 rewards"),
        ([], [], InvalidInputError, "at least one measurement"),
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
