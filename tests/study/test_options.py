"""Studies whose options come and go: tables, corrections, snapshots, exports, what is refused."""

import json

import numpy as np
import pandas as pd
import pytest
from tests.breadth import each_value

import surepick as sp
from surepick.errors import InvalidInputError
from surepick.study import OptionTable, StudySpec, load_study, store
from surepick.study.acts import write
from surepick.study.chain import check_chain

OPTIONS = pd.DataFrame(
    {"label": [*"abcd"], "size": [1, 2, 3, 4], "colour": ["red", "blue", "red", "blue"]}
)
MORE = pd.DataFrame({"label": ["e", "f"], "size": [9, 2], "colour": ["azure", "red"]})
TRUTH = {"a": 1.5, "b": 2.0, "c": 3.5, "d": 4.5, "e": 10.0, "f": 2.5}  # nearly linear


def study_of(url, name="glue", table=OPTIONS, **settings):
    how = {key: settings.pop(key) for key in ("features", "formula") if key in settings}
    given = {"delta": 0.1, "max_samples": 3000} | settings
    return store(StudySpec(name=name, table=OptionTable.of(table, **how), **given), url)


def work(study, most=10**9):
    while most > 0 and (pulls := study.ask(min(4, most), worker="ann")):
        most -= len(pulls)
        study.tell_many([(p.id, TRUTH[p.label] + 0.2 * ((7 * p.id) % 5)) for p in pulls])


def check(study):
    """The log alone leads to the run that is kept."""
    again, kept = study.rebuild(), study.current_run
    assert again.to_json().replace(again.id, "") == kept.to_json().replace(kept.id, "")
    check_chain(study.storage, study.desk.record)


@pytest.mark.some(1)
@pytest.mark.parametrize(
    ("storage_url", "misfit"),
    each_value(["memory", "sqlite", "postgresql"], [0.0, None]),
    indirect=["storage_url"],
)
def test_from_a_table_to_a_verified_answer(storage_url, misfit):
    study = study_of(storage_url, misfit=misfit)
    work(study, 3)
    other = load_study("glue", study.storage)
    change = study.add(MORE, reason="Wednesday", by="ann")
    assert change.waits
    assert other.problem.n_arms == 4, "until the batch is complete"
    assert other.status()["coming"] == ["e", "f"]
    check(study)
    work(other)
    assert (study.answer.label, study.features_of(4)["colour"]) == ("e", "azure")
    check(study)
    assert study.retire("e", reason="sold out").said == "Retired: e."
    assert not study.finished
    assert study.correct(0, 0.1, reason="read again").counted
    check(study)
    work(study)
    assert study.answer.label == "d"
    assert study.retire("a", reason="worst anyway")
    assert study.finished, "it had been ruled out: nothing changes"
    check(study)
    certificate = json.loads(json.dumps(study.answer.certificate()))
    assert sp.verify(certificate).replay.startswith("in part")
    said = [
        (one["change"], one["arms"], one["reason"], one["by"]) for one in certificate["options"]
    ]
    assert said == [
        ("added", [4, 5], "Wednesday", "ann"),
        ("retired", [4], "sold out", None),
        ("retired", [0], "worst anyway", None),
    ]
    assert list(study.standing()["state"]) == ["retired", "out", "out", "leads", "retired", "out"]


@pytest.mark.parametrize(
    "how",
    [{"features": ["size"]}, {"features": "C(size),colour"}, {"formula": "size + C(colour)*size"}],
)
def test_new_rows_are_described_as_the_first_were(how):
    study = study_of("memory://", f"how {how}", misfit=0.0, **how)
    work(study, 2)
    if how == {"features": ["size"]}:
        with pytest.raises(InvalidInputError, match="'f' has the same features as 'b'"):
            study.add(MORE)
        study.add(MORE.assign(size=[9, 7]))
    else:
        study.add(MORE)
    work(study)
    assert study.answer.label == "e"


def test_the_model_is_that_of_all_options_coded_together():
    study = study_of("memory://", "coded", misfit=0.0)
    study.add(MORE)
    work(study)
    together = sp.problem.tables.from_table(pd.concat([OPTIONS, MORE], ignore_index=True)).problem
    grown = study.problem
    assert grown.rank == together.rank == 4
    both = np.hstack([grown.arms, together.arms])
    assert np.linalg.matrix_rank(both, tol=1e-9) == 4, "each can be had from the other"


def test_what_is_refused(tmp_path):
    study = study_of("memory://", "refused")
    for table, message in (
        (MORE.drop(columns="size"), "no column 'size'"),
        (MORE.assign(price=1), "no column 'price'; leave it out"),
        (MORE.assign(label=["a", "f"]), "an option 'a' already exists"),
        (MORE.assign(size=["x", "y"]), "not a number"),
    ):
        with pytest.raises(InvalidInputError, match=message):
            study.add(table)
    with pytest.raises(InvalidInputError, match="a table with the columns size, colour"):
        study.add(["e"])
    with pytest.raises(InvalidInputError, match="say why"):
        study.retire("a", reason=" ")
    plain = sp.create_study("plain", sp.Problem([[1.0], [2.0]]), storage="memory://")
    with pytest.raises(InvalidInputError, match="not made from a table"):
        plain.add(MORE)
    with pytest.raises(InvalidInputError, match="have 1 features; give the new ones"):
        plain.add(["e"])
    study.export(tmp_path / "changes.csv", what="option-changes")
    assert not (tmp_path / "changes.csv").read_text()


def test_an_act_is_written_once_whatever_comes_between(monkeypatch):
    study = study_of("memory://", "twice")
    calls, load = [], write.rebuild.load_run

    def and_somebody_is_quicker(*given):
        found = load(*given)
        if not calls:
            calls.append(1)
            load_study("twice", study.storage).retire("b", reason="sold out")
        return found

    monkeypatch.setattr(write.rebuild, "load_run", and_somebody_is_quicker)
    study.add(MORE, reason="new")
    assert [one.labels for one in study.option_changes()] == [("b",), ("e", "f")]
    check(study)


def test_options_that_cost_something_else_come_with_their_costs():
    """Rows of a table bring the column of costs; other newcomers have to say it."""
    table = pd.DataFrame({"label": ["a", "b"], "price": [1.0, 4.0]})
    new = pd.DataFrame({"label": ["c"], "price": [2.0]})
    study = sp.create_study("priced", table=table, cost="price", noise=0.5, storage="memory://")
    with pytest.raises(sp.SurepickError, match="no column 'price'"):
        study.add(new[["label"]])
    study.add(new)
    rng = np.random.default_rng(0)
    while not study.finished:
        for pull in study.ask(64):
            study.tell(pull.id, float(pull.arm) + 0.5 * rng.normal())
    assert (study.answer.label, study.problem.costs.tolist()) == ("c", [1.0, 4.0, 2.0])
    spent = study.answer.pulls @ study.problem.costs
    assert study.answer.cost == pytest.approx(spent)
    assert sp.verify(study.answer.certificate(), replay=True).replayed


@pytest.mark.parametrize("misfit", [0.0, np.inf])
def test_of_options_that_cost_different_amounts_one_is_retired(misfit):
    features = np.eye(4) if not misfit else np.column_stack([np.ones(4), np.arange(4)])
    costs = {"costs": [1.0, 2.0, 3.0, 4.0], "labels": list("abcd")}
    problem = sp.Problem(features, noise=0.5, misfit=misfit, **costs)
    study = sp.create_study("retired", problem, storage=f"memory://{misfit}")
    rng = np.random.default_rng(0)
    while not study.finished:
        for pull in study.ask(64):
            study.tell(pull.id, float(pull.arm) + 0.5 * rng.normal())
        if study.progress().batch == 1 and not study.option_changes():
            study.retire("d", reason="sold out")
    assert study.answer.label == "c"
    assert sp.verify(study.answer.certificate(), replay=True).replayed


def test_labels_alone_do_not_say_what_they_cost():
    problem = sp.Problem(np.eye(2), labels=["a", "b"], costs=[1.0, 3.0])
    study = sp.create_study("dear", problem, storage="memory://dear")
    with pytest.raises(sp.SurepickError, match="costs: options of this study have different"):
        study.add(["c"])
    study.add(sp.Problem(np.eye(3)[2:], labels=["c"], costs=[2.0]))
    study.retire("a", reason="sold out")
    equal = sp.create_study("equal", sp.Problem(np.eye(2)), storage="memory://")
    with pytest.raises(sp.SurepickError, match="cost the same; leave costs out"):
        equal.add(sp.Problem(np.eye(3)[2:], labels=["c"], costs=[2.0]))


def test_cells_of_newcomers_come_behind_those_of_the_others():
    table = pd.DataFrame({"label": ["a", "b", "c"], "size": [1, 2, 3]})
    study = sp.create_study("s", table=table, storage="memory://cells of newcomers")
    study.add(pd.DataFrame({"label": ["d", "e"], "size": [7, 8]}))
    cells = study.features_by_arm(range(5))
    assert [cells[arm]["size"] for arm in range(5)] == [1, 2, 3, 7, 8]


def test_options_that_came_later_were_not_there_from_the_start():
    study = study_of("memory://started", features="size,colour")
    work(study, 12)
    study.add(MORE, reason="new")
    work(study, 30)
    assert study.problem.n_arms == 6
    assert study.status()["started_with"] == 4
