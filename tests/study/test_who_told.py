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


def test_a_pull_that_somebody_else_has_by_now_is_theirs_to_tell(make, storage_url):
    """The lease has gone to another one, whose reward counts; the first one's is kept as late."""
    study = make()
    pull = study.ask(1, "a", lease=0.01)[0]
    rest = study.ask(5, "c")
    assert len(rest) == 5
    time.sleep(0.05)
    other = sp.load_study("toy study", storage_url)
    assert [again.id for again in other.ask(1, "b")] == [pull.id]
    told = study.tell(pull.id, 9.0)
    assert (told.status, told.value, told.used) == ("late", None, False)
    other.tell(pull.id, toy.reward(pull))
    assert tell_of(study, pull).worker == "b"
    assert study.tell(pull.id, 9.0, "a").status == "late"
    (late,) = study.events("late")  # said twice, kept once
    assert (late.worker, late.count) == ("a", 2)


def test_after_its_lease_has_run_out_a_pull_is_still_the_last_holders(make):
    study = make()
    pull = study.ask(1, "a", lease=0.01)[0]
    time.sleep(0.05)
    assert study.tell(pull.id, 9.0, "b").status == "late"  # who never had it
    assert study.tell(pull.id, toy.reward(pull), "a").status == "accepted"


def test_a_pull_that_was_given_back_may_still_be_told_by_who_had_it(make):
    study = make()
    pull = study.ask(1, "a")[0]
    assert study.fail(pull.id, "the door was locked", "a")
    assert study.tell(pull.id, 9.0, "b").status == "late"
    assert study.tell(pull.id, toy.reward(pull), "a").status == "accepted"
    assert tell_of(study, pull).worker == "a"


def test_a_pull_belongs_to_the_token_that_it_was_handed_to(make):
    """Names are cheap: somebody else's token does not get, tell or give back what is a's."""
    study = make()
    crowd = Crowd(study.desk)
    (pull,) = crowd.ask([Ask(1, "a", token="t1")])[0].pulls
    (other,) = crowd.ask([Ask(1, "a", token="t2")])[0].pulls
    assert other.id != pull.id
    assert crowd.ask([Ask(1, "a", token="t1")])[0].pulls == [pull]
    for worker in ("a", None):
        ((told,),) = crowd.tell([[Reward(pull.id, 9.0, worker, "t2")]])
        assert (told.status, told.value) == ("late", None)
        assert not study.desk.fail(pull.id, "", worker, "t2")
    ((told,),) = crowd.tell([[Reward(pull.id, toy.reward(pull), "a", "t1")]])
    assert told.status == "accepted"
    assert tell_of(study, pull).token == "t1"
    ((told,),) = crowd.tell([[Reward(pull.id, toy.reward(pull), "a", "t2")]])
    assert told.status == "late"
    assert {event.token for event in study.events("late")} == {"t2"}


def test_contradictions_are_counted_not_piled_up(make):
    study = make()
    crowd = Crowd(study.desk)
    (pull,) = crowd.ask([Ask(1, "a")])[0].pulls
    crowd.tell([[Reward(pull.id, toy.reward(pull), "a")]])
    for _ in range(3):
        crowd.tell([[Reward(pull.id, 9.0 + i, "a") for i in range(50)]])
    (event,) = study.events("conflict")
    assert event.count == 150


def test_asking_again_keeps_a_pull_for_so_long_only(make):
    study = make()
    crowd = Crowd(study.desk)
    (pull,) = crowd.ask([Ask(1, "a", lease=0.3, longest=0.3)])[0].pulls
    crowd.ask([Ask(study.progress().size, "c")])
    time.sleep(0.2)
    assert crowd.ask([Ask(1, "a", lease=0.3, longest=0.3)])[0].pulls == [pull]
    time.sleep(0.2)
    assert [again.id for again in crowd.ask([Ask(1, "b")])[0].pulls] == [pull.id]


def test_a_crowd_knows_who_asked(make):
    study = make()
    crowd = Crowd(study.desk)
    pulls = crowd.ask([Ask(2, "a")])[0].pulls
    crowd.tell([[Reward(pull.id, toy.reward(pull)) for pull in pulls]])
    assert [tell_of(study, pull).worker for pull in pulls] == ["a", "a"]
    told = crowd.tell([[Reward(pulls[0].id, 9.0, "b")], [Reward(pulls[1].id, 9.0, "a")]])
    assert [part[0].status for part in told] == ["late", "conflict"]
