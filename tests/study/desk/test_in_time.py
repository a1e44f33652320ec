"""Leases by a clock that the test turns: how long a pull may be kept, and who has it next."""

from types import SimpleNamespace

import pytest
from tests.study import toy

import surepick as sp
from surepick.storage import memory
from surepick.storage.memory import MemoryStorage
from surepick.storage.records import Holder
from surepick.study.desk.asking import Wanted


class Clock:
    """Time goes on when somebody says so."""

    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(memory, "time", SimpleNamespace(monotonic=clock, time=clock))
    return clock


@pytest.fixture
def study(clock):
    return sp.create_study("in time", toy.problem(), toy.Toy(0.1), MemoryStorage(), overlap=False)


def asked(study, worker, lease, longest=None, n=1):
    """What somebody gets who may keep it for so long, by asking again."""
    wanted = Wanted(n, Holder(worker), lease, longest)
    return study.storage.write(lambda tx: study.desk.lease(tx, wanted, again=False)).leases


def test_who_asks_again_keeps_a_pull_no_longer_than_the_longest(study, clock):
    (first,) = asked(study, "ann", 300.0, 700.0)
    begun = clock.now
    assert (first.since, first.until) == (begun, begun + 300.0)
    for later, until in ((200.0, 500.0), (400.0, 700.0), (650.0, 700.0), (699.0, 700.0)):
        clock.now = begun + later
        (mine,) = asked(study, "ann", 300.0, 700.0)
        assert (mine.pull, mine.since, mine.until) == (first.pull, begun, begun + until)
    clock.now = begun + 700.0
    rest = asked(study, "bob", 300.0, 700.0, n=10)
    (again,) = [one for one in rest if one.pull == first.pull]
    assert (again.attempts, again.since, again.until) == (2, clock.now, clock.now + 300.0)


def test_without_a_longest_a_pull_is_kept_as_long_as_it_is_asked_for(study, clock):
    (first,) = asked(study, "ann", 300.0)
    for _ in range(20):
        clock.now += 299.0
        (mine,) = asked(study, "ann", 300.0)
        assert (mine.pull, mine.attempts, mine.until) == (first.pull, 1, clock.now + 300.0)


def test_a_lease_ends_when_it_ends_and_not_before(study, clock):
    pulls = study.ask(6, "ann", lease=60.0)
    clock.now += 59.9
    assert study.ask(6, "bob") == []
    assert study.status()["batch"]["leased"] == 6
    clock.now += 0.1
    assert [one.id for one in study.ask(6, "bob", lease=10.0)] == [one.id for one in pulls]
    assert study.events("expired")[0].worker == "ann"
    assert study.tell(pulls[0].id, 1.0, "ann").status == "late"
    assert study.tell(pulls[0].id, 1.0, "bob").status == "accepted"


def test_what_has_waited_for_longest_goes_first(study, clock):
    first = study.ask(2, "ann", lease=50.0)
    second = study.ask(2, "bob", lease=10.0)
    study.ask(2, "cat", lease=1000.0)
    clock.now += 100.0
    assert [one.id for one in study.ask(3, "dan")] == [
        *(one.id for one in second),
        first[0].id,
    ]


def test_a_pause_outlasts_the_batch():
    study = sp.create_study(
        "outlasting",
        sp.Problem([[1.0], [2.0]], noise=1.0),
        storage="memory://outlasting",
        delta=1e-9,
    )
    pulls = study.ask(1000)
    study.pause("lunch")
    study.tell_many({pull.id: float(pull.arm) for pull in pulls})
    assert study.progress().batch == 1
    assert study.progress().paused
    assert study.ask(1) == []
    assert study.resume()
    assert len(study.ask(1)) == 1
