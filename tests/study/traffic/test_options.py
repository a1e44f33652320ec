"""Options that come and go in a study of traffic."""

import copy
import json

import numpy as np
import pytest
from tests.study.traffic import site

import surepick as sp
from surepick.errors import CertificateError, InvalidInputError
from surepick.run.certificate import fingerprint
from surepick.statistics.own_past import OwnPast
from surepick.statistics.spending import parts_of_all
from surepick.study.chain import check_chain
from surepick.verifier.own_past import went_their_own_way

RATES = {"plain": 0.04, "bold": 0.05, "photo": 0.06, "video": 0.10, "new": 0.15, "late": 0.02}


def check(study):
    """The reports alone lead to the run that is kept."""
    again, kept = study.rebuild(), study.current_run
    assert again.to_json().replace(again.id, "") == kept.to_json().replace(kept.id, "")
    check_chain(study.storage, study.desk.record)


def day(study, number, n=500):
    split = study.split(period=f"day {number}")
    rng = np.random.default_rng([7, number])
    counts = rng.multinomial(n, list(split.shares.values()))
    hits = {label: rng.binomial(c, RATES[label]) for label, c in zip(split.shares, counts)}
    report = {label: (int(c), int(hits[label])) for label, c in zip(split.shares, counts)}
    return study.record(report, f"day {number}")


def decide(study, number, n=500):
    while not study.finished and number < 100:
        day(study, number, n)
        number += 1
    return number


def test_options_come_and_go_and_the_certificate_replays(storage_url):
    study = site.create(storage_url, at_least="2%", control="plain")
    for number in range(3):
        day(study, number, 400)
    running = study.split(period="day 3").shares
    change = study.add(["new"], reason="the new catalogue", by="ann")
    assert (change.said, change.waits) == ("Added: new. It comes with the next period.", True)
    assert study.status()["coming"] == ["new"]
    assert study.split(period="day 3").shares == running, "a period keeps its shares"
    ahead = study.split(period="day 4").shares
    assert ahead["new"] >= 0.05
    assert sum(ahead.values()) == pytest.approx(1.0)
    assert ahead["plain"] >= 0.25, "the control keeps the share that it began with"
    check(study)
    with pytest.raises(InvalidInputError, match="'new' had no share in this period"):
        study.record(dict.fromkeys([*site.LABELS, "new"], (10, 1)), "day 3")
    day(study, 3)
    assert study.problem.labels[-1] == "new"
    check(study)
    number = decide(study, 4)
    assert (study.answer.label, study.answer.guarantee.kind) == ("new", "pac")
    certificate = json.loads(json.dumps(study.answer.certificate()))
    assert [(one["change"], one["batch"]) for one in certificate["options"]] == [("added", 4)]
    assert sp.verify(certificate, replay=True).replayed
    assert study.retire("new", reason="sold out").said == "Retired: new."
    assert not study.finished
    assert "new" not in study.split().shares, "whoever saw it is assigned anew"
    decide(study, number)
    assert study.answer.label == "video"
    check(study)
    certificate = json.loads(json.dumps(study.answer.certificate()))
    assert sp.verify(certificate, replay=True).replayed
    assert study.retire("bold", reason="worst anyway")
    assert study.finished, "it had been ruled out: nothing changes"
    study.correct_report(
        "day 3", dict.fromkeys(site.LABELS, (125, 10)), reason="counted by another rule"
    )
    check(study)


def test_periods_that_had_their_shares_when_it_ended_are_recorded_before_newcomers_come():
    study = site.create("memory://came late")
    number = 0
    study.split(period="day 0")
    while not study.finished:
        for ahead in (1, 2):
            study.split(period=f"day {number + ahead}")
        day(study, number, 2000)
        number += 1
    study.add(["new"], reason="one more")
    assert not study.finished
    for _ in range(2):
        day(study, number)
        check(study)
        number += 1
    assert study.split(period=f"day {number}").shares["new"] > 0.0
    decide(study, number, 1000)
    check(study)
    assert study.answer.label == "new"
    assert sp.verify(study.answer.certificate(), replay=True).replayed


def test_two_changes_before_the_same_period_and_the_control_stays():
    study = site.create("memory://two at once", control="plain")
    day(study, 0)
    study.add(["new"], reason="a")
    study.retire("bold", reason="b")
    assert study.option_changes()[1].said == "Retired: bold."
    shares = study.split().shares
    assert "bold" not in shares
    assert shares["new"] > 0.0
    study.add(["late"], reason="c")
    assert study.split(period="day 1").shares == shares
    day(study, 1)
    assert study.split().shares["late"] > 0.0
    check(study)
    with pytest.raises(InvalidInputError, match="'plain' is the control"):
        study.retire("plain", reason="no")


def test_whoever_saw_a_retired_option_is_assigned_anew_and_nobody_else():
    before = {"plain": 0.4, "bold": 0.3, "photo": 0.3}
    after = {"plain": 0.3, "photo": 0.3, "new": 0.4}
    for visitor in range(500):
        kept = sp.assign(before, visitor)
        now = sp.assign(after, visitor, kept=kept)
        assert now == kept if kept != "bold" else now in after


def test_forged_shares_of_newcomers_are_refused():
    study = site.create("memory://forged newcomers")
    day(study, 0)
    study.add(["new"])
    decide(study, 1)
    good = json.loads(json.dumps(study.answer.certificate()))
    assert sp.verify(good)
    for forge in (
        lambda body: body["traffic"]["periods"][0]["shares"].append(0.0),
        lambda body: body["options"][0].update(batch=0),
        lambda body: body["traffic"]["periods"][1]["shares"].pop(),
    ):
        body = copy.deepcopy(good)
        del body["digest"]
        forge(body)
        with pytest.raises(CertificateError, match="not one for each arm"):
            sp.verify(body | {"digest": fingerprint(body)})


def _series(rng, periods, begun, rates, moved=None):
    found = []
    for t in range(periods):
        visits = np.full(len(rates), 2000.0)
        visits[begun:] *= t >= 3
        now = np.array(rates) * rng.uniform(0.8, 1.2)
        if moved is not None and t >= 6:
            now[moved] *= 2.5
        found.append((visits, rng.binomial(visits.astype(int), now).astype(float)))
    return found


@pytest.mark.parametrize("moved", [None, 3])
def test_newcomers_are_compared_with_their_own_past_from_their_first_period_on(moved):
    rng = np.random.default_rng(3)
    reports = _series(rng, 9, 3, (0.05, 0.06, 0.07, 0.08), moved)
    first, late = OwnPast(3), OwnPast(4, 3, 1, 3)
    for t, (visits, hits) in enumerate(reports):
        first.add(visits, hits)
        if t >= 3:
            late.add(visits, hits)
    assert not first.found
    assert [(one.option, one.period) for one in late.found] == ([] if moved is None else [(3, 6)])
    assert bool(went_their_own_way(reports, [3, 4], [0, 3])) == (moved is not None)


def test_all_intervals_of_newcomers_share_a_small_risk():
    for first in (1, 2, 4):
        parts = parts_of_all(first, 1000, max(first - 1, 1))
        assert parts[1:].sum() < 1.0, "the control has none"
        assert parts[1:].sum() == pytest.approx(1.0, abs=2e-3) or first == 1
