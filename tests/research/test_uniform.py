import json

import numpy as np
import pytest
from tests.research.glr_model import Model, play, ratio_to_published

import surepick as sp
from surepick.algorithms import Uniform, get
from surepick.simulate import Instance, instances, trials
from surepick.verifier.verify import verify

RNG = np.random.default_rng(2)
GENERIC = Instance(sp.Problem(RNG.normal(size=(6, 3)), noise=0.5), [0.4, -0.3, 0.6])


@pytest.mark.parametrize("seed", range(3))
def test_pulls_in_turn_and_stops_when_the_evidence_suffices(seed):
    seen = []

    def look(run, arm):
        seen.append(arm)
        if run.samples >= 6:
            model = Model(run.problem, run.pulls, run.sums)
            assert model.statistic() <= model.heuristic(0.05)

    run = play(Uniform.heuristic(0.05), GENERIC, seed, look=look)
    assert seen == [i % 6 for i in range(len(seen))]
    model = Model(run.problem, run.pulls, run.sums)
    assert model.statistic() > model.heuristic(0.05)
    assert run.answer.arm == model.leader


def test_the_proven_form_stops_after_full_rounds_only():
    run = play(Uniform(0.1), GENERIC)
    assert len(set(run.pulls)) == 1
    assert run.answer.guarantee.kind == "pac"
    assert verify(run.answer.certificate()).risk == 0.1


@pytest.mark.validation
def test_error_rate():
    t = trials(Uniform(0.2), instances.standard(0.5, d=4), n=150, seed=1)
    assert (~t["correct"]).sum() <= 30
    assert set(t["guarantee"]) == {"pac"}


@pytest.mark.validation
@pytest.mark.parametrize(("delta", "n"), [(0.1, 40), (1e-4, 20)])
def test_published_figures(delta, n):
    assert ratio_to_published("uniform-heuristic", delta, n) == pytest.approx(1, abs=0.25)


def test_the_proven_threshold_costs_little_more_than_the_heuristic():
    proven = trials(Uniform(1e-4), instances.standard(0.5), n=60)["samples"].mean()
    heuristic = trials(Uniform.heuristic(1e-4), instances.standard(0.5), n=60)["samples"].mean()
    assert 1 < proven / heuristic < 1.5


def test_a_heuristic_certificate_cannot_claim_more():
    answer = play(Uniform.heuristic(0.1), GENERIC).answer
    assert answer.guarantee.kind == "heuristic"
    assert not answer.guarantee
    certificate = answer.certificate()
    checked = verify(certificate)
    assert checked.guarantee == "heuristic"
    assert checked.risk == 1.0


def test_rounds_must_be_full_for_the_certificate():
    from surepick.run.certificate import fingerprint

    certificate = play(Uniform(0.1), GENERIC).answer.certificate()
    batch = certificate["batches"][0]
    batch["counts"][0] += 1
    certificate["claim"]["samples"] += 1
    certificate["digest"] = fingerprint(certificate)
    with pytest.raises(sp.SurepickError, match="full rounds"):
        verify(certificate)


def test_epsilon_leaves_the_close_ones_in():
    close = Instance(sp.Problem(np.eye(2), [[1, 0], [0.99, 0.01], [-1, 0]], noise=1.0), [0.7, 0.65])
    run = play(Uniform(0.1, epsilon=0.01), close)
    assert run.answer.survivors == (0, 1)
    assert verify(run.answer.certificate()).guarantee == "eps-pac"


def test_a_budget_below_the_dimension():
    run = play(Uniform(0.1, max_samples=2), GENERIC)
    assert run.answer.guarantee.kind == "none"
    assert verify(run.answer.certificate()).guarantee == "none"


def test_saved_runs_go_on_exactly():
    run = play(Uniform(1e-6), GENERIC, stop=50)
    again = sp.Run.from_json(run.to_json())
    for i in range(40):
        for each in (run, again):
            each.tell(each.ask(), [np.sin(i)])
    assert json.loads(run.to_json()) == json.loads(again.to_json())
    saved = json.loads(run.to_json())
    assert len(json.dumps(saved.pop("in_time"))) < 4000  # 90 rewards
    assert len(json.dumps(saved)) < 4000  # constants and scratch are not saved


def test_names_and_settings():
    for made in (Uniform(0.2, epsilon=0.1), Uniform.heuristic(0.3, max_samples=7)):
        assert get(made.registered_name(), **made.settings()) == made
    assert Uniform.heuristic(0.1).registered_name() == "uniform-heuristic"
    with pytest.raises(sp.SurepickError, match="threshold must be one of"):
        Uniform(0.1, threshold="self-normalised")
