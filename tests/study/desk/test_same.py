"""Several pulls of one option at a time: others are passed over, and nothing is lost."""

import pytest
from tests.study import toy

import surepick as sp
from surepick.errors import InvalidTypeError, UnknownPullError
from surepick.storage.records import Holder
from surepick.study.desk import asking


def ids(pulls):
    return [pull.id for pull in pulls]


def test_as_many_of_one_option_as_there_are(make):
    study = make(each=3)
    first = study.ask(2, "ann", same=True)
    assert len({pull.label for pull in first}) == 1
    assert ids(study.ask(2, "ann", same=True)) == ids(first), "who comes back gets the same"
    more = study.ask(9, "ann", same=True)
    assert len(more) == 3, "the batch has no more of it"
    assert {pull.label for pull in more} == {first[0].label}
    second = study.ask(9, "bob", same=True)
    third = study.ask(9, same=True)
    assert len({pull.label for pull in (*more, *second, *third)}) == 3
    assert sorted(ids(more + second + third)) == list(range(9))
    assert study.ask(1, "eve", same=True) == []
    assert {pull.attempt for pull in more + second + third} == {1}


def test_what_was_passed_over_is_handed_out_and_the_answer_is_the_same(make):
    study = make(each=4)
    turn = 0
    while not study.finished:
        turn += 1
        pulls = study.ask(3, same=turn % 2 == 0)
        assert pulls
        for pull in pulls:
            study.tell(pull.id, toy.reward(pull))
        toy.check_whole(study)
    assert study.answer == toy.alone(each=4).answer
    assert not study.events()


def test_a_pull_that_was_passed_over_was_not_handed_out(make):
    study = make(each=3)
    given = study.ask(3, "ann", same=True)
    passed = next(pull for pull in range(max(ids(given))) if pull not in ids(given))
    status = study.status()["batch"]
    assert (status["leased"], status["waiting"]) == (3, 6)
    with pytest.raises(UnknownPullError, match=f"never handed out measurement {passed}"):
        study.tell(passed, 1.0)
    with pytest.raises(UnknownPullError, match=f"never handed out measurement {passed}"):
        study.fail(passed)


def test_an_option_that_fails_does_not_come_first(make):
    study = make(each=2)
    (first, _) = study.ask(2, "ann", same=True)
    study.fail(first.id, "the sensor was off", "ann")
    passed = [study.ask(2, name, same=True) for name in ("bob", "eve")]
    assert first.label not in {pull.label for pulls in passed for pull in pulls}
    assert [(pull.id, pull.attempt) for pull in study.ask(2, "dan", same=True)] == [(first.id, 2)]


def test_batches_ahead_are_looked_through_as_far_as_is_bearable(monkeypatch):
    algorithm = toy.ToyAhead(0.1, each=2)
    study = sp.create_study("ahead", toy.problem(3), algorithm, "memory://same ahead")
    study.desk.plan_ahead()
    assert len(study.ask(4, "ann", same=True)) == 4, "two of each of the open batches"
    monkeypatch.setattr(asking, "FAR", 2)

    def ask(tx):
        wanted = asking.Wanted(9, Holder("bob"), 60.0, same=True)
        return asking.ask(tx, study.desk.record.id, wanted, who="bob", back=True,
                          opened=study.desk._open_batches)  # fmt: skip

    assert len(study.storage.write(ask).leases) <= 2
    toy.check_whole(study)


def test_a_measurement_that_was_not_asked_for_has_no_pull(make):
    with pytest.raises(InvalidTypeError, match="keep it until the study asks for that option"):
        make().tell("option 1", 4.2)
