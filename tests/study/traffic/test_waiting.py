"""What was decided waits for later reports: said at every door, in the certificate, verified."""

import pytest
from tests.study.traffic import site

import surepick as sp
from surepick.errors import CertificateError, InvalidInputError
from surepick.run.certificate import fingerprint
from surepick.study.traffic.rules import TrafficRules


def until_decided(study, n=8000):
    number = 0
    while not study.current_run.state.finished:
        site.day(study, number, n)
        number += 1
    return number


def test_a_decision_waits_for_the_next_report_and_says_so():
    study = site.create()
    number = until_decided(study)
    assert not study.finished
    at = study.status()["traffic"]
    assert at["waiting"]["decided"] == f"day {number - 1}"
    said = f"Decided in period 'day {number - 1}'; the answer waits for the next report"
    assert said in at["headline"]
    assert study.split().shares["photo"] > 0.0  # it has lost, and is looked at once more
    number = site.decide(study, number, 8000)
    assert study.finished
    assert study.status()["traffic"]["waiting"] is None
    assert study.answer.guarantee.kind == "pac"
    assert sp.verify(study.answer.certificate(), replay=True).label == "video"


def test_a_week_at_least_is_kept_and_said():
    study = site.create(at_least="7d")
    number = until_decided(study)
    site.day(study, number, 8000)
    site.day(study, number + 1, 8000)
    assert not study.finished
    assert "the answer waits until" in study.status()["traffic"]["headline"]
    study.stop(reason="no time")
    assert study.answer.guarantee.kind not in ("pac", "eps-pac")


@pytest.fixture(scope="module")
def certificate():
    study = site.create()
    site.decide(study, n=8000)
    return study.answer.certificate()


def forged(certificate, **waits):
    traffic = certificate["traffic"]
    body = certificate | {"traffic": traffic | {"waits": traffic["waits"] | waits}}
    return body | {"digest": fingerprint(body)}


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"decided": None}, "does not say when it was decided"),
        ({"least": 1e9}, "before its time was over"),
        ({"rivals": [3]}, "does not say what it has to, and nothing else"),
        ({"rule": 2}, "not a rule that is known"),
    ],
)
def test_a_certificate_has_to_have_waited(certificate, change, why):
    assert sp.verify(certificate).guarantee == "pac"
    with pytest.raises(CertificateError, match=why):
        sp.verify(forged(certificate, **change), replay=False)


def test_no_report_after_the_decision_is_refused(certificate):
    reports = len(certificate["traffic"]["periods"])
    with pytest.raises(CertificateError, match="no report came after the decision"):
        sp.verify(forged(certificate, decided=reports), replay=False)


def test_a_lead_that_did_not_show_again_is_refused(certificate):
    body = certificate | {"batches": [dict(batch) for batch in certificate["batches"]]}
    last = body["batches"][-1]
    last["sums"] = [0.0 if arm == 3 else total for arm, total in zip(last["arms"], last["sums"])]
    with pytest.raises(CertificateError, match="did not show again"):
        sp.verify(body | {"digest": fingerprint(body)}, replay=False)


def test_at_least_takes_a_share_a_time_or_both():
    assert TrafficRules.of({"at_least": "7d"}).lasts == 7 * 86_400.0
    both = TrafficRules.of({"at_least": ["5%", "2w"]})
    assert (both.at_least, both.lasts) == (0.05, 14 * 86_400.0)
    assert TrafficRules.of(both.to_dict()) == both
    with pytest.raises(InvalidInputError, match="or a time such as 7d"):
        TrafficRules.of({"at_least": "often"})
