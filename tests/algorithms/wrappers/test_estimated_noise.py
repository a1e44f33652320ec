import json

import numpy as np
import pytest

import surepick as sp
from surepick.algorithms.base import Pulls
from surepick.algorithms.wrappers.estimated_noise import EstimatedNoise, Replicates, pilot_arms
from surepick.errors import CertificateError, InvalidInputError, UnknownNameError

ARMS = np.random.default_rng(1).normal(size=(12, 3))
MEANS = ARMS @ np.array([1.0, 0.5, 0.0])
BEST = int(MEANS.argmax())


def play(algorithm, noise, seed, unit=1.0, reload=False):
    rng = np.random.default_rng(seed)
    run = algorithm.start(sp.Problem(ARMS, noise=unit))
    while not run.stopped:
        batch = run.ask()
        run.tell(batch, MEANS[batch.arms] + noise * rng.standard_normal(batch.size))
        if reload:
            run = sp.Run.from_json(run.to_json())
    return run


@pytest.mark.parametrize("noise", [0.01, 0.7])
def test_finds_the_best_and_says_that_the_guarantee_is_approximate(noise):
    algorithm = EstimatedNoise(0.1)
    runs = [play(algorithm, noise, seed) for seed in range(20)]
    assert sum(run.answer.arm != BEST for run in runs) <= 4
    guarantee = runs[0].answer.guarantee
    assert not guarantee
    assert guarantee.kind == "heuristic"
    assert "only approximately" in guarantee
    factors = np.array([run.state.noise_factor for run in runs])
    assert (factors > noise).mean() > 0.8  # the upper end of an interval
    assert factors.max() < 2 * noise


def test_the_unit_makes_no_difference():
    one, other = (play(EstimatedNoise(0.1), 0.3, 5, unit) for unit in (1.0, 1000.0))
    assert one.pulls.tolist() == other.pulls.tolist()
    assert other.state.noise_factor == pytest.approx(one.state.noise_factor / 1000)


@pytest.mark.parametrize("inner", ["pooled-peleg", "peleg"])
def test_saving_at_every_batch_changes_nothing(inner):
    algorithm = EstimatedNoise(0.1, inner=inner, replicates=20)
    assert algorithm == sp.algorithms.get("estimated-noise", **algorithm.settings())
    plain, saved = (play(algorithm, 0.3, 2, reload=reload) for reload in (False, True))
    assert plain.answer == saved.answer
    assert plain.answer.certificate() == saved.answer.certificate()


@pytest.mark.parametrize("inner", ["pooled-peleg", "peleg", "rage"])
def test_certificates_are_checked_with_the_noise_of_the_pilot(inner):
    answer = play(EstimatedNoise(0.1, inner=inner), 0.3, 3).answer
    body = json.loads(json.dumps(answer.certificate()))
    assert sp.verify(body).guarantee == "heuristic"
    assert all(0.25 < entry["noise"] < 0.6 for entry in body["evidence"]["noise"])
    from surepick.run.certificate import fingerprint

    body["evidence"]["noise"][-1]["noise"] /= 2
    body["digest"] = fingerprint(body)
    with pytest.raises(CertificateError, match="the noise estimated before batch"):
        sp.verify(body)
    body = answer.certificate()
    body["claim"] |= {"guarantee": "pac", "statement": "the best with probability at least 0.9"}
    body["digest"] = fingerprint(body)
    with pytest.raises(CertificateError, match="cannot support 'pac'"):
        sp.verify(body)


@pytest.mark.parametrize("budget", [5, 12, 36, 50])
def test_the_budget_holds_in_the_pilot_and_after(budget):
    run = play(EstimatedNoise(0.1, max_samples=budget), 5.0, 0)
    assert run.answer.samples == budget
    assert run.answer.guarantee.kind == "none"
    assert sp.verify(run.answer.certificate()).guarantee == "none"


def test_exact_measurements_and_a_single_candidate():
    assert play(EstimatedNoise(0.1), 0.0, 0).answer.arm == BEST
    run = EstimatedNoise(0.1).start(sp.Problem([[1.0, 2.0]], noise=1.0))
    assert run.stopped
    assert sp.verify(run.answer.certificate()).candidate == 0


def test_epsilon_is_in_units_of_the_reward():
    close = sp.Problem([[1.0, 0.0], [0.0, 1.0]], noise=1.0)
    rng = np.random.default_rng(0)
    run = EstimatedNoise(0.1, epsilon=50.0).start(close)
    while not run.stopped:
        batch = run.ask()
        run.tell(batch, 1000 + 30 * rng.standard_normal(batch.size))
    assert run.samples < 200
    assert "within 50 of the best" in run.answer.guarantee


def test_the_pilot():
    problem = sp.Problem(np.random.default_rng(0).normal(size=(40, 6)), noise=1.0)
    arms = pilot_arms(problem, 20)
    assert len(arms) == len(set(arms.tolist())) == 20
    assert np.linalg.matrix_rank(problem.features[arms]) == 6
    assert len(pilot_arms(problem, 2)) == 6
    assert len(pilot_arms(problem, 100)) == 40


def test_batches_of_any_size_are_replicates():
    draws, found = np.random.default_rng(0), Replicates(4000)
    for each in (1, 7, 2):
        counts = np.full(4000, each)
        sums = draws.normal(5.0, 2.0, size=(4000, each)).sum(axis=1)
        found.add(Pulls(np.arange(4000), counts), sums)
    assert found.freedom == 8000
    assert found.upper_scale() == pytest.approx(2.0, rel=0.05)
    assert found.means == pytest.approx(5.0, abs=4.0)


def test_the_noise_is_estimated_again_as_replicates_accumulate():
    runs = [play(EstimatedNoise(0.01), 3.0, seed) for seed in range(10)]
    evidence = [run.state.evidence()["noise"] for run in runs]
    assert all(len(scales) >= 3 for scales in evidence)
    first, last = (np.array([scales[i]["noise"] for scales in evidence]) for i in (0, -1))
    assert np.mean(np.abs(last - 3.0)) < 0.5 * np.mean(np.abs(first - 3.0))
    body = runs[0].answer.certificate()
    assert sp.verify(body).checked > 0
    body["evidence"]["noise"].pop()
    from surepick.run.certificate import fingerprint

    body["digest"] = fingerprint(body)
    with pytest.raises(CertificateError, match="not estimated when it should have been"):
        sp.verify(body)


@pytest.mark.parametrize("chosen_in_advance", [True, False])
def test_past_measurements_are_for_the_algorithm_proper(chosen_in_advance):
    rng = np.random.default_rng(0)
    arms = np.repeat(np.arange(12), 40)
    run = EstimatedNoise(0.1).start(sp.Problem(ARMS, noise=1.0))
    run.tell_past(arms, MEANS[arms] + rng.normal(size=480), chosen_in_advance=chosen_in_advance)
    while not run.stopped:
        batch = run.ask()
        run.tell(batch, MEANS[batch.arms] + rng.normal(size=batch.size))
        run = sp.Run.from_json(run.to_json())
    assert run.answer.arm == BEST
    assert sp.verify(run.answer.certificate()).guarantee == "heuristic"
    pilot = len(run.state.arms) * run.state.rounds
    assert (run.samples == pilot) == chosen_in_advance  # the past was enough


def test_bad_settings():
    with pytest.raises(UnknownNameError, match="did you mean 'peleg'"):
        EstimatedNoise(0.1, inner="pelge")
    with pytest.raises(InvalidInputError, match="another"):
        EstimatedNoise(0.1, inner="estimated-noise")
    with pytest.raises(InvalidInputError, match="replicates"):
        EstimatedNoise(0.1, replicates=1)
    with pytest.raises(InvalidInputError, match="batches"):
        EstimatedNoise(0.1, inner="lucb").start(sp.Problem(np.eye(3), noise=1.0))
