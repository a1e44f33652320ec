"""Studies that look for the best quantile: the setting, what is done on the way, the answer."""

import json

import numpy as np
import pytest

import surepick as sp
from surepick.errors import InvalidInputError
from surepick.storage.memory import MemoryStorage
from surepick.study.spec import StudySpec


def problem(minimise=True):
    return sp.Problem.unstructured(["a", "b", "c"], noise="any").with_direction(minimise)


def decided(study, correct=False):
    """All pulls measured: waiting times, those of ``b`` the shortest."""
    rng, typo = np.random.default_rng(1), None
    while not study.finished:
        pulls = study.ask(20)
        told = [(p.id, float(rng.exponential([2.0, 0.6, 2.0][p.arm]))) for p in pulls]
        study.tell_many(told)
        if correct and typo is None:
            typo = told[0][0]
        elif typo is not None and not study.corrections():
            study.correct(typo, 1.0, reason="misread")
    return study


def test_a_study_from_its_setting_to_its_certificate():
    spec = StudySpec(name="waits", problem=problem(), quantile=0.9, delta=0.1)
    assert StudySpec.from_json(spec.to_json()).quantile == 0.9
    assert spec.configured == sp.algorithms.PooledPeleg(0.1, quantile=0.9, max_samples=1_000_000)
    study = sp.create_study(
        "waits", problem(), storage=MemoryStorage(), quantile=0.9, delta=0.1, seed=1
    )
    assert study.algorithm.asked.words == "which option has the best 90th percentile"
    answer = decided(study, correct=True).answer
    assert answer.label == "b"
    assert answer.plain.startswith("b has the smallest 90th percentile: ")
    assert study.corrections()
    found = sp.verify(json.loads(json.dumps(answer.certificate())), replay=True)
    assert (found.label, found.guarantee) == ("b", "pac")
    assert found.replay.startswith("in part")  # all that does not rest on the typo
    now = study.standing()
    assert now["estimate"][1] == answer.quantiles["b"]


def test_it_is_refused_with_traffic_and_a_check_of_the_model():
    with pytest.raises(InvalidInputError, match="quantile: a traffic study sees how many came"):
        StudySpec(name="site", problem=problem(), quantile=0.5, traffic=True)
    with pytest.raises(InvalidInputError, match="leave out check_fit or quantile"):
        StudySpec(name="model", problem=problem(), quantile=0.5, check_fit=1.0)


@pytest.mark.validation
def test_a_forecast_is_made_once_something_was_measured():
    study = sp.create_study("ahead", problem(), storage=MemoryStorage(), quantile=0.9, seed=0)
    rng = np.random.default_rng(0)
    for _ in range(3):
        study.tell_many([(p.id, rng.exponential() + p.arm) for p in study.ask(20)])
    assert study.forecast().simulated >= 10
