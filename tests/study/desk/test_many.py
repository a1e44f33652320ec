"""Thousands of pulls and rewards at once: nobody waits for the database until all are done."""

import time
from collections import Counter

import numpy as np
import pytest

import surepick as sp
from surepick.errors import UnknownPullError
from surepick.storage.records import Event
from surepick.study.desk.crowd import Ask, Crowd
from surepick.study.desk.desk import FEW
from surepick.study.pulls import Reward

MANY = 4 * FEW + 7


@pytest.fixture
def study(storage_url):
    arms = np.random.default_rng(0).normal(size=(20, 3))
    algorithm = sp.algorithms.get("pooled-peleg", delta=0.05, min_batch=3 * MANY)
    with sp.create_study("many", sp.Problem(arms, noise=1.0), algorithm, storage_url) as made:
        yield made


@pytest.fixture
def writes(study, monkeypatch):
    """How many rows of leases, tells and events each transaction has written."""
    found, plain = [], study.storage.write

    def write(work):
        def counted(tx):
            found.append(0)
            for name in ("add", "change", "count_or_add_events"):
                monkeypatch.setattr(tx, name, count(getattr(tx, name)), raising=False)
            return work(tx)

        return plain(counted)

    def count(function):
        def call(number, *rows):
            said = [one for one in rows if not isinstance(one, Event)]  # which come as a list
            found[-1] += sum(len(one) if isinstance(one, list) else 1 for one in said)
            return function(number, *rows)

        return call

    monkeypatch.setattr(study.storage, "write", write)
    return found


def rewards_of(pulls, worker, value=0.5):
    return [Reward(pull.id, value, worker, "t") for pull in pulls]


def handed(study, n, worker):
    return Crowd(study.desk).ask([Ask(n, worker, 3600.0, "t")])[0].pulls


def test_many_rewards_in_vain_are_noted_a_few_at_a_time(study, writes):
    pulls = handed(study, MANY, "w")
    told = study.desk.tell(rewards_of(pulls, "w"))
    assert Counter(one.status for one in told) == {"accepted": MANY}
    del writes[:]
    for _ in range(2):
        told = study.desk.tell(rewards_of(pulls, "other"))
        assert [(one.pull, one.status, one.value) for one in told] == [
            (pull.id, "late", 0.5) for pull in pulls
        ]
    assert max(writes) <= FEW
    assert Counter(one.count for one in study.events("late")) == {2: MANY}


def test_among_many_those_that_count_are_recorded_as_ever(study):
    mine, others = handed(study, MANY, "me"), handed(study, MANY, "you")
    study.desk.tell(rewards_of(mine[:FEW], "me"))
    mixed = rewards_of([*others, *mine], "me") + rewards_of(mine[-1:], "me", 0.7)
    told = study.desk.tell(mixed)
    assert [one.pull for one in told] == [one.pull for one in mixed]
    assert [one.status for one in told] == (
        ["late"] * MANY + ["duplicate"] * FEW + ["accepted"] * (MANY - FEW) + ["conflict"]
    )
    assert [one.pull for one in study.desk.told()] == sorted(pull.id for pull in mine)
    again = study.desk.tell(rewards_of(others, "you"))  # they are still theirs
    assert {one.status for one in again} == {"accepted"}


def test_one_that_was_never_handed_out_among_many_stops_all(study):
    pulls = handed(study, MANY, "w")
    study.desk.tell(rewards_of(pulls[:FEW], "w"))
    with pytest.raises(UnknownPullError, match="measurement 999999"):
        study.desk.tell([*rewards_of(pulls, "w"), Reward(999_999, 0.5, "w", "t")])
    assert study.progress().told == FEW
    assert not study.events("duplicate")


def test_many_pulls_are_handed_out_a_few_at_a_time(study, writes):
    first = handed(study, 10, "w")
    pulls = handed(study, MANY, "w")
    assert max(writes) <= FEW + 2 * len(first)  # these come back, which is noted
    assert pulls[: len(first)] == first
    assert len({pull.id for pull in pulls}) == MANY
    assert handed(study, MANY, "w") == pulls
    rest = handed(study, 10 * MANY, None)
    assert len(pulls) + len(rest) == study.progress().size


def test_what_ran_out_is_handed_out_again_a_few_at_a_time(study, writes):
    size = study.progress().size
    gone = Crowd(study.desk).ask([Ask(size, "gone", 0.001, "t")])[0].pulls
    time.sleep(0.01)
    del writes[:]
    again = handed(study, MANY, "w")
    assert max(writes) <= FEW
    assert {pull.id for pull in again} < {pull.id for pull in gone}
    assert {pull.attempt for pull in again} == {2}


def test_nor_do_several_who_ask_for_many_at_the_same_time_write_together(study, writes):
    asks = [Ask(MANY, f"w{i}", 3600.0, "t") for i in range(2)]
    given = Crowd(study.desk).ask([*asks, Ask(1, "small", 3600.0, "t")])
    assert [len(one.pulls) for one in given] == [MANY, MANY, 1]
    assert len({pull.id for one in given for pull in one.pulls}) == 2 * MANY + 1
    assert max(writes) <= FEW
