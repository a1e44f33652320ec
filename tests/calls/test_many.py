"""Many calls of functions and coroutines: paced, tried again, ended in time."""

import asyncio
import gc
import threading
import time
import warnings

import numpy as np
import pytest
from tests.calls.clock import Clock

from surepick.calls.caller import Caller, TooLate
from surepick.calls.many import Calls, Failed
from surepick.calls.pace import Pace
from surepick.calls.rule import as_score
from surepick.errors import InvalidInputError


class Busy(Exception):
    status_code = 429

    def __init__(self, after=None):
        super().__init__("too many")
        self.headers = {} if after is None else {"Retry-After": str(after)}


# -- one call --------------------------------------------------------------------------------
def test_coroutines_are_cancelled_when_their_time_is_up():
    ended = []

    async def hang():
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            ended.append(1)
            raise

    caller = Caller(hang, 0.05)
    assert caller.cancels
    with pytest.raises(TooLate, match=r"no reward after 0\.05 s"):
        caller()
    assert ended == [1]
    caller.stop()


def test_a_time_out_of_the_function_itself_stays_its_own():
    async def late():
        raise TimeoutError("the model did not answer")

    caller = Caller(late, 5.0)
    with pytest.raises(TimeoutError, match="did not answer"):
        caller()
    caller.stop()


def test_what_is_awaited_may_come_from_anything_that_is_called():
    async def double(number):
        return 2 * number

    caller = Caller(lambda number: double(number))
    assert caller(3) == 6
    caller.stop()
    assert Caller(lambda number: 2 * number)(3) == 6


def test_after_the_end_no_coroutine_is_left_that_nobody_awaits():
    async def measure():
        return 1.0

    caller = Caller(measure)
    assert caller() == 1.0
    caller.stop()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(TooLate):
            caller()
        gc.collect()


# -- many ------------------------------------------------------------------------------------
def test_one_at_a_time_is_in_order_and_in_the_same_thread():
    seen = []

    def note(number):
        seen.append((number, threading.current_thread()))
        return number

    assert Calls(note).all([(k,) for k in range(5)]) == list(range(5))
    assert seen == [(k, threading.current_thread()) for k in range(5)]


@pytest.mark.parametrize("waits", [True, False])
def test_as_many_at_a_time_as_there_are_workers_and_never_more(waits):
    now, most, lock = 0, 0, threading.Lock()
    together = threading.Event()  # the first ones wait for each other, however busy the machine is

    def enter(step):
        nonlocal now, most
        with lock:
            now += step
            most = max(most, now)
        if now == 4:
            together.set()

    async def awaited(number):
        enter(1)
        while not together.is_set():
            await asyncio.sleep(0.001)
        await asyncio.sleep(0.02)
        enter(-1)
        return number

    def called(number):
        enter(1)
        assert together.wait(60)
        time.sleep(0.02)
        enter(-1)
        return number

    with Calls(awaited if waits else called, workers=4) as calls:
        assert calls.all([(k,) for k in range(16)]) == list(range(16))
    assert most == 4


def test_what_may_pass_is_tried_again_after_a_while_and_what_may_not_is_not():
    clock, tries = Clock(), []

    def call(kind):
        tries.append(kind)
        if tries.count(kind) < 3:
            raise {"lost": ConnectionError, "text": ValueError, "odd": RuntimeError}[kind]("no")
        return 1.0

    pace = Pace(clock=clock, draw=lambda: 1.0)
    calls = Calls(call, retries=2, pace=pace, sleep=clock.sleep)
    lost, text, odd = calls.all([("lost",), ("text",), ("odd",)])
    assert (lost, odd) == (1.0, 1.0)
    assert isinstance(text, Failed)
    assert "return the worst score" in text.fault.cure
    assert clock.slept == [1.0, 2.0]  # twice as long each time, and only for what may pass
    assert [tries.count(kind) for kind in ("lost", "text", "odd")] == [3, 1, 3]
    assert calls.again == 2
    assert str(Calls(call).all([("new",)], fatal=False)[0]) == "KeyError: 'new'"


def test_refusals_are_waited_for_however_many_retries_there_are():
    clock, tries = Clock(), []

    def call():
        tries.append(clock.now)
        if len(tries) < 3:
            raise Busy(30)
        return 1.0

    pace = Pace(clock=clock, draw=lambda: 0.0)
    assert Calls(call, pace=pace, sleep=clock.sleep).all([()]) == [1.0]
    assert tries == [0.0, 30.0, 60.0]


@pytest.mark.parametrize("after", [None, 100_000])
def test_a_service_that_only_refuses_is_left_alone_in_the_end(after):
    clock = Clock()

    def call():
        raise Busy(after)

    calls = Calls(call, pace=Pace(clock=clock), sleep=clock.sleep)
    with pytest.raises(Busy):
        calls.all([()], fatal=True)
    assert clock.now < 600


def test_errors_are_raised_where_they_end_it():
    def call(number):
        return 1 / number

    with pytest.raises(ZeroDivisionError):
        Calls(call).all([(1,), (0,)], fatal=True)
    with Calls(call, workers=2) as calls:
        good, odd = calls.all([(1,), ("a",)])
    assert (good, odd.fault.kind) == (1.0, "final")


def test_failures_count_as_the_worst_score_only_where_others_work():
    def call(number):
        if number > 5:
            raise ValueError(f"no grade for {number}")
        return float(number)

    calls = Calls(call)
    with pytest.raises(ValueError, match="no grade for 9"):
        calls.scores([(9,)], worst=0.0)  # nothing has worked yet
    found, failed = calls.scores([(7,), (1,), (2,), (8,)], worst=0.0)
    assert found == [0.0, 1.0, 2.0, 0.0]
    assert [(place, str(one)) for place, one in failed] == [
        (0, "ValueError: no grade for 7"),
        (3, "ValueError: no grade for 8"),
    ]
    with pytest.raises(ValueError, match="no grade for 7"):
        Calls(call).scores([(1,), (7,)], worst=None)


def test_where_many_fail_a_call_that_worked_is_made_once_more():
    asked, away = [], []

    def call(number):
        asked.append(number)
        if number > 5 or away:
            raise ValueError(f"no grade for {number}")
        return float(number)

    calls = Calls(call)
    calls.scores([(1,), (2,)], worst=0.0)
    found, failed = calls.scores([(n,) for n in range(10, 20)], worst=0.0)
    assert (found, len(failed)) == ([0.0] * 10, 10)  # an item that nobody can answer, say
    assert asked == [1, 2, *range(10, 20), 2]  # one more call, for all of them
    away.append(1)
    with pytest.raises(ValueError, match="no grade for 20"):  # none of them is counted
        calls.scores([(n,) for n in range(20, 30)], worst=0.0)


def test_where_nothing_has_worked_yet_others_are_tried():
    def call(item):
        if item == 0:
            raise TypeError("the reply was empty")
        return 1.0

    with pytest.raises(TypeError):
        Calls(call).scores([(0,)], 0.0)
    with pytest.raises(TypeError):
        Calls(call).scores([(0,)], 0.0, [(0,), (0,), (0,), (1,)])  # no more than three
    found, ((place, one),) = Calls(call).scores([(0,)], 0.0, [(0,), (1,)])
    assert (found, place, str(one)) == ([0.0], 0, "TypeError: the reply was empty")


@pytest.mark.parametrize("given", [None, float("nan"), "0.5", [1.0], np.ones(2), np.inf, object()])
def test_what_is_no_score_has_failed(given):
    calls = Calls(lambda k: 1.0 if k else given, read=as_score)
    found, ((place, one),) = calls.scores([(1,), (0,)], 0.0)
    assert (found, place) == ([1.0, 0.0], 1)
    assert "NoScore: " in str(one)
    assert Calls(lambda: np.array(0.5), read=as_score).all([()]) == [0.5]


@pytest.mark.parametrize("wrong", [{"workers": 0}, {"retries": -1}, {"timeout": 0}])
def test_settings_that_make_no_sense_are_named(wrong):
    with pytest.raises(InvalidInputError, match=next(iter(wrong))):
        Calls(print, **wrong)
