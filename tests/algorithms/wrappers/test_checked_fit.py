import json

import numpy as np
import pytest
from tests.study.layouts import MAIN, found, rates, whole_study

import surepick as sp
from surepick.algorithms import CheckedFit, PooledPeleg
from surepick.errors import CertificateError, InvalidInputError
from surepick.run.certificate import fingerprint
from surepick.run.diagnostics import check_pulls, lack_of_fit

PROBLEM = sp.Problem(MAIN, noise=1.0)
MEANS = MAIN @ np.array([0.0, 0.5, -0.5, 1.0, 0.4, 0.3, 0.2])


def play(algorithm, seed=0, reload=False, means=MEANS):
    rng = np.random.default_rng(seed)
    run = algorithm.start(PROBLEM)
    while not run.stopped:
        batch = run.ask()
        run.tell(batch, means[batch.arms] + rng.standard_normal(batch.size))
        if reload:
            run = sp.Run.from_json(run.to_json())
    return run


# -- rates over whole studies; benchmarks/study_checks.py has more of them -----------------------
@pytest.mark.validation
def test_few_false_alarms_and_clear_interactions_are_found():
    assert found(rates("pooled-peleg", 12, size=1.0, misfit=0.0)["alarms"], 12, wrong=False)
    assert found(rates("pooled-peleg", 8, size=1.0, misfit=1.0)["alarms"], 8, wrong=True)


def test_an_alarm_withdraws_the_guarantee_of_the_study():
    alarm, _, _, study = whole_study("peleg", 0, size=1.0, misfit=1.5)
    assert alarm
    assert "the linear model does not fit" in study.answer.guarantee
    assert sp.verify(study.answer.certificate()).guarantee == "heuristic"


# -- what it measures -----------------------------------------------------------------------------
def test_in_the_end_the_misfit_would_have_been_noticed():
    run = play(CheckedFit(0.05), means=10 * MEANS)
    assert check_pulls(PROBLEM, run.pulls, 1.0).sum() == 0
    assert lack_of_fit(PROBLEM, run.pulls, run.sums).noticeable <= 1.0
    bare = play(PooledPeleg(0.05), means=10 * MEANS)
    assert check_pulls(PROBLEM, bare.pulls, 1.0).sum() > 0


def test_the_algorithm_inside_sees_only_its_own_pulls():
    run = play(CheckedFit(0.05))
    own = run.state.inner.totals.counts.sum()
    extra = sum(
        int(batch["counts"][np.isin(batch["arms"], arms)].sum())
        for batch, arms in zip(run._record.log, run.state.extras)
    )
    assert extra > 0
    assert own + extra == run.samples


@pytest.mark.some(2)
@pytest.mark.parametrize("inner", ["pooled-peleg", "peleg", "rage"])
def test_saving_changes_nothing_and_certificates_hold(inner):
    algorithm = CheckedFit(0.1, inner=inner, size=2.0)
    assert algorithm == sp.algorithms.get("checked-fit", **algorithm.settings())
    plain, saved = (play(algorithm, 3, reload) for reload in (False, True))
    assert plain.answer.certificate() == saved.answer.certificate()
    body = json.loads(json.dumps(plain.answer.certificate()))
    assert sp.verify(body).guarantee == "pac"
    body["evidence"]["extra"].pop()
    body["digest"] = fingerprint(body)
    with pytest.raises(CertificateError, match="do not belong to these batches"):
        sp.verify(body)


def test_batches_and_budgets_stay_as_small_as_they_must():
    run = CheckedFit(0.05, options={"max_batch": 16}).start(PROBLEM)
    rng = np.random.default_rng(0)
    while not run.stopped:
        batch = run.ask()
        assert batch.size <= 16
        run.tell(batch, MEANS[batch.arms] + rng.standard_normal(batch.size))
    assert run.answer.guarantee
    assert sp.verify(run.answer.certificate()).guarantee == "pac"
    short = play(CheckedFit(0.05, max_samples=40))
    assert short.samples == 40
    assert sp.verify(short.answer.certificate()).guarantee == "none"


def test_past_measurements_count_for_the_check_too():
    draws = np.random.default_rng(0)
    arms = np.repeat(np.arange(48), 60)
    run = CheckedFit(0.05).start(PROBLEM)
    run.tell_past(arms, MEANS[arms] + draws.standard_normal(len(arms)), chosen_in_advance=True)
    assert run.stopped
    assert sp.verify(run.answer.certificate()).guarantee == "pac"


def test_bad_settings():
    for settings, said in (
        ({"size": 0.0}, "size"),
        ({"inner": "checked-fit"}, "another"),
        ({"options": {"speed": 3}}, "speed"),
    ):
        with pytest.raises(InvalidInputError, match=said):
            CheckedFit(0.1, **settings)
    with pytest.raises(InvalidInputError, match="batches"):
        CheckedFit(0.1, inner="lucb").start(sp.Problem(np.eye(3), noise=1.0))
    with pytest.raises(InvalidInputError, match="nothing to check"):
        CheckedFit(0.1).start(sp.Problem(np.eye(3), noise=1.0))
