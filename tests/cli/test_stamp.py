"""Time stamps by the command: asked for, kept, and checked without a network."""

import datetime
import json
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from tests.authority import OPENSSL, Authority

import surepick as sp

pytest.importorskip("rfc3161_client")  # of the extra "timestamp"
pytestmark = pytest.mark.skipif(OPENSSL is None, reason="the authority is openssl's")


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("clock") / "it")


@pytest.fixture
def certificate(folder):
    answer = sp.identify(sp.Problem([[1.0], [2.0]]), lambda arm: float(arm))
    (folder / "c.json").write_text(json.dumps(answer.certificate()))
    return folder / "c.json"


@pytest.fixture
def clock(authority):
    """The authority, where it takes queries; other paths answer otherwise."""

    class Clock(BaseHTTPRequestHandler):
        def do_POST(self):
            query = self.rfile.read(int(self.headers["content-length"]))
            assert self.headers["content-type"] == "application/timestamp-query"
            replies = {"/late": authority.stamp, "/empty": lambda query: b"", "/long": _long}
            reply = replies.get(self.path, authority.stamp)(query)
            self.send_response(503 if self.path == "/late" else 200)
            self.send_header("content-length", str(len(reply)))
            self.end_headers()
            self.wfile.write(reply)

        def log_message(self, *said):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Clock)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def _long(query):
    return b"0" * 200_000


def test_the_command_stamps_and_verifies(surepick, certificate, clock, authority, tmp_path):
    root, other = authority.folder / "root.pem", Authority(tmp_path / "other").folder / "root.pem"
    code, out, err = surepick("stamp", "c.json", "--by", clock, "--private")
    assert (code, err) == (0, "")
    assert "surepick verify c.json --stamped c.json.tsr --authority ROOT.pem" in out
    stamped = ("verify", "c.json", "--stamped", "c.json.tsr")
    code, out, _ = surepick(*stamped, "--authority", root)
    assert code == 0
    assert "This file was there at 2" in out
    found = json.loads(surepick(*stamped, "--authority", root, "--json")[1])
    assert found["holds"]
    assert datetime.datetime.fromisoformat(found["stamped"]).utcoffset() == datetime.timedelta(0)
    assert surepick(*stamped, "--authority", other)[0] == 1
    assert surepick(*stamped)[0] == 2
    certificate.write_text(certificate.read_text() + " ")
    code, out, err = surepick(*stamped, "--authority", root)
    assert (code, out) == (1, "")
    assert "it is about another file, or another version" in err


def test_what_is_no_answer_leaves_no_stamp(surepick, certificate, clock):
    with socket.socket() as unheard:
        unheard.bind(("127.0.0.1", 0))
        nobody = f"http://127.0.0.1:{unheard.getsockname()[1]}"
        for url, ends in ((f"{clock}/late", 3), (f"{clock}/empty", 2), (f"{clock}/long", 3),
                          (nobody, 3)):  # fmt: skip
            code, out, err = surepick("stamp", "c.json", "--by", url, "--private")
            assert (code, out) == (ends, ""), url
            assert err.startswith("error: ")
    for url in (clock, clock.replace("http", "https"), "https://169.254.169.254/"):
        code, _, err = surepick("stamp", "c.json", "--by", url)
        assert code == 2
        assert "private network" in err
    assert not certificate.with_name("c.json.tsr").exists()
