"""Tells that do not say who measured: the one who asked did."""

import time

import pytest
from tests.study import toy

import surepick as sp
from surepick.errors import TellConflictError
from surepick.study.desk.crowd import Ask, Crowd
from surepick.study.pulls import Reward


def tell_of(study, pull):
    desk = study.desk
    return desk.storage.read(lambda tx: tx.tells(desk.record.id, [pull.id]))[pull.id]


@pytest.mark.parametrize("many", [False, True])
def test_a_tell_without_a_name_is_the_askers(make, storage_url, many):
    study = make()
    pulls = study.ask(2, "a")
    other = sp.load_study("toy study", storage_url)  # where nobody remembers who asked
    if many:
        other.tell_many([(pull.id, toy.reward(pull)) for pull in pulls])
    else:
        for pull in pulls:
            other.tell(pull.id, toy.reward(pull))
    assert [tell_of(study, pull).worker for pull in pulls] == ["a", "a"]
    assert study.tell(pulls[0].id, 9.0, "b").status == "late"  # somebody else's, not a's mistake
    with pytest.raises(TellConflictError):
        study.tell(pulls[0].id, 9.0, "a")


def test_the_first_of_two_who_asked_is_the_one_who_tells(make, storage_url):
    """The lease has gone to another one; the object through which the first asked knows better."""
    study = make()
    pull = study.ask(1, "a", lease=0.01)[0]
    rest = study.ask(5, "c")
    assert len(rest) == 5
    time.sleep(0.05)
    other = sp.load_study("toy study", storage_url)
    assert [again.id for again in other.ask(1, "b")] == [pull.id]
    study.tell(pull.id, toy.reward(pull))
    assert tell_of(study, pull).worker == "a"
    assert other.tell(pull.id, 9.0).status == "late"
    assert [event.worker for event in study.events("late")] == ["b"]


def test_a_crowd_knows_who_asked(make):
    study = make()
    crowd = Crowd(study.desk)
    pulls = crowd.ask([Ask(2, "a")])[0].pulls
    crowd.tell([[Reward(pull.id, toy.reward(pull)) for pull in pulls]])
    assert [tell_of(study, pull).worker for pull in pulls] == ["a", "a"]
    told = crowd.tell([[Reward(pulls[0].id, 9.0, "b")], [Reward(pulls[1].id, 9.0, "a")]])
    assert [part[0].status for part in told] == ["late", "conflict"]
