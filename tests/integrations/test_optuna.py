"""The final decision after a search, against Optuna itself."""

import itertools

import numpy as np
import optuna
import pytest

import surepick as sp
from surepick.errors import InvalidInputError, InvalidTypeError
from surepick.integrations.optuna import final_decision
from surepick.study import StudySpec, store

optuna.logging.set_verbosity(optuna.logging.WARNING)
LOSS = {"good": 0.1, "fair": 0.4, "poor": 0.7}


def search(direction="minimize", n=60, objective=None, seed=0):
    """A search in which luck decides: noise is twice as large as all differences."""
    rng = np.random.default_rng(seed)
    sign = 1 if direction == "minimize" else -1

    def noisy(trial):
        loss = LOSS[trial.suggest_categorical("kind", list(LOSS))]
        trial.suggest_int("copy", 0, 2)  # says nothing
        return sign * (loss + 1.2 * rng.normal())

    sampler = optuna.samplers.RandomSampler(seed=seed)
    study = optuna.create_study(direction=direction, sampler=sampler, study_name="search")
    study.optimize(objective or noisy, n_trials=n)
    return study


def quiet(sign, seed=1, scale=0.2):
    """The same objective measured better, and all values that it returned, by parameters."""
    rng, seen = np.random.default_rng(seed), []

    def objective(trial):
        loss = LOSS[trial.suggest_categorical("kind", list(LOSS))]
        seen.append(sign * (loss + scale * rng.normal()))
        trial.set_user_attr("seen", True)
        return seen[-1]

    return objective, seen


@pytest.mark.some(1)
@pytest.mark.parametrize(("direction", "sign"), [("minimize", 1), ("maximize", -1)])
def test_new_values_decide_and_old_ones_do_not(direction, sign):
    study = search(direction)
    assert study.best_params["kind"] != "good"  # luck has won the search
    objective, seen = quiet(sign)
    found = final_decision(study, objective, top=9, epsilon=0.15)
    assert found.params["kind"] == "good"
    assert found.answer.guarantee.kind == "eps-pac"
    assert sp.verify(found.answer.certificate()).guarantee == "eps-pac"
    assert found.answer.samples == len(seen) == sum(row.measurements for row in found.table)
    best = found.table[0]
    assert best.mean == pytest.approx(sign * LOSS["good"], abs=0.15)
    assert best.searched == study.trials[best.trial].value
    assert len({repr(study.trials[row.trial].params) for row in found.table}) == 9
    assert "seen" not in found.trial.user_attrs  # the search is left as it was
    after = f"after {len(seen):,} new measurements."
    assert f"{after} It is within 0.15 of the best. Of 100 studies" in str(found)


def test_equal_old_values_change_nothing_but_who_is_compared():
    """The same new values in the same order lead to the same pulls, whatever the search saw."""
    first, second = search(seed=0), search(seed=3)
    counts = []
    for study in (first, second):
        values = itertools.cycle([0.3, 0.5, 0.1, 0.2])
        found = final_decision(study, lambda trial, v=values: next(v), top=4, max_samples=60)
        counts.append(found.answer.pulls.tolist())
    assert counts[0] == counts[1]


def test_what_was_cut_off_goes_on(tmp_path):
    study, storage = search(), f"sqlite:///{tmp_path}/kept.db"
    objective, seen = quiet(1)

    def cut_off(trial):
        if len(seen) == 30:
            raise ConnectionError("the cluster is down")
        return objective(trial)

    settings = {"top": 9, "epsilon": 0.15, "storage": storage}
    with pytest.raises(sp.errors.MeasurementError, match="the cluster is down"):
        final_decision(study, cut_off, retries=0, **settings)
    early = final_decision(study, objective, max_samples=40, **settings)
    assert not early.answer.guarantee
    assert "not proven" in str(early)
    assert len(seen) == early.answer.samples == 40
    study.optimize(lambda trial: -9.0, n_trials=1)  # who comes later is not compared
    found = final_decision(study, objective, **settings)
    assert found.answer.guarantee
    assert found.params["kind"] == "good"
    assert len(seen) == found.answer.samples
    assert final_decision(study, objective, **settings).answer == found.answer
    with pytest.raises(InvalidInputError, match="name: this storage already has a study 'search'"):
        final_decision(study, objective, **settings | {"epsilon": 0.2})


def test_losses_that_were_kept_with_a_minus_sign_are_not_gone_on_with(tmp_path):
    """As version 0.2 kept them: new ones would come out on the other side."""
    study, storage = search(), f"sqlite:///{tmp_path}/kept.db"
    old = StudySpec(name="search", problem=sp.Problem.unstructured(["trial 1", "trial 2"]))
    store(old, storage, key="optuna search 2 0.05 0.0 None").close()
    with pytest.raises(InvalidInputError, match="name: this storage already has a study 'search'"):
        final_decision(study, quiet(1)[0], top=2, storage=storage, name="search")


@pytest.mark.validation
def test_errors_and_bounds_where_less_is_better():
    study = search()
    rng = np.random.default_rng(2)

    def fails(trial):
        return float(rng.random() < LOSS[trial.params["kind"]])

    for noise in ("yes-no", (0.0, 1.0)):
        found = final_decision(study, fails, top=9, epsilon=0.2, noise=noise, max_samples=5000)
        assert found.params["kind"] == "good", noise
        assert found.answer.guarantee, noise
        assert 0 <= found.table[0].mean < 0.3
        assert found.answer.minimise


def test_what_cannot_be_decided_is_refused():
    study = search(n=12)
    with pytest.raises(InvalidInputError, match=r"objective: .* exactly the same value"):
        final_decision(study, lambda trial: LOSS[trial.params["kind"]], top=3)
    with pytest.raises(InvalidTypeError, match="objective must be a function"):
        final_decision(study, 3)
    with pytest.raises(InvalidTypeError, match=r"study must be an optuna\.Study"):
        final_decision("search", abs)
    with pytest.raises(InvalidInputError, match="1 of its 1 trials are complete, with 1 different"):
        final_decision(search(n=1), abs)
    two = optuna.create_study(directions=["minimize", "maximize"])
    with pytest.raises(InvalidInputError, match="it has 2 objectives"):
        final_decision(two, abs)
