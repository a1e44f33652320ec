"""When calls may begin: limits, refusals, pauses; by a clock of its own, so that nobody sleeps."""

import multiprocessing
import random

import pytest
from tests.calls.clock import Clock

from surepick.calls import pace as module
from surepick.calls.pace import Pace, shared_by
from surepick.errors import InvalidInputError


def most_in_a_minute(begun):
    """The most of these times in any minute."""
    return max(sum(start <= other < start + 60.0 for other in begun) for start in begun)


def begin(pace, clock, count, late=lambda: 0.0):
    """When so many calls begin that are all there from the start, each perhaps a moment late."""
    begun = []
    for _ in range(count):
        pace.wait(clock.sleep)
        begun.append(clock.now + late())
    return begun


@pytest.mark.parametrize("limit", [0.5, 7, 600])
def test_no_minute_has_more_beginnings_than_allowed(limit):
    clock, draw = Clock(), random.Random(1)
    begun = begin(Pace(limit, clock=clock), clock, 1500 if limit > 100 else 40)
    assert most_in_a_minute(begun) <= max(1, limit)
    assert most_in_a_minute(begun) >= 0.98 * limit - 1  # and nearly as many
    late = begin(
        Pace(limit, clock=clock), clock, 1500 if limit > 100 else 40, lambda: draw.random() / 2
    )
    assert most_in_a_minute(late) <= max(1, limit)  # nor where threads are slow to begin


def test_without_a_limit_nobody_waits():
    clock = Clock()
    begin(Pace(clock=clock), clock, 100)
    assert clock.slept == []


def test_what_does_not_begin_is_given_back():
    clock = Clock()
    pace = Pace(1, clock=clock)
    assert pace.take() == 0.0
    clock.now = 100.0
    assert pace.take() == 0.0
    pace.give_back()
    assert pace.take() == 0.0  # as if it had not been taken
    assert pace.take() == pytest.approx(60.6)


def test_all_wait_as_long_as_a_service_asks_for():
    clock = Clock()
    pace = Pace(clock=clock, draw=lambda: 0.5)
    pace.refused(after=20.0)
    assert pace.take() == pytest.approx(21.0)  # not all at the same moment
    pace.refused(after=5.0)  # somebody who was refused at the same time
    assert pace.take() == pytest.approx(21.0)
    clock.now = 21.0
    assert pace.take() == 0.0
    assert pace.take() == 1.0  # one by one, until a call is answered
    pace.answered()
    assert [pace.take() for _ in range(3)] == [0.0] * 3


def test_where_nobody_says_how_long_it_is_twice_as_long_each_time():
    clock, waits = Clock(), []
    pace = Pace(clock=clock, draw=lambda: 1.0)
    for _ in range(8):
        waits.append(pace.refused())
        pace.refused()  # together with the first
        clock.now += waits[-1]
    assert waits == [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0]
    assert pace.refusals == 8
    pace.answered()
    assert pace.refused() == 1.0


def test_pauses_are_left_to_chance_in_part():
    draw = random.Random(3)
    found = [Pace(draw=draw.random).pause(3) for _ in range(50)]
    assert 2.0 <= min(found) < 2.3
    assert 3.7 < max(found) <= 4.0


@pytest.mark.parametrize("wrong", [0, -1, float("nan"), float("inf"), "ten", 1e300, 1e-300])
def test_a_limit_that_makes_no_sense_is_named(wrong):
    with pytest.raises(InvalidInputError, match="per_minute must be a number of calls between"):
        Pace(wrong)


# -- several processes -----------------------------------------------------------------------
def test_processes_share_it_through_a_file(tmp_path):
    clock, place = Clock(), tmp_path / "pace"
    one, two = (Pace(60, place=place, clock=clock) for _ in range(2))
    assert one.take() == 0.0
    assert two.take() == pytest.approx(1.01)
    one.refused(after=30.0)
    assert two.take() >= 30.0
    clock.now = 40.0
    assert two.take() == 0.0
    one.give_back()  # not what the other one has begun
    assert one.take() > 0.0
    third = Pace(60, place=place, clock=lambda: -90_000.0)  # the machine was started again
    assert third.take() == 0.0


def taken(place, count, results):
    pace = Pace(6000, place=place)
    for _ in range(count):
        pace.wait()
        results.put(pace.clock())


def test_real_processes_keep_to_one_limit(tmp_path):
    start = multiprocessing.get_context("fork")
    results = start.Queue()
    crew = [start.Process(target=taken, args=(tmp_path / "pace", 15, results)) for _ in range(2)]
    for one in crew:
        one.start()
    found = sorted(results.get(timeout=60) for _ in range(30))
    for one in crew:
        one.join(60)
    assert found[-1] - found[0] >= 29 * 0.0101 - 0.01  # those of both, one after the other


def test_a_file_of_somebody_else_is_left_alone(tmp_path, monkeypatch):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text("kept")
    place = tmp_path / "pace"
    place.symlink_to(elsewhere)
    pace = Pace(60, place=place, clock=Clock())
    assert (pace.take(), round(pace.take(), 2)) == (0.0, 1.01)
    assert elsewhere.read_text() == "kept"


def test_each_study_has_a_file_of_its_own(monkeypatch, tmp_path):
    monkeypatch.setattr(module.tempfile, "gettempdir", lambda: str(tmp_path))
    assert shared_by("a") == shared_by("a") != shared_by("b")
    assert shared_by("a").parent == tmp_path
