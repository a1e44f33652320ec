"""The final decision after a search, against Optuna itself."""

import itertools

import numpy as np
import optuna
import pytest

import surepick as sp
from surepick.calls.kept import FOLDER, VARIABLE
from surepick.errors import InvalidInputError, InvalidTypeError, SurepickError
from surepick.integrations.optuna import final_decision

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

    settings = {"top": 9, "epsilon": 0.15, "storage": storage, "version": "1"}
    with pytest.raises(sp.errors.MeasurementError, match="the cluster is down"):
        final_decision(study, cut_off, retries=0, **settings)
    early = final_decision(study, objective, max_samples=40, **settings)
    assert not early.answer.guarantee
    assert "not proven" in str(early)
    assert len(seen) == early.answer.samples == 40
    study.optimize(lambda trial: 9.0, n_trials=1)  # which is none of the best
    settings["max_samples"] = 2000
    found = final_decision(study, objective, **settings)
    assert found.answer.guarantee
    assert found.params["kind"] == "good"
    assert len(seen) == found.answer.samples
    assert final_decision(study, objective, **settings).answer == found.answer
    other = final_decision(study, objective, **settings | {"epsilon": 0.2})
    assert other.answer.samples == len(seen) - found.answer.samples  # a study of its own


def test_a_mended_objective_starts_anew_and_the_old_one_stays(tmp_path, caplog):
    study, storage = search(), f"memory://{tmp_path}"
    draw = np.random.default_rng(0)

    def loss(sign):
        return lambda trial: sign * LOSS[trial.params["kind"]] + 0.1 * draw.normal()

    settings = {"top": 9, "epsilon": 0.15, "storage": storage}
    wrong = final_decision(study, loss(-1), **settings)
    assert (wrong.params["kind"], caplog.text) == ("poor", "")
    mended = final_decision(study, loss(1), **settings)
    assert mended.params["kind"] == "good"
    assert mended.answer.samples == sum(row.measurements for row in mended.table)
    assert "study 'search 2': the trials to compare, the objective" in caplog.text
    again = [final_decision(study, loss(sign), **settings) for sign in (-1, 1)]
    assert [one.answer for one in again] == [wrong.answer, mended.answer]
    by_name = final_decision(study, loss(1), version="mended", **settings)
    assert final_decision(study, loss(-1), version="mended", **settings).answer == by_name.answer
    assert sp.list_studies(storage) == ["search", "search 2", "search 3"]


def test_trials_that_came_later_are_compared_too(tmp_path):
    study, storage = search(), f"memory://{tmp_path}"
    draw = np.random.default_rng(0)

    def loss(trial):
        return LOSS.get(trial.params["kind"], -5.0) + 0.1 * draw.normal()

    settings = {"top": 9, "epsilon": 0.15, "storage": storage}
    assert final_decision(study, loss, **settings).params["kind"] == "good"
    study.enqueue_trial({"kind": "good", "copy": 3})
    better = optuna.trial.create_trial(
        params={"kind": "far better"},
        distributions={"kind": optuna.distributions.CategoricalDistribution(["far better"])},
        value=-5.0,
    )
    study.add_trial(better)
    assert final_decision(study, loss, **settings).params == {"kind": "far better"}


def test_an_objective_that_takes_the_number_for_a_seed_draws_anew():
    study, numbers = search(n=20), []

    def seeded(trial):
        numbers.append(trial.number)
        return np.random.default_rng(trial.number).normal()

    found = final_decision(study, seeded, top=4, delta=0.2, max_samples=200)
    assert not found.answer.guarantee
    assert len(set(numbers)) == len(numbers) == found.answer.samples
    assert min(numbers) >= len(study.trials)


def test_five_seeds_in_turn_prove_nothing():
    study, calls = search(n=20), itertools.count()
    values = np.random.default_rng(0).normal(size=(20, 5))

    def seeded(trial):
        return 0.1 * trial.params["copy"] + values[trial.params["copy"], next(calls) % 5]

    found = final_decision(study, seeded, top=3, delta=0.2, max_samples=600)
    assert not found.answer.guarantee
    assert "the same numbers came back to the last digit" in str(found)


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


class Paid:
    """An objective that ends badly once."""

    def __init__(self, at, what):
        self.draw, self.made, self.at, self.what = np.random.default_rng(0), 0, at, what

    def __call__(self, trial):
        self.made += 1
        if self.made == self.at:
            raise self.what("in the middle")
        return LOSS[trial.suggest_categorical("kind", list(LOSS))] + 0.2 * self.draw.normal()


@pytest.mark.parametrize("what", [KeyboardInterrupt, TypeError])
def test_a_decision_that_was_cut_off_goes_on_by_default(tmp_path, monkeypatch, what):
    monkeypatch.delenv(VARIABLE)
    monkeypatch.chdir(tmp_path)
    study, objective = search(), Paid(30, what)
    how = {"top": 3, "epsilon": 0.15, "version": "1", "retries": 0}
    with pytest.raises((KeyboardInterrupt, SurepickError)) as stop:
        final_decision(study, objective, **how)
    part = stop.value.partial
    assert not part.answer.guarantee
    assert 20 < part.answer.samples < 30
    assert [path.name for path in tmp_path.glob(f"{FOLDER}/*.db")] == ["optuna-search.db"]
    found = final_decision(study, objective, **how)
    assert found.answer.samples == objective.made - 1
    unnamed = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    unnamed.optimize(Paid(0, what), n_trials=20)
    final_decision(unnamed, objective, **how)
    assert len(list(tmp_path.glob(f"{FOLDER}/*.db"))) == 1
