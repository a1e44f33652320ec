"""What every answer about visitors rests on is in the answer, whatever visitors give."""

import json

import numpy as np
import pytest

import surepick as sp
from surepick.errors import CertificateError
from surepick.run.certificate import fingerprint
from surepick.storage.memory import MemoryStorage

LABELS = ["old", "new"]
SAID = (
    "counts once, in the period of the visit: not once for each session, and not on the day of a "
    "later response",
    "no period ended, and nobody was left out of a report, because of how it looked",
    "which of two options is better does not change from period to period",
)
REWARDS = {
    "yes-no": lambda n, hits: (n, hits),
    "bounds": lambda n, hits: (n, float(hits), float(hits)),
    "buckets": lambda n, hits: {
        b: (n // 16, hits / 16 + 0.1 * np.sin(b) * (-1) ** b) for b in range(16)
    },
    "segments": lambda n, hits: {"phone": (n // 2, hits // 2), "desk": (n // 2, hits // 2)},
}


def decided(kind, **asked):
    noise = {"yes-no": "yes-no", "bounds": (0, 1), "segments": "yes-no"}.get(kind, "symmetric")
    problem = sp.Problem.unstructured(LABELS, noise=noise)
    asked = {"traffic": True, "seed": 1} | asked
    if kind == "segments":
        asked["segments"] = "phone=50%, desk=50%"
    study = sp.create_study("shop", problem, storage=MemoryStorage(), **asked)
    for number in range(40):
        if study.finished:
            break
        day(study, number, kind)
    return study


def day(study, number, kind="yes-no"):
    """A day on which exactly these rates were seen, of visitors who came as they were sent."""
    sent = {label: n // 32 * 32 for label, n in study.split(visits=6400).visits.items()}
    rates = dict(zip(LABELS, (0.05, 0.15)))
    report = {label: REWARDS[kind](n, 2 * round(n * rates[label] / 2)) for label, n in sent.items()}
    study.record(report, f"day {number}")


@pytest.mark.parametrize("kind", REWARDS)
def test_whatever_visitors_give_the_answer_says_on_what_it_rests(kind):
    answer = decided(kind).answer
    assert answer.guarantee.kind == "pac"
    text = json.dumps(answer.certificate())
    found = sp.verify(text, replay=True)
    assert found.replayed
    assert found.unknown == ()
    for said in (*SAID, "What counts is what had come of a visit when its period was reported"):
        assert said in answer.plain
        assert said in found.plain


def test_how_long_visitors_have_to_respond_is_said_and_cannot_be_changed(monkeypatch):
    from surepick.study.acts import reports

    monkeypatch.setattr(reports, "_check_window", lambda *_: None)  # nobody waits for a week here
    study = decided("yes-no", traffic={"window": "7d"})
    said = "What counts is what came of a visit within 7 days after the end of its period"
    assert said in study.answer.plain
    body = json.loads(json.dumps(study.answer.certificate()))
    found = sp.verify(body, replay=True)
    assert "within 7 days after the end of their period" in found.statement
    assert said in found.plain
    for window in (0.0, 86_400.0, -1.0):
        traffic = body["traffic"] | {"window": window}
        forged = {k: v for k, v in body.items() if k != "digest"} | {"traffic": traffic}
        with pytest.raises(CertificateError, match=r"statement|less than no time"):
            sp.verify(forged | {"digest": fingerprint(forged)}, replay=False)


def test_a_report_that_was_cut_afterwards_is_an_event_with_its_condition():
    study = decided("yes-no")
    cut = {label: (100, n) for label, n in zip(LABELS, (5, 15))}
    study.correct_report("day 0", cut, reason="the first hundred of each")
    for number in range(20, 40):
        if study.finished:
            break
        day(study, number)
    answer = study.answer
    assert "nobody chose which measurements to check and change because of" in answer.plain
    body = json.loads(json.dumps(answer.certificate()))
    assert sp.verify(body)
    (change,) = body["corrections"]
    assert change["rows"][0]["new"][0] == 100.0
    del body["corrections"], body["digest"]
    with pytest.raises(CertificateError):
        sp.verify(body | {"digest": fingerprint(body)}, replay=False)
