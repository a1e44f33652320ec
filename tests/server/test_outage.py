"""A database that is away looks like an outage: 503 and when to come back, and never 401."""

import contextlib
import re
import shutil
import threading
import time

import httpx2
import pytest
from tests.postgres import fast_folder
from tests.server.hasty import hasty_service
from tests.server.served import Served
from tests.server.test_routes import at

HASTY = {"surepick.storage.sql.storage._TRIES": 1, "surepick.server.routes.stream._HEARTBEAT": 0.3}
BODY = {"problem": {"arms": [[1, 0], [0, 1]]}}


def follow(service, token, name):
    """What a stream brings, and whether it was ended."""
    lines, ended, begun = [], threading.Event(), threading.Event()

    def read():
        with (
            contextlib.suppress(httpx2.HTTPError),
            service.http(token) as http,
            http.stream("GET", at(name, "/stream")) as stream,
        ):
            for line in stream.iter_lines():
                lines.append(line)
                begun.set()
        ended.set()

    threading.Thread(target=read, daemon=True).start()
    assert begun.wait(60)
    return lines, ended


def until(holds, seconds=60):
    end = time.monotonic() + seconds
    while not (found := holds()):
        assert time.monotonic() < end
        time.sleep(0.05)
    return found


def refused_for_now(reply):
    assert reply.status_code == 503, reply.text
    assert int(reply.headers["Retry-After"]) >= 1
    assert "postgres" not in reply.text
    return True


@pytest.fixture(scope="module")
def served(postgres):
    """A service on PostgreSQL that tries but once, with a study "s" that is paused: asks wait."""
    with hasty_service(HASTY, storage=postgres.url()) as service, service.http() as http:
        http.post("/api/v1/studies", json=BODY | {"name": "s"}).raise_for_status()
        http.post(at("s", "/ask"), json={"worker": "all"}).raise_for_status()
        http.post(at("s", "/acts/pause"), json={}).raise_for_status()
        yield service


def test_who_waits_is_told_to_come_back_and_streams_go_on(served, postgres):
    with served.http() as http:
        made = http.post("/api/v1/tokens", json={"role": "worker", "studies": ["s"]}).json()
        watcher = http.post("/api/v1/tokens", json={"role": "viewer"}).json()
        lines, ended = follow(served, watcher["token"], "s")
        answers = []

        def wait_for_work():
            with served.http(made["token"]) as worker:
                body = {"worker": "late", "wait": 30}
                answers.append(worker.post(at("s", "/ask"), json=body))

        waiting = threading.Thread(target=wait_for_work)
        waiting.start()
        asking = "\nsurepick_asks_waiting 1.0"
        until(lambda: asking in http.get("/metrics").text or time.sleep(0.5))
        postgres.stop("immediate")
        try:
            waiting.join(60)
            assert refused_for_now(answers[0])
            for path in ("/progress", "", "/history"):
                refused_for_now(http.get(at("s", path)))
            refused_for_now(
                httpx2.get(served.url + at("s"), headers={"Authorization": "Bearer no"})
            )
            assert not ended.wait(1.0)  # several looks at the token
        finally:
            postgres.start()
        until(lambda: http.get(at("s", "/progress")).status_code == 200)
        lines.clear()
        body = {"rewards": [{"pull": 0, "reward": 1.0}], "worker": "all"}
        http.post(at("s", "/tell"), json=body).raise_for_status()
        until(lambda: any('"samples": 1' in line for line in lines))
        assert not ended.is_set()
        http.delete(f"/api/v1/tokens/{watcher['id']}").raise_for_status()
        assert ended.wait(60)


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.validation)])
def test_a_service_that_is_started_meanwhile_recovers_by_itself(postgres, workers):
    """It answers 503, and shows its first admin token once the database is back."""
    database, folder = postgres.url(), fast_folder("sp-away-")
    postgres.stop("immediate")
    try:
        with Served(database, folder, "--workers", workers, token="not yet") as service:
            with service.http("no") as http:
                assert http.get("/health").status_code == 200
                refused_for_now(http.get("/api/v1/studies"))
            assert "sp_" not in service.said.read_text()
            postgres.start()
            (token,) = until(lambda: re.findall(r"sp_\S+", service.said.read_text()))
            with service.http(token) as http:
                until(lambda: http.get("/api/v1/studies").status_code == 200)
                http.post("/api/v1/studies", json=BODY | {"name": "after"}).raise_for_status()
    finally:
        with contextlib.suppress(RuntimeError):  # it is there again already
            postgres.start()
        shutil.rmtree(folder)


def test_a_helper_that_is_started_meanwhile_recovers_by_itself(served, postgres):
    """What needs one is refused as the rest is, not as too large; and nothing counts as broken."""
    with served.http() as http:
        postgres.stop("immediate")
        try:
            refused_for_now(http.post("/api/v1/studies", json=BODY | {"name": "meanwhile"}))
            refused_for_now(http.get("/api/v1/studies"))
        finally:
            postgres.start()
        until(lambda: http.get(at("s", "/progress")).status_code == 200)
        made = http.post("/api/v1/studies", json=BODY | {"name": "meanwhile"})
        assert made.status_code == 201, made.text
        rows = http.get("/api/v1/studies").json()["studies"]
        assert [row["broken"] for row in rows] == [None, None]
