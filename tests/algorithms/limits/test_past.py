"""Measurements made before a run where options have to keep limits on further numbers."""

import copy
import json

import numpy as np
import pytest

import surepick as sp
from surepick.algorithms import PooledPeleg
from surepick.errors import CertificateError, InvalidInputError
from surepick.run.certificate import fingerprint
from surepick.simulate.conformance.tools import chance, failures

MEANS, COSTS = np.array([0.2, 0.6, 0.9]), np.array([0.2, 0.3, 0.8])
KINDS = [
    ("yes-no", (0, 1)),
    ("symmetric", "symmetric"),
    ("any", "any"),
    (1.5, 0.1),
    ("equal", "equal"),
    ("any", "yes-no"),
]


def drawn(arms, draws, noise="yes-no", number=(0, 1), means=MEANS, costs=COSTS):
    y = (draws.random(len(arms)) < means[arms]).astype(float)
    y = y if noise == "yes-no" else y + draws.normal(size=len(arms))
    c = np.clip(costs[arms] + 0.1 * draws.normal(size=len(arms)), 0, 1)
    return y, {"cost": (c > 0.5).astype(float) if number == "yes-no" else c}


def begun(arms, in_advance, noise="yes-no", number=(0, 1), seed=5, **more):
    """A run that knows the past, and where the next measurements come from."""
    draws = np.random.default_rng(seed)
    problem = sp.Problem.unstructured(["a", "b", "c"], noise=noise, numbers={"cost": number})
    keep = ["p90 of cost <= 0.6"] if number == "any" else ["cost <= 0.5"]
    run = PooledPeleg(0.05, keep=keep).start(problem, 1)
    y, numbers = drawn(arms, draws, noise, number, **more)
    run.tell_past(arms, y, chosen_in_advance=in_advance, numbers=numbers)
    return run, lambda pulled: drawn(pulled, draws, noise, number, **more)


def finish(run, measure, most=5_000, reload=False):
    while not run.stopped and run.samples < most:
        batch = run.ask()
        y, numbers = measure(batch.arms)
        run.tell(batch, y, numbers=numbers)
        if reload:
            run = sp.Run.from_json(run.to_json())
    return run


EVERYBODY, TWO = np.tile([0, 1, 2], 40), np.tile([0, 1], 30)


@pytest.mark.some(1)
@pytest.mark.parametrize("in_advance", [True, False])
@pytest.mark.parametrize(("noise", "number"), KINDS)
def test_the_past_counts_or_guides_and_certificates_hold(noise, number, in_advance):
    for arms in (EVERYBODY, TWO, np.array([2])):
        run = finish(*begun(arms, in_advance, noise, number))
        assert run.answer.label == "b"
        found = sp.verify(run.answer.certificate(), replay=True)
        assert (found.label, found.guarantee, found.replayed) == ("b", "pac", True)
        said = "did not depend on rewards" in found.statement
        assert said == in_advance


def test_the_past_may_be_all_it_takes():
    run, _ = begun(np.tile([0, 1, 2], 200), True)
    assert run.stopped
    assert (run.answer.label, run.samples) == ("b", 0)
    assert sp.verify(run.answer.certificate(), replay=True).replayed


def test_what_only_guides_proves_nothing():
    run, _ = begun(np.tile([0, 1, 2], 200), False)
    assert not run.stopped
    assert list(run.active) == [0, 1, 2]


def test_bets_begin_once_everybody_was_measured():
    run, measure = begun(TWO, True)
    assert run.standing() is not None  # though nothing is known of the third
    run = finish(sp.Run.from_json(run.to_json()), measure, reload=True)
    before, first, second = run.answer.certificate()["evidence"]["blocks"][:3]
    assert (before["past"], before["rivals"], first["rivals"]) == (1, [], [])
    assert second["rivals"]


def test_saved_and_loaded_it_goes_on_as_before():
    for arms in (EVERYBODY[:30], TWO):
        answers = [
            finish(*begun(arms, True), reload=reload).answer.certificate()["digest"]
            for reload in (False, True)
        ]
        assert answers[0] == answers[1]


def test_the_order_of_rows_does_not_matter():
    draws = np.random.default_rng(0)
    y, numbers = drawn(EVERYBODY, draws)  # rewards are yes or no: costs tell equal rows apart
    told = []
    for order in (np.arange(120), draws.permutation(120), np.argsort(numbers["cost"])):
        problem = sp.Problem.unstructured(3, noise="yes-no", numbers={"cost": (0, 1)})
        run = PooledPeleg(0.05, keep=["cost <= 0.5"]).start(problem, 1)
        own = {"cost": numbers["cost"][order]}
        run.tell_past(EVERYBODY[order], y[order], chosen_in_advance=True, numbers=own)
        told.append(_batches(run))
    assert told[0] == told[1] == told[2]


def _batches(run):
    return [batch["numbers"]["cost"]["sums"].tolist() for batch in run.past.batches]


@pytest.mark.validation
def test_a_right_answer_is_rarely_lost():
    """The best one is exactly at the limit: it must not be ruled out by the past."""

    def lost(seed):
        means, costs = np.array([0.9, 0.5, 0.1]), np.array([0.5, 0.3, 0.2])
        arms = np.tile([0, 1, 2], 100)
        run, measure = begun(arms, True, seed=seed, means=means, costs=costs, number="yes-no")
        return 0 not in finish(run, measure, most=200).active

    assert failures(lost, 60, chance(60, 0.05)) <= chance(60, 0.05)


@pytest.mark.parametrize(
    ("numbers", "why"),
    [
        (None, "'cost' is missing"),
        ({"cost": [0.1]}, "3 expected, 1 given"),
        ({"cost": [0.1, 0.2, 3.0]}, "cost of 'c' is 3"),
        ({"cost": [0.1, 0.2, 0.3], "time": [1, 2, 3]}, "no further number is called 'time'"),
    ],
)
def test_numbers_that_are_refused(numbers, why):
    problem = sp.Problem.unstructured(["a", "b", "c"], noise="yes-no", numbers={"cost": (0, 1)})
    run = PooledPeleg(0.05, keep=["cost <= 0.5"]).start(problem, 1)
    with pytest.raises(InvalidInputError, match=why):
        run.tell_past([0, 1, 2], [1, 0, 1], chosen_in_advance=True, numbers=numbers)
    assert run.past is None


def _by_results(body):
    body["past"]["chosen"] = "by results"


def _cheaper(body):
    own = body["past"]["batches"][1]["numbers"]["cost"]["sums"]
    own[:] = [0.5 * one for one in own]


def _impossible(body):
    body["past"]["batches"][0]["numbers"]["cost"]["sums"][0] = 1e6


def _without(body):
    del body["past"]["batches"][0]["numbers"]


def _later(body):
    body["past"]["batches"].reverse()


def _all_as_one(body):
    body["evidence"]["blocks"][0]["past"] += 1
    del body["evidence"]["blocks"][1]


@pytest.mark.some(2)
@pytest.mark.parametrize(
    "change", [_by_results, _cheaper, _impossible, _without, _later, _all_as_one]
)
def test_a_changed_past_is_refused(change):
    body = json.loads(json.dumps(finish(*begun(EVERYBODY, True)).answer.certificate()))
    assert sp.verify(body)
    forged = copy.deepcopy(body)
    change(forged)
    forged["digest"] = fingerprint(forged)
    with pytest.raises(CertificateError):
        sp.verify(forged, replay=True)


def test_numbers_of_the_past_have_to_be_possible():
    body = json.loads(json.dumps(finish(*begun(EVERYBODY, True)).answer.certificate()))
    _impossible(body)
    body["digest"] = fingerprint(body)
    with pytest.raises(CertificateError, match="cost of past batch 0, arm 0"):
        sp.verify(body)
