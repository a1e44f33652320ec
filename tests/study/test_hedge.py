"""Pulls that are handed out a second time: who would wait helps, and the first reward counts."""

import pytest
from tests.study import toy

import surepick as sp
from surepick.errors import (
    CertificateError,
    InvalidInputError,
    InvalidTypeError,
    TellConflictError,
)
from surepick.run.certificate import fingerprint
from surepick.study.desk.crowd import Ask, Crowd
from surepick.study.hedge import holds_up
from surepick.study.pulls import ONCE, Reward

SAYS = "provided that how long a measurement takes does not depend on its reward"


def ids(pulls):
    return [pull.id for pull in pulls]


@pytest.fixture
def study(make):
    return make(hedge=True)


def test_who_would_wait_gets_what_another_one_has_had_for_longest(study):
    first, rest = study.ask(2, "ann"), study.ask(4, "bob")
    assert ids(study.ask(9, "eve")) == [0], "one is enough not to wait"
    assert ids(study.ask(1, "eve")) == [0], "who comes back has it still"
    assert ids(study.ask(1, "dan")) == [1], "nobody is the third"
    told = study.tell(0, 1.0, "eve")
    late = study.tell(0, 2.0, "ann")
    assert (told.status, late.status, late.value) == ("accepted", "late", 1.0)
    assert study.tell(1, 1.5, "ann").status == "accepted"
    assert study.tell(1, 1.5, "dan").status == "late"
    assert [(one.kind, one.pull, one.worker) for one in study.events()] == [
        ("hedged", 0, "eve"),
        ("renewed", 0, "eve"),
        ("hedged", 1, "dan"),
        ("late", 0, "ann"),
        ("late", 1, "dan"),
    ]
    assert ids(first + rest) == list(range(6))
    toy.check_whole(study)


def test_who_does_not_say_who_they_are_may_be_the_other_one(study):
    study.ask(6, "ann")
    study.ask(1, "bob")
    assert study.tell(0, 1.0).status == "accepted"
    assert study.tell(0, 2.0).status == "late"
    assert study.tell(0, 1.0).status == "duplicate"
    study.tell(1, 1.0)
    with pytest.raises(TellConflictError):
        study.tell(1, 2.0)


def test_nobody_gets_a_copy_of_their_own_pull(study):
    study.ask(6)
    assert study.ask(1) == [] == study.ask(1, "ann"), "who has no name may be anybody"
    assert study.ask(1, f"{ONCE}1") == []


def test_who_has_no_name_may_have_that_pull_already(study):
    study.ask(6, "ann")
    assert study.ask(1) == []
    assert ids(study.ask(1, "bob")) == [0]


def test_one_of_two_gives_it_back_and_the_other_one_has_it(study):
    study.ask(6, "ann")
    assert ids(study.ask(1, "bob")) == [0]
    assert study.fail(0, "broken", "bob")
    assert ids(study.ask(1, "bob")) == [0]
    assert study.fail(0, "broken", "ann")
    assert ids(study.ask(6, "ann")) == [1, 2, 3, 4, 5]
    assert study.tell(0, 3.0, "bob").status == "accepted"
    assert not study.fail(0, "broken", "ann")


def test_both_have_it_until_the_later_of_the_two_leases_ends(study):
    study.ask(6, "ann", lease=1000.0)
    study.ask(1, "bob", lease=0.001)
    assert study.ask(1, "eve", lease=0.001)[0].id == 1
    lease = study.storage.read(lambda tx: tx.leases(study.desk.record.id, [0]))[0]
    assert lease.until > study.progress().now + 900


def test_tokens_are_told_apart(study):
    crowd = Crowd(study.desk)
    crowd.ask([Ask(6, "w", token="t1")])
    (copy,) = crowd.ask([Ask(1, "w", token="t2")])[0].pulls
    (told,) = crowd.tell([[Reward(copy.id, 1.0, "w", "t3")]])[0]
    assert told.status == "late"
    (told,) = crowd.tell([[Reward(copy.id, 1.0, "w", "t2")]])[0]
    assert told.status == "accepted"


def test_only_where_the_study_says_so(make):
    study = make()
    study.ask(6, "ann")
    assert study.ask(1, "bob") == []


def test_batches_overlap_first_and_only_the_open_one_is_helped(storage_url):
    algorithm = toy.ToyAhead(0.1, each=2)
    study = sp.create_study("ahead", toy.problem(3), algorithm, storage_url, hedge=True)
    study.ask(6, "ann")
    ahead = study.ask(12, "bob") + study.ask(12, "eve")
    assert len(ahead) == 12
    for pull in (0, 1, 2, 3, 4):
        study.tell(pull, 1.0, "ann")
    assert ids(study.ask(3, "dan")) == [5], "others hold up nobody"
    assert study.ask(3, "fay") == []


def test_who_holds_up_much_is_helped_before_anything_new_is_begun(storage_url):
    algorithm = toy.ToyAhead(0.1, each=2)
    study = sp.create_study("ahead", toy.problem(3), algorithm, storage_url, hedge=True)
    study.ask(6, "ann")
    study.ask(6, "bob")
    for pull in (0, 1, 2, 3, 6, 7, 8, 9):
        study.tell(pull, 1.0)
    assert ids(study.ask(2, "eve")) == [12, 13], "4 pulls are out, and only 4 rewards wait"
    for pull in (10, 11):
        study.tell(pull, 1.0)
    study.tell(12, 1.0)
    assert ids(study.ask(3, "ann")) == [4, 5, 14], "nobody is given a copy of what they have"
    study.tell(14, 1.0)
    assert ids(study.ask(2, "dan")) == [4, 15], "8 rewards wait for 4 and 5, with 3 pulls out"
    study.tell(4, 2.0, "dan")
    assert study.tell(4, 1.0, "ann").status == "late"
    assert study.ask(1, "fay", same=True)[0].id == 16, "who asks for one option gets new pulls"
    study.tell(15, 1.0)
    assert ids(study.ask(1, "guy")) == [5]
    toy.check_whole(study)


def test_without_hedge_nobody_is_helped(storage_url):
    algorithm = toy.ToyAhead(0.1, each=2)
    study = sp.create_study("ahead", toy.problem(3), algorithm, storage_url)
    study.ask(6, "ann")
    study.ask(6, "bob")
    for pull in (0, 1, 2, 3, 4, 6, 7, 8, 9, 10, 11):
        study.tell(pull, 1.0)
    assert ids(study.ask(1, "eve")) == [12]


def test_it_takes_a_share_of_what_counts_already():
    assert holds_up(20, 10, 500)
    assert not holds_up(19, 10, 0)
    assert not holds_up(20, 10, 501)


def finished(url, **fields):
    """A study in which one worker is never heard of again."""
    problem = sp.Problem([[1.0, 0.0], [0.0, 1.0]], noise=1.0)
    study = sp.create_study("hedged", problem, storage=url, overlap=False, **fields)
    lost = study.ask(1, "lost")[0].id
    while not study.finished:
        for pull in study.ask(8, "w") or study.ask(8, "v"):
            study.tell(pull.id, 3.0 * pull.arm)
    return study, lost


def test_the_answer_says_what_it_rests_on(storage_url):
    study, lost = finished(storage_url, hedge=True)
    assert study.tell(lost, 9.0, "lost").status == "late"
    certificate = study.answer.certificate()
    assert certificate["conditions"] == [{"name": "hedged", "pulls": 1}]
    assert SAYS in study.answer.guarantee
    assert SAYS.replace("provided that", "if") in study.answer.plain
    assert sp.verify(certificate, replay=True).replayed
    for pulls in (0, -1, 0.5, None):
        body = certificate | {"conditions": [{"name": "hedged", "pulls": pulls}]}
        with pytest.raises(CertificateError):
            sp.verify(body | {"digest": fingerprint(body)})


def test_where_nobody_can_take_over_it_is_said():
    problem = sp.Problem([[1.0], [2.0]], noise="yes-no")
    for fields, why in (
        ({"strata": "day"}, "no second worker can measure it"),
        ({"traffic": True}, "hands out no pulls"),
    ):
        with pytest.raises(InvalidInputError, match=f"hedge: .*{why}"):
            sp.create_study("no", problem, storage="memory://", hedge=True, **fields)
    with pytest.raises(InvalidTypeError, match="hedge must be true or false"):
        sp.create_study("no", problem, storage="memory://", hedge="yes")
