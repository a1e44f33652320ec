"""A clock that is set back an hour locks nobody out; the database is told another time for that."""

from dataclasses import replace

import pytest
from tests.study import toy

import surepick as sp
from surepick.study.desk import leases

HOUR = 3600.0


@pytest.fixture
def study(storage_url):
    toy.register()
    return sp.create_study("toy study", toy.problem(3), toy.Toy(0.1, each=2), storage_url)


def an_hour_later(study, tx):
    """As if all that was written so far had been written an hour from now."""
    number = study.desk.record.id
    at = tx.progress(number, lock=True)
    tx.set_progress(number, replace(at, claimed_until=at.claimed_until + HOUR))
    held = tx.leases(number, range(10)).values()
    tx.change(number, *(replace(x, until=x.until + HOUR, since=x.since + HOUR) for x in held))


def test_leases_from_before_are_given_to_others(study):
    held = study.ask(6, "gone")
    assert len(held) == 6
    assert study.ask(6, "other") == []
    study.storage.write(lambda tx: an_hour_later(study, tx))
    assert {pull.id for pull in study.ask(6, "other")} == {pull.id for pull in held}


def test_a_claim_from_before_holds_up_no_batch(study, monkeypatch):
    monkeypatch.setattr(study.desk, "advance_quietly", lambda: None)  # dies before it goes on
    study.tell_many([(pull.id, toy.reward(pull)) for pull in study.ask(6, "dies")], "dies")
    at = study.progress()
    assert at.complete
    assert leases.claimed(at)
    assert study.ask(1, "other") == []
    study.storage.write(lambda tx: an_hour_later(study, tx))
    assert not leases.claimed(study.progress())
    assert len(study.ask(1, "other")) == 1
