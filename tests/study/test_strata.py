"""Studies with strata: stamped when pulls are handed out, kept, told to the run, exported."""

from __future__ import annotations

import math

import numpy as np
import pytest

import surepick as sp
from surepick.run.diagnostics import ArmSummary
from surepick.storage.records import Rewards
from surepick.study.checks.findings import without_levels

LABELS = ["plain", "green", "large", "bold"]
MEANS = np.array([0.2, 0.3, 0.35, 0.75])


def problem(noise="yes-no"):
    return sp.Problem(np.eye(4), noise=noise, labels=LABELS)


def worked_off(study, rng, plates=("plate 1", "plate 2"), levels=(0.0, 0.2), noise="yes-no"):
    """Two operators, plate after plate, until there is an answer."""
    turn = 0
    while not study.finished:
        plate = turn % len(plates)
        turn += 1
        pulls = study.ask(7, worker=f"operator {plate}", stratum=plates[plate])
        assert {pull.stratum for pull in pulls} <= {plates[plate]}
        chance = MEANS[[pull.arm for pull in pulls]] + levels[plate]
        if noise == "yes-no":
            rewards = (rng.random(len(pulls)) < chance).astype(float)
        else:
            rewards = chance + noise * rng.normal(size=len(pulls))
        study.tell_many(
            [(pull.id, reward) for pull, reward in zip(pulls, rewards)], f"operator {plate}"
        )
    return study


def test_identify_study_and_certificate_agree(storage_url):
    study = sp.create_study("plates", problem(), storage=storage_url, strata="plate")
    worked_off(study, np.random.default_rng(0))
    answer = study.answer
    assert answer.label == "bold"
    assert answer.guarantee.kind == "pac"
    assert study.rebuild().answer.samples == answer.samples
    assert sp.verify(answer.certificate(), replay=True).label == "bold"
    # The same rewards with the same strata, told to a run of its own, end the same.
    seed, rewards, first = study.definition()["order_seed"], study.rewards(), 0
    run = study.algorithm.start(study.problem, seed)
    while not run.stopped:
        batch = run.ask()
        own = slice(first, first + len(batch))
        assert np.array_equal(batch.arms, rewards.arms[own])
        run.tell(batch, rewards.values[own], strata=rewards.strata[own].tolist())
        first += len(batch)
    assert run.answer.samples == answer.samples
    assert plain(run.answer.certificate()["batches"]) == plain(answer.certificate()["batches"])


def plain(batches):
    return [(batch["stratum"], batch["arms"], batch["counts"], batch["sums"]) for batch in batches]


def test_days_are_stamped_by_the_clock_of_the_database(storage_url, tmp_path):
    study = sp.create_study("days", problem(), storage=storage_url, strata="day")
    (pull,) = study.ask(worker="me")
    assert len(pull.stratum) == len("2026-01-31")
    study.tell(pull.id, 1.0, "me")
    (named,) = study.ask(worker="you", stratum="yesterday")
    assert named.stratum == "yesterday"
    rows = study.export(tmp_path / "rows.csv").read_text().splitlines()
    assert rows[0].split(",")[:8][-1] == "stratum"
    assert pull.stratum in rows[1]


def test_whoever_comes_back_has_the_stratum_of_that_time(storage_url):
    study = sp.create_study("back", problem(), storage=storage_url, strata="plate")
    (pull,) = study.ask(worker="me", stratum="first")
    (again,) = study.ask(worker="me", stratum="second")
    assert (again.id, again.stratum) == (pull.id, "second")
    study.tell(pull.id, 1.0, "me")
    assert study.rewards().strata.tolist() == ["second"]


def test_what_a_study_needs_or_does_not_know_is_said():
    with_plates = sp.create_study("a", problem(), storage="memory://", strata="plate")
    with pytest.raises(sp.SurepickError, match="each plate, so say which"):
        with_plates.ask()
    without = sp.create_study("b", problem(), storage="memory://")
    with pytest.raises(sp.SurepickError, match="does not compare within strata"):
        without.ask(stratum="plate 1")
    with pytest.raises(sp.SurepickError, match="strata"):
        sp.create_study("c", problem(1.0), "rage", storage="memory://", strata="day")
    tilted = sp.Problem([[1.0, 0.2], [0.3, 1.0], [0.5, 0.5]])
    with pytest.raises(sp.SurepickError, match="intercept"):
        sp.create_study("d", tilted, storage="memory://", strata="day")


def test_levels_of_strata_are_no_larger_noise(storage_url):
    """A stated noise of 0.5 is right within plates, which differ by 3."""
    study = sp.create_study("stated", problem(0.5), storage=storage_url, strata="plate")
    worked_off(study, np.random.default_rng(2), levels=(0.0, 3.0), noise=0.5)
    assert study.checks().warnings == []
    assert study.answer.guarantee.kind == "pac"
    assert study.answer.label == "bold"


def test_levels_are_taken_off_exactly_where_nothing_is_random():
    rng = np.random.default_rng(0)
    arms = rng.integers(0, 4, 200)
    strata = rng.choice(["a", "b", "c"], 200)
    level = {"a": 0.0, "b": 50.0, "c": -7.0}
    values = MEANS[arms] + np.array([level[name] for name in strata])
    rewards = Rewards(np.arange(200), arms, values, np.zeros(200), strata)
    found = without_levels(rewards, ArmSummary.of(4, [], []))
    assert np.ptp(found - MEANS[arms]) < 1e-6
    earlier = ArmSummary.of(4, [0, 1, 2, 3], MEANS)
    assert without_levels(rewards, earlier) == pytest.approx(MEANS[arms])
    assert math.isclose(found.std(), MEANS[arms].std(), rel_tol=1e-6)


def test_items_are_handed_out_kept_and_the_same_for_all_options(storage_url, tmp_path):
    solved = (MEANS[:, None] > np.linspace(0, 1, 50)).astype(float)
    study = sp.create_study("questions", problem(), storage=storage_url, items=50)
    met: dict[tuple[int, str], int] = {}
    while not study.finished:
        for pull in study.ask(9, worker="me"):
            met[pull.id, pull.label] = pull.item
            study.tell(pull.id, solved[pull.arm, pull.item], "me")
    assert study.answer.label == "bold"
    assert "best on average over all 50 items" in study.answer.guarantee
    assert sp.verify(study.answer.certificate(), replay=True).label == "bold"
    assert study.rebuild().answer.samples == study.answer.samples
    rows = study.export(tmp_path / "rows.csv").read_text().splitlines()
    place = rows[0].split(",").index("item")
    for row in rows[1:]:
        cells = row.split(",")
        assert int(cells[place]) == met[int(cells[0]), cells[2]]
    # In every block the first items of all options are the same.
    run, first = study.algorithm.start(study.problem, study.definition()["seed"]), 0
    while not run.stopped:
        batch = run.ask()
        own = study.rewards()
        stored = own.strata[first : first + len(batch)].astype(int)
        assert np.array_equal(stored, batch.items)
        run.tell(batch, own.values[first : first + len(batch)])
        first += len(batch)


def test_a_pull_given_to_somebody_else_keeps_its_item(storage_url):
    study = sp.create_study("again", problem(), storage=storage_url, items=50)
    (pull,) = study.ask(worker="me")
    study.fail(pull.id, "broken", "me")
    given = study.ask(30, worker="you")
    (again,) = [one for one in given if one.id == pull.id]
    assert again.item == pull.item
