"""Answers from reports say which visitors and responses count, and what must not change."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

import surepick as sp
from surepick.errors import CertificateError
from surepick.run.certificate import fingerprint
from surepick.storage import memory
from surepick.storage.memory import MemoryStorage

LABELS = ["old", "new"]
COUNTED = "if each visitor is counted once, responses count in the period in which their visitor"
STEADY = "which of two options is better does not change from period to period"
SENT = "no period ended, and nobody was left out of its report, because of how it looked"
REPORTED = "A response counts if it had come when the period of its visitor was reported."


@pytest.fixture
def clock(monkeypatch):
    at = SimpleNamespace(now=0.0)
    at.time = at.monotonic = lambda: at.now
    monkeypatch.setattr(memory, "time", at)
    return at


def yes_or_no(rng, n, arm):
    return n, int(rng.binomial(n, 0.1 + 0.3 * arm))


def amounts(rng, n, arm):
    spent = rng.binomial(10, 0.1 + 0.3 * arm, n)
    return n, float(spent.sum()), float((spent**2).sum())


def by_bucket(rng, n, arm):
    of = np.bincount(rng.integers(16, size=n), minlength=16)
    return {b: (int(m), float(rng.normal(9 * arm, 3, m).sum())) for b, m in enumerate(of)}


def finished(noise="yes-no", reported=yes_or_no, clock=None, **traffic):
    """A test of two versions, of which the new one is far better."""
    problem, rng = sp.Problem.unstructured(LABELS, noise=noise), np.random.default_rng(0)
    own = {"storage": MemoryStorage(), "traffic": traffic or True, "delta": 0.2, "seed": 0}
    study = sp.create_study("shop", problem, **own)
    for day in range(40):
        if study.finished:
            return study
        split = study.split(period=f"day {day}") if clock else study.split()
        if clock:
            clock.now += 3600.0
            study.split(period=f"day {day + 1}")
            clock.now += 7200.0
        counts = rng.multinomial(3000, [split.shares[label] for label in LABELS])
        report = {x: reported(rng, int(n), i) for i, (x, n) in enumerate(zip(LABELS, counts)) if n}
        study.record(report, f"day {day}")
    raise AssertionError("not decided")


def refused(certificate, statement):
    body = certificate | {"claim": certificate["claim"] | {"statement": statement}}
    with pytest.raises(CertificateError):
        sp.verify(body | {"digest": fingerprint(body)})


@pytest.mark.some(2)
@pytest.mark.parametrize(
    ("noise", "reported"),
    [("yes-no", yes_or_no), ((0, 10), amounts), ("symmetric", by_bucket)],
    ids=["yes or no", "amounts", "buckets"],
)
def test_every_kind_of_number_says_so(noise, reported):
    answer = finished(noise, reported).answer
    assert answer.label == "new"
    for said in (COUNTED, SENT, STEADY, REPORTED):
        assert said in answer.plain
    assert "drawn afresh" not in answer.plain  # visitors are others every time
    certificate = json.loads(json.dumps(answer.certificate()))
    found = sp.verify(certificate, replay=True)
    assert found.replayed
    assert found.plain == answer.plain
    names = ("visitors", "sent", "until-reported", "leads")
    listed = {one.get("name"): one for one in answer.to_dict()["guarantee"]["conditions"]}
    for name in names:
        shorter = found.statement.replace(f"; {listed[name]['exact']}", "")
        assert shorter != found.statement
        refused(certificate, shorter)


def test_a_window_says_how_long_responses_count(clock):
    answer = finished(clock=clock, window="2h").answer
    said = "A response counts if it came within the 2 hours that visitors have for it."
    assert said in answer.plain
    assert REPORTED not in answer.plain
    certificate = json.loads(json.dumps(answer.certificate()))
    assert sp.verify(certificate, replay=True).plain == answer.plain
    for window in (3600.0, 0, -1, "2h", None):
        body = certificate | {"traffic": certificate["traffic"] | {"window": window}}
        with pytest.raises(CertificateError):
            sp.verify(body | {"digest": fingerprint(body)})
    del certificate["traffic"]["window"]
    refused(certificate, certificate["claim"]["statement"])


def test_a_report_that_was_cut_afterwards_is_an_event_with_its_condition():
    study = finished()
    cut = {"old": (100, 9), "new": (100, 41)}
    study.correct_report("day 0", cut, reason="the first hundred of each")
    rng, number = np.random.default_rng(1), 20
    while not study.finished:
        counts = rng.multinomial(3000, [*study.split().shares.values()])
        report = {x: yes_or_no(rng, int(n), i) for i, (x, n) in enumerate(zip(LABELS, counts))}
        study.record(report, f"day {number}")
        number += 1
    assert "nobody chose which measurements to check and change because of" in study.answer.plain
    body = json.loads(json.dumps(study.answer.certificate()))
    assert sp.verify(body)
    (change,) = body["corrections"]
    assert change["rows"][0]["new"][0] == 100.0
    del body["corrections"]
    with pytest.raises(CertificateError):
        sp.verify(body | {"digest": fingerprint(body)}, replay=False)


def test_sessions_in_the_place_of_visitors_are_remarked_upon():
    problem = sp.Problem.unstructured([*LABELS, "third"], noise="yes-no")
    for each, remarked in ((1, False), (10, True)):
        own = {"storage": MemoryStorage(), "traffic": True, "delta": 1e-6, "seed": 0}
        study = sp.create_study("shop", problem, **own)
        rng = np.random.default_rng(3)
        for day in range(10):
            split = study.split()
            counts = rng.multinomial(6000 // each, [*split.shares.values()])
            hits = rng.binomial(counts, 0.1)
            rows = zip(split.shares, counts.tolist(), hits.tolist())
            study.record({x: (each * n, each * s) for x, n, s in rows}, f"day {day}")
        said = " ".join(study.checks().remarks)
        assert ("Are sessions or page views counted instead of visitors" in said) == remarked
