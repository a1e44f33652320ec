"""Studies that begin with measurements made before them."""

import numpy as np
import pandas as pd
import pytest
from tests.breadth import each_value
from tests.study.toy import check_whole

import surepick as sp
from surepick import errors
from surepick.problem.tables import past_measurements
from surepick.storage.memory import MemoryStorage

ARMS = np.column_stack([np.ones(8), np.linspace(-1, 1, 8)])
MEANS = 0.8 * ARMS[:, 1]
PROBLEM = sp.Problem(ARMS, labels=[f"o{k}" for k in range(8)], noise=1.0)


def table(each=6):
    draws = np.random.default_rng(3)
    arms = np.repeat(np.arange(8), each)
    return pd.DataFrame(
        {"label": [f"o{k}" for k in arms], "reward": MEANS[arms] + draws.normal(size=len(arms))}
    )


def work(study):
    draws = np.random.default_rng(4)
    while pulls := study.ask(30):
        study.tell_many([(pull.id, MEANS[pull.arm] + draws.normal()) for pull in pulls])


@pytest.mark.some(1)
@pytest.mark.parametrize(
    ("storage_url", "chosen"),
    each_value(["memory", "sqlite", "postgresql"], ["in advance", "by results"]),
    indirect=["storage_url"],
)
def test_the_past_is_kept_with_the_study(storage_url, chosen):
    study = sp.create_study(
        "s", PROBLEM, storage=storage_url, past=table(), past_chosen=chosen, delta=0.1
    )
    evidence = chosen == "in advance"
    assert study.status()["past"] == {"measurements": 48, "evidence": evidence}
    assert study.status()["samples"] == 0
    assert study.status()["leader"] is not None
    # What only guides is what the leader is named by, and so what is shown.
    assert study.status()["estimates"] is not None
    assert study.status()["samples"] == 0
    work(sp.load_study("s", storage_url))
    study = sp.load_study("s", storage_url)
    check_whole(study)
    answer = study.answer
    assert answer.samples == study.status()["samples"] == len(study.rewards().pulls)
    assert study.rebuild().answer == study.current_run.answer
    assert sp.verify(answer.certificate()).guarantee == "pac"
    assert ("did not depend on rewards" in answer.guarantee) == evidence
    counted = study._findings.tally.summary().counts.sum()
    assert counted == answer.samples + (48 if evidence else 0)


def test_the_past_may_be_all_it_takes():
    study = sp.create_study(
        "s", PROBLEM, storage=MemoryStorage(), past=table(400), past_chosen="in advance"
    )
    assert study.finished
    assert study.answer.label == "o7"
    assert study.answer.samples == 0
    assert sp.verify(study.answer.certificate()).guarantee == "pac"


@pytest.mark.parametrize("together", [True, False])
def test_rewards_that_have_changed_since_the_past_are_noticed(together):
    old = table(50)
    old["reward"] += np.where(together | (old["label"] == "o7"), 5.0, 0.0)
    study = sp.create_study(
        "s", PROBLEM, storage=MemoryStorage(), past=old, past_chosen="in advance", delta=1e-200
    )
    draws = np.random.default_rng(4)
    for _ in range(10):
        pulls = study.ask(30)
        study.tell_many([(pull.id, MEANS[pull.arm] + draws.normal()) for pull in pulls])
    checks = study.checks()
    assert checks.drift.harmless == together
    assert bool(checks.drift) != together
    if not together:
        assert 7 in checks.drift.arms
    if together:  # what all options share is no misfit of the features
        assert not checks.fit


def test_without_a_word_on_how_they_were_chosen_nothing_is_created():
    storage = MemoryStorage()
    for past, chosen, said in (
        (
            table(),
            None,
            "must say how past measurements were chosen.*If in doubt, choose 'by results'",
        ),
        (table(), "somehow", "must say how"),
        (None, "in advance", "give past"),
        (
            past_measurements(PROBLEM, table(), chosen_in_advance=True),
            "by results",
            "already say how they were chosen",
        ),
    ):
        with pytest.raises(errors.InvalidInputError, match=said):
            sp.create_study("s", PROBLEM, storage=storage, past=past, past_chosen=chosen)
    with pytest.raises(errors.InvalidInputError, match="use pooled-peleg"):
        sp.create_study("s", PROBLEM, "peleg", storage, past=table(), past_chosen="in advance")
    assert sp.list_studies(storage) == []


def test_columns_of_the_past_may_be_called_anything(tmp_path):
    old = table().rename(columns={"label": "tea", "reward": "score"}).assign(day="Monday")
    old.to_csv(tmp_path / "old.csv", index=False)
    names = {"label": "tea", "reward": "score"}
    found = [
        sp.create_study("s", PROBLEM, storage=MemoryStorage(), past_chosen="in advance", **past)
        for past in (
            {"past": table()},
            {"past": tmp_path / "old.csv", "past_columns": names},
            {"past": old, "past_columns": names},
        )
    ]
    first, *others = (study.current_run.totals()[1].tolist() for study in found)
    assert all(np.allclose(other, first, atol=1e-9) for other in others)
    for wrong, words in (
        ({**names, "label": "coffee"}, "'coffee'"),
        ({"size": "tea"}, "past_columns must give the column names"),
    ):
        with pytest.raises(errors.SurepickError, match=words):
            sp.create_study("w", PROBLEM, past=old, past_chosen="in advance", past_columns=wrong)


def test_what_was_measured_before_comes_before_in_time():
    study = sp.create_study(
        "s", PROBLEM, storage=MemoryStorage(), past=table(), past_chosen="in advance", delta=1e-9
    )
    rng = np.random.default_rng(0)
    for _ in range(4):
        study.tell_many({pull.id: rng.normal() for pull in study.ask(10)})
    study.checks()
    found = study._findings.tally.timeline()
    assert found.counts[:, 0].sum() == 48
    assert found.counts[:, 1:].sum() == study.progress().measured
