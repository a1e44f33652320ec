"""What a study says about its own measurements, and what becomes of its guarantee."""

import numpy as np
import pytest
from tests.breadth import each_value

import surepick as sp
from surepick.storage.memory import MemoryStorage

ARMS = np.column_stack([np.ones(12), np.linspace(-1, 1, 12)])


def finished(algorithm, reward, problem=None, fail=None, **settings):
    """A study that was taken to its end, with pulls that ``fail`` picks failing at first."""
    problem = problem or sp.Problem(ARMS, noise=1.0)
    study = sp.create_study("s", problem, algorithm, MemoryStorage(), **settings)
    draws = np.random.default_rng(0)
    while pulls := study.ask(40):
        for pull in pulls:
            if fail is not None and pull.attempt < 8 and fail(pull):
                study.fail(pull.id, "lost")
            else:
                study.tell(pull.id, reward(pull) + draws.normal())
    return study


ALGORITHMS = [
    *("pooled-peleg", "peleg", "rage", "uniform", "lingame", "lazy-ts"),
    *("lingape", "glucb", "lucb", "xy-static", "alba"),
]
BOUNDED = ("lingape", "glucb", "alba")  # need a bound on the norm


@pytest.mark.some(4)
@pytest.mark.parametrize(("algorithm", "epsilon"), each_value(ALGORITHMS, [0.0, 2.0]))
def test_a_withdrawn_guarantee_leaves_a_certificate_that_says_so(algorithm, epsilon):
    settings = {"norm_bound": 20.0} if algorithm in BOUNDED else {}
    problem = sp.Problem([[1.0, 0.0], [0.0, 1.0], [0.6, 0.6]], noise=1.0)
    configured = sp.algorithms.get(algorithm, delta=0.1, epsilon=epsilon, **settings)
    study = finished(configured, lambda pull: 3.0 * (pull.arm == 0), problem, fail=lambda _: True)
    answer = study.answer
    assert "measurements failed" in answer.guarantee
    assert not answer.guarantee
    found = sp.verify(answer.certificate())
    assert found.guarantee == "heuristic"
    assert found.statement.startswith("no guarantee: ")
    assert found.candidate == 0
    assert found.checked > 0 or epsilon > 0


# -- the checks, in Python as on the command line ----------------------------------------------
def bent(pull):
    return 10.0 * ARMS[pull.arm, 1] + 3.0 * (pull.arm == 5)


def test_status_and_answer_say_what_does_not_hold():
    study = finished("pooled-peleg", bent, check_fit=0.5)
    status = study.status()
    assert status["checks"]["fit"]["alarm"]
    assert any("does not fit these options" in text for text in status["warnings"])
    assert "the linear model does not fit" in study.answer.guarantee
    assert study.checks().broken == ["the linear model does not fit"]
    assert sp.study.check_study(study) is study.checks()  # worked out once
    seen = study.status()
    assert seen["warnings"] == status["warnings"]
    assert {key: seen[key] for key in status} == status


@pytest.mark.validation
def test_what_is_counted_bit_by_bit_is_what_is_counted_at_once(storage_url):
    study = sp.create_study("s", sp.Problem(ARMS, noise=1.0), "peleg", storage_url, delta=0.2)
    draws = np.random.default_rng(1)
    told = 0
    held = []
    while told < 600 and not study.finished:
        held += study.ask(int(draws.integers(1, 60)))
        draws.shuffle(held)
        some = [held.pop() for _ in range(min(len(held), int(draws.integers(1, 60))))]
        study.tell_many([(pull.id, pull.arm * 0.01 + draws.normal()) for pull in some])
        told += len(some)
        fresh = sp.load_study("s", storage_url)
        ours, theirs = study.checks(), fresh.checks()
        assert ours.warnings == theirs.warnings
        assert ours.drift.log_evidence == pytest.approx(theirs.drift.log_evidence)
        assert ours.fit.log_evidence == pytest.approx(theirs.fit.log_evidence)
        rewards = study.rewards()
        summary = study._findings.tally.summary()
        assert summary.counts.tolist() == np.bincount(rewards.arms, minlength=12).tolist()
        assert study._findings.tally.timeline().counts.sum() == len(rewards.pulls) == told


def test_tells_that_a_clock_hides_are_found_all_the_same(monkeypatch):
    study = sp.create_study("s", sp.Problem(ARMS, noise=1.0), "peleg", MemoryStorage(), delta=0.2)
    pulls = study.ask(20)
    for pull in pulls[:10]:
        study.tell(pull.id, 1.0)
    study.checks()
    import surepick.storage.memory as memory

    monkeypatch.setattr(memory.time, "monotonic", lambda: -1e6)  # set back by days
    for pull in pulls[10:]:
        study.tell(pull.id, 1.0)
    study.checks()
    assert study._findings.tally.summary().counts.sum() == 20


def test_a_look_does_not_add_up_the_open_batch_again(storage_url, monkeypatch):
    study = sp.create_study("s", sp.Problem(ARMS, noise=1.0), "peleg", storage_url, delta=0.2)
    pulls = study.ask(20)
    study.tell_many([(pull.id, 1.0 + pull.arm) for pull in pulls[:12]])
    fresh = sp.load_study("s", storage_url).status()
    study.status()
    for pull in pulls[12:]:
        study.tell(pull.id, 1.0 + pull.arm)
    steps = study.storage.read(lambda tx: type(tx))
    totals = study.storage.read(lambda tx: tx.totals(study._record.id, 0, 20))
    monkeypatch.setattr(steps, "totals", None)  # whoever adds them up fails
    seen = study.status()
    assert (fresh["samples"], seen["samples"], seen["batch"]["told"]) == (12, 20, 20)
    assert seen["pulls"] == [totals.get(arm, (0, 0.0))[0] for arm in range(len(ARMS))]
    for arm, (count, total) in totals.items():
        assert seen["means"][arm] == pytest.approx(total / count)
