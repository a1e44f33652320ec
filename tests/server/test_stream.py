"""A stream ends when the token that opened it does."""

import contextlib
import threading
import time
from dataclasses import replace

import httpx2
import pytest
from tests.server.hasty import hasty_service

from surepick.server.tokens import Tokens
from surepick.storage import open_storage


@pytest.fixture(scope="module")
def hasty():
    """With a heart that beats fifty times as fast: streams look at their token with it."""
    with hasty_service({"surepick.server.routes.stream._HEARTBEAT": 0.3}) as service:
        yield service


def made(http, name, **token):
    """A new study, and a token for it."""
    body = {"name": name, "problem": {"arms": [[1, 0], [0, 1]]}}
    http.post("/api/v1/studies", json=body).raise_for_status()
    return http.post("/api/v1/tokens", json={"role": "viewer", **token}).json()


def follow(service, token, name):
    """Read a stream in a thread: what came, and whether the service has ended it."""
    lines, ended, opened = [], threading.Event(), threading.Event()

    def read():
        place = f"/api/v1/studies/{name}/stream"
        with (
            contextlib.suppress(
                httpx2.HTTPError
            ),  # the end of the service is not that of the token
            service.http(token) as http,
            http.stream("GET", place) as stream,
        ):
            for line in stream.iter_lines():
                lines.append(line)
                opened.set()
            ended.set()

    threading.Thread(target=read, daemon=True).start()
    assert opened.wait(20)
    return lines, ended


def test_a_revoked_token_ends_its_streams(hasty):
    with hasty.http() as http:
        revoked, kept = made(http, "followed"), made(http, "followed too")
        _, ended = follow(hasty, revoked["token"], "followed")
        lines, other = follow(hasty, kept["token"], "followed")
        assert not ended.wait(1.5)  # several beats
        assert http.delete(f"/api/v1/tokens/{revoked['id']}").status_code == 204
        assert ended.wait(20)
        before = len(lines)
        time.sleep(1.5)
        assert not other.is_set()  # of somebody else's
        assert len(lines) > before


@pytest.mark.validation
def test_a_token_that_runs_out_ends_its_streams(hasty):
    with hasty.http() as http:
        short = made(http, "followed for a while", expires_in=2.0)
        _, ended = follow(hasty, short["token"], "followed for a while")
        assert ended.wait(20)


def test_a_token_that_is_there_but_has_expired_is_not_valid(tmp_path):
    with contextlib.closing(open_storage(f"sqlite:///{tmp_path}/tokens.db")) as storage:
        tokens = Tokens(storage)
        good, _ = tokens.make("viewer", expires_in=60.0)
        assert tokens.still_valid(good)
        assert not tokens.still_valid(replace(good, expires=time.time() - 1))
        tokens.revoke(good.id)
        assert not tokens.still_valid(good)
