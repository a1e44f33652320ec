"""Measurements that fail or come too late: made again, and the promise says what that takes."""

import numpy as np
import pytest

import surepick as sp
from surepick.errors import CertificateError
from surepick.run.certificate import fingerprint
from surepick.study.desk.crowd import Ask, Crowd

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
    assert lost
    assert certificate["conditions"][0] == {"name": "lost", "pulls": len(lost)}
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


def test_a_worker_that_comes_back_under_its_name_measures_again(storage_url):
    """It dies of bad results, which nobody hears of: equal options would look different."""
    problem, rng = sp.Problem.unstructured(["a", "b"], noise="symmetric"), np.random.default_rng(0)
    how = {"storage": storage_url, "delta": 0.2, "seed": 0, "overlap": False}
    study, died = sp.create_study("dies", problem, **how), set()
    while not study.finished:
        for pull in study.ask(8, worker="w"):
            value = rng.normal(0.0, (0.3, 1.0)[pull.arm])
            if value < -1.0:
                died.add(pull.id)
                break
            study.tell(pull.id, value, worker="w")
    renewed = {event.pull for event in study.events("renewed")}
    assert died <= renewed
    answer = study.answer
    assert answer.label == "b"
    assert answer.guarantee
    certificate = answer.certificate()
    assert certificate["conditions"] == [{"name": "renewed", "pulls": len(renewed)}]
    assert "if nothing was measured again because of its result" in answer.plain
    assert "if nothing was measured again because of its result" in sp.verify(certificate).plain


def test_who_never_comes_back_for_the_same_adds_no_condition(storage_url):
    study = finished(storage_url, lambda study, pull: False)
    assert study.events("renewed") == []


def with_id(study, worker, request, n=8):
    (given,) = Crowd(study.desk).ask([Ask(n, worker, request=request)])
    return [pull.id for pull in given.pulls]


@pytest.mark.parametrize("hedge", [False, True])
def test_an_ask_repeated_because_its_answer_was_lost_is_no_event_and_another_one_is(
    storage_url, hedge
):
    """Whoever repeats an ask has not heard which pulls it gave, and so measured none of them."""
    problem = sp.Problem([[1.0, 0.0], [0.0, 1.0]], noise=1.0)
    study = sp.create_study("lost", problem, storage=storage_url, hedge=hedge, overlap=False)
    first = with_id(study, "w", "one", 2)
    assert with_id(study, "w", "one", 2) == first
    rest = with_id(study, "v", "one", 99)
    assert with_id(study, "v", "one", 99) == rest
    assert not set(first) & set(rest), "an id is that of one worker's ask"
    helped = with_id(study, "u", "two", 1)
    assert with_id(study, "u", "two", 1) == helped
    assert bool(helped) == hedge
    assert study.events("renewed") == []
    assert with_id(study, "w", "two", 2) == first
    assert with_id(study, "w", "two", 2) == first
    assert with_id(study, "u", "three", 1) == helped
    came_back = {event.pull: event.count for event in study.events("renewed")}
    assert came_back == {0: 1 + hedge, 1: 1}


def test_a_step_of_the_database_that_is_taken_twice_is_one_ask(storage_url, monkeypatch):
    """A connection that is cut while it commits: nobody knows whether the step was taken."""
    study = sp.create_study("twice", sp.Problem([[1.0], [2.0]], noise=1.0), storage=storage_url)
    write = study.storage.write
    monkeypatch.setattr(study.storage, "write", lambda work: (write(work), write(work))[1])
    monkeypatch.setattr(study.storage, "ask_one", lambda *how: None)
    for n in (1, 3):
        pulls = study.ask(n, "w")
        study.tell_many([(pull.id, 1.0) for pull in pulls], "w")
    assert study.events("renewed") == []
    assert study.ask(2, "w") == study.ask(2, "w")
    assert len(study.events("renewed")) == 2
