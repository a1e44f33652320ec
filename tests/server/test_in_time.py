"""Rates, tokens and sessions by a clock that the test turns."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import surepick as sp
from surepick.errors import AccessError, InvalidInputError, TooManyRequestsError
from surepick.server import messages, quotas, tokens
from surepick.server.quotas import Charges, Rate, several
from surepick.server.routes import work
from surepick.server.tokens import Tokens
from surepick.storage import open_storage

HOUR = 3600.0


@pytest.fixture
def clock(monkeypatch):
    at = SimpleNamespace(now=10_000.0)
    at.time = at.monotonic = lambda: at.now
    monkeypatch.setattr(quotas, "time", at)
    monkeypatch.setattr(tokens, "time", at)
    return at


def let_through(rate, caller="a"):
    """How many come at once before one has to wait."""
    return next(n for n in range(10_000) if rate.wait(caller))


# -- rates -------------------------------------------------------------------------------------
@pytest.mark.parametrize("idle", [0.0, 1.0, 10.0, 1e6])
def test_a_bucket_never_holds_more_than_its_burst(clock, idle):
    rate = Rate(2.0, 5.0)
    assert let_through(rate) == 5
    clock.now += idle
    assert let_through(rate) == min(5, int(2 * idle))
    clock.now += 1e6
    for _ in range(20):  # whatever is given back
        rate.give_back("a")
    assert let_through(rate) == 5


def test_a_bucket_fills_at_its_rate(clock):
    rate = Rate(2.0, 5.0)
    assert let_through(rate) == 5
    assert rate.wait("a") == 0.5
    assert rate.wait("a", 4.0) == 2.0
    clock.now += 0.25
    assert rate.wait("a") == 0.25
    clock.now += 0.25
    assert rate.wait("a") == 0.0
    assert rate.wait("a") == 0.5
    assert rate.wait("b") == 0.0


def test_what_costs_more_than_a_bucket_holds_takes_all_of_it(clock):
    rate = Rate(2.0, 5.0)
    assert rate.wait("a", 1000.0) == 0.0
    assert rate.wait("a", 1000.0) == 2.5


def test_who_owes_waits_for_a_minute_at_most(clock):
    rate = Rate(2.0, 5.0)
    rate.owe("a", 1e9)
    assert rate.wait("a") == 60.5
    clock.now += 60.5
    assert rate.wait("a") == 0.0
    clock.now += 1e6
    rate.owe("a", 3.0)
    assert let_through(rate) == 2


def test_rewards_that_do_not_count_come_back_when_they_do(clock):
    charges = Charges(1000.0)
    for _ in range(3):
        taken = charges.rewards("a", 100)
        assert taken == 100
        charges.settle("a", taken, useless=0)
    charges.settle("a", charges.rewards("a", 1000), useless=1000)
    with pytest.raises(TooManyRequestsError, match="did not count"):
        charges.rewards("a", 1)
    clock.now += 10.0  # ten of them a second
    assert charges.rewards("a", 1000) == pytest.approx(100)


def test_several_at_once(clock):
    assert let_through(several(10.0)) == 40


# -- tokens ------------------------------------------------------------------------------------
@pytest.fixture
def known(database_folder, clock):
    storage = open_storage(f"sqlite:///{database_folder}/tokens.db")
    yield Tokens(storage)
    storage.close()


def test_a_session_ends_with_its_hours_or_with_its_token(known, clock):
    for expires, ends in ((None, 8 * HOUR), (HOUR, HOUR), (20 * HOUR, 8 * HOUR)):
        token, secret = known.make("admin", None, expires)
        begun = clock.now
        session, key = known.log_in(token, 8 * HOUR)
        assert (session.expires, session.owner) == (begun + ends, token.id)
        clock.now = begun + ends - 1.0
        assert known.find(key).id == session.id
        assert known.still_valid(session)
        clock.now = begun + ends
        assert known.find(key) is None
        assert not known.still_valid(session)
        assert (known.find(secret) is None) == (expires == HOUR)


def test_a_session_does_not_log_in_again(known, clock):
    """Else it would never end: each session would make the next one."""
    token, _ = known.make("admin", None, 100 * HOUR)
    session, _ = known.log_in(token, HOUR)
    clock.now += HOUR - 1.0
    with pytest.raises(AccessError, match="a session cannot log in again"):
        known.log_in(session, HOUR)


def test_what_is_remembered_of_a_token_ends_with_it(known, clock):
    """A process asks again after two seconds, and knows by itself when a token's time is over."""
    _, secret = known.make("viewer", None, 1.0)
    assert known.find(secret) is not None
    clock.now += 0.9
    assert known.remembered(secret)[1] is not None
    clock.now += 0.1
    assert known.remembered(secret) == (True, None)
    _, lasting = known.make("viewer", None)
    known.find(lasting)
    clock.now += 2.0
    assert known.remembered(lasting)[0]
    clock.now += 0.1
    assert known.remembered(lasting) == (False, None)


def test_sessions_that_are_over_are_cleared_away(known, clock):
    token, _ = known.make("admin", None)
    first, _ = known.log_in(token, HOUR)
    clock.now += HOUR + 1.0
    known.log_in(token, HOUR)
    assert not known.still_valid(first)
    rows = known._storage.read(
        lambda tx: tx.connection.exec_driver_sql("SELECT count(*) FROM surepick_tokens").scalar()
    )
    assert rows == 2, "the token and the session that is under way"


# -- leases ------------------------------------------------------------------------------------
def test_nobody_keeps_a_pull_for_longer_than_is_allowed_nor_after_the_token(
    known, clock, monkeypatch
):
    monkeypatch.setattr(work, "time", clock)
    lasting, _ = known.make("admin", None)
    ending, _ = known.make("admin", None, 30.0)
    body = messages.AskBody(n=2, worker="w", lease=90.0)
    asked = work._wanted(body, lasting, 100.0)
    assert (asked.n, asked.worker, asked.lease, asked.longest) == (2, "w", 90.0, 100.0)
    assert asked.token == lasting.id
    assert work._wanted(messages.AskBody(), lasting, 100.0).lease == 100.0, "where none is named"
    assert work._wanted(body, ending, 100.0).lease == 30.0
    clock.now += 29.0
    assert work._wanted(body, ending, 100.0).lease == 1.0
    with pytest.raises(InvalidInputError, match="at most 100 s here"):
        work._wanted(messages.AskBody(lease=101.0), lasting, 100.0)


@pytest.mark.parametrize("gone", ["first", "second"])
def test_of_two_who_measure_a_pull_the_one_whose_token_is_good_keeps_it(known, gone):
    """A pull that was handed out twice, when the token of one of them is revoked."""
    storage = known._storage
    given = {"noise": 1.0, "labels": ["a", "b"]}
    study = sp.create_study("two", sp.Problem(np.eye(2), **given), storage=storage, hedge=True)
    held = {name: known.make("worker", ("two",))[0].id for name in ("first", "second")}
    (pull,) = study.ask(1, "ann")

    def lease(tx):
        return tx.leases(study.desk.record.id, [pull.id])[pull.id]

    both = {"token": held["first"], "second": "ben", "second_token": held["second"]}
    storage.write(lambda tx: tx.change(study.desk.record.id, replace(lease(tx), **both)))
    known.revoke(held[gone])
    kept = storage.read(lease)
    stays = ("ben", held["second"]) if gone == "first" else ("ann", held["first"])
    assert (kept.worker, kept.token) == stays
    assert (kept.second, kept.second_token) == (None, None)
    known.revoke(held["second" if gone == "first" else "first"])
    now = study.progress().now
    assert storage.read(lease).free(now), "nobody has it any more"
