"""A website test with an answer for each segment: studies side by side, and one union bound."""

import copy
import json
from functools import cache

import numpy as np
import pytest

import surepick as sp
from surepick.errors import CertificateError, FormatError
from surepick.run import verify_segments
from surepick.run.certificate import fingerprint
from surepick.storage.memory import MemoryStorage
from surepick.study import SegmentStudies, Sheet, StudySpec, list_studies
from surepick.study.chain import check_chain

LABELS, NAMES = ["old", "bold", "quick"], ("phone", "desk")
GAP = ("bold", "desk")  # whom nobody saw, so that a query has no row of it
PAST = Sheet(csv="label,reward\nold,1\nold,0\n")
OPPOSITE = {"phone": (0.03, 0.034, 0.08), "desk": (0.06, 0.13, 0.06)}


def begun(storage=None, noise="yes-no", **fields):
    problem = sp.Problem.unstructured(LABELS, noise=noise)
    given = {"segments": "phone, desk", "seed": 1} | fields
    return SegmentStudies.create("shop", problem, storage or MemoryStorage(), **given)


def day_of(test, rng, rates=OPPOSITE, visits=4000):
    report = {}
    for name, one in test.split(visits=visits).segments.items():
        for label, n in (one.visits or {}).items():
            if n and not one.decided:
                yes = int(rng.binomial(n, rates[name][LABELS.index(label)]))
                report.setdefault(label, {})[name] = (n, yes)
    return report


def follow(test, seed=0, rates=OPPOSITE, days=20):
    rng, day = np.random.default_rng(seed), 0
    while not test.finished and day < days:
        test.record(day_of(test, rng, rates), f"day {day}")
        day += 1
    return test


@cache
def finished():
    return json.dumps(follow(begun()).answers.certificate())


def test_each_segment_has_its_own_winner_at_its_part_of_delta(storage_url):
    test = follow(begun(storage_url))
    assert test.answers.labels == {"phone": "quick", "desk": "bold"}
    assert {one.algorithm.delta for one in test.studies.values()} == {0.025}
    again = SegmentStudies.load("shop", storage_url)
    assert again.finished
    assert list_studies(storage_url) == ["shop@phone", "shop@desk"]
    found = verify_segments(json.loads(json.dumps(again.answers.certificate())), replay=True)
    assert found
    assert {name: one.label for name, one in found.segments.items()} == again.answers.labels
    assert all(one.unknown == () for one in found.segments.values())
    assert "of 100 such tests, at most 5 are wrong in some segment" in found.plain


def test_a_segment_that_is_decided_sends_everybody_to_its_winner_and_needs_no_reports():
    equal_desks = OPPOSITE | {"desk": (0.06, 0.06, 0.06)}
    test = follow(begun(), rates=equal_desks, days=6)
    assert test.studies["phone"].finished
    assert not test.studies["desk"].finished
    split = test.split(visits=100)
    assert split.segments["phone"].shares == {"quick": 1.0}
    assert split.segments["phone"].visits == {"quick": 100}
    assert len(split.segments["desk"].shares) == 3
    assert sp.assign(split, "somebody", segment="phone") == "quick"
    assert sp.assign(split.to_dict(), "somebody", segment="desk", test="shop") in LABELS
    assert sp.assign(test, "somebody", segment="phone", kept="old") == "quick"
    assert "phone,quick,1.000000,100" in split.to_csv()
    assert split.to_flags("shop")["flags"].keys() == {"shop-phone", "shop-desk"}
    before = test.studies["phone"].status()["samples"]
    report = day_of(test, np.random.default_rng(9), equal_desks)
    report["quick"]["phone"] = (900, 70)  # as a site may go on counting
    found = test.record(report, "later")
    assert (found["phone"].status, found["desk"].status) == ("decided", "accepted")
    assert test.studies["phone"].status()["samples"] == before


def test_what_is_wrong_in_one_segment_is_refused_in_all():
    test = begun()
    report = day_of(test, np.random.default_rng(0))
    wrong = copy.deepcopy(report)
    wrong["bold"]["desk"] = (10, 11)
    with pytest.raises(sp.SurepickError, match=r"segment desk: .*11"):
        test.record(wrong, "monday")
    lacking = {label: dict(cells) for label, cells in report.items()}
    del lacking["bold"]["desk"]
    with pytest.raises(sp.SurepickError, match=r"segment desk: .*'bold' is missing"):
        test.record(lacking, "monday")
    with pytest.raises(sp.SurepickError, match="no segment is called 'tablet'; there are phone"):
        test.record(report | {"old": {"tablet": (3, 1)}}, "monday")
    with pytest.raises(sp.SurepickError, match="must be a dict by segment"):
        test.record(report | {"old": (3, 1)}, "monday")
    with pytest.raises(sp.SurepickError, match="no column 'segment'"):
        test.record(Sheet(csv="label,visits,successes\nold,5,1\n"), "monday")
    assert all(one.status()["samples"] == 0 for one in test.studies.values())
    assert {one.status for one in test.record(report, "monday", check=True).values()} == {"checked"}
    assert all(one.status()["samples"] == 0 for one in test.studies.values())


def test_a_report_that_was_cut_off_is_recorded_whole_by_the_same_report_again():
    test = begun()
    report = day_of(test, np.random.default_rng(0))
    test.studies["phone"].record({label: own["phone"] for label, own in report.items()}, "monday")
    found = test.record(report, "monday")
    assert [one.status for one in found.values()] == ["duplicate", "accepted"]


def test_a_segment_of_which_nobody_came_goes_on_with_its_shares():
    test = begun()
    shares = test.split().segments["desk"]
    report = day_of(test, np.random.default_rng(0))
    phones = {label: {"phone": own["phone"]} for label, own in report.items()}
    found = test.record(phones, "night")
    assert [one.status for one in found.values()] == ["accepted", "nobody"]
    assert test.split().segments["desk"] == shares
    rows = ["label,segment,visits,successes", "old,phone,9,0", "bold,phone,9,0", "quick,phone,9,0"]
    rows += ["old,desk,90,3", "bold,desk,90,4", "quick,desk,90,5"]
    found = test.record(Sheet(csv="\n".join(rows)), "morning")
    assert [one.status for one in found.values()] == ["accepted", "accepted"]
    test.split()
    with pytest.raises(sp.SurepickError, match="nobody came of a segment"):
        test.record({label: dict.fromkeys(NAMES, (0, 0)) for label in LABELS}, "noon")


def test_a_segment_without_visitors_stops_no_period_that_was_named_before():
    test, alike = begun(), dict.fromkeys(NAMES, (0.05, 0.05, 0.05))
    report = day_of(test, np.random.default_rng(0), alike)
    phones = {label: {"phone": own["phone"]} for label, own in report.items()}
    zeros = {label: own | {"desk": (0, 0)} for label, own in phones.items()}
    for day, given in enumerate([phones, zeros, phones]):
        test.split(period=f"day {day}")
        for _ in range(2):  # the same report again changes nothing
            found = test.record(given, f"day {day}")
            assert found["desk"].status == "nobody"
    assert test.studies["phone"].current_run.batches == 3
    assert test.studies["desk"].current_run.batches == 0
    test.split(period="day 3")
    found = test.record(report, "day 3")
    assert {one.status for one in found.values()} == {"accepted"}
    test.split(period="day 4")
    nobody = {label: dict.fromkeys(NAMES, (0, 0)) for label in LABELS}
    assert {one.status for one in test.record(nobody, "day 4").values()} == {"nobody"}
    check_chain(test.studies["desk"].storage, test.studies["desk"].desk.record)
    rng, number = np.random.default_rng(1), 5
    while not test.finished:
        test.record(day_of(test, rng), f"day {number}")
        number += 1
    assert verify_segments(json.loads(json.dumps(test.answers.certificate())), replay=True)


def test_a_period_without_visitors_before_another_that_has_its_shares_says_what_to_do():
    desk, nobody = begun().studies["desk"], dict.fromkeys(LABELS, (0, 0))
    some = dict(zip(LABELS, [(900, 9), (900, 25), (900, 9)]))
    for number in range(2):
        desk.split(period=f"day {number}")
    with pytest.raises(sp.SurepickError, match="of both in 'day 0', and nobody in 'day 1'"):
        desk.record(nobody, "day 0")
    desk.record(some, "day 0")
    assert desk.record(nobody, "day 1", check=True).status == "checked"
    assert desk.record(nobody, "day 1").status == "nobody"
    since = desk.periods()[-1]["since"]
    assert desk.split(period="day 2").since == since
    desk.split(period="day 3")
    desk.record(some, "day 2")
    desk.split(period="day 4")
    left = {label: (0, 0) for label, share in desk.split(period="day 3").shares.items() if share}
    with pytest.raises(sp.SurepickError, match=r"they differ, .*: set aside 'day 3'"):
        desk.record(left, "day 3")
    desk.set_aside(period="day 3", reason="nobody came")
    later = desk.split(period="day 4").shares
    desk.record({label: (900, 9 * (label == "old")) for label in later if later[label]}, "day 4")
    names = [one["period"] for one in desk.periods() if one["recorded"]]
    assert names == ["day 0", "day 2", "day 3", "day 4"]


def test_a_query_counts_all_segments(tmp_path):
    import sqlite3

    from surepick.study.traffic.query import query_report

    address, test = f"sqlite:///{tmp_path}/shop.db", begun()
    rows = [(label, name, 50, 4) for label in LABELS for name in NAMES if (label, name) != GAP]
    with sqlite3.connect(tmp_path / "shop.db") as shop:
        shop.execute("CREATE TABLE seen (label, segment, visits, successes)")
        shop.executemany("INSERT INTO seen VALUES (?, ?, ?, ?)", rows)
    shop.close()
    test.split()
    query = "SELECT * FROM seen"
    own = {name: query_report(one, query, address, "day") for name, one in test.studies.items()}
    found = test.record_each(own, "day")
    assert {name: one.visits for name, one in found.items()} == {"phone": 150, "desk": 100}
    again = test.record_each({"desk": own["desk"]}, "day")
    assert [one.status for one in again.values()] == ["duplicate", "duplicate"]
    wrong = "SELECT label, 'desks' AS segment, visits, successes FROM seen"
    with pytest.raises(sp.SurepickError, match="no segment is called 'desks'"):
        query_report(test.studies["desk"], wrong, address, "day")


def test_rewards_between_bounds_a_baseline_and_guardrails_are_asked_of_each_segment():
    """Segments of one mix know none of these; studies side by side know all."""
    test = begun(noise=(0, 1), baseline="old")
    assert test.columns == ("label", "segment", "visits", "sum", "squares")
    kept = begun(keep=["refunds <= old + 1%"])
    assert kept.columns == ("label", "segment", "visits", "successes", "refunds")
    report = {label: dict.fromkeys(NAMES, (500, 25, 3)) for label in LABELS}
    kept.split()
    kept.record(report, "monday")
    at = kept.studies["desk"].status()["traffic"]
    assert at["guardrails"][0]["cells"][1] == "+0.00 pt, not clear yet"


def test_a_baseline_gives_a_decided_segment_to_the_better_ones():
    rates = {"phone": (0.05, 0.05, 0.05), "desk": (0.2, 0.06, 0.06)}
    test = follow(begun(baseline="old"), rates=rates, days=4)
    assert [one.finished for one in test.studies.values()] == [False, True]
    assert test.studies["desk"].answer.better == ()
    assert test.split().segments["desk"].shares == {"old": 1.0}


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"traffic": False}, "only a traffic study"),
        ({"segments": "phone"}, "names alone"),
        ({"segments": ["phone", "phone"]}, "twice"),
        ({"segments": ["phone"]}, "two or more"),
        ({"segments": "phone=70%,desk=30%"}, "without shares"),
        ({"segments": ["phone", 3]}, "a name is a text"),
        ({"segments": "phone 70%, desk 30%"}, "phone=70%"),
        ({"baseline": "old", "claims": "fdr"}, "says nothing of all segments"),
        ({"past": PAST, "past_chosen": "in-advance"}, "of which segment past measurements are"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_stored(fields, said):
    storage = MemoryStorage()
    with pytest.raises(sp.SurepickError, match=said):
        begun(storage, **fields)
    assert list_studies(storage) == []


def test_all_studies_are_made_or_none():
    storage = MemoryStorage()
    problem = sp.Problem.unstructured(LABELS, noise="yes-no")
    sp.create_study("shop@desk", problem, storage=storage, traffic=True)
    with pytest.raises(sp.SurepickError, match="'shop@desk' already exists"):
        begun(storage)
    assert list_studies(storage) == ["shop@desk"]
    with pytest.raises(sp.SurepickError, match="no test with an answer for each segment"):
        SegmentStudies.load("shop", storage)


def test_what_needs_one_study_names_those_of_the_segments():
    storage = MemoryStorage()
    begun(storage)
    with pytest.raises(sp.SurepickError, match="needs one of them \\(shop@phone, shop@desk\\)"):
        sp.load_study("shop", storage)
    sp.delete_study("shop@desk", storage)
    with pytest.raises(sp.SurepickError, match="segment 'desk' is not there any more"):
        SegmentStudies.load("shop", storage)


def test_a_study_of_a_segment_has_its_part_of_delta_and_no_more():
    part = {"of": "shop", "name": "desk", "all": list(NAMES), "delta": 0.05, "test": "a"}
    problem = sp.Problem.unstructured(LABELS, noise="yes-no")
    spec = {"name": "shop@desk", "problem": problem, "traffic": True, "segment": part}
    assert StudySpec(**spec, delta=0.025).prepared.meta["segment"] == part
    with pytest.raises(sp.SurepickError, match=r"delta must be at most 0\.025"):
        _ = StudySpec(**spec, delta=0.05).prepared
    with pytest.raises(sp.SurepickError, match="'tablet' is none of phone, desk"):
        StudySpec(**spec | {"segment": part | {"name": "tablet"}})
    for wrong, said in (
        ({"of": "shop"}, "must be a dict of of, name, all, delta and test"),
        (part | {"delta": 2}, "between 0 and 1"),
        (part | {"all": 7}, "a list of names"),
        (part | {"all": [["phone"], "desk"]}, "a name is a text"),
        (part | {"of": 3}, "must be a text"),
        (part | {"test": 3}, "must be a text"),
    ):
        with pytest.raises(sp.SurepickError, match=said):
            StudySpec(**spec | {"segment": wrong})
    with pytest.raises(sp.SurepickError, match="it takes a study for each"):
        sp.create_study("shop", problem, storage=MemoryStorage(), traffic=True, segments="a,b")


# -- certificates --------------------------------------------------------------------------
def larger_delta(body):
    body["delta"] = 0.04


def one_less(body):
    del body["segments"]["desk"]


def swapped(body):
    body["segments"]["phone"], body["segments"]["desk"] = (
        body["segments"]["desk"],
        body["segments"]["phone"],
    )


def of_another(body):
    body["of"] = "market"


def more(body):
    body["note"] = "everything is right with probability 1"


def sealed(body):
    content = {name: value for name, value in body.items() if name != "digest"}
    return body | {"digest": fingerprint(content)}


@pytest.mark.parametrize("forge", [larger_delta, one_less, swapped, of_another, more])
def test_forged_certificates_of_several_segments_are_refused(forge):
    body = json.loads(finished())
    forge(body)
    with pytest.raises(CertificateError):
        verify_segments(body, replay=False)
    with pytest.raises(CertificateError):
        verify_segments(sealed(body), replay=False)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"delta": 0.04}, "more than its part"),
        ({"all": ["phone"]}, "one of several"),
        ({"all": ["phone", "phone", "desk"]}, "the same name"),
        ({"name": "tablet"}, "none of those"),
        ({"delta": 1.5}, "is none"),
        ({"extra": 1}, "does not say what it has to"),
    ],
)
def test_what_a_certificate_says_of_its_segment_is_checked(change, said):
    body = json.loads(finished())["segments"]["phone"]
    assert sp.verify(body, replay=False).label == "quick"
    body["segment"] |= change
    body["digest"] = fingerprint(body)
    with pytest.raises(CertificateError, match=said):
        sp.verify(body, replay=False)


def test_a_certificate_of_all_has_every_segment():
    """Two of three, whose levels and seals are all in order."""
    body = json.loads(finished())
    body["delta"] = 0.075
    for part in body["segments"].values():
        part["segment"] |= {"all": [*NAMES, "tablet"], "delta": 0.075}
        part["digest"] = fingerprint(part)
        assert sp.verify(part, replay=False)
    with pytest.raises(CertificateError, match="of another test or segment"):
        verify_segments(sealed(body), replay=False)


def test_segments_of_two_tests_are_not_put_together():
    """Of two tests of one name, somebody could choose the segments whose answers please."""
    body = json.loads(finished())
    other = follow(begun(), seed=1).answers.certificate()["segments"]["desk"]
    assert sp.verify(other, replay=False)
    body["segments"]["desk"] = other
    with pytest.raises(CertificateError, match="of another test"):
        verify_segments(sealed(body), replay=False)


def test_what_is_right_on_average_is_no_part_of_all_together():
    body = json.loads(finished())["segments"]["phone"]
    body["claim"]["guarantee"] = "fdr"
    body["digest"] = fingerprint(body)
    with pytest.raises(CertificateError, match="right on average"):
        sp.verify(body, replay=False)


def test_a_part_that_does_not_hold_refuses_the_whole():
    body = json.loads(finished())
    part = body["segments"]["desk"]
    part["claim"]["candidate"], part["claim"]["label"] = 0, "old"
    part["digest"] = fingerprint(part)
    with pytest.raises(CertificateError):
        verify_segments(sealed(body), replay=False)


def test_a_certificate_of_several_is_not_taken_for_one():
    with pytest.raises(FormatError, match="for each segment"):
        sp.verify(json.loads(finished()))
    with pytest.raises(FormatError, match="not a surepick certificate of several"):
        verify_segments(json.loads(finished())["segments"]["phone"])


# -- the command line ----------------------------------------------------------------------
def test_the_story_on_the_command_line(tmp_path):
    from click.testing import CliRunner

    from surepick.cli import cli

    where = ["--storage", f"sqlite:///{tmp_path}/s.db"]
    (tmp_path / "versions.csv").write_text("label\nold\nbold\nquick\n")
    runner, rng = CliRunner(), np.random.default_rng(0)

    def say(*words, code=0, at=where):
        found = runner.invoke(cli, [*words, *at])
        error = found.output + str(found.exception)
        assert found.exit_code == code or (code and found.exception), error
        return found.output + ("" if code == 0 else str(found.exception))

    how = ["--traffic", "--rewards", "yes-no", "--segments", "phone,desk"]
    made = say("new", "shop", str(tmp_path / "versions.csv"), *how)
    assert "Each of 2 segments has an answer of its own, with delta 0.025" in made
    assert "label, segment, visits, successes" in made
    for day in range(9):
        shares = json.loads(say("split", "shop", "--visits", "6000", "--json"))["segments"]
        rows = ["label,segment,visits,successes"]
        for name, one in shares.items():
            for label, n in one["visits"].items():
                yes = rng.binomial(n, OPPOSITE[name][LABELS.index(label)])
                rows += [] if one["decided"] or not n else [f"{label},{name},{n},{yes}"]
        (tmp_path / "day.csv").write_text("\n".join(rows) + "\n")
        if not day:
            assert "Nothing was recorded." in say(
                "record", "shop", str(tmp_path / "day.csv"), "--period", "x", "--check"
            )
            undecided = say("answer", "shop", code=4)
            assert "phone:\nNo answer yet" in undecided
            assert "phone  33.3" in say("split", "shop")
        said = say("record", "shop", str(tmp_path / "day.csv"), "--period", f"day {day}")
        if "All segments are decided" in said:
            break
    assert "shop@desk   finished" in (listed := say("list"))
    assert " visits " in listed
    status = say("status", "shop")
    assert "Decided: quick is best" in status
    assert "Decided: bold is best" in status
    file = str(tmp_path / "shop.json")
    answer = say("answer", "shop", "--certificate", file)
    assert "phone:\nAnswer: quick\n" in answer
    assert "desk:\nAnswer: bold\n" in answer
    assert "at most 5 are wrong in some segment" in answer
    checked = say("verify", file, at=[])
    assert "desk: The certificate holds: the answer is bold." in checked
    assert json.loads(say("answer", "shop", "--json"))["finished"]
    assert "say which (shop@phone, shop@desk)" in say(
        "retire", "shop", "old", "--reason", "x", code=2
    )
    over = say("record", "shop", str(tmp_path / "day.csv"), "--period", "late", code=2)
    assert "all segments are decided: period 'late' came after the end" in over
    correct = ("--period", "day 0", "--correct", "--reason", "bots")
    assert "say which (shop@phone, shop@desk)" in say("record", "shop", file, *correct, code=2)
