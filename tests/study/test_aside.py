"""Plates, days and batches that are set aside for all options."""

import copy
from datetime import UTC, datetime

import numpy as np
import pytest

import surepick as sp
from surepick.errors import CertificateError, InvalidInputError, UnknownNameError
from surepick.run.certificate import fingerprint
from surepick.study.chain import check_chain

LABELS = ["plain", "green", "large", "bold"]
MEANS = np.array([0.2, 0.3, 0.35, 0.75])
BROKEN = np.array([0.99, 0.1, 0.1, 0.1])  # what a broken plate shows


def create(storage_url, name="plates", strata="plate", **more):
    problem = sp.Problem(np.eye(4), noise="yes-no", labels=LABELS)
    how = {"strata": strata, "seed": 3} | more
    return sp.create_study(name, problem, storage=storage_url, **how)


def measure(study, rng, plate, n=12, means=MEANS):
    pulls = study.ask(n, worker="ann", stratum=plate)
    told = [(p.id, float(rng.random() < means[p.arm])) for p in pulls]
    return study.tell_many(told, "ann")


def finish(study, rng, plate="plate 9"):
    while not study.finished:
        measure(study, rng, plate, 40)


def forged(certificate, **changes):
    body = {k: v for k, v in (copy.deepcopy(certificate) | changes).items() if v is not None}
    return body | {"digest": fingerprint(body)}


def test_a_plate_that_was_counted_is_left_out_of_everything(storage_url):
    study, rng = create(storage_url), np.random.default_rng(1)
    for turn in range(12):
        broken = turn % 3 == 1
        measure(study, rng, f"plate {turn % 3}", 12, BROKEN if broken else MEANS)
    there = (study.rewards().strata == "plate 1").sum()
    made = study.set_aside(stratum="plate 1", reason="it leaked", by="ann")
    assert (made.of, made.decided, made.left_out) == ("plate", "afterwards", there)
    assert "plate 1" not in study.rewards().strata
    assert study.rebuild().standing().to_dict() == study.standing().to_dict()
    assert study.set_aside(stratum="plate 1", reason="it leaked", by="ann") == made
    with pytest.raises(InvalidInputError, match="plate 'plate 1' was set aside"):
        study.ask(3, worker="ann", stratum="plate 1")
    gone = study.acts("set-aside")[0]
    assert "do not count" in gone.said
    finish(study, rng)
    check_chain(study.storage, study._record)
    answer = study.answer
    assert answer.label == "bold"
    assert "setting aside plate 'plate 1' has nothing to do with" in answer.guarantee
    assert "looked at again" not in answer.guarantee  # nothing was, one by one
    good = answer.certificate()
    assert sp.verify(good).label == "bold"
    assert {one["aside"] for one in good["corrections"]} == {0}
    (entry,), (first, *others) = good["set_aside"], good["corrections"]
    bare = good["claim"]["statement"].split("; provided that the reason")[0]
    for changes in (
        {"set_aside": None},
        {"set_aside": None, "claim": good["claim"] | {"statement": bare}},
        {"claim": good["claim"] | {"statement": bare}},
        {"set_aside": [entry | {"decided": "in advance"}]},
        {"set_aside": [entry | {"left_out": entry["left_out"] - 1}]},
        {"set_aside": [entry | {"name": "plate 2"}]},
        {"set_aside": [entry | {"of": "batch"}]},
        {"corrections": [first | {"new": 1.0}, *others]},
        {"corrections": [first | {"aside": 1}, *others]},
        {"corrections": [{k: v for k, v in first.items() if k != "aside"}, *others]},
    ):
        with pytest.raises(CertificateError):
            sp.verify(forged(good, **changes))


def test_readings_of_a_batch_that_is_open_are_measured_again(storage_url):
    """They are withdrawn as long as nothing was counted, and what counts is told once more."""
    study, rng = create(storage_url), np.random.default_rng(8)
    measure(study, rng, "plate 2", 8)
    measure(study, rng, "plate 0", 5)
    before = study.progress()
    assert 0 < before.told < before.size
    study.set_aside(stratum="plate 0", reason="it leaked")
    assert study.progress().told == 0
    while study.progress().batch < before.batch + 2:
        measure(study, rng, "plate 1", 30)
    study.set_aside(stratum="plate 1", reason="so did this one")
    assert study.rebuild().standing().to_dict() == study.standing().to_dict()
    finish(study, rng)
    check_chain(study.storage, study._record)
    assert sp.verify(study.answer.certificate()).label == "bold"


def test_what_is_still_out_on_a_plate_comes_back_and_does_not_count(storage_url):
    study, rng = create(storage_url), np.random.default_rng(2)
    out = study.ask(4, worker="ann", stratum="plate 1")
    made = study.set_aside(stratum="plate 1", reason="it leaked", blind=True)
    assert (made.decided, made.left_out) == ("blind", 0)  # it had begun
    told = study.tell_many([(pull.id, 1.0) for pull in out], "ann")
    assert {one.status for one in told} == {"late"}
    assert "was set aside" in told[0].warning
    assert study.progress().told == 0
    finish(study, rng)
    assert sp.verify(study.answer.certificate(), replay=True).replayed
    assert "(claimed by somebody)" in study.answer.guarantee


def test_a_plate_that_was_named_before_it_began_needs_no_condition(storage_url):
    study, rng = create(storage_url), np.random.default_rng(3)
    made = study.set_aside(stratum="plate 7", reason="for training")
    assert made.decided == "in advance"
    finish(study, rng)
    assert "with plate 'plate 7' left out, as recorded in advance" in study.answer.guarantee
    found = sp.verify(study.answer.certificate(), replay=True)
    assert (found.replayed, found.label) == (True, "bold")


def test_on_a_day_that_was_set_aside_nothing_is_handed_out(storage_url):
    study = create(storage_url, strata="day")
    today = datetime.fromtimestamp(study.progress().now, UTC).date().isoformat()
    tomorrow = datetime.fromtimestamp(study.progress().now + 86_400, UTC).date().isoformat()
    for day in (today, tomorrow):  # midnight may come
        assert study.set_aside(stratum=day, reason="the water is off").decided == "in advance"
    assert study.ask(3, worker="ann") == []
    assert study.ask(3) == []


def test_a_complete_batch_is_set_aside(storage_url):
    study, rng = create(storage_url, strata=None, max_samples=4000), np.random.default_rng(4)
    while study.progress().batch < 2:
        pulls = study.ask(50, worker="ann")
        study.tell_many([(p.id, float(rng.random() < BROKEN[p.arm])) for p in pulls], "ann")
    with pytest.raises(UnknownNameError, match="batch 2 is not complete"):
        study.set_aside(batch=2, reason="too early")
    with pytest.raises(InvalidInputError, match="has none"):
        study.set_aside(stratum="plate", reason="there are none")
    made = [study.set_aside(batch=k, reason="a broken lamp", by="ann") for k in (0, 1)]
    assert {one.decided for one in made} == {"afterwards"}
    assert study.status()["samples"] == study.progress().told
    assert study.rebuild().standing().to_dict() == study.standing().to_dict()
    with pytest.raises(InvalidInputError, match="set aside with others"):
        study.correct(0, 1.0, reason="it was fine")
    while not study.finished:
        pulls = study.ask(50, worker="ann")
        study.tell_many([(p.id, float(rng.random() < MEANS[p.arm])) for p in pulls], "ann")
    assert study.answer.label == "bold"
    assert "setting aside batch '0', batch '1' has nothing" in study.answer.guarantee
    found = sp.verify(study.answer.certificate(), replay=True)
    assert (found.label, "set aside, and cannot be computed" in found.replay) == ("bold", True)
    check_chain(study.storage, study._record)
