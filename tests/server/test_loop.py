"""No request holds up the others: what takes more than a few milliseconds is done elsewhere."""

import http.client
import json

import numpy as np
import pytest
from tests.server import fuzz
from tests.server.test_routes import at
from tests.server.watched import watched_service

# It takes long until a service is watched.
pytestmark = pytest.mark.validation

MOST = 0.05  # seconds
JSON = {"Content-Type": "application/json"}


@pytest.fixture(scope="module")
def watched():
    """A service with a study of a table, one of traffic, and tokens of workers."""
    with watched_service() as (service, longest), service.http() as api:
        table = "label,size\n" + "".join(f"o{i},{i}\n" for i in range(400))
        body = {
            "name": "wide",
            "table": {"csv": table, "unstructured": True},
            "noise": 1.0,
            "settings": {"min_batch": 4000},
        }
        _made(api.post("/api/v1/studies", json=body))
        site = {"name": "site", "table": {"csv": table, "unstructured": True}}
        site |= {"traffic": True, "noise": "yes-no"}
        _made(api.post("/api/v1/studies", json=site))
        worker = _made(
            api.post("/api/v1/tokens", json={"role": "worker", "studies": ["wide", "site"]})
        )["token"]
        _made(api.post(at("site", "/split"), json={"period": "p"}))
        _made(api.post(at("wide", "/ask"), json={}))  # what is loaded at first is loaded
        yield service, worker, longest


def _made(reply):
    assert reply.status_code < 300, reply.text
    return reply.json()


@pytest.mark.parametrize("kind", ["report", "table"])
def test_a_report_of_16_megabytes(watched, kind):
    service, worker, longest = watched
    cells = {f"o{i % 400} {i}": [1, 0] for i in range(500_000)}
    body = {"period": "p", "report": cells}
    if kind == "table":
        table = "label,visits,successes\n" + "o1,1,0\n" * 10**6
        body = {"period": "p", "table": {"csv": table}}
    content = json.dumps(body).encode()
    assert 5e6 < len(content) < 16 * 2**20
    with service.http(worker) as api:
        longest()
        reply = api.post(at("site", "/acts/record"), content=content, headers=JSON)
    assert reply.status_code == 422, reply.text
    assert longest() < MOST


def test_a_report_too_long_for_the_loop_is_recorded_like_any_other(watched):
    service, worker, _ = watched
    with service.http(worker) as api:
        shares = _made(api.post(at("site", "/split"), json={"visits": 40_000}))["visits"]
        rows = "".join(f"{label},{n},{n // 50}\n" for label, n in shares.items() if n)
        table = {"csv": "label,visits,successes\n" + rows + "\n" * 70_000}
        done = _made(api.post(at("site", "/acts/record"), json={"period": "p", "table": table}))
        again = {"csv": "label,visits,successes\n" + rows}
        same = _made(api.post(at("site", "/acts/record"), json={"period": "p", "table": again}))
    assert done["visits"] == 40_000
    assert (done["status"], same["status"]) == ("accepted", "duplicate")


def test_a_body_that_is_wrong_is_refused_in_the_same_words_whatever_its_size(watched):
    service, worker, _ = watched
    with service.http(worker) as api:
        said = [
            api.post(at("site", "/acts/record"), json={"period": 7, "report": {"a" * n: [1, 0]}})
            for n in (1, 100_000)
        ]
    assert [one.status_code for one in said] == [422, 422]
    assert said[0].json() == said[1].json()


def test_large_bodies_where_none_belong(watched):
    service, worker, longest = watched
    with service.http(worker) as api:
        longest()
        for verb in ("ask", "fail"):
            assert api.post(at("wide", f"/{verb}"), content=b"[" * 2**20).status_code == 413
        assert longest() < MOST


def test_a_thousand_pulls_at_once(watched):
    service, worker, longest = watched
    with service.http(worker) as api:
        longest()
        pulls = _made(api.post(at("wide", "/ask"), json={"n": 1000, "worker": "w"}))["pulls"]
        assert longest() < MOST
    assert len(pulls) == 1000
    assert all(int(pull["features"]["size"]) == pull["arm"] for pull in pulls)


def test_ten_thousand_rewards_that_do_not_count(watched):
    """They take long, but nobody else notices, and after them the sender has to wait."""
    service, worker, longest = watched
    with service.http(worker) as api:
        rewards = [{"pull": 0, "reward": float(i)} for i in range(10_000)]  # of another worker
        longest()
        first = api.post(at("wide", "/tell"), json={"rewards": rewards})
        assert first.status_code == 409
        assert longest() < MOST
        second = api.post(at("wide", "/tell"), json={"rewards": rewards})
        assert second.status_code == 429
        assert int(second.headers["Retry-After"]) > 1


def test_who_has_told_too_much_in_vain_is_not_read_at_all(watched):
    """Not even what is wrong with it is looked for."""
    service, _, longest = watched
    with service.http(_another(service)) as api:
        unknown = [{"pull": 10**9 + i, "reward": 0.5} for i in range(5_000)]
        assert api.post(at("wide", "/tell"), json={"rewards": unknown}).status_code == 404
        longest()
        for body in (json.dumps({"rewards": unknown}), "[" * 10**6, "{}"):
            reply = api.post(at("wide", "/tell"), content=body, headers=JSON)
            assert reply.status_code == 429, reply.text
            assert "did not count" in reply.json()["error"]["message"]
        assert longest() < MOST


def test_rewards_too_many_for_the_loop_are_recorded_like_any_others(watched):
    service, _, _ = watched
    with service.http(_another(service)) as api:
        pulls = _made(api.post(at("wide", "/ask"), json={"n": 20, "worker": "bulk"}))["pulls"]
        rewards = [{"pull": one["id"], "reward": 0.1} for one in pulls]
        empty = " " * 70_000
        first = _told(api, {"rewards": rewards[:10], "worker": "bulk"}, empty)
        again = _told(api, {"rewards": rewards, "worker": "bulk"}, empty)
        small = _told(api, {"rewards": rewards, "worker": "bulk"}, "")
        assert [one["status"] for one in first["told"]] == ["accepted"] * 10
        assert [one["status"] for one in again["told"]] == ["duplicate"] * 10 + ["accepted"] * 10
        assert [one["value"] for one in small["told"]] == [0.1] * 20
        wrong = [
            api.post(at("wide", "/tell"), content=json.dumps(body) + after, headers=JSON)
            for body in ({"rewards": [{"pull": "x"}]}, {"rewards": rewards, "strict": "x"})
            for after in ("", empty)
        ]
    assert {one.status_code for one in wrong} == {422}
    assert wrong[0].json() == wrong[1].json()
    assert wrong[2].json() == wrong[3].json()


def _another(service):
    """The token of another worker, who owes nothing."""
    with service.http() as admin:
        wanted = {"role": "worker", "studies": ["wide"]}
        return _made(admin.post("/api/v1/tokens", json=wanted))["token"]


def _told(api, body, after):
    return _made(api.post(at("wide", "/tell"), content=json.dumps(body) + after, headers=JSON))


def test_pulls_that_run_out_at_once(watched):
    service, worker, _ = watched
    with service.http(worker) as api:
        reply = api.post(at("wide", "/ask"), json={"n": 10_000, "lease": 0.001})
        assert reply.status_code == 422
        assert "millisecond" in reply.json()["error"]["message"]


@pytest.mark.parametrize("much", ["path", "headers"])
def test_heads_that_are_work_to_read(watched, much):
    service, worker, longest = watched
    longest()
    for _ in range(20):
        line = http.client.HTTPConnection("127.0.0.1", service.port, timeout=60)
        path = "/api/v1/studies/" + ("%2f" * 15_000 if much == "path" else "x")
        line.putrequest("GET", path)
        line.putheader("Authorization", f"Bearer {worker}")
        for i in range(6000 if much == "headers" else 0):
            line.putheader(f"x{i}", "1")
        line.endheaders()
        assert line.getresponse().status == (414 if much == "path" else 431)
        line.close()
    assert longest() < MOST


def test_the_fuzzer_holds_up_nobody(watched):
    service, _, longest = watched
    operations = fuzz.operations(service)
    rng = np.random.default_rng(0)
    longest()
    for name in rng.choice(sorted(operations), 6, replace=False):
        fuzz.fuzz(service, operations[name], 3, "valid")
    assert longest() < MOST
