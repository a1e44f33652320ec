"""Receivers of notices that drip, say nothing or refuse do not hold up the one that is well."""

import contextlib
import socket
import ssl
import threading
import time

import pytest
from tests.server.served import Served
from tests.server.test_processes import make_certificate

import surepick as sp
from surepick.errors import InvalidInputError, UnknownNameError
from surepick.server import outward
from surepick.server.outward import addresses_of, check_url
from surepick.server.webhooks import Webhooks

STUDIES = 3


class Receiver:
    """Listens on a port of its own; ``answer`` deals with one connection."""

    def __init__(self, answer):
        self.heard, self.held = [], []  # what came; when connections came, and ended
        self.news = threading.Condition()
        self._answer, self._listener = answer, socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}/hook"
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self):
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._hear, args=(connection,), daemon=True).start()

    def _hear(self, connection):
        came = time.monotonic()
        with connection, contextlib.suppress(OSError):
            head = b""
            while b"\r\n\r\n" not in head:
                head += connection.recv(65_536)
            with self.news:
                self.heard.append(head.decode())
                self.news.notify_all()
            self._answer(connection)
        with self.news:
            self.held.append(time.monotonic() - came)
            self.news.notify_all()

    def wait(self, holds, seconds=60):
        with self.news:
            assert self.news.wait_for(holds, seconds)

    def close(self):
        self._listener.close()


def drip(connection):
    """A byte of an answer, and another one, as long as anybody waits for it."""
    for byte in b"HTTP/1.1 204 No Content\r\nx-long: " + 10_000 * b"x":
        connection.sendall(bytes([byte]))
        time.sleep(0.1)


def say_nothing(connection):
    connection.settimeout(60)
    while connection.recv(65_536):
        pass


def refuse(connection):
    connection.sendall(b"HTTP/1.1 500 No\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")


def take(connection):
    connection.sendall(b"HTTP/1.1 204 Fine\r\nconnection: close\r\n\r\n")


@pytest.fixture
def receivers():
    found = {one.__name__: Receiver(one) for one in (drip, say_nothing, refuse, take)}
    yield found
    for one in found.values():
        one.close()


@pytest.fixture
def decided(tmp_path, receivers):
    """Where studies are kept that were decided, and the webhooks of one of them by receiver."""
    storage, hooks = f"sqlite:///{tmp_path}/studies.db", {}
    for number in range(STUDIES):
        problem = sp.Problem.unstructured(["a", "b"], noise=0.1)
        with sp.create_study(f"glue {number}", problem, storage=storage, seed=1) as study:
            webhooks, mine = Webhooks(study.storage), study.desk.record.id
            for name, one in receivers.items():
                hooks[name] = webhooks.add(mine, one.url, private=True)
            while not study.finished:
                for pull in study.ask(20, "ann"):
                    study.tell(pull.id, 5.0 * pull.arm, "ann")
    return storage, hooks


def test_the_one_that_is_well_gets_everything_while_others_wait(decided, receivers, tmp_path):
    storage, hooks = decided
    with Served(storage, tmp_path, "--notices", "0.2") as served:
        receivers["take"].wait(lambda: len(receivers["take"].heard) == STUDIES)
        for name in ("drip", "say_nothing"):
            receivers[name].wait(lambda name=name: len(receivers[name].heard) == STUDIES)
            assert receivers[name].held == []  # none of them is given up yet
        receivers["refuse"].wait(lambda: len(receivers["refuse"].heard) == STUDIES)
        served.stop()
        for name in ("drip", "say_nothing"):  # cut off long before they are given up
            receivers[name].wait(lambda name=name: len(receivers[name].held) == STUDIES)
            assert max(receivers[name].held) < outward._SECONDS
    with sp.load_study(f"glue {STUDIES - 1}", storage) as study:
        kept = {name: Webhooks(study.storage).deliveries(one.id) for name, one in hooks.items()}
    assert [bool(rows[0]["delivered"]) for rows in kept.values()] == [False, False, False, True]
    assert kept["refuse"][0]["error"] == "the answer was 500"


def test_one_that_drips_is_given_up_in_time(receivers, monkeypatch):
    monkeypatch.setattr(outward.send, "__defaults__", (0, 0.5))
    with pytest.raises(outward.ServiceError, match=r"has not answered within 0\.5 s"):
        outward.post(receivers["drip"].url, b"{}", {}, private=True)
    assert outward.post(receivers["take"].url, b"{}", {}, private=True).status == 204


def test_a_notice_that_waited_is_signed_when_it_is_sent(decided, receivers, monkeypatch):
    """With the time of this attempt: receivers refuse messages that seem old."""
    storage, _ = decided
    monkeypatch.setattr(outward.send, "__defaults__", (0, 0.5))
    with sp.load_study("glue 0", storage) as study:
        hooks = Webhooks(study.storage)
        hooks.look(now=1_000.0)
        hooks.send(now=1_000.0)
        assert hooks.send(now=2_000.0) == 0
    times = [one.lower().split("webhook-timestamp: ")[1] for one in receivers["refuse"].heard]
    assert sorted(one.split()[0] for one in times) == ["1000"] * STUDIES + ["2000"] * STUDIES


def test_a_removal_that_is_refused_removes_nothing(decided):
    storage, hooks = decided  # of the last study
    with sp.load_study("glue 0", storage) as study:
        webhooks, theirs = Webhooks(study.storage), hooks["take"]
        webhooks.look()
        assert webhooks.deliveries(theirs.id)
        with pytest.raises(UnknownNameError, match="no webhook of this study"):
            webhooks.remove(study.desk.record.id, theirs.id)
        assert webhooks.deliveries(theirs.id)
        webhooks.remove(theirs.study, theirs.id)
        assert not webhooks.deliveries(theirs.id)


def test_the_certificate_has_to_be_that_of_the_name(tmp_path, monkeypatch):
    """Although the connection goes to an address that was looked up before."""
    cert, key = make_certificate(tmp_path)
    monkeypatch.setattr(outward, "_trusted", lambda: ssl.create_default_context(cafile=cert))
    names, shows = [], ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    shows.load_cert_chain(cert, key)
    shows.sni_callback = lambda connection, name, context: names.append(name)

    def take_secretly(connection):
        with shows.wrap_socket(connection, server_side=True) as safe:
            while b"\r\n\r\n" not in safe.recv(65_536):
                pass
            take(safe)

    listener = socket.create_server(("127.0.0.1", 0))

    def listen():
        while True:
            with contextlib.suppress(OSError):
                take_secretly(listener.accept()[0])

    threading.Thread(target=listen, daemon=True).start()
    place = f"https://localhost:{listener.getsockname()[1]}/hook"
    assert outward.post(place, b"", {}, private=True).status == 204
    assert names == ["localhost"]
    monkeypatch.setattr(outward, "addresses_of", lambda host, port, private: ["127.0.0.1"])
    with pytest.raises(outward.ServiceError, match="certificate"):
        outward.post(place.replace("localhost", "a.example"), b"", {}, private=True)


# -- addresses -------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "host",
    [
        "::127.0.0.1", "::10.0.0.1", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::8.8.8.8",
        "2002:7f00:1::", "2002:a00:1::1", "2001:0:808:808::f5ff:fffe", "2001:0:7f00:1::f7f7:f7f7",
        "::ffff:127.0.0.1", "::ffff:a9fe:a9fe", "fec0::1", "fe80::1%1", "ff02::1", "::", "::1",
        "100::1", "2001:db8::1", "0x7f.1", "2130706433", "100.64.0.1", "198.18.0.1",
    ],
)  # fmt: skip
def test_private_addresses_in_any_dress_are_private(host):
    with pytest.raises(InvalidInputError, match="private network"):
        addresses_of(host, 443, private=False)


@pytest.mark.parametrize(
    "host", ["8.8.8.8", "2606:4700::1111", "64:ff9b::808:808", "2002:808:808::1", "::ffff:8.8.8.8"]
)
def test_public_ones_are_public(host):
    assert addresses_of(host, 443, private=False)


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("https://a.example:99999/", "out of range"),
        ("https://a.example:0/", "between 1 and 65535"),
        ("https://a.example:x/", "no address"),
        ("https://[::1/", "no address"),
        ("https://a..example/", "no name of a host"),
        ("https://a.example/\n", "no spaces"),
        ("https://a.example/ b", "no spaces"),
    ],
)
def test_what_is_no_address_is_a_clear_error(url, says):
    with pytest.raises(InvalidInputError, match=says):
        check_url(url, private=False)
