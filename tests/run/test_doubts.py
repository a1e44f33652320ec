"""What single rewards say against the kind of noise that was stated."""

import numpy as np
import pytest

import surepick as sp
from surepick.run.doubts import SKEWED, UNEVEN

PROBLEM = sp.Problem.unstructured(["a", "b"])


def times(seed, spread=(1.0, 1.0)):
    """Waiting times, which are skewed; with a lead that is found."""
    draw = np.random.default_rng(seed)
    return lambda arm: -(2.0 + 0.4 * (1 - arm) + spread[arm] * draw.exponential())


def readings(seed, spread=(1.0, 1.0)):
    draw = np.random.default_rng(seed)
    return lambda arm: 0.4 * arm + spread[arm] * draw.normal()


def test_a_promise_that_rests_on_symmetry_is_withdrawn_where_rewards_are_skewed():
    kinds = [sp.identify(PROBLEM, times(seed), 0.01).guarantee for seed in range(4)]
    withdrawn = [kind for kind in kinds if f"no guarantee: {SKEWED}; otherwise it would be" in kind]
    assert len(withdrawn) >= 2
    assert {kind.kind for kind in withdrawn} == {"heuristic"}
    answer = sp.identify(PROBLEM, readings(1), 0.01)
    assert answer.guarantee.kind == "pac"


def test_its_certificate_says_so_and_holds():
    answer = sp.identify(PROBLEM, times(0), 1e-4)
    assert not answer.guarantee
    certificate = answer.certificate()
    assert certificate["claim"]["guarantee"] == "heuristic"
    assert sp.verify(certificate, replay=True).replayed


def test_equal_noise_that_is_not_equal_is_noticed():
    problem = sp.Problem.unstructured(["a", "b"], noise="equal")
    answer = sp.identify(problem, readings(0, (1.0, 6.0)), 1e-6, max_samples=4000)
    assert not answer.guarantee
    uneven = [sp.identify(problem, readings(seed, (0.3, 2.0)), 1e-6).guarantee for seed in range(3)]
    assert all(UNEVEN in one for one in uneven)
    assert sp.identify(problem, readings(3), 1e-3).guarantee.kind == "pac"


@pytest.mark.parametrize("noise", ["yes-no", (-60.0, 0.0), 3.0])
def test_kinds_that_do_not_rest_on_it_are_not_looked_at(noise):
    problem = sp.Problem.unstructured(["a", "b"], noise=noise)
    run = sp.algorithms.PooledPeleg(0.1, max_samples=300).start(problem)
    measure = times(0)
    while not run.stopped:
        batch = run.ask()
        rewards = [float(arm) if noise == "yes-no" else measure(arm) for arm in batch.arms]
        run.tell(batch, rewards)
    assert run.doubts.skew(problem) is None


def test_a_saved_run_keeps_what_it_saw():
    run = sp.algorithms.PooledPeleg(1e-6, max_samples=600).start(PROBLEM)
    measure = times(2)
    while not run.stopped:
        batch = run.ask()
        run.tell(batch, [measure(arm) for arm in batch.arms])
        run = sp.Run.from_json(run.to_json())
    assert run.doubts.skew(PROBLEM).alarm


def test_levels_of_strata_are_not_taken_for_skew():
    draw = np.random.default_rng(0)
    run = sp.algorithms.PooledPeleg(1e-9, max_samples=900).start(PROBLEM)
    while not run.stopped:
        batch = run.ask()
        names = draw.choice(["one", "two", "three"], len(batch), p=[0.8, 0.1, 0.1])
        levels = {"one": 0.0, "two": 30.0, "three": 50.0}
        rewards = [levels[name] + draw.normal() for name in names]
        run.tell(batch, rewards, strata=names.tolist())
    assert not run.doubts.skew(PROBLEM)


def test_studies_warn_and_withdraw_too():
    study = sp.create_study(
        "times", PROBLEM, storage="memory://skewed", delta=1e-6, max_samples=600
    )
    measure = times(3)
    while not study.finished:
        study.tell_many({pull.id: measure(pull.arm) for pull in study.ask(100)})
    warnings = study.status()["checks"]["warnings"]
    assert any("reach further to one side" in text for text in warnings)
    assert not study.answer.guarantee
