"""Measurements that fail or come too late: made again, and the promise says what that takes."""

import pytest

import surepick as sp
from surepick.errors import CertificateError
from surepick.run.certificate import fingerprint

EXACT = "provided that whether a measurement fails or comes too late does not depend on its reward"
PLAIN = "if measurements fail, or come too late, for reasons that have nothing to do with their"


def finished(url, lose):
    """A study to its end; ``lose(study, pull)`` says whether a pull stays without a reward."""
    problem = sp.Problem([[1.0, 0.0], [0.0, 1.0]], noise=1.0, labels=["a", "b"])
    study = sp.create_study("lost", problem, storage=url, overlap=False)
    while pulls := study.ask(8, "w"):
        for pull in pulls:
            if not lose(study, pull):
                study.tell(pull.id, 3.0 * pull.arm, "w")
    return study


def fails_twice(study, pull):
    return pull.id == 1 and pull.attempt < 3 and study.fail(1, "timed out", "w")


def runs_out(study, pull):
    """Another worker takes it over when its time has run out."""
    if pull.id or pull.attempt > 1:
        return False
    study.ask(1, "w", lease=0.001)
    while not any(event.kind == "expired" for event in study.events()):
        study.ask(8, "v")
    study.tell(0, 3.0 * pull.arm, "v")
    return True


@pytest.mark.parametrize("lose", [fails_twice, runs_out])
def test_the_promise_names_what_it_rests_on(storage_url, lose):
    study = finished(storage_url, lose)
    lost = {event.pull for event in study.events() if event.kind in ("failed", "expired")}
    answer = study.answer
    certificate = answer.certificate()
    assert certificate["conditions"] == [{"name": "lost", "pulls": len(lost)}]
    assert lost
    assert answer.guarantee
    assert EXACT in answer.guarantee
    assert PLAIN in answer.plain
    assert any("had nothing to do with" in text for text in study.status()["checks"]["remarks"])
    found = sp.verify(certificate, replay=True)
    assert found.replayed
    assert EXACT in found.statement


def test_certificates_cannot_leave_it_out(storage_url):
    certificate = finished(storage_url, fails_twice).answer.certificate()
    for listed in ([{"name": "lost", "pulls": 0}], [{"name": "lost"}], [], None):
        body = certificate | {"conditions": listed}
        with pytest.raises(CertificateError):
            sp.verify(body | {"digest": fingerprint(body)})


def test_nothing_lost_nothing_said(storage_url):
    study = finished(storage_url, lambda study, pull: False)
    assert "conditions" not in study.answer.certificate()
    assert EXACT not in study.answer.guarantee
    assert study.status()["checks"]["remarks"] == []


def test_failures_of_one_option_withdraw_it(storage_url):
    def lose(study, pull):
        return pull.arm == 0 and pull.attempt < 5 and study.fail(pull.id, "timed out", "w")

    study = finished(storage_url, lose)
    assert not study.answer.guarantee
    assert "'a' failed" in study.answer.guarantee
    assert EXACT in study.answer.guarantee
    assert sp.verify(study.answer.certificate()).guarantee == "heuristic"
