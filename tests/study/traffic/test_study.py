"""Studies of traffic from the first split to the certificate, in storages of every kind."""

import json
import time

import numpy as np
import pytest
from tests.study import toy
from tests.study.traffic import site

import surepick as sp
from surepick.errors import (
    InvalidInputError,
    RunStateError,
    StudyDamagedError,
    TellConflictError,
)
from surepick.run import Run
from surepick.run.forecast import PERIODS
from surepick.run.sharing import Sharing
from surepick.statistics.lift import Lifts, Sums
from surepick.storage.memory import MemoryStorage
from surepick.storage.records import Report
from surepick.study.chain import check_chain
from surepick.study.desk import rebuild
from surepick.study.traffic.report import Counts


def test_from_shares_to_a_certificate_that_replays(storage_url):
    study = site.create(storage_url, at_least="5%", control="plain", control_share="20%")
    periods = site.decide(study)
    answer = study.answer
    assert (answer.label, answer.guarantee.kind) == ("video", "pac")
    assert answer.samples == 2000 * periods
    assert sp.verify(json.dumps(answer.certificate()), replay=True).replayed
    check_chain(study.storage, study._record)
    again = sp.load_study("shop", storage_url)
    assert (
        again.rebuild().to_json().partition('"state"')[2]
        == study.current_run.to_json().partition('"state"')[2]
    )
    assert [row["samples"] for row in again.history()] == list(range(2000, 2001 * periods, 2000))
    with pytest.raises(RunStateError, match="came after the end"):
        again.record(dict.fromkeys(site.LABELS, (1, 0)), "too late")
    with pytest.raises(RunStateError, match="there are no more shares"):
        again.split()


def test_a_study_that_is_loaded_again_goes_on_as_it_would_have(storage_url):
    study = site.create(storage_url, at_least="5%")
    site.day(study, 0)
    study = sp.load_study("shop", storage_url)
    site.decide(study, 1)
    kept, again = (
        run.to_json().partition('"state"')[2] for run in (study.current_run, study.rebuild())
    )
    assert kept == again
    certificate = study.answer.certificate()
    evidence = certificate["evidence"]
    assert evidence["precisions"] == [150.0, 1500.0]  # of reports
    assert "dealt" in evidence["blocks"][0]
    assert sp.verify(certificate, replay=True).replayed


def test_shares_are_stored_before_they_are_shown_and_stay_until_a_report(storage_url):
    study = site.create(storage_url)
    first = study.split(visits=1000)
    assert first.visits == dict.fromkeys(site.LABELS, 250)
    assert sp.load_study("shop", storage_url).split().shares == first.shares
    stored = study.storage.read(lambda tx: tx.periods(1))
    assert json.loads(stored[0].shares) == [0.25] * 4
    assert study.split(period="monday").number == 0  # the one that runs gets its name
    ahead = study.split(period="tuesday")
    assert (ahead.number, ahead.shares) == (1, first.shares)  # nothing was reported since
    for _ in range(2):
        done = study.record(site.visitors(first, 2000, np.random.default_rng(0)), "monday")
    assert done.status == "duplicate"
    assert study.split(period="tuesday").shares == first.shares
    assert study.split(period="wednesday").shares != first.shares


def test_a_report_writes_the_run_down_once_and_builds_no_problem_again(monkeypatch):
    study = site.create(MemoryStorage())
    site.day(study, 0)
    written, write_down = [], Run.to_json
    monkeypatch.setattr(Run, "to_json", lambda run: written.append(run) or write_down(run))
    monkeypatch.delattr(rebuild, "problem_of")
    for number in (1, 2):
        site.day(study, number)
    assert len(written) == 2


def test_shares_keep_what_was_asked_for(storage_url):
    study = site.create(storage_url, at_least=0.1, control="plain", control_share=0.3)
    site.day(study, 0)
    for number in range(1, 30):
        before = study.split().shares
        site.day(study, number)
        if study.status()["traffic"]["waiting"] is not None:  # those who lost come back
            break
        shares = study.split().shares
        assert sum(shares.values()) == pytest.approx(1.0, abs=1e-12)
        assert shares["plain"] >= 0.3
        for arm, label in enumerate(site.LABELS[1:], start=1):
            if arm in study.current_run.active:
                assert shares[label] >= max(0.1, 0.4 * before[label])  # they move smoothly
            else:
                assert shares[label] == 0.0
    assert study.current_run.state.finished


def test_least_shares_that_cannot_all_be_kept_are_shared_alike():
    run = sp.algorithms.get("pooled-peleg", delta=0.1).start(sp.Problem(np.eye(30)))
    assert np.ptp(Sharing(at_least=0.05).shares(run, None)) <= 1e-4
    shares = Sharing(at_least=0.05, control=3, control_share=0.42).shares(run, None)
    assert shares[3] == pytest.approx(0.42)
    assert shares.sum() == pytest.approx(1.0, abs=1e-12)


def test_the_control_has_a_least_share_like_everybody_else():
    run = sp.algorithms.get("pooled-peleg", delta=0.1).start(sp.Problem(np.eye(4)))
    before = np.array([0.01, 0.33, 0.33, 0.33])
    for asked, least in ((0.0, 0.2), (0.1, 0.2), (0.3, 0.3)):
        shares = Sharing(at_least=0.2, control=0, control_share=asked).shares(run, before)
        assert shares[0] >= least
        assert (shares[1:] >= 0.2 - 1e-9).all()


def test_the_intervals_of_all_options_hold_together():
    """Of n options with the control each misses with probability delta n/(n + 1) over n − 1."""
    study = site.create(control="plain", delta=0.2)
    for number in range(3):
        site.day(study, number, n=300)
    lifts = Lifts(4, 0, 0.0, 1.0, yes_no=True)
    for report in study.traffic.desk.reports():
        found = Counts.from_json(report.content)
        columns = (np.array(found.visits, dtype=float), np.array(found.sums, dtype=float))
        counts, hits = (np.bincount(found.arms, column, 4) for column in columns)
        lifts.add(Sums(counts, hits, hits * 0.0))
    low, high = lifts.intervals(0.2 * (4 / 5) / 3)  # the rest is for those that may come
    said = study.status()["traffic"]["lift"]
    assert said[0] is None
    for arm in (1, 2, 3):
        assert said[arm] == pytest.approx([lifts.estimates()[arm], low[arm], high[arm]], abs=1e-12)


def test_reports_come_once_and_in_order(storage_url):
    study = site.create(storage_url)
    report = dict.fromkeys(site.LABELS, (500, 20))
    with pytest.raises(RunStateError, match="no shares were stored for period 'monday'"):
        study.record(report, "monday")
    study.split(period="monday")
    study.split(period="tuesday")
    with pytest.raises(RunStateError, match="'monday' must be recorded before 'tuesday'"):
        study.record(report, "tuesday")
    with pytest.raises(RunStateError, match="'monday' must be recorded next"):
        study.record(report, "sunday")
    assert study.record(report, "monday").status == "accepted"
    assert study.record(report, "monday").status == "duplicate"
    with pytest.raises(TellConflictError, match="'monday' was already recorded with other numbers"):
        study.record(report | {"plain": (501, 20)}, "monday")
    assert study.current_run.samples == 2000


def test_a_period_settles_when_its_window_has_closed():
    study = site.create(window=0.3)
    report = dict.fromkeys(site.LABELS, (500, 20))
    study.split(period="monday")
    with pytest.raises(RunStateError, match="'monday' is still running"):
        study.record(report, "monday")
    study.split(period="tuesday")
    with pytest.raises(RunStateError, match="the window of period 'monday' closes at"):
        study.record(report, "monday")
    time.sleep(0.35)
    assert study.record(report, "monday").status == "accepted"


def test_a_million_visitors_are_few():
    study = site.create(rates=(0.05, 0.05))
    study.split()
    study.record(dict.fromkeys(site.LABELS[:2], (10**9, 50_000_000)), "a large day")
    assert not study.finished
    assert study.algorithm.max_samples is None


def test_an_option_that_nobody_came_to_is_never_ruled_out():
    study = site.create()
    for number in range(12):
        split = study.split()
        report = site.visitors(split, 4000, np.random.default_rng(number))
        study.record(report | {"photo": (0, 0)}, f"day {number}")
    assert 2 in study.current_run.active
    assert study.status()["traffic"]["ratio"]["off"][0] == "photo"


def test_single_pulls_and_reports_do_not_mix(storage_url):
    traffic = site.create(storage_url)
    for refused in (lambda: traffic.ask(), lambda: traffic.tell(0, 1.0)):
        with pytest.raises(RunStateError, match="is a traffic study"):
            refused()
    pulls = sp.create_study("pulls", toy.problem(), toy.Toy(0.1), storage_url)
    with pytest.raises(RunStateError, match="only a traffic study"):
        pulls.split()


def test_what_was_reported_cannot_be_changed_unnoticed(storage_url):
    study = site.create(storage_url)
    for number in range(3):
        site.day(study, number)
    check_chain(study.storage, study._record)
    if storage_url.startswith("memory"):
        kept = study.storage._studies[1].rows[Report]
        kept[1] = kept[0]
    else:
        from sqlalchemy import text

        change = "UPDATE surepick_reports SET content = '{}' WHERE period = 1"
        study.storage.write(lambda tx: tx.connection.execute(text(change)))
    with pytest.raises(StudyDamagedError, match="period 1 is no longer what link"):
        check_chain(study.storage, study._record)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"at_least": 5}, r"at_least must be at least 0 and below 1 \(100%\); got 5; did you mean"),
        ({"control": "none"}, "unknown control 'none'"),
        ({"control_share": "20%"}, "control_share: name the option that is the control"),
        ({"window": "a week"}, "window must be a time such as 7d"),
        ({"speed": 3}, "unknown rule of traffic 'speed'"),
    ],
)
def test_rules_that_cannot_be_kept_are_refused(given, message):
    with pytest.raises((InvalidInputError, LookupError), match=message):
        site.create(**given)


def test_features_are_not_trusted_with_traffic():
    problem = sp.Problem([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]], noise="yes-no")
    with pytest.raises(InvalidInputError, match="compares options by their own visitors"):
        sp.create_study("x", problem, storage="memory://trust", traffic=True)


@pytest.mark.validation
def test_the_error_rate_stays_below_delta():
    """Two options tie: each is the best, and is dropped with probability delta at most."""
    rates, dropped, ended = (0.05, 0.05, 0.045), np.zeros(2), 0
    for seed in range(40):
        study = site.create(rates=rates, delta=0.3)
        site.decide(study, n=3000, rates=rates, seed=seed, most=12)
        dropped += [k not in study.current_run.active for k in range(2)]
        ended += study.finished
    assert (dropped <= 0.3 * 40).all()
    assert dropped.sum() > 0  # the bets are not idle
    assert ended < 40


@pytest.mark.validation
def test_how_many_more_periods_is_an_interval():
    study, ahead = site.create(), []
    assert "nothing was reported yet" in study.forecast().text
    while not study.finished:
        site.day(study, len(ahead))
        ahead.append(study.forecast())
    assert {one.unit for one in ahead} == {PERIODS}
    assert ahead[-1].text == "No more periods like the last ones"
    last = ahead[-2]  # benchmarks/forecasts.py counts how often they hold
    assert (last.low, last.simulated) == (1, 40)
    assert last.high is None or last.high >= 1


def test_a_baseline_keeps_a_share_while_there_is_something_to_compare():
    study = sp.create_study(
        "against",
        sp.Problem.unstructured(list("abcd"), noise="yes-no"),
        storage=MemoryStorage(),
        traffic=True,
        baseline="c",
    )
    rng, rates = np.random.default_rng(0), (0.1, 0.2, 0.3, 0.45)
    for day in range(20):
        if study.finished:
            break
        split = study.split()
        assert split.shares["c"] >= 0.2
        study.record(site.visitors(split, 2000, rng, rates), f"day {day}")
    assert study.finished
    assert (study.answer.better, set(study.answer.worse)) == (("d",), {"a", "b"})
    assert sp.verify(study.answer.certificate())


def test_the_m_best_are_found_and_named():
    study = sp.create_study(
        "the two best",
        sp.Problem.unstructured(site.LABELS, noise="yes-no"),
        storage=MemoryStorage(),
        traffic=True,
        top=2,
    )
    site.day(study, 0)
    at = study.status()["traffic"]
    assert at["headline"].startswith("The 2 best so far are video")
    site.decide(study, first=1)
    assert set(study.answer.labels) == {"video", "photo"}
    at = study.status()["traffic"]
    assert at["headline"].startswith("Decided: the 2 best are video (")
    assert "wrong about the 2 best" in at["headline"]
    assert at["next"] == "Send visitors to video and photo."
    assert sp.verify(study.answer.certificate(), replay=True).guarantee == "pac"


def test_a_question_may_be_asked_by_its_name_where_its_setting_is_accepted():
    made = sp.Problem.unstructured(site.LABELS, noise="yes-no")
    given = {"storage": MemoryStorage(), "traffic": True}
    study = sp.create_study("named", made, question="top:m=2", **given)
    assert study.algorithm == sp.create_study("set", made, top=2, **given).algorithm
    for asked in ({"quantile": 0.9}, {"question": "quantile:p=0.9"}):
        bounded = made.with_noise((0, 1))
        with pytest.raises(InvalidInputError, match="the best option, the top ones, or those"):
            sp.create_study("refused", bounded, **asked, **given)
