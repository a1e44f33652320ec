"""Two clients, one for threads and one for coroutines: both send and understand the same.

Their methods walk through the same steps. The client for threads goes through all of them at a real
service, with every parameter that they have, and what it sends is looked at.
"""

from __future__ import annotations

import asyncio
import inspect
import json
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from types import MappingProxyType
from typing import NamedTuple

import httpx2
import numpy as np
import pytest
from tests.coroutines import completed

import surepick as sp
from surepick.client import AsyncStudy, RemoteStudy, transport
from surepick.errors import SurepickError
from surepick.study import StudySpec

PROBLEM = sp.Problem(np.eye(3), noise=1.0, labels=["a", "b", "c"])
SITE = sp.Problem(np.eye(2), noise="yes-no", labels=["a", "b"])


class Call(NamedTuple):
    """A method of a study (or of the client: ``of`` is None) and what it is called with."""

    of: str | None
    method: str
    given: tuple = ()
    named: Mapping[str, object] = MappingProxyType({})


def call(of, method, *given, **named):
    return Call(of, method, given, named)


REPORT = {"a": (1000, 20), "b": (1003, 41)}
CALLS = [
    call(None, "create_study", "one/x", PROBLEM, "pooled-peleg", delta=0.2, strata="plate"),
    call(None, "create_study", "sheet", table={"label": ["a", "b"], "size": [1, 2]}),
    call(None, "store", StudySpec(name="two", problem=PROBLEM, overlap=True, max_samples=90)),
    call(None, "store", StudySpec(name="site", problem=SITE, traffic=True)),
    call(None, "store", StudySpec(name="two", problem=PROBLEM)),  # it is taken
    call(None, "list_studies"),
    call(None, "load_study", "one/x"),
    call(None, "load_study", "nowhere"),
    call(None, "make_token", "worker", ["two"], expires_in=60.0, note="lab"),
    call(None, "make_token", "chief"),
    call("one/x", "ask", 2, "ann", 7.5, wait=0.01, stratum=3),
    call("one/x", "ask", 2, "ann", stratum="5"),
    call("one/x", "ask", stratum="5", same=True, n=3),
    call("one/x", "tell", 0, 1.25, "ann", label="a", strict=True),
    call("one/x", "tell", 1, 1.5),
    call("one/x", "tell", 1, 2.5),  # another one counts
    call("one/x", "tell", 999, 2.5),
    call("one/x", "rewards"),
    call("two", "ask", 40, "ben"),
    call("two", "tell_many", [(0, 0.5), (1, 0.25)], "ben", strict=True),
    call("two", "tell_many", [(2, 0.5, "no such option")]),
    call("two", "tell_many", [(2, 0.5), (3, 1e9)], strict=True),
    call("two", "tell_many", [(k, 0.1 * (k % 4)) for k in range(2, 12)]),
    call("two", "tell_many", [(2, float("nan"))]),
    call("two", "ask", 2, "cat"),
    call("two", "fail", 12, "broke" * 1000, "ben"),
    call("two", "fail", 13, reason="lost"),
    call("two", "fail", 10_000),
    call("two", "fail", 12, "no score", "cat", final=True),  # this is no table
    call("two", "correct", 1, 0.75, reason="typo", by="boss"),
    call("two", "correct", 1, 0.75, number="latency", reason="there is none"),
    call("two", "correct", 1, 0.75, reason=" "),
    call("two", "set_aside", batch=7, reason="a broken lamp", blind=True, by="boss"),
    call("two", "set_aside", stratum="plate", reason="there are none"),
    call("site", "set_aside", period="sale", reason="as every year", by="boss"),
    call("two", "withdraw", 0, reason="spilt", by="boss"),
    call("two", "withdraw_token", "nobody", reason="gone", by="boss"),
    call("two", "corrections"),
    call("two", "add", sp.Problem([[0, 0, 0, 1.0]], labels=["d"]), reason="new", by="boss"),
    call("two", "retire", "b", reason="sold out", by="boss"),
    call("two", "retire", "z", reason="sold out"),
    call("two", "option_changes"),
    call("two", "limit", max_samples=95, budget=200.0, reason="money", by="boss"),
    call("two", "limit", max_samples=float("inf")),
    call("two", "limit_changes"),
    call("two", "act", "pause", reason="lunch", by="boss"),
    call("two", "act", "resume"),
    call("two", "act", "no such act", text="x"),
    call("two", "acts"),
    call("two", "acts", "correct", "limit"),
    call("two", "keep", {"cid": [3]}, 12.5),
    call("two", "keep", {"~": []}),
    call("two", "canary"),
    call("two", "pause", "lunch", "boss"),
    call("two", "pause", reason="lunch"),
    call("two", "ask", 1, "dan", wait=0.01),
    call("two", "resume", "back", "boss"),
    call("two", "progress"),
    call("two", "finished"),
    call("two", "answer"),
    call("two", "standing"),
    call("two", "status"),
    call("two", "checks"),
    call("two", "forecast", seconds=2.0, epsilon=None),
    call("two", "events"),
    call("two", "events", "failed", "late"),
    call("two", "history"),
    call("two", "judgements"),
    call("two", "definition"),
    call("two", "export", "rows.csv"),
    call("two", "export", "rows.txt", "json", "options"),
    call("two", "export", "rows.odt"),
    call("two", "accept", 0.001, reason="near enough", by="boss"),
    call("two", "stop", "enough", "boss"),
    call("two", "answer"),
    call("site", "split", 2003, "monday"),
    call("site", "periods"),
    call("site", "record", REPORT, "monday", check=True),
    call("site", "record", REPORT, "monday"),
    call("site", "record", {"label": ["a"], "visits": [1]}, "tuesday"),
    call(
        "site",
        "correct_report",
        "monday",
        REPORT | {"a": (1000, 21)},
        reason="bots",
        by="boss",
    ),
    call("site", "report_changes"),
    call("site", "ask"),
    call(None, "delete_study", "sheet"),
    call(None, "delete_study", "sheet"),
]
#: what some of these must send, whoever sends it
SENT = [
    ("/one%2Fx/ask", {"n": 2, "worker": "ann", "lease": 7.5, "wait": 0.01, "stratum": "3"}),
    ("/one%2Fx/ask", {"n": 3, "same": True, "stratum": "5"}),
    ("/one%2Fx/tell", {"strict": True, "rewards": [{"pull": 0, "reward": 1.25, "label": "a"}]}),
    ("/two/tell", {"strict": True, "worker": "ben"}),
    ("/two/fail", {"pull": 12, "worker": "ben", "reason": ("broke" * 1000)[:2000]}),
    ("/two/keep", {"held": {"cid": [3]}, "lease": 12.5}),
    ("/two/acts/correct", {"pull": 1, "reward": 0.75, "reason": "typo", "by": "boss"}),
    ("/two/acts/withdraw", {"pull": 0, "reason": "spilt", "by": "boss"}),
    ("/two/acts/withdraw", {"token": "nobody", "reason": "gone", "by": "boss"}),
    ("/two/acts/retire", {"label": "b", "reason": "sold out", "by": "boss"}),
    ("/two/acts/limit", {"max_samples": 95, "budget": 200.0, "reason": "money", "by": "boss"}),
    ("/two/acts/limit", {"max_samples": "none"}),
    ("/two/acts/pause", {"reason": "lunch", "by": "boss"}),
    ("/two/acts/stop", {"reason": "enough", "by": "boss"}),
    ("/two/events?kind=failed&kind=late", {}),
    ("/two/export?format=json&what=options", {}),
    ("/site/split", {"visits": 2003, "period": "monday"}),
    ("/site/acts/record", {"period": "monday", "check": True}),
    ("/tokens", {"role": "worker", "studies": ["two"], "expires_in": 60.0, "note": "lab"}),
]
HERE = {"problem", "algorithm", "meta", "strata", "features_of", "features_by_arm", "shown", "run"}
HERE |= {"close"}


def test_every_method_and_parameter_is_tried():
    for kind, studies in ((sp.Client, False), (RemoteStudy, True)):
        methods = {name for name in dir(kind) if not name.startswith("_")} - HERE - {"url", "name"}
        for name in methods:
            made = [one for one in CALLS if one.method == name and (one.of is not None) == studies]
            assert made, f"{kind.__name__}.{name} is not tried"
            method = getattr(kind, name)
            if isinstance(method, property):
                continue
            own = list(inspect.signature(method).parameters.values())[1:]
            tried = set()
            for one in made:
                tried |= set(
                    inspect.signature(method).bind(None, *one.given, **one.named).arguments
                )
            assert {p.name for p in own} <= tried, f"{kind.__name__}.{name}"


def test_both_walk_through_the_same_steps():
    for one, other in ((RemoteStudy, AsyncStudy), (sp.Client, sp.AsyncClient)):
        for name in sorted({call.method for call in CALLS} - {"export", "stop"}):
            mine, theirs = getattr(one, name, None), getattr(other, name, None)
            if inspect.isfunction(mine):
                assert inspect.unwrap(mine) is inspect.unwrap(theirs), name
                own, others = inspect.signature(mine), inspect.signature(theirs)
                assert own.parameters == others.parameters, name


# -- what goes to and fro ----------------------------------------------------------------------
class Recorder(httpx2.BaseTransport):
    """Writes down what goes to a service, and what comes back."""

    def __init__(self):
        self._to, self.log = httpx2.HTTPTransport(), []

    def close(self):
        self._to.close()

    def handle_request(self, request):
        response = self._to.handle_request(request)
        response.read()
        path = request.url.raw_path.decode().removesuffix("?")
        self.log.append((path, json.loads(request.content or b"{}")))
        return response


def seen(result):
    """A result, so that two can be compared."""
    if isinstance(result, SurepickError):
        return type(result), str(result)
    return repr(result)


def test_what_every_method_sends(service, tmp_path):
    recorder, studies = Recorder(), {}
    with sp.Client(service.url, service.token) as client:
        own = client._transport
        own._client = httpx2.Client(base_url=own.url, headers=own._headers, transport=recorder)
        for of, method, given, named in CALLS:
            if method == "export":
                given = (tmp_path / given[0], *given[1:])
            one = client if of is None else studies.setdefault(of, RemoteStudy(own, of))
            with suppress(SurepickError):
                found = getattr(one, method)
                if callable(found):
                    found(*given, **named)
    for path, body in SENT:
        assert any(
            found[0].endswith(path) and body.items() <= found[1].items() for found in recorder.log
        ), (path, body)


def test_a_study_far_away_is_the_one_that_is_here(service):
    """Strata, options that come, a pause and items, as both ends of the service see them."""
    given = {"delta": 0.2, "overlap": False, "max_samples": 60}
    with sp.Client(service.url, service.token) as client:
        far = client.create_study("far", PROBLEM, strata="plate", **given)
        items = client.create_study("items", sp.Problem(np.eye(3)), items=7, **given)
        here = sp.load_study("far", service.storage)
        assert far.problem.labels == ("a", "b", "c")  # which it now knows
        here.add(sp.Problem([[0, 0, 0, 1.0]], labels=["d"]), reason="new")
        for turn in range(8):
            pulls = far.ask(4, "ann", stratum=f"plate {turn % 2}")
            far.tell_many([(p.id, p.arm + 0.1 * (p.id % 3)) for p in pulls], "ann")
        assert "d" in {here.problem.labels[arm] for arm in here.rewards().arms}
        assert far.problem.labels == here.problem.labels == ("a", "b", "c", "d")
        far.pause("lunch")
        (pull,) = items.ask(1, "ben")
        assert pull.item is not None
        items.tell(pull.id, 1.0, "ben")
        there = sp.load_study("items", service.storage)
        for one, other in ((far, here), (items, there)):
            mine, theirs = one.rewards(), other.rewards()
            for name in ("pulls", "arms", "values", "strata"):
                assert getattr(mine, name).tolist() == getattr(theirs, name).tolist(), name
            at, wanted = one.progress(), other.progress()
            for name in ("batch", "first", "size", "asked", "told", "finished", "paused", "ahead"):
                assert getattr(at, name) == getattr(wanted, name), name
        assert far.progress().paused
        here.close()
        there.close()


# -- a service that is busy, away or broken ----------------------------------------------------
_TOLD = {"told": [{"pull": 0, "status": "conflict", "value": 1.0}]}
_BUSY = {"error": {"kind": "TooManyRequestsError", "message": "slower"}}
_GONE = {"error": {"kind": "UnknownStudyError", "message": "no study"}}
FINE = (200, {}, {"told": [{"pull": 0, "status": "accepted", "value": 1.0}]})
TROUBLE = {
    "wait as long as it says": [(429, {"Retry-After": "7"}, _BUSY), FINE],
    "wait once more": [(503, {"Retry-After": "2.5"}, {}), (503, {"Retry-After": "4"}, {}), FINE],
    "not for ever": [(429, {"Retry-After": "1000"}, _BUSY)],
    "it says nothing": [(503, {}, {}), (429, {}, {}), FINE],
    "it says nonsense": [
        (503, {"Retry-After": "soon"}, {}),
        (503, {"Retry-After": "nan"}, {}),
        FINE,
    ],
    "something is missing there": [(501, {}, {})],
    "a gateway": [(502, {}, {}), (504, {}, {}), FINE],
    "broken": [(500, {}, {})],
    "a stranger": [(401, {}, {})],
    "not allowed": [(403, {}, {})],
    "away": [httpx2.ConnectError("no"), httpx2.ReadTimeout("no"), FINE],
    "does not count": [(409, {}, _TOLD)],
    "a conflict of another kind": [(409, {}, {})],
}
PAUSES = {
    "wait as long as it says": [8.75],  # and up to a quarter more, by chance
    "wait once more": [3.125, 5.0],
    "it says nothing": [0.05, 0.1],
    "it says nonsense": [0.05, 0.1],
    "a gateway": [0.05, 0.1],
    "away": [0.05, 0.1],
}


@pytest.fixture
def clock(monkeypatch):
    """Time goes on only while somebody sleeps; how long they did is written down."""
    slept, now = [], [0.0]

    def sleep(seconds):
        slept.append(seconds)
        now[0] += seconds

    async def asleep(seconds):
        sleep(seconds)

    monkeypatch.setattr(transport.time, "sleep", sleep)
    monkeypatch.setattr(asyncio, "sleep", asleep)
    monkeypatch.setattr(transport.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(transport.random, "uniform", lambda low, high: high)
    return slept


def answering(answers):
    """What a service in trouble answers, in turn."""
    left = deque(answers)

    def answer(request):
        found = left.popleft()
        if isinstance(found, Exception):
            raise found
        status, headers, body = found
        return httpx2.Response(status, headers=headers, json=body)

    return httpx2.MockTransport(answer), left


def both(answers, clock, work, patience=300.0):
    """What becomes of it in both clients: the result or the error, and how long they slept."""
    place, found = ("http://127.0.0.1:9", "sp_x"), []

    def ended(work):
        try:
            return seen(work())
        except SurepickError as error:
            return seen(error)

    with sp.Client(*place, patience=patience) as client:
        own, (way, left) = client._transport, answering(answers)
        own._client = httpx2.Client(base_url=own.url, headers=own._headers, transport=way)
        found.append((ended(lambda: work(client)), clock.copy(), len(left)))
    clock.clear()

    async def main():
        async with sp.AsyncClient(*place, patience=patience) as client:
            way, left = answering(answers)
            client._transport._connection = lambda: way
            try:
                result = seen(await work(client))
            except SurepickError as error:
                result = seen(error)
            return result, clock.copy(), len(left)

    found.append(completed(main()))
    clock.clear()
    return found


@pytest.mark.parametrize("kind", TROUBLE)
def test_both_wait_and_give_up_alike(kind, clock):
    def work(client):
        study = RemoteStudy if isinstance(client, sp.Client) else AsyncStudy
        return study(client._transport, "one").tell(0, 1.0, "ann")

    one, other = both(TROUBLE[kind], clock, work)
    assert one == other
    result, slept, left = one
    assert slept == PAUSES.get(kind, [])
    assert not left
    refused = isinstance(result, tuple) and isinstance(result[0], type)
    assert refused == (TROUBLE[kind][-1] is not FINE)


def test_patience_ends_alike(clock):
    """Tries go on as long as a client has patience, with longer and longer pauses."""
    away = [httpx2.ConnectError("no")] * 50
    one, other = both(away, clock, lambda client: client.list_studies(), patience=30.0)
    assert one == other
    assert one[1][:8] == [0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5.0]
    assert 25.0 <= sum(one[1]) <= 35.0


def test_what_is_gone_at_the_second_try_was_removed_by_the_first(clock):
    for answers in (
        [httpx2.ReadTimeout("no"), (404, {}, _GONE)],
        [(404, {}, _GONE)],
        [(200, {}, {})],
    ):
        one, other = both(answers, clock, lambda client: client.delete_study("one"))
        assert one == other
        assert isinstance(one[0], tuple) == (len(answers) == 1 and answers[0][0] == 404)


def test_a_reward_is_told_as_long_as_its_lease_lasts(clock, caplog):
    """Longer than anything else is tried; what is waited for is said, and that it is over."""
    away = (503, {"Retry-After": "5"}, {"error": {"kind": "StorageError", "message": "no store"}})
    handed = {"id": 0, "arm": 0, "label": "a", "attempt": 1}
    pull = (200, {}, {"pulls": [handed], "finished": False})

    def work(client):
        study = RemoteStudy if isinstance(client, sp.Client) else AsyncStudy
        found = study(client._transport, "one")
        if isinstance(client, sp.Client):
            found.ask(worker="ann", lease=600.0)
            return found.tell(0, 1.0, "ann")

        async def both():
            await found.ask(worker="ann", lease=600.0)
            return await found.tell(0, 1.0, "ann")

        return both()

    for one in both([pull, *[away] * 80, FINE], clock, work, patience=60.0):
        result, slept, left = one
        assert "accepted" in str(result)
        assert sum(slept) == 80 * 6.25
        assert not left
    waits, over = caplog.messages[:2]
    assert waits == "waiting, and trying again for 594 s at most: no store"
    assert over == "it goes on, after 500 s"
    for one in both([pull, *[away] * 200, FINE], clock, work, patience=60.0):
        result, slept, left = one
        assert "no store" in str(result)
        assert 590 < sum(slept) <= 600
