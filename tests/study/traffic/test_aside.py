"""Days that are set aside for all options: what becomes of the study, and what its promise says."""

import copy
import json

import numpy as np
import pytest
from benchmarks import set_aside
from tests.study.traffic import site
from tests.study.traffic.test_corrections import counts_of, without_id

import surepick as sp
from surepick.bench.summary import clopper_pearson
from surepick.errors import CertificateError, InvalidInputError, RunStateError
from surepick.report.colleague import study_page
from surepick.run.certificate import fingerprint
from surepick.run.report import tell_report
from surepick.run.verify import verdict
from surepick.run.waiting import Waiting
from surepick.storage.memory import MemoryStorage
from surepick.study.chain import check_chain
from surepick.study.traffic.block import told_of
from surepick.study.traffic.report import Counts
from surepick.study.traffic.rules import deal_seed

RATES = (0.04, 0.05, 0.06, 0.10)
REASON = "the reason for setting aside period 'day 1' has nothing to do with which option is better"


def told_without(study, *names):
    """The run that is told all other reports, by hand."""
    run = study.algorithm.start(study.problem)
    run.order_seed, run.waits = None, Waiting()
    desk = study.traffic.desk
    began = desk.periods()[0].at
    for period, report in zip(desk.periods(), desk.reports()):
        if period.name not in names and not run.stopped:
            told = told_of(Counts.from_json(report.content), run.problem.n_arms)
            tell_report(run, told, report.at - began, deal_seed(study.desk.record))
    return run


def comparable(run):
    """A run as it is saved, without names and numbers of periods that do not count."""
    return without_id(run) | {"batches": None, "skipped": None}


def forged(certificate, **changes):
    body = copy.deepcopy(certificate) | changes
    body = {name: value for name, value in body.items() if value is not None}
    return body | {"digest": fingerprint(body)}


def bots(study, number):
    """A day on which only one version has thousands of good visitors, none of them human."""
    split = study.split(period=f"day {number}")
    report = dict.fromkeys(split.shares, (500, 20))
    study.record(report | {"plain": (500, 450)}, f"day {number}")


def test_a_day_that_is_set_aside_counts_as_if_it_had_not_been(storage_url):
    study = site.create(storage_url, control="plain", at_least="5%")
    site.day(study, 0)
    bots(study, 1)
    for number in range(2, 4):
        site.day(study, number)
    study.split(period="day 4")  # its shares rest on what is set aside now
    before = study.progress().first
    made = study.set_aside(period="day 1", reason="bots", by="ann")
    assert (made.decided, made.left_out, made.by, made.reason) == (
        "afterwards",
        2000,
        "ann",
        "bots",
    )
    assert made.said.startswith("Period 'day 1' is set aside for all options: 2,000 visits do not")
    assert study.progress().first == before - 2000
    assert comparable(study.current_run) == comparable(told_without(study, "day 1"))
    assert without_id(study.rebuild()) == without_id(study.current_run)
    assert study.set_aside(period="day 1", reason="bots", by="ann") == made  # an answer was lost
    assert [one.kind for one in study.acts()].count("set-aside") == 1
    again = sp.load_study(study.name, study.storage)
    assert again.status() == study.status()
    with pytest.raises(InvalidInputError, match="there is nothing to correct"):
        study.correct_report("day 1", counts_of(study, 1), reason="no")
    site.decide(study, first=4)
    check_chain(study.storage, study._record)
    assert study.answer.label == "video"
    assert REASON in study.answer.guarantee
    assert REASON in study.answer.plain
    assert REASON in study.status()["promise"]["text"] or "something that was set aside" in str(
        study.status()["promise"]
    )
    found = sp.verify(study.answer.certificate(), replay=True)
    assert (found.label, REASON in found.statement, REASON in found.plain) == ("video", True, True)
    assert found.left_out == ("period 'day 1' (2,000 visits), by ann: bots",)
    line = "Set aside for all options: period 'day 1' (2,000 visits), by ann: bots."
    assert line in verdict(found)
    page = " ".join(study_page(study).split())
    assert "is set aside for all options: 2,000 visits do not count" in page
    assert "no measurement was corrected" not in page


def test_options_that_a_bad_day_had_ruled_out_are_back_in():
    study = site.create(control="plain")
    number = 0
    while study.status()["traffic"]["leader"] != "plain" or study.progress().finished:
        bots(study, number)
        number += 1
    while not study.finished:
        bots(study, number)
        number += 1
    assert study.answer.label == "plain"
    made = [study.set_aside(period=f"day {k}", reason="bots") for k in range(number)]
    assert sum(one.back for one in made) >= 3
    assert any("back in" in one.said for one in made)
    assert not study.finished
    site.decide(study, first=number)
    assert study.answer.label == "video"


def test_a_day_that_was_named_before_it_began_needs_no_condition(storage_url):
    study = site.create(storage_url, control="plain")
    for number in range(2):
        site.day(study, number)
    for name in ("sale", "day after"):
        made = study.set_aside(period=name, reason="the sale, as every year")
        assert (made.decided, made.left_out) == ("in advance", 0)
    study.split(period="sale")
    study.split(period="day after")
    bots_of = dict.fromkeys(site.LABELS, (500, 20)) | {"plain": (500, 400)}
    assert study.record(bots_of, "sale").status == "accepted"  # it is kept, and does not count
    study.split(period="day 2")
    study.record(dict.fromkeys(site.LABELS, (500, 25)), "day 2")  # "day after" needs none
    assert study.progress().batch == 5
    assert study.status()["traffic"]["visits"][-1] == 2000
    assert without_id(study.rebuild()) == without_id(study.current_run)
    site.decide(study, first=3)
    check_chain(study.storage, study._record)
    answer = study.answer
    assert answer.label == "video"
    assert "set aside" not in answer.guarantee
    left = "with period 'sale', period 'day after' left out, as recorded in advance"
    assert left in answer.guarantee
    assert "Left out, as recorded in advance: period 'sale', period 'day after'." in answer.plain
    found = sp.verify(answer.certificate(), replay=True)
    assert (found.replayed, found.label) == (True, "video")
    (sale, after) = answer.certificate()["set_aside"]
    assert (sale["left_out"], after["left_out"]) == (2000, 0)


def test_a_period_that_was_running_is_not_named_in_advance():
    """Whoever has seen visitors come cannot say that it was decided before."""
    study = site.create()
    study.split()  # it gets its name when it is reported
    made = study.set_aside(period="today", reason="I have seen the dashboard")
    assert made.decided == "afterwards"  # it may be the one that runs
    study.record(dict.fromkeys(site.LABELS, (500, 25)), "today")
    site.decide(study, first=1)
    assert study.acts("set-aside")[0].details["decided"] == "afterwards"
    assert "the reason for setting aside period 'today'" in study.answer.guarantee
    assert sp.verify(study.answer.certificate(), replay=True).label == "video"


def test_who_decided_blind_is_named():
    study = site.create(control="plain")
    site.day(study, 0)
    bots(study, 1)
    made = study.set_aside(period="day 1", reason="visits", blind=True, by="ann")
    assert made.decided == "blind"
    site.decide(study, first=2)
    said = "without seeing any results of then or later to set aside period 'day 1'"
    assert f"{said} (claimed by ann)" in study.answer.guarantee
    assert f"{said} (this is what ann said)" in study.answer.plain
    assert sp.verify(study.answer.certificate(), replay=True).label == "video"


def test_neither_the_notice_nor_the_condition_can_be_removed_or_forged():
    study = site.create(control="plain")
    site.day(study, 0)
    bots(study, 1)
    site.day(study, 2)
    study.set_aside(period="day 1", reason="bots", by="ann", blind=True)
    site.decide(study, first=3)
    good = study.answer.certificate()
    assert sp.verify(good)
    (entry,) = good["set_aside"]
    claim = good["claim"]
    bare = claim["statement"].split("; provided that it was decided")[0]
    rest = claim["statement"].split("(claimed by ann)")[1]
    for changes in (
        {"set_aside": None},
        {"claim": claim | {"statement": bare + rest}},
        {"set_aside": []},
        {"set_aside": [entry, entry]},
        {"set_aside": [entry | {"decided": "in advance"}]},
        {"set_aside": [entry | {"decided": "afterwards"}]},
        {"set_aside": [entry | {"by": "bob"}]},
        {"set_aside": [entry | {"name": "day 2"}]},
        {"set_aside": [entry | {"name": "day 0"}]},
        {"set_aside": [entry | {"of": "day"}]},
        {"set_aside": [entry | {"reason": " "}]},
        {"set_aside": [entry | {"left_out": -1}]},
        {"set_aside": [entry | {"from": 9, "asked": 3}]},
        {"set_aside": [entry | {"from": 0.5}]},
        {"set_aside": [{k: v for k, v in entry.items() if k != "reason"}]},
        {"set_aside": [entry | {"more": 1}]},
    ):
        with pytest.raises(CertificateError):
            sp.verify(forged(good, **changes))
    # The same with a sentence that fits.
    said = "provided that it was decided without seeing any results of then or later to set aside "
    said += "period 'day 1' (claimed by ann)"
    assert said in claim["statement"]
    for changed, sentence, why in (
        ({"name": "day 0"}, said.replace("day 1", "day 0"), "was set aside, and counts"),
        (
            {"decided": "in advance"},
            "with period 'day 1' left out, as recorded in advance",
            "no such shares",
        ),
    ):
        own = claim | {"statement": claim["statement"].replace(said, sentence)}
        with pytest.raises(CertificateError, match=why):
            sp.verify(forged(good, set_aside=[entry | changed], claim=own))
    # All of it at once leaves shares that do not follow from what is there.
    hidden = {"set_aside": None, "claim": claim | {"statement": bare + rest}}
    with pytest.raises(CertificateError, match="do not follow from earlier reports"):
        sp.verify(forged(good, **hidden), replay=True)


def test_what_cannot_be_set_aside(storage_url):
    study = site.create(storage_url)
    for wrong, why in (
        ({}, "one of these"),
        ({"period": "a", "batch": 1}, "one of these"),
        ({"batch": 1}, "in this study a period"),
        ({"period": " "}, "period"),
        ({"period": "a", "reason": " "}, "say why"),
    ):
        with pytest.raises(InvalidInputError, match=why):
            study.set_aside(**({"reason": "bots"} | wrong))
    site.decide(study)
    with pytest.raises(RunStateError, match="the study is finished"):
        study.set_aside(period="tomorrow", reason="too late")


@pytest.mark.parametrize("first", [True, False])
def test_the_first_report_that_counts_is_dealt(first):
    study = site.create(control="plain")
    bots(study, 0) if first else site.day(study, 0)
    site.day(study, 1)
    study.set_aside(period="day 0", reason="a broken tag")
    assert comparable(study.current_run) == comparable(told_without(study, "day 0"))
    site.decide(study, first=2)
    assert sp.verify(study.answer.certificate(), replay=True).label == "video"


@pytest.mark.parametrize("noise", ["segments", (0, 1), "symmetric"])
def test_other_reports_are_set_aside_too(noise):
    """Reports by segment, of numbers between bounds, and by bucket."""
    rng = np.random.default_rng(3)
    labels = ["a", "b"]
    kind = {"phone": 0.5, "desk": 0.5} if noise == "segments" else noise
    how = {"segments": kind} if noise == "segments" else {}
    problem = sp.Problem.unstructured(labels, noise="yes-no" if how else noise)
    how |= {"storage": MemoryStorage(), "traffic": True, "seed": 1}
    study = sp.create_study("more", problem, **how)

    def report(rates):
        found = {}
        for label, rate in zip(labels, rates):
            hits = [int(rng.binomial(200, rate)) for _ in range(16)]
            if noise == "segments":
                found[label] = {"phone": (1600, sum(hits[:8])), "desk": (1600, sum(hits[8:]))}
            elif noise == "symmetric":
                found[label] = {k: (200, hits[k]) for k in range(16)}
            else:
                found[label] = (3200, sum(hits), sum(hits))
        return found

    for number in range(3):
        study.split(period=str(number))
        study.record(report((0.9, 0.1) if number == 1 else (0.2, 0.3)), str(number))
    study.set_aside(period="1", reason="bots")
    assert without_id(study.rebuild()) == without_id(study.current_run)
    number = 3
    while not study.finished and number < 40:
        study.split(period=str(number))
        study.record(report((0.2, 0.3)), str(number))
        number += 1
    assert study.answer.label == "b"
    assert sp.verify(study.answer.certificate(), replay=True).label == "b"


def test_what_is_exported_and_listed_says_what_does_not_count(tmp_path):
    study = site.create(control="plain")
    site.day(study, 0)
    bots(study, 1)
    study.set_aside(period="day 1", reason="bots")
    rows = json.loads(study.export(tmp_path / "all.json").read_text())
    said = {row["period"]: row["set_aside"] for row in rows}
    assert said == {"day 0": False, "day 1": True}


def ruled_out(way, seed, days=16):
    """Whether the first of two versions that are alike is, of days chosen in some way."""
    problem = sp.Problem.unstructured(["a", "b"], noise="yes-no")
    run, rng = sp.algorithms.PooledPeleg(0.2).start(problem), np.random.default_rng(seed)
    run.order_seed = None
    for _ in range(days):
        hits, kept = rng.binomial(400, 0.3, size=2), rng.random() < 0.5
        if not run.stopped and (kept if way == "blind" else hits[0] < hits[1]):
            counts = Counts((0, 1), (400, 400), tuple(hits.astype(float)))
            tell_report(run, told_of(counts, 2), None, "seed")
    return 0 not in run.active


def test_days_dropped_by_who_won_on_them_rule_out_the_best_and_others_do_not():
    """The counterexample: why the promise names the reason (see ``benchmarks.set_aside``)."""
    wrong = {way: sum(ruled_out(way, seed) for seed in range(14)) for way in ("blind", "leads")}
    assert wrong["blind"] <= 5
    assert wrong["leads"] >= 7  # 0.2 of 14 are 2.8


@pytest.mark.validation
def test_the_error_rate_holds_for_days_chosen_blindly_alone():
    for shape, ways in set_aside.WAYS.items():
        for way in ways:
            found = set_aside.measure((shape, way, 0, 15, 1))
            low, _ = clopper_pearson(found["wrong"], found["trials"], 0.999)
            assert (low > 0.2 or found["wrong"] > 4) if way == "by leads" else low <= 0.2
