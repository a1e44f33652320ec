"""Budgets in money, and limits that are changed while a run is under way."""

import json
import math

import numpy as np
import pytest

import surepick as sp
from surepick.errors import CertificateError, InvalidInputError, RunStateError
from surepick.run import Run
from surepick.run.certificate import fingerprint

ARMS = np.random.default_rng(0).normal(size=(8, 3))
MEANS = ARMS @ [0.5, -0.2, 0.1]
COSTS = np.linspace(1.0, 40.0, 8)


def reward(arm, number):
    return float(MEANS[arm] + np.random.default_rng([number, arm]).normal())


def drive(run, most=math.inf):
    while not run.stopped and run.batches < most:
        batch = run.ask()
        first = run.samples
        run.tell(batch, [reward(arm, first + i) for i, arm in enumerate(batch.arms)])
    return run


def _with_more_money(body):
    body["limits"][1]["budget"] = 200.0
    claim = body["claim"]
    claim["statement"] = claim["statement"].replace("budget=90", "budget=200")


def forged(certificate, change):
    body = json.loads(json.dumps(certificate))
    change(body)
    return body | {"digest": fingerprint(body)}


@pytest.mark.parametrize(
    ("name", "misfit"),
    [("pooled-peleg", 0.0), ("pooled-peleg", math.inf), ("rage", 0.0), ("lucb", 0.0)],
)
def test_no_more_is_spent_than_there_is_and_little_is_left(name, misfit):
    problem = sp.Problem(ARMS, noise=1.0, costs=COSTS, misfit=misfit)
    algorithm = sp.algorithms.get(name, delta=1e-6, budget=700.0)
    answer = drive(algorithm.start(problem)).answer
    assert 700.0 - COSTS.max() < answer.cost <= 700.0
    assert answer.guarantee.startswith("no guarantee: stopped by budget=700 with ")
    assert "because its budget of 700 was spent" in answer.plain
    assert sp.verify(answer.certificate(), replay=name != "lucb").label == answer.label


def test_without_costs_a_budget_is_a_number_of_measurements():
    problem = sp.Problem(ARMS, noise=1.0)
    limited = sp.algorithms.PooledPeleg(1e-6, max_samples=60)
    answer = drive(limited.start(problem)).answer
    same = drive(sp.algorithms.PooledPeleg(1e-6, budget=60).start(problem)).answer
    assert same.samples == 60
    assert same.pulls.tolist() == answer.pulls.tolist()


def test_limits_change_on_the_way_and_a_replay_knows_when():
    problem = sp.Problem(ARMS, noise=1.0)
    run = drive(sp.algorithms.PooledPeleg(0.01, max_samples=50).start(problem))
    assert (run.samples, run.stopped) == (50, True)
    first = run.batches
    run.limit(max_samples=200, reason="more time")
    run.ask()
    assert run.ask_ahead() is not None
    with pytest.raises(InvalidInputError, match="measurements have been asked for already"):
        run.limit(max_samples=51)
    run.limit(budget=90, max_samples="none", reason="the rest", by="ann", at=3.0)
    run = drive(Run.from_json(run.to_json()))
    assert (run.samples, run.limits) == (90, (None, 90.0))
    certificate = run.answer.certificate()
    assert [change["asked"] for change in certificate["limits"]] == [first, first + 2]
    assert sp.verify(certificate, replay=True).replayed
    for change in (
        lambda body: body["limits"].pop(),  # the run would have ended before
        lambda body: body["limits"][0].update(max_samples=52),
        lambda body: body["limits"][1].update(asked=0),
        lambda body: body["limits"][1].update(budget=200.0),  # that is not spent
        lambda body: body["limits"][1].update(budget=True),
        lambda body: body["limits"].reverse(),
        lambda body: body["claim"].update(
            statement=body["claim"]["statement"].replace("budget=90", "budget=91")
        ),
    ):
        with pytest.raises(CertificateError):
            sp.verify(forged(certificate, change), replay=True)
    with pytest.raises(CertificateError, match="its budget of 200 is not spent"):
        sp.verify(forged(certificate, _with_more_money), replay=False)
    run.limit(budget=math.inf)
    answer = drive(run).answer
    assert answer.guarantee.kind == "pac"
    assert sp.verify(answer.certificate(), replay=True).replayed
    with pytest.raises(RunStateError, match="it has its answer"):
        run.limit(budget=10**6)


def test_a_budget_must_pay_for_a_measurement_of_every_option():
    problem = sp.Problem(ARMS, costs=COSTS, labels=list("abcdefgh"))
    with pytest.raises(InvalidInputError, match="one measurement of 'h' costs 40"):
        sp.identify(problem, float, budget=30)
    for wrong in (0, -1, math.nan):
        with pytest.raises(InvalidInputError, match="budget"):
            sp.identify(problem, float, budget=wrong)


def test_what_is_asked_for_ahead_is_paid_from_what_is_left():
    """Batches that overlap, and unequal costs: together they are not above the budget."""
    budget = 400.0
    problem = sp.Problem(ARMS, noise=1.0, costs=COSTS)
    run = sp.algorithms.PooledPeleg(1e-6, budget=budget).start(problem)
    drive(run, 1)
    now, out = run.ask(), 0
    while run.ask_ahead() is not None:
        out += 1
    assert out
    asked = run.pulls + run._pending.pulls(problem.n_arms)
    cost = float(asked @ COSTS)
    assert cost <= budget
    left = run._pulls_in(run._left(beside_pending=True))
    assert left <= max(0.0, budget - cost) / COSTS.min()
    assert now is run.ask()
