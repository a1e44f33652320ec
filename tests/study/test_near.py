"""Two options that are nearly equal are said so, with three ways out."""

import numpy as np
import pytest

import surepick as sp
from surepick.cli.near import ways_out, with_near
from surepick.storage.memory import MemoryStorage

MEANS = {"a": 0.0, "b": 0.8, "c": 0.81}
TABLE = np.random.default_rng(0).random((3, 800)) < [[0.3], [0.6], [0.6]]


def of_pulls(delta=0.05, means=MEANS, most=600, **more):
    problem = sp.Problem.unstructured(list(means), noise=1.0)
    how = {"storage": MemoryStorage(), "delta": delta, "seed": 1} | more
    study, rng = sp.create_study("tea", problem, **how), np.random.default_rng(0)
    while not study.finished and study.progress().measured < most:
        study.tell_many({one.id: means[one.label] + rng.normal() for one in study.ask(50)})
    return study


def test_two_that_are_alike_are_named_with_what_each_way_out_takes():
    study = of_pulls()
    content = study.status() | {"forecast": study.forecast().to_dict()}
    near = content["near"]
    assert set(near["options"]) == {"b", "c"}
    assert near["lead"] < near["resolved"] <= near["epsilon"] < 1.2 * near["resolved"]
    first, accept, go_on, stop = ways_out("tea", with_near(study, content, 4.0))
    assert first.startswith("Nearly equal: ")
    assert f"surepick accept tea {near['epsilon']:g} --reason" in accept
    assert "more measurements" in accept
    assert "more measurements" in go_on
    assert "surepick stop tea" in stop


def test_as_much_again_tells_leads_like_that_and_no_smaller_ones():
    """The promise of the sentence: evidence grows with the square of a lead, and with pulls."""
    near = of_pulls().status()["near"]
    pulls = near["further"] / 2  # of each of the two, about
    error = np.sqrt(2.0 / (2.0 * pulls))
    assert near["resolved"] == pytest.approx(error * np.sqrt(2 * np.log(20)), rel=0.3)


def test_nothing_is_said_early_or_where_one_is_clearly_ahead_or_once_it_is_accepted():
    assert of_pulls(most=100).status()["near"] is None
    apart = of_pulls(means={"a": 0.0, "b": 0.2, "c": 1.0})
    assert apart.finished
    assert apart.status()["near"] is None
    study = of_pulls()
    study.accept(0.5, reason="nobody would notice")
    assert study.status()["near"] is None


def test_of_the_m_best_it_is_about_the_last_of_them_and_can_be_accepted():
    study = of_pulls(means={"a": 0.0, "best": 1.5, "b": 0.8, "c": 0.81}, top=2)
    near = study.status()["near"]
    assert set(near["options"]) == {"b", "c"}
    assert not near["refused"]
    assert 0.6 < near["resolved"] / of_pulls().status()["near"]["resolved"] < 1.7
    study.accept(near["epsilon"], reason="nobody sees less")
    rng, means = np.random.default_rng(1), [0.0, 1.5, 0.8, 0.81]
    while not study.finished:
        study.tell_many({one.id: means[one.arm] + rng.normal() for one in study.ask(50)})
    assert study.answer.guarantee.kind == "eps-pac"
    assert sp.verify(study.answer.certificate(), replay=True).replayed


def test_of_a_table_it_says_how_many_items_closeness_takes_at_least():
    problem = sp.Problem.unstructured(list("abc"), noise="yes-no")
    how = {"complete": 800, "seed": 1, "storage": MemoryStorage()}
    study = sp.create_study("models", problem, **how)
    seen = []
    while not study.finished:
        told = {one.id: float(TABLE[one.arm, one.item]) for one in study.ask(200)}
        study.tell_many(told)
        seen.append(study.status()["near"])
    found = [one for one in seen if one is not None]
    assert found, "two of three models are nearly equal"
    assert "of the 800 items at least; the whole table decides" in found[0]["message"]
    assert seen[-1] is None


def test_where_it_cannot_be_accepted_the_reason_stands_in_its_place():
    problem, rng = sp.Problem.pairs(list("abc")), np.random.default_rng(0)
    study = sp.create_study("judged", problem, storage=MemoryStorage(), seed=1)
    near = None
    while near is None and not study.finished:
        study.tell_many({one.id: float(rng.random() < 0.5) for one in study.ask(200)})
        near = study.status()["near"]
    assert "confirmed" in near["refused"]
    content = with_near(study, study.status(), 1.0) | {"forecast": study.forecast().to_dict()}
    assert "Accepting is not possible here" in ways_out("judged", content)[1]
