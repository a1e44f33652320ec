"""An answer of reports waits until later ones show the same leads."""

import numpy as np
import pytest

import surepick as sp
from surepick.algorithms.pulls import Pulls, ToldPulls
from surepick.run import Run
from surepick.run.report import tell_report
from surepick.run.sharing import Sharing
from surepick.run.waiting import NOT_AGAIN, Waiting

DAY = 86_400.0


def started(n=3, least=0.0, noise="yes-no", **asked):
    run = sp.algorithms.PooledPeleg(0.05, **asked).start(sp.Problem.unstructured(n, noise=noise))
    run.waits = Waiting(least)
    return run


def day(run, rates, number=None, visits=10_000):
    """A day on which exactly these rates were seen."""
    shares = Sharing().shares(run, None)
    counts = np.floor(visits * shares).astype(np.int64)
    pulls = Pulls.from_counts(counts)
    hits = np.round(counts * np.array(rates))[pulls.arms]
    tell_report(run, ToldPulls(pulls, hits), None if number is None else (number + 1) * DAY)


def decided(run, rates=(0.04, 0.05, 0.07)):
    number = 0
    while not run.state.finished:
        day(run, rates, number)
        number += 1
    return number


def test_a_decision_is_an_answer_when_the_next_report_shows_the_same():
    run = started()
    decided(run)
    assert run.waits.begun
    assert not run.stopped
    day(run, (0.04, 0.05, 0.07))
    assert run.stopped
    assert run.waits.confirmed
    assert run.answer.guarantee.kind == "pac"


def test_one_that_falls_back_is_not_certified():
    run = started()
    decided(run, (0.04, 0.12, 0.05))  # bots on the second, until it is decided
    for _ in range(20):
        if run.stopped:
            break
        day(run, (0.04, 0.04, 0.05))
    assert run.stopped
    assert run.waits.since == run.waits.most
    assert run.answer.arm == 1
    assert run.answer.guarantee.kind == "heuristic"
    assert NOT_AGAIN in run.answer.guarantee


def test_everybody_who_was_in_lately_has_visitors_meanwhile():
    run = started()
    decided(run)
    shares = Sharing().shares(run, None)
    assert (shares[run.waits.rivals(run)] > 0.02).all()
    assert shares[2] > 0.2


def test_it_takes_the_time_that_was_asked_for():
    run = started(least=7 * DAY)
    number = decided(run)
    assert number < 6
    while not run.stopped:
        day(run, (0.04, 0.05, 0.07), number)
        number += 1
    assert number == 7


def test_waiting_is_part_of_a_saved_run():
    run = started()
    decided(run)
    again = Run.from_json(run.to_json())
    assert not again.stopped
    for one in (run, again):
        day(one, (0.04, 0.05, 0.07))
    assert again.stopped
    assert again.to_json() == run.to_json()


def test_a_run_stopped_while_it_waits_promises_nothing():
    run = started()
    decided(run)
    run.end()
    assert run.answer.guarantee.kind not in ("pac", "eps-pac")


def test_without_bets_on_later_reports_the_evidence_stays():
    run = started()
    decided(run)
    evidence = run.state.question.against().copy()
    day(run, (0.07, 0.05, 0.04))
    np.testing.assert_array_equal(run.state.question.against(), evidence)


@pytest.mark.parametrize("asked", [{"top": 2}, {"baseline": 0}])
def test_other_questions_wait_as_well(asked):
    run = started(n=4, **asked)
    decided(run, (0.03, 0.05, 0.07, 0.09))
    assert not run.stopped
    day(run, (0.03, 0.05, 0.07, 0.09))
    assert run.stopped
    assert run.waits.confirmed
