"""What errors of the usual libraries say about trying again: as these libraries make them."""

import email.utils
import io
import json
import time
import urllib.error

import httpx2
import pytest

from surepick.calls.faults import Fault, InARow, fault_of, of_command

REQUEST = httpx2.Request("GET", "http://127.0.0.1:1/")


def of_httpx(status, **headers):
    response = httpx2.Response(status, headers=headers, request=REQUEST)
    return httpx2.HTTPStatusError("no", request=REQUEST, response=response)


def like(name, bases=(Exception,), **parts):
    """An error as other libraries have it: known by its name and its parts."""
    return type(name, bases, parts)("no")


class Response:
    """As requests and aiohttp have them."""

    def __init__(self, status, headers=None):
        self.status_code, self.headers = status, headers or {}


NINE = Response(429, {"retry-after": "9"})
FIVE = {"HTTPStatusCode": 429, "HTTPHeaders": {"retry-after": "5"}}


@pytest.mark.parametrize(
    ("error", "kind", "after"),
    [
        (of_httpx(429), "refused", None),
        (of_httpx(429, **{"retry-after": "7"}), "refused", 7.0),
        (of_httpx(429, **{"retry-after-ms": "250", "retry-after": "1"}), "refused", 0.25),
        (of_httpx(503, **{"Retry-After": "3"}), "refused", 3.0),
        (of_httpx(503), "passing", None),
        (of_httpx(529), "passing", None),
        (of_httpx(408), "passing", None),
        (of_httpx(400), "final", None),
        (of_httpx(422), "final", None),
        (of_httpx(401), "broken", None),
        (of_httpx(403), "broken", None),
        (of_httpx(404), "broken", None),
        (httpx2.ConnectError("no"), "passing", None),
        (httpx2.ReadTimeout("no"), "passing", None),
        (httpx2.UnsupportedProtocol("no"), "broken", None),
        (urllib.error.HTTPError("u", 429, "m", {"Retry-After": "2"}, io.BytesIO()), "refused", 2.0),
        (urllib.error.URLError("no"), "passing", None),
        # openai, anthropic: the status stands on the error
        (like("RateLimitError", status_code=429, response=NINE), "refused", 9.0),
        (like("RateLimitError", status_code=429, code="insufficient_quota"), "broken", None),
        (like("APIConnectionError"), "passing", None),
        (like("APITimeoutError"), "passing", None),
        (like("InternalServerError", status_code=500), "passing", None),
        (like("AuthenticationError", status_code=401), "broken", None),
        # requests
        (like("HTTPError", (OSError,), response=Response(502)), "passing", None),
        (like("ConnectionError", (OSError,)), "passing", None),
        # aiohttp: status and headers on the error
        (like("ClientResponseError", status=429, headers={"Retry-After": "4"}), "refused", 4.0),
        # botocore
        (like("ClientError", response={"ResponseMetadata": FIVE}), "refused", 5.0),
        (like("MyOwn", retry_after=12), "refused", 12.0),
        # it was made, and its answer may have been a bad one
        (like("MyOwn", (TimeoutError,), retry_after=12), "passing", 12.0),
        (TimeoutError(), "passing", None),
        (ConnectionResetError(), "passing", None),
        (TypeError("f() missing 1 argument"), "final", None),
        (NameError("x"), "final", None),
        (ImportError("x"), "final", None),
        (ValueError("could not convert"), "final", None),
        (json.JSONDecodeError("no", "{", 0), "final", None),
        (RuntimeError("dark"), "unknown", None),
        (KeyError("choices"), "unknown", None),
        (OSError("the disk is full"), "unknown", None),
    ],
)  # fmt: skip
def test_kinds_of_errors(error, kind, after):
    found = fault_of(error)
    assert (found.kind, found.after) == (kind, after)
    assert bool(found.cure) == (kind in ("broken", "final"))
    assert found.again == (kind in ("refused", "passing", "unknown"))


def test_what_an_error_was_raised_from_counts():
    outer = RuntimeError("no grade")
    outer.__cause__ = of_httpx(429, **{"retry-after": "6"})
    assert fault_of(outer) == Fault("refused", 6.0)


def test_when_to_come_back_may_be_a_date():
    soon = email.utils.formatdate(time.time() + 100, usegmt=True)
    assert fault_of(of_httpx(429, **{"Retry-After": soon})).after == pytest.approx(100, abs=5)
    past = email.utils.formatdate(time.time() - 100, usegmt=True)
    assert fault_of(of_httpx(429, **{"Retry-After": past})).after == 0.0
    assert fault_of(of_httpx(429, **{"Retry-After": "soon"})).after is None


@pytest.mark.parametrize(
    ("code", "said", "kind", "after"),
    [
        (22, "curl: (22) The requested URL returned error: 429", "refused", None),
        (1, "HTTP/1.1 429 Too Many Requests; Retry-After: 8", "refused", 8.0),
        (1, "busy\nRetry-After: 2.5\n\n", "refused", 2.5),
        (1, "request failed with status code 503", "passing", None),
        (1, "HTTP 401: no such key", "broken", None),
        (75, "later", "passing", None),
        (1, "no power", "unknown", None),
        (1, "measured 429 volts", "unknown", None),
        (1, "", "unknown", None),
    ],
)
def test_what_commands_say(code, said, kind, after):
    found = of_command(code, said)
    assert (found.kind, found.after) == (kind, after)


def test_something_else_has_to_work_after_a_failure():
    row = InARow()
    row.failed("a")
    first = row.moment
    assert not row.ever
    assert not row.worked_since(first)
    row.worked()
    assert row.worked_since(first)
    for cell in "bbbcd":
        row.failed(cell)
        assert not row.worked_since(row.moment)
    assert (row.count, row.different, row.ever) == (5, 3, True)
    row.worked()
    assert (row.count, row.different) == (0, 0)
