"""Notices that a receiver, a process of its own, gets: signed, once, again where it failed."""

import asyncio
import base64
import dataclasses
import hashlib
import hmac
import json
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.server.served import Served, free_port
from tests.study.traffic import site

import surepick as sp
from surepick.errors import InvalidInputError, UnknownNameError
from surepick.server import webhooks
from surepick.server.outward import addresses_of
from surepick.server.webhooks import Webhooks
from surepick.study.notices import PATIENCE, notices

RECEIVER = """
import http.server, json, sys
port, folder, refusals = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])

class Receiver(http.server.BaseHTTPRequestHandler):
    heard = 0

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        Receiver.heard += 1
        refused = Receiver.heard <= refusals
        with open(f"{folder}/heard.jsonl", "a") as file:
            row = {"body": body.decode(), "headers": dict(self.headers), "refused": refused}
            file.write(json.dumps(row) + "\\n")
        self.send_response(503 if refused else 204)
        self.end_headers()

    def log_message(self, *words):
        pass

http.server.ThreadingHTTPServer(("127.0.0.1", port), Receiver).serve_forever()
"""


class Heard:
    def __init__(self, folder, refusals=0):
        self.port, self.folder = free_port(), Path(folder)
        self.url = f"http://127.0.0.1:{self.port}/hook?key=of-a-chat"
        words = [sys.executable, "-c", RECEIVER, str(self.port), str(folder), str(refusals)]
        self.process = subprocess.Popen(words)
        for _ in range(200):
            if self._listens():
                return
            time.sleep(0.05)
        raise RuntimeError("the receiver does not start")

    def _listens(self):
        with socket.socket() as one:
            return one.connect_ex(("127.0.0.1", self.port)) == 0

    def all(self):
        file = self.folder / "heard.jsonl"
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []

    def end(self):
        self.process.terminate()
        self.process.wait()


@pytest.fixture
def receiver(tmp_path, request):
    found = Heard(tmp_path, getattr(request, "param", 0))
    yield found
    found.end()


@pytest.fixture
def study(tmp_path):
    storage = f"sqlite:///{tmp_path}/studies.db"
    problem = sp.Problem.unstructured(["a", "b"], noise=0.1)
    with sp.create_study("glue", problem, storage=storage, seed=1) as made:
        yield made


def decide(study):
    while not study.finished:
        for pull in study.ask(20, "ann"):
            study.tell(pull.id, 5.0 * pull.arm, "ann")


def hook_of(study, receiver, *kinds):
    hooks = Webhooks(study.storage)
    made = hooks.add(study.desk.record.id, receiver.url, kinds, private=True)
    return hooks, made


def test_a_decided_study_is_told_once_signed_and_in_words(study, receiver):
    hooks, made = hook_of(study, receiver)
    assert (hooks.look(), hooks.send()) == (0, 0)
    decide(study)
    assert (hooks.look(), hooks.send()) == (1, 1)
    another = Webhooks(study.storage)  # another process
    assert (hooks.look(), another.look(), hooks.send(), another.send()) == (0, 0, 0, 0)
    (heard,) = receiver.all()
    body, headers = json.loads(heard["body"]), {k.lower(): v for k, v in heard["headers"].items()}
    assert body["type"] == "study.decided"
    assert body["text"].startswith("glue: decided after ")
    assert "at most 5 name a wrong option" in body["text"]
    assert body["data"]["answer"] == ["b"]
    key = base64.b64decode(made.secret.removeprefix("whsec_"))
    content = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.{heard['body']}"
    digest = hmac.new(key, content.encode(), hashlib.sha256).digest()
    assert headers["webhook-signature"] == f"v1,{base64.b64encode(digest).decode()}"
    assert abs(float(headers["webhook-timestamp"]) - time.time()) < 60
    assert headers["host"] == f"127.0.0.1:{receiver.port}"


@pytest.mark.parametrize("receiver", [2], indirect=True)
def test_what_is_refused_is_sent_again_later_under_the_same_number(study, receiver):
    hooks, made = hook_of(study, receiver)
    decide(study)
    now = time.time()
    assert (hooks.look(now), hooks.send(now=now)) == (1, 0)
    assert hooks.send(now=now + 9) == 0  # not yet
    assert len(receiver.all()) == 1
    assert hooks.send(now=now + 11) == 0
    assert hooks.deliveries(made.id)[0]["error"] == "the answer was 503"
    assert hooks.send(now=now + 100) == 1
    assert hooks.send(now=now + 1e6) == 0
    heard = receiver.all()
    assert [one["refused"] for one in heard] == [True, True, False]
    assert len({one["headers"]["webhook-id"] for one in heard}) == 1


def test_a_crash_before_or_while_sending_loses_nothing(study, receiver):
    hooks, _ = hook_of(study, receiver)
    decide(study)
    now = time.time()

    def crash(*given):
        raise KeyboardInterrupt

    assert hooks.look(now) == 1
    with pytest.raises(KeyboardInterrupt):
        hooks.send(crash, now)
    assert Webhooks(study.storage).send(now=now + 30) == 0  # it may still be on its way
    assert Webhooks(study.storage).send(now=now + 61) == 1
    assert len(receiver.all()) == 1


def test_nobody_sends_what_another_process_is_sending(study, receiver):
    hooks, _ = hook_of(study, receiver)
    decide(study)
    now = time.time()
    hooks.look(now)
    others = []

    def meanwhile(hook, body, headers):
        others.append(Webhooks(study.storage).send(now=now))
        return 200

    assert hooks.send(meanwhile, now) == 1
    assert others == [0]
    assert receiver.all() == []


def test_attempts_end_and_one_who_is_gone_is_left_alone(study, receiver):
    hooks, made = hook_of(study, receiver)
    decide(study)
    now = time.time()
    hooks.look(now)
    tried = []
    for day in range(30):
        hooks.send(lambda *given: tried.append(1) or 500, now + 86_400 * day)
    assert len(tried) == 9
    gone, _ = hook_of(study, receiver)
    gone.look(now)
    asked = [gone.send(lambda *given: tried.append(1) or 410, now + 86_400 * d) for d in range(3)]
    assert asked == [0, 0, 0]
    assert len(tried) == 10
    assert hooks.deliveries(made.id)[0]["delivered"] is None


def test_only_what_was_asked_for_is_sent(study, receiver):
    hooks, made = hook_of(study, receiver, "stuck")
    decide(study)
    assert hooks.look() == 0
    hooks.remove(made.study, made.id)
    assert hooks.of(made.study) == []
    with pytest.raises(UnknownNameError, match="no webhook"):
        hooks.remove(made.study, made.id)


# -- what there is to tell -------------------------------------------------------------------
def test_a_study_at_which_nobody_works_is_stuck_once(study):
    now = time.time()
    assert notices(study, now, now + PATIENCE - 1) == []
    (first,) = notices(study, now, now + PATIENCE)
    (again,) = notices(study, now, now + 9 * PATIENCE)
    assert (first.kind, first.key) == ("stuck", again.key)
    assert first.subject == "glue: nothing was measured for 24 hours"
    assert again.subject == "glue: nothing was measured for 9 days"
    (later,) = notices(study, now + 5, now + 9 * PATIENCE)
    assert later.key != first.key
    study.pause()
    assert notices(study, now, now + PATIENCE) == []


def test_a_budget_that_is_spent_is_told(tmp_path):
    problem = sp.Problem.unstructured(["a", "b"])
    storage = f"sqlite:///{tmp_path}/spent.db"
    study = sp.create_study("spent", problem, storage=storage, seed=1, max_samples=6)
    while not study.finished:
        for pull in study.ask(6, "ann"):
            study.tell(pull.id, 1.0 + 0.1 * pull.id, "ann")
    (found,) = notices(study, 0.0, 1e12)
    assert found.kind == "spent"
    assert found.subject == "spent: all is spent after 6 measurements, nothing is proven"


def test_a_promise_that_is_withdrawn_is_told(study, monkeypatch):
    status = study.status()
    said = {"kind": "heuristic", "text": "Nothing is promised: the noise is larger than said."}
    monkeypatch.setattr(type(study), "status", lambda self: status | {"promise": said})
    (found,) = notices(study, 0.0, 1.0)
    assert found.kind == "withdrawn"
    assert "the noise is larger than said" in found.body("now")["text"]


def test_every_morning_where_it_stands_is_told_once_if_asked_for(tmp_path):
    storage = f"sqlite:///{tmp_path}/shop.db"
    study = site.create(storage)
    site.day(study, 0, n=200)
    hooks, number = Webhooks(study.storage), study.desk.record.id
    quiet = hooks.add(number, "http://127.0.0.1:9/x", private=True)
    early = hooks.add(number, "http://127.0.0.1:9/x", ["morning"], private=True)
    midnight = time.time() // 86_400 * 86_400
    counts = [hooks.look(midnight + 3600 * hour) for hour in (5, 6, 7, 29, 30, 80)]
    assert counts == [0, 1, 0, 0, 1, 2]  # in the end it is stuck, too: that is for the other
    assert [one["type"] for one in hooks.deliveries(early.id)] == ["study.morning"] * 3
    assert [one["type"] for one in hooks.deliveries(quiet.id)] == ["study.stuck"]
    (told,) = hooks.to_tell(number, ["morning"], midnight + 25_000)
    assert told.text.startswith(study.status()["traffic"]["headline"])


def test_a_fault_of_a_site_is_told_with_version_and_period(tmp_path):
    study = site.create(f"sqlite:///{tmp_path}/tag.db", rates=(0.05, 0.05, 0.05))
    for number, dead in enumerate((False, False, True)):
        rates = (0.05, 0.0 if dead else 0.05, 0.05)
        site.day(study, number, n=6000, rates=rates)
    (found,) = notices(study, 0.0, 1.0)
    assert found.kind == "withdrawn"
    assert "bold" in found.text
    assert "'day 2'" in found.text
    assert "Next: Find out what happened to bold" in found.text


# -- where it may be sent --------------------------------------------------------------------
@pytest.mark.parametrize(
    "host", ["127.0.0.1", "10.1.2.3", "192.168.1.1", "169.254.169.254", "::1", "fd00::1",
             "::ffff:10.0.0.1", "0.0.0.0", "224.0.0.1", "localhost"],
)  # fmt: skip
def test_private_addresses_are_refused(study, host):
    with pytest.raises(InvalidInputError, match="an address of a private network"):
        addresses_of(host, 443, private=False)
    written = f"[{host}]" if ":" in host else host
    with pytest.raises(InvalidInputError, match="private network"):
        Webhooks(study.storage).add(study.desk.record.id, f"https://{written}/hook")
    assert addresses_of(host, 443, private=True)


@pytest.mark.parametrize(
    "url", ["http://example.org/x", "ftp://example.org", "example.org", "https://", "file:///etc"]
)
def test_other_addresses_are_refused(study, url):
    with pytest.raises(InvalidInputError, match="begins with https"):
        Webhooks(study.storage).add(study.desk.record.id, url)
    with pytest.raises(InvalidInputError, match="leave out the user name"):
        Webhooks(study.storage).add(study.desk.record.id, "https://ann:pw@example.org/")


def test_a_name_that_turns_private_gets_nothing(study, receiver):
    _, made = hook_of(study, receiver)
    public = dataclasses.replace(made, private=False)
    with pytest.raises(InvalidInputError, match="private network"):
        asyncio.run(webhooks._post(public, b"{}", {}))
    assert receiver.all() == []


# -- from every door -------------------------------------------------------------------------
def test_the_service_tells_by_itself(tmp_path, receiver):
    storage = f"sqlite:///{tmp_path}/served.db"
    problem = sp.Problem.unstructured(["a", "b"], noise=0.1)
    with sp.create_study("glue", problem, storage=storage, seed=1) as made:
        Webhooks(made.storage).add(made.desk.record.id, receiver.url, private=True)
    with Served(storage, tmp_path, "--notices", "0.5") as served, served.client() as client:
        decide_there = client.load_study("glue")
        while not decide_there.finished:
            for pull in decide_there.ask(20, "ann"):
                decide_there.tell(pull.id, 5.0 * pull.arm, "ann")
        end = time.monotonic() + 60
        while not receiver.all() and time.monotonic() < end:
            time.sleep(0.1)
        time.sleep(1.5)
    (heard,) = receiver.all()
    assert json.loads(heard["body"])["type"] == "study.decided"
