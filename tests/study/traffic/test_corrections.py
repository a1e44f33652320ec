"""Reports that were wrong: corrected, and what becomes of the study."""

import copy
import json

import numpy as np
import pytest
from tests.study.traffic import site

import surepick as sp
from surepick.errors import (
    CertificateError,
    InvalidInputError,
    RunStateError,
    StudyDamagedError,
    TellConflictError,
)
from surepick.run.certificate import fingerprint
from surepick.run.report import tell_report
from surepick.run.waiting import Waiting
from surepick.study.chain import check_chain
from surepick.study.traffic.block import told_of
from surepick.study.traffic.report import Counts
from surepick.study.traffic.rules import deal_seed

RATES = (0.04, 0.05, 0.06, 0.08)


def counts_of(study, number):
    """A report as its owner would give it."""
    found = Counts.from_json(study.traffic.desk.reports()[number].content)
    report = dict.fromkeys(study.problem.labels, (0, 0))
    for arm, visits, total in zip(found.arms, found.visits, found.sums):
        report[study.problem.labels[arm]] = (visits, total)
    return report


def told_from_scratch(study):
    """The run that is told the reports as they are now, by hand."""
    run = study.algorithm.start(study.problem)
    run.order_seed = None  # visitors come in no order that anybody fixed
    run.waits = Waiting()
    began = study.traffic.desk.periods()[0].at
    for report in study.traffic.desk.reports():
        if not run.stopped:
            told = told_of(Counts.from_json(report.content), run.problem.n_arms)
            tell_report(run, told, report.at - began, deal_seed(study.desk.record))
    return run


def without_id(run):
    return json.loads(run.to_json()) | {"id": None}


def test_a_corrected_report_counts_as_if_it_had_been_right_at_once(storage_url):
    study = site.create(storage_url, control="plain", rates=RATES)
    for number in range(4):
        site.day(study, number, rates=RATES)
    study.split(period="day 4")  # its shares rest on what is corrected now
    before = study.traffic.desk.periods()
    right = counts_of(study, 1) | {"bold": (777, 30), "plain": (0, 0)}
    made = study.correct_report("day 1", right, reason="exported twice", by="ann")
    assert made == study.report_changes()[0]
    assert (made.number, made.asked, made.by, made.reason) == (1, 5, "ann", "exported twice")
    assert [(row.label, row.new) for row in made.rows] == [("plain", (0, 0)), ("bold", (777, 30))]
    assert without_id(study.current_run) == without_id(told_from_scratch(study))
    assert without_id(study.rebuild()) == without_id(study.current_run)
    assert study.traffic.desk.periods() == before  # shares that were shown stay what they were
    visits = [sum(n for n, _ in counts_of(study, k).values()) for k in range(4)]
    assert [row["samples"] for row in study.history()] == np.cumsum(visits).tolist()
    assert study.status()["traffic"]["visits"] == visits
    assert study.progress().first == study.status()["samples"] == sum(visits)
    assert study.correct_report("day 1", right, reason="exported twice", by="ann") == made
    assert len(study.report_changes()) == 1
    assert study.record(right, "day 1").status == "duplicate"
    check_chain(study.storage, study._record)


def test_a_study_that_had_ended_goes_on_and_one_that_goes_on_may_end():
    study = site.create(control="plain")
    days = site.decide(study)
    wrong = dict.fromkeys(site.LABELS, (500, 25))
    last = counts_of(study, days - 1)
    study.correct_report(f"day {days - 1}", wrong, reason="an export of another test")
    assert not study.finished
    study.split(period="later")
    study.correct_report(f"day {days - 1}", last, reason="it was the right one")
    assert study.finished
    assert study.traffic.status()["open"][0]["period"] == "later"
    check_chain(study.storage, study._record)
    certificate = study.answer.certificate()
    found = sp.verify(certificate, replay=True)
    assert "corrected" in found.statement
    # An earlier report that decides it at once: those after it are not needed.
    sure = dict.fromkeys(site.LABELS, (50_000, 2_000)) | {"video": (50_000, 9_000)}
    study.correct_report("day 1", sure, reason="counted by another tool")
    assert study.finished
    assert study.current_run.batches < study.progress().batch
    assert without_id(study.rebuild()) == without_id(study.current_run)
    found = sp.verify(study.answer.certificate(), replay=True)
    assert found.label == "video"
    check_chain(study.storage, study._record)


def test_what_cannot_be_corrected_is_refused_and_changes_nothing():
    study = site.create()
    site.day(study, 0)
    study.split(period="day 1")
    good, kept = counts_of(study, 0), study.traffic.desk.reports()
    with pytest.raises(RunStateError, match="'day 1' was not recorded"):
        study.correct_report("day 1", good, reason="x")
    with pytest.raises(InvalidInputError, match="already has these numbers; nothing was changed"):
        study.correct_report("day 0", good, reason="x")
    with pytest.raises(InvalidInputError, match="say why"):
        study.correct_report("day 0", good | {"bold": (1, 1)}, reason=" ")
    with pytest.raises(InvalidInputError, match="more than 10 visits"):
        study.correct_report("day 0", good | {"bold": (10, 11)}, reason="x")
    with pytest.raises(TellConflictError, match="correct the report"):
        study.record(good | {"bold": (10, 1)}, "day 0")
    assert study.traffic.desk.reports() == kept
    assert study.report_changes() == []


def test_what_is_changed_without_a_link_is_noticed():
    study = site.create()
    site.day(study, 0)
    study.correct_report("day 0", counts_of(study, 0) | {"bold": (300, 9)}, reason="bots")
    check_chain(study.storage, study._record)
    report = study.traffic.desk.reports()[0]
    other = report.content.replace("300", "301")
    study.storage.write(
        lambda tx: tx.change(study._record.id, type(report)(0, other, report.at, report.token))
    )
    with pytest.raises(StudyDamagedError, match="period 0"):
        check_chain(study.storage, study._record)


FORGERIES = {
    "another number": lambda entry: entry["rows"][0].update(new=[1.0, 1.0]),
    "no reason": lambda entry: entry.update(reason=""),
    "nothing changed": lambda entry: entry["rows"][0].update(old=entry["rows"][0]["new"]),
    "no rows": lambda entry: entry.update(rows=[]),
    "a period to come": lambda entry: entry.update(period=entry["asked"]),
    "another arm": lambda entry: entry["rows"][0].update(arm=99),
    "a field more": lambda entry: entry.update(pull=3),
    "a row more": lambda entry: entry["rows"].append(
        entry["rows"][0] | {"arm": 0, "new": [7.0 for _ in entry["rows"][0]["new"]]}
    ),
    "a row of nobody": lambda entry: entry["rows"].append(
        entry["rows"][0] | {"arm": 0, "new": [0.0 for _ in entry["rows"][0]["new"]]}
    ),
    "a row of a bucket": lambda entry: entry["rows"].append(entry["rows"][0] | {"bucket": 3}),
    "a row twice": lambda entry: entry["rows"].append(dict(entry["rows"][0])),
    "a column more": lambda entry: entry["rows"][0].update(
        old=[*entry["rows"][0]["old"], 0.0], new=[*entry["rows"][0]["new"], 0.0]
    ),
}


@pytest.mark.parametrize("noise", ["yes-no", (0.0, 2.0)])
def test_certificates_list_corrections_and_forged_ones_fall(noise):
    study = site.create(control="plain", noise=noise)
    rng, number = np.random.default_rng(5), 0
    while not study.finished:
        split, report = study.split(), {}
        for label, rate in zip(split.shares, site.RATES):
            n = int(2000 * split.shares[label])
            hits = rng.binomial(n, rate)
            report[label] = (n, hits) if noise == "yes-no" else (n, 2.0 * hits, 4.0 * hits)
        study.record(report, f"day {number}")
        number += 1
        if number == 2:
            changed = (400, 16) if noise == "yes-no" else (400, 32.0, 64.0)
            study.correct_report("day 1", report | {"bold": changed}, reason="bots", by="ann")
    certificate = study.answer.certificate()
    (entry,) = certificate["corrections"]
    assert (entry["period"], entry["by"], entry["reason"]) == (1, "ann", "bots")
    found = sp.verify(certificate, replay=True)
    assert found.label == "video"
    assert found.replayed  # shares after the correction follow from what counts now
    for forge in FORGERIES.values():
        forged = copy.deepcopy(certificate)
        forge(forged["corrections"][0])
        forged["digest"] = fingerprint(forged)
        with pytest.raises(CertificateError, match=r"correction|corrected"):
            sp.verify(forged)


def test_a_forged_row_of_a_bucket_falls():
    """Rewards without bounds are reported by bucket: each of them is compared with what counts."""
    study, rng, number = site.create(noise=None), np.random.default_rng(5), 0
    while not study.finished:
        report = {}
        for (label, share), mean in zip(study.split().shares.items(), [0.0, 0.1, 0.2, 4.0]):
            n = int(100 * share)
            report[label] = {b: (n, float(n * mean + rng.normal())) for b in range(16) if n}
        study.record(report, f"day {number}")
        number += 1
        if number == 1:
            right = report | {"bold": report["bold"] | {3: (26, 1.5)}}
            study.correct_report("day 0", right, reason="bots")
    certificate = study.answer.certificate()
    sp.verify(certificate)
    (entry,) = certificate["corrections"]
    (row,) = entry["rows"]
    assert (row["arm"], row["bucket"], row["new"]) == (1, 3, [26.0, 1.5])
    changes = [{"new": [26.0, 1.0]}, {"bucket": 4}, {"bucket": 16}, {"bucket": None}, {"arm": 2}]
    for change in changes:
        forged = copy.deepcopy(certificate)
        forged["corrections"][0]["rows"][0] |= change
        forged["digest"] = fingerprint(forged)
        with pytest.raises(CertificateError, match=r"correction|corrected"):
            sp.verify(forged)
