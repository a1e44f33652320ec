"""The best guess that a budget buys: all of it is spent, and its p-value can be checked."""

import json
import math

import numpy as np
import pytest
from tests.breadth import each_value

import surepick as sp
from surepick.errors import CertificateError, InvalidInputError
from surepick.run.certificate import fingerprint

ARMS = np.random.default_rng(0).normal(size=(8, 3))
MEANS = ARMS @ [0.5, -0.2, 0.1]
COSTS = np.linspace(1.0, 40.0, 8)


def guess(problem, seed=0, far=1.0, **how):
    rng = np.random.default_rng(seed)
    return sp.identify(
        problem, lambda arm: float(far * MEANS[arm] + rng.normal()), guess=True, **how
    )


@pytest.mark.some(1)
@pytest.mark.parametrize(
    ("noise", "misfit"), each_value(["symmetric", "equal", 1.0], [0.0, math.inf])
)
def test_all_of_a_budget_is_spent_and_the_p_value_holds(noise, misfit):
    answer = guess(sp.Problem(ARMS, noise=noise, misfit=misfit), max_samples=120, delta=1e-6)
    assert answer.samples == 120
    assert answer.guarantee.kind == "none"
    certificate = answer.certificate()
    assert certificate["claim"]["p_value"] == answer.p_value
    assert sp.verify(certificate, replay=True).replayed
    for wrong in (0.5 * answer.p_value, -0.1, "0.1", None):
        body = json.loads(json.dumps(certificate))
        body["claim"]["p_value"] = wrong
        with pytest.raises(CertificateError):
            sp.verify(body | {"digest": fingerprint(body)})


def test_money_is_shared_out_and_a_clear_lead_is_proven_before_it_is_spent():
    problem = sp.Problem(ARMS, noise=1.0, costs=COSTS)
    answer = guess(problem, budget=2_000.0, delta=1e-9)
    assert 2_000.0 - COSTS.max() < answer.cost <= 2_000.0
    sure = guess(problem, far=20.0, budget=2_000.0)
    assert sure.cost < 1_000.0
    assert sure.guarantee.kind == "pac"
    assert sure.p_value <= 0.05
    assert len(guess(problem, budget=500.0, top=3).labels) == 3


def test_a_rule_without_p_values_is_given_none():
    answer = guess(sp.Problem(ARMS, noise=1.0), max_samples=60, top=2)
    body = answer.certificate()
    assert "p_value" not in body["claim"]
    body["claim"]["p_value"] = 0.01
    with pytest.raises(CertificateError, match="which its rule does not have"):
        sp.verify(body | {"digest": fingerprint(body)})


def test_the_p_value_is_that_of_the_rival_with_most_chances():
    run = sp.algorithms.PooledPeleg(0.05, max_samples=90, guess=True).start(sp.Problem(ARMS))
    rng = np.random.default_rng(4)
    while not run.stopped:
        batch = run.ask()
        run.tell(batch, MEANS[batch.arms] + rng.normal(size=batch.size))
    values = run.standing()["p_value"]
    assert run.answer.p_value == max(p for arm, p in enumerate(values) if arm != run.answer.arm)


def test_it_must_be_said_how_much_there_is():
    problem = sp.Problem(ARMS)
    with pytest.raises(InvalidInputError, match="how much you can spend"):
        guess(problem)
    with pytest.raises(InvalidInputError, match="how much you can spend"):
        sp.create_study("guess", problem, storage="memory://", guess=True)
    with pytest.raises(InvalidInputError, match="leave baseline out"):
        guess(problem, max_samples=50, baseline=0)
    with pytest.raises(InvalidInputError, match="rage can only find the best option"):
        guess(sp.Problem(ARMS, noise=1.0), max_samples=50, algorithm="rage")


@pytest.mark.validation
def test_wrong_guesses_with_small_p_values_are_rare():
    """Two options: if the other one is the best, p ≤ 0.2 comes up in a fifth of studies at most."""
    means = np.array([0.0, 0.02])
    rng, small, trials = np.random.default_rng(9), 0, 80
    for _ in range(trials):
        run = sp.algorithms.PooledPeleg(0.05, max_samples=60, guess=True).start(
            sp.Problem.unstructured(2, noise=1.0)
        )
        while not run.stopped:
            batch = run.ask()
            run.tell(batch, means[batch.arms] + rng.normal(size=batch.size))
        small += run.answer.arm == 0 and run.answer.p_value <= 0.2
    assert small <= 0.2 * trials
