"""Forged lists of options that came and went: every number is right, only what it says is not."""

import copy
import json

import numpy as np
import pytest
from tests.algorithms.pooled.test_options import changing_run
from tests.verifier.test_forgeries import Accomplice

import surepick as sp
from surepick.algorithms.pooled import options
from surepick.algorithms.pooled.questions.best import Best
from surepick.errors import CertificateError
from surepick.run.certificate import fingerprint
from surepick.verifier.questions import best
from surepick.verifier.verify import verify


@pytest.fixture(scope="module")
def genuine():
    return json.loads(json.dumps(changing_run(noise=0.5, epsilon=0.0, seed=3).answer.certificate()))


def forged(body, **changes):
    body = copy.deepcopy(body) | copy.deepcopy(changes)
    return body | {"digest": fingerprint(body)}


def refused(body):
    with pytest.raises(CertificateError) as why:
        verify(body)
    return str(why.value)


def with_entry(body, number, **changes):
    entries = copy.deepcopy(body["options"])
    entries[number] |= changes
    return forged(body, options=entries)


def test_a_list_that_does_not_fit_is_refused(genuine):
    assert verify(genuine).label == "new"
    added, sold, *_ = genuine["options"]
    assert (added["change"], sold["change"]) == ("added", "retired")
    every = genuine["options"]
    assert "not there" in refused(with_entry(genuine, 0, batch=added["batch"] + 1))
    for wrong in (
        with_entry(genuine, 0, arms=[5]),
        with_entry(genuine, 0, features=[4, 3]),
        with_entry(genuine, 0, reason=7),
        with_entry(genuine, 1, arms=[6, 1]),
        with_entry(genuine, 1, change="renamed"),
        with_entry(genuine, 1, batch=-1),
        with_entry(genuine, 1, batch=10**6),
        forged(genuine, options=[]),
        forged(genuine, options=every[:1]),  # who was retired is alive
        forged(genuine, options=every[1:]),  # the newcomer was there from the start
        forged(genuine, options=[every[1], every[0], *every[2:]]),
        forged(genuine, options=[*every, every[1]]),  # retired twice
    ):
        refused(wrong)


def test_the_statement_says_that_options_came_and_went(genuine):
    claim = copy.deepcopy(genuine["claim"])
    claim["statement"] = claim["statement"].rpartition("; among")[0]
    assert "the statement should be" in refused(forged(genuine, claim=claim))


@pytest.mark.parametrize("rule", ["start", "return"])
def test_runs_by_the_obvious_rules_are_refused(rule, monkeypatch):
    """The algorithm itself is made to follow them; the verifier has rules of its own."""
    if rule == "start":
        monkeypatch.setattr(options, "newcomers_start", lambda start, left: start)
    else:

        def obvious(memory, place):
            dropped = memory["dropped_at"].copy()
            dropped[place] = options.GONE
            return memory | {"dropped_at": dropped}

        monkeypatch.setattr(options, "retired", obvious)
    refusals = 0
    for seed in range(4):
        body = json.loads(json.dumps(_short_run(seed).answer.certificate()))
        try:
            verify(body)
        except CertificateError:
            refusals += 1
    assert refusals >= 2


def test_a_block_may_not_go_without_bets_before_a_change_of_options(monkeypatch):
    """Who decides afterwards which blocks count leaves out those that went against the leader.

    The algorithm itself leaves one out; every number that the certificate has is right.
    """
    bet = Best.bet

    def skipping(question, market, blocks, pulls):
        if pulls in skipped:
            return {"rivals": [], "dropped": []}
        return bet(question, market, blocks, pulls)

    monkeypatch.setattr(Best, "bet", skipping)
    skipped, bodies = set(), []
    for attempt in (False, True):
        rng, means = np.random.default_rng(3), np.array([0.6, 0.5, 0.0, -1.0])
        problem = sp.Problem.unstructured(["a", "b", "c"], noise=0.5)
        run = sp.algorithms.PooledPeleg(0.1).start(problem)
        while not run.stopped:
            batch = run.ask()
            if run.batches == 2 and attempt:
                skipped.add(run.samples + len(batch))
            run.tell(batch, means[batch.arms] + 0.5 * rng.normal(size=len(batch)))
            if run.batches == 3:
                assert not run.stopped
                run.add(np.eye(4)[-1:], ["d"])
        bodies.append(json.loads(json.dumps(run.answer.certificate())))
    honest, partial = bodies
    assert honest["evidence"]["blocks"][2]["rivals"]
    assert not partial["evidence"]["blocks"][2]["rivals"]
    verify(honest)
    assert "was not bet on, though nothing was decided" in refused(partial)


def _short_run(seed):
    """A newcomer comes while bets against the others have lost; then somebody who led goes."""
    rng, means = np.random.default_rng(seed), np.array([1.0, 0.8, 0.0, -1.0])
    problem = sp.Problem.unstructured(["a", "b", "c"], noise=0.5)
    run = sp.algorithms.PooledPeleg(0.2, max_samples=300).start(problem)
    while not run.stopped:
        batch = run.ask()
        run.tell(batch, means[batch.arms] + 0.5 * rng.normal(size=len(batch)))
        if run.batches == 4 and not run.stopped:
            run.add(np.eye(4)[-1:], ["d"])
        if 2 not in run.active and not run.retired and run.problem.n_arms == 4:
            run.retire("a")
    return run


def test_the_verifier_counts_drops_again_by_its_own_rules(genuine):
    """With an accomplice who would let everything pass, the drops of the record still stand."""
    check = Accomplice(genuine)
    left = best.verify(check)
    assert left == genuine["claim"]["survivors"] == [6]
