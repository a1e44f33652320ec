"""What somebody without a token can do to the others: nothing."""

import contextlib
import json
import socket
import sqlite3
import time

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.server.hasty import hasty_service
from tests.server.served import Served

from surepick.server import bodies, quotas

MOST = 20  # connections of one address


@pytest.fixture(scope="module")
def hasty():
    places = ("connections._HEAD_SECONDS", "bodies._STRANGERS_SECONDS")
    changes = {f"surepick.server.{place}": 1.5 for place in places}
    with hasty_service(changes, "--max-connections", str(MOST)) as service:
        yield service


def connected(service, content=b""):
    one = socket.create_connection(("127.0.0.1", service.port), 20)
    one.sendall(content)
    return one


def all_of(connection):
    answer = b""
    while part := connection.recv(65536):
        answer += part
    return answer


def reply(connection):
    """One answer: all of them end with a brace."""
    answer = b""
    while not answer.endswith(b"}"):
        part = connection.recv(65536)
        assert part, answer
        answer += part
    return answer


def ended(connection):
    """Whether the other end closes the connection, without waiting for more to be sent."""
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True


def warnings(service):
    lines = [json.loads(line) for line in service.log.read_text().splitlines()]
    return [line["message"] for line in lines if line["level"] == "warning"]


# -- bodies ---------------------------------------------------------------------------------
def test_logging_in_takes_a_small_body_only(service):
    """However large it is said to be, and whatever it is made of."""
    for content in (b"[" * 2**20, b" " * 5000):
        found = httpx2.post(f"{service.url}/api/v1/session", content=content)
        assert (found.status_code, "4096 bytes" in found.text) == (413, True)


def test_workers_send_small_bodies_only(http, study):
    found = http.post(f"/api/v1/studies/{study}/tell", content=b" " * (2**20 + 1))
    assert found.status_code == 413


def test_a_body_that_does_not_come_is_not_waited_for(hasty):
    head = b"POST /api/v1/session HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{"
    with connected(hasty, head) as half:
        assert b"arrived too slowly" in reply(half)


def test_slow_bodies_do_not_fill_the_memory(service, http, study):
    """One token may send four of the largest bodies at a time; what is small always passes."""
    head = "POST /api/v1/tables HTTP/1.1\r\nHost: localhost\r\n"
    head += f"Authorization: Bearer {service.token}"
    whole = f"{head}\r\nContent-Length: {16 * 2**20}\r\n\r\n{{".encode()
    parts = f"{head}\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{{\r\n".encode()
    with contextlib.ExitStack() as stack:
        for sent in (whole, parts, whole, parts):
            stack.enter_context(connected(service, sent))
        time.sleep(0.5)
        refused = http.post("/api/v1/tables", content=b" " * 2**20)
        assert (refused.status_code, "being sent" in refused.text) == (429, True)
        ask = http.post(f"/api/v1/studies/{study}/ask", json={})
        assert ask.status_code == 200
    wait_for_room = 100
    while http.post("/api/v1/tables", content=b" " * 2**20).status_code == 429:
        wait_for_room -= 1
        assert wait_for_room
        time.sleep(0.1)


pieces = st.sampled_from(["[", "]", "{", "}", ",", "1"])
texts = st.text(alphabet='[]{}"\\a', max_size=8).map(json.dumps)


@given(st.lists(pieces | texts, max_size=30), st.integers(1, 9))
def test_depth_is_counted_as_a_reader_does(content, part):
    """Cut anywhere, with brackets, quotes and backslashes in texts."""
    steps = [{"[": 1, "{": 1, "]": -1, "}": -1}.get(piece, 0) for piece in content]
    deepest = max((sum(steps[:i]) for i in range(len(steps) + 1)), default=0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bodies, "_PART", part)
        for most in (1, 2, 3):
            assert bodies.too_deep("".join(content).encode(), most) == (deepest > most)


# -- connections ----------------------------------------------------------------------------
def test_half_sent_heads_shut_nobody_out(hasty):
    """One address has so many connections; those without a request are closed; the log says so."""
    half = b"GET /health HTTP/1.1\r\nHost: localhost\r\nX-Slow: "
    with contextlib.ExitStack() as stack:
        open_ones = [stack.enter_context(connected(hasty, half)) for _ in range(MOST)]
        with connected(hasty, b"") as refused:
            assert all_of(refused).startswith(b"HTTP/1.1 429 ")
        assert all(ended(one) for one in open_ones)
    assert httpx2.get(f"{hasty.url}/health").status_code == 200
    assert any("127.0.0.1" in text and "no request comes" in text for text in warnings(hasty))


@pytest.mark.some(1)
@pytest.mark.parametrize("sent", [b"", b"G"])
def test_connections_that_say_nothing_are_closed(hasty, sent):
    with connected(hasty, sent) as silent:
        assert ended(silent)


def sent_until_refused(connection, parts, pause):
    """How many of the parts could be sent before the other end closed the connection."""
    sent = 0
    with contextlib.suppress(ConnectionError):
        for part in parts:
            connection.sendall(part)
            sent += 1
            time.sleep(pause)
    return sent


def test_a_head_that_comes_byte_by_byte_takes_no_longer(hasty):
    with connected(hasty, b"GET /health HTTP/1.1\r\n") as slow:
        assert sent_until_refused(slow, [b"A"] * 1000, 0.02) < 1000


def test_an_endless_head_is_not_kept(hasty):
    with connected(hasty, b"GET /health HTTP/1.1\r\nX-Long: ") as long:
        assert sent_until_refused(long, [b"a" * 4096] * 100, 0.002) < 100


def test_a_slow_but_honest_caller_is_served(hasty):
    """Requests one after the other over one connection, with pauses, some in two pieces.

    Together they take longer than one of them may.
    """
    with connected(hasty) as calm:
        for cut in (1, 20, 30):
            request = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
            calm.sendall(request[:cut])
            time.sleep(0.3)
            calm.sendall(request[cut:])
            assert reply(calm).startswith(b"HTTP/1.1 200 ")
            time.sleep(0.3)


# -- guesses, and names ---------------------------------------------------------------------
@pytest.mark.validation
def test_guesses_are_limited_before_the_database_is_asked(database_folder):
    """While somebody else has the database for himself, guesses are still refused at once."""
    file = database_folder / "s.db"
    limits = ("--stranger-rate", "0.001")  # ten at once, then no more
    with Served(f"sqlite:///{file}", database_folder, *limits) as served:
        with served.http("sp_wrong") as guesser:
            found = [guesser.get("/api/v1/studies").status_code for _ in range(11)]
            assert found == [401] * 10 + [429]  # which takes a second
        with served.http() as owner:  # from the same address, with a good token
            assert owner.get("/api/v1/studies").status_code == 429  # never seen here before
        with sqlite3.connect(file) as other:
            other.execute("BEGIN EXCLUSIVE")
            for i in range(2):
                found = httpx2.get(
                    f"{served.url}/api/v1/studies",
                    headers={"Authorization": f"Bearer sp_{i}"},
                    timeout=10,
                )
                assert found.status_code == 429


@pytest.mark.validation
def test_a_good_token_is_not_held_up_by_guesses_from_its_address(database_folder):
    limits = ("--stranger-rate", "0.001")
    with (
        Served(f"sqlite:///{database_folder}/s.db", database_folder, *limits) as served,
        served.http() as owner,
        served.http("sp_wrong") as guesser,
    ):
        assert owner.get("/api/v1/studies").status_code == 200
        while guesser.get("/api/v1/studies").status_code == 401:
            pass
        time.sleep(2.5)  # the service has to look the token up again
        assert owner.get("/api/v1/studies").status_code == 200


def test_two_host_headers_are_refused(service):
    for hosts in (
        b"Host: localhost\r\nHost: evil.example",
        b"Host: evil.example\r\nHost: localhost",
    ):
        with connected(
            service, b"GET / HTTP/1.1\r\n" + hosts + b"\r\nConnection: close\r\n\r\n"
        ) as raw:
            assert all_of(raw).startswith(b"HTTP/1.1 400 ")


def test_addresses_of_one_network_count_as_one():
    same = quotas.neighbourhood("2001:db8:1:2:3::4"), quotas.neighbourhood("2001:db8:1:2:ffff::1")
    assert same[0] == same[1] != quotas.neighbourhood("2001:db8:1:3::1")
    assert quotas.neighbourhood("::ffff:192.0.2.1") == quotas.neighbourhood("192.0.2.1")


def test_a_character_that_no_database_keeps_is_named_wherever_it_stands(http, study):
    at = f"/api/v1/studies/{study}"
    body = {"csv": "name,price\na\u0000,1\nb,2\n"}
    made = http.post("/api/v1/studies", json={"name": "x", "table": body})
    assert made.status_code == 422
    assert "body.table.csv must not have the character U+0000" in made.json()["error"]["message"]
    for address, where in ((f"{at}%00/status", "path"), (f"{at}/status?x=%00", "x")):
        found = http.get(address)
        assert found.status_code == 422
        assert f"{where} must not have the character U+0000" in found.json()["error"]["message"]
    asked = http.post(f"{at}/ask", json={"worker": "w"}).json()["pulls"][0]["id"]
    failed = http.post(f"{at}/fail", json={"pull": asked, "reason": "\u202e", "worker": "w"})
    assert failed.status_code == 422
