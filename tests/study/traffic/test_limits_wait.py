"""Where limits have to be kept, what was decided has to show again in later reports as well."""

import json

import pytest
from tests.study.traffic.test_guardrails import REFUNDS, create, day

import surepick as sp
from surepick.errors import CertificateError
from surepick.run.certificate import fingerprint
from surepick.run.waiting import NOT_AGAIN


def until_decided(study, **how):
    number = 0
    while not study.current_run.state.finished:
        day(study, number, **how)
        number += 1
    return number


def until_over(study, number, **how):
    while not study.finished:
        day(study, number, **how)
        number += 1
    return number


def test_a_decision_waits_for_the_next_report_and_says_so():
    study = create()
    number = until_decided(study)
    assert not study.finished
    said = study.status()["traffic"]["headline"]
    assert f"Decided in period 'day {number - 1}'; the answer waits for the next report" in said
    assert study.split().shares["pushy"] > 0.0  # it is out, and is looked at once more
    until_over(study, number)
    assert study.answer.guarantee.kind == "pac"
    assert study.status()["traffic"]["waiting"] is None
    checked = sp.verify(json.dumps(study.answer.certificate()), replay=True)
    assert (checked.label, checked.replayed) == ("fair", True)


def test_a_limit_that_is_broken_for_a_while_rules_nobody_out():
    study = create()
    mad = (0.01, 0.01, 0.02)  # a tag that fired too often, until it was mended
    number = until_decided(study, refunds=mad)
    day(study, number, refunds=(0.01, 0.01, 0.01))
    said = study.status()["traffic"]["waiting"]
    assert "pushy to break refunds <= old + 0.5 %" in said["limits"]
    assert "pushy to break refunds <= old + 0.5 % in later reports, too" in said["message"]
    assert "there will be no guarantee" in said["message"]
    until_over(study, number + 1, refunds=(0.01, 0.01, 0.01))
    assert study.answer.guarantee.kind == "heuristic"
    assert NOT_AGAIN in study.answer.guarantee
    assert sp.verify(json.dumps(study.answer.certificate()), replay=True).guarantee == "heuristic"


def test_an_answer_has_to_keep_its_limits_again():
    study = create()
    number = until_decided(study)
    worse = (0.01, 0.03, 0.05)  # refunds of the answer come late
    day(study, number, refunds=worse)
    waiting = study.status()["traffic"]["waiting"]
    assert waiting["limits"] == ["fair to keep refunds <= old + 0.5 %"]
    until_over(study, number + 1, refunds=worse)
    assert NOT_AGAIN in study.answer.guarantee


def test_a_lead_in_successes_has_to_show_again():
    study = create()
    number = until_decided(study)
    even = (0.06, 0.05, 0.09)
    day(study, number, sales=even)
    assert study.status()["traffic"]["waiting"]["unseen"] == ["old"]
    until_over(study, number + 1, sales=even)
    assert NOT_AGAIN in study.answer.guarantee


def test_that_nobody_keeps_the_limits_has_to_show_again():
    bad, good = (0.03, 0.04, 0.05), (0.005, 0.005, 0.005)
    study = create(keep=["refunds <= 1%"])
    number = until_decided(study, refunds=bad)
    assert "No option seems to keep" in study.status()["traffic"]["headline"]
    assert min(study.split().shares.values()) > 0.0
    day(study, number, refunds=good)
    assert len(study.status()["traffic"]["waiting"]["limits"]) == 3
    until_over(study, number + 1, refunds=good)
    certificate = json.dumps(study.answer.certificate())
    assert sp.verify(certificate, replay=True).guarantee == "heuristic"


def test_each_claim_against_a_baseline_has_to_show_again():
    study = create(baseline="old")
    number = until_decided(study)
    day(study, number, refunds=(0.01, 0.03, 0.04))
    waiting = study.status()["traffic"]["waiting"]
    assert waiting["limits"] == ["fair to keep refunds <= old + 0.5 %"]
    until_over(study, number + 1)
    certificate = study.answer.certificate()
    assert sp.verify(certificate, replay=False).guarantee == "claims"
    with pytest.raises(CertificateError, match=r"fair keeps refunds <= old \+ 0.005 did"):
        sp.verify(signed(changed(certificate, 1, 0.02)), replay=False)


def test_a_number_that_options_are_compared_with_has_to_show_again():
    study = create(keep=["refunds <= 2%"], threshold=0.05)
    until_over(study, until_decided(study, sales=(0.03, 0.08, 0.09)), sales=(0.03, 0.08, 0.09))
    answer = study.answer
    assert (answer.better, answer.ruled_out) == (("fair",), ("old", "pushy"))
    certificate = answer.certificate()
    assert sp.verify(certificate, replay=False).guarantee == "claims"
    for arm, rate, why in ((0, 0.06, "old is worse than 0.05"), (1, 0.04, "fair is better than")):
        forged = changed(certificate, arm, 0.01)
        for batch in forged["batches"][certificate["traffic"]["waits"]["decided"] :]:
            rows = zip(batch["arms"], batch["counts"], batch["sums"])
            batch["sums"] = [float(round(rate * n)) if i == arm else own for i, n, own in rows]
        with pytest.raises(CertificateError, match=why):
            sp.verify(signed(forged), replay=False)


def test_a_week_at_least_is_kept():
    study = create(traffic={"control": "old", "at_least": "7d"})
    number = until_decided(study)
    for later in range(2):
        day(study, number + later)
    assert not study.finished
    assert "the answer waits until" in study.status()["traffic"]["headline"]


@pytest.fixture(scope="module")
def certificate():
    study = create(keep=["refunds <= control + 0.5%", "refunds <= 5%"])
    until_over(study, 0)
    return study.answer.certificate()


def changed(certificate, arm, refunds):
    """With other refunds of an option in all reports after the decision."""
    batches = [dict(batch) for batch in certificate["batches"]]
    for batch in batches[certificate["traffic"]["waits"]["decided"] :]:
        told = dict(batch["numbers"]["refunds"])
        rows = zip(batch["arms"], batch["counts"], told["sums"])
        told["sums"] = [float(round(refunds * n)) if i == arm else own for i, n, own in rows]
        batch["numbers"] = {"refunds": told}
    return certificate | {"batches": batches}


def signed(body):
    return body | {"digest": fingerprint(body)}


def test_a_certificate_has_to_have_kept_and_broken_limits_again(certificate):
    assert sp.verify(certificate).guarantee == "pac"
    for arm, refunds, why in (
        (1, 0.02, "fair keeps refunds <= old \\+ 0.005 did not show again"),
        (1, 0.06, "fair keeps"),
        (2, 0.01, "pushy breaks refunds <= old \\+ 0.005 did not show again"),
    ):
        with pytest.raises(CertificateError, match=why):
            sp.verify(signed(changed(certificate, arm, refunds)), replay=False)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"decided": None}, "does not say when it was decided"),
        ({"decided": 1}, "bets were made after the decision"),
        ({"least": 1e9}, "before its time was over"),
        ({"rivals": [1]}, "does not say what it has to, and nothing else"),
        ({"rule": 1}, "not a rule that is known"),
    ],
)
def test_a_certificate_has_to_have_waited(certificate, change, why):
    traffic = certificate["traffic"]
    body = certificate | {"traffic": traffic | {"waits": traffic["waits"] | change}}
    with pytest.raises(CertificateError, match=why):
        sp.verify(signed(body), replay=False)


def test_a_run_that_waits_is_saved_and_goes_on():
    study = create(keep=["refunds <= 3%"])
    until_decided(study)
    run = study.current_run
    again = sp.Run.from_json(run.to_json())
    assert again.waits.due(again) == run.waits.due(run)
    assert again.waits.shares(again).tolist() == run.waits.shares(run).tolist()
    assert REFUNDS[2] > 0.03  # so that one is ruled out for it


@pytest.mark.some(2)
@pytest.mark.parametrize(
    ("keep", "minimise", "named"),
    [
        (["refunds >= control - 0.5%"], False, "pushy"),
        (["refunds >= 3%"], False, "pushy"),
        (["refunds <= control + 0.5% ± 0.2%"], False, "fair"),
        (["refunds >= control + 0.5%"], True, "pushy"),  # the only one that keeps it
        (["refunds <= 2.5%"], True, "old"),
    ],
)
def test_all_kinds_of_limits_show_again_and_are_verified(keep, minimise, named):
    study = create(keep=keep, minimise=minimise)
    until_over(study, 0, n=20_000)
    assert (study.answer.label, bool(study.answer.guarantee)) == (named, True)
    run = study.current_run
    assert (run.waits.shown(run) >= 1.0).all()
    checked = sp.verify(json.dumps(study.answer.certificate()), replay=True)
    assert checked.replayed
