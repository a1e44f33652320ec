"""Starting, stopping, crashing; one process and several; SQLite and PostgreSQL."""

import contextlib
import json
import os
import re
import signal
import subprocess
import threading
import time
from functools import cache
from pathlib import Path

import httpx2
import numpy as np
import psutil
import pytest
from tests.forks import client as forks
from tests.server.served import Served
from tests.server.test_routes import at

import surepick as sp
from surepick.storage.memory import MemoryStorage

PROBLEM = sp.Problem(np.random.default_rng(0).normal(size=(6, 3)), noise=1.0)


def reward(pull):
    """The reward of a pull, whoever measures it and whenever."""
    return float(PROBLEM.arms[pull.arm].sum()) + float(np.sin(1.0 + pull.id))


@cache
def alone():
    """What a single worker finds."""
    study = sp.create_study("alone", PROBLEM, "peleg", MemoryStorage())
    while pulls := study.ask(50):
        study.tell_many([(pull.id, reward(pull)) for pull in pulls])
    return study


def crew(servers, name, size, told, problems, n=1):
    """Workers with a client each, spread over the servers."""

    def work(number):
        worker = f"w{number}"
        try:
            with servers[number % len(servers)].client(timeout=5) as client:
                study = client.load_study(name)
                while not study.finished:
                    for pull in study.ask(n, worker, wait=10):
                        study.tell(pull.id, reward(pull), worker)
                        told.append((pull.id, reward(pull)))
        except Exception as error:
            problems.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(size)]
    for thread in threads:
        thread.start()
    return threads


def own_temporary(folder):
    """A folder for temporary files."""
    temporary = Path(folder) / "temporary"
    temporary.mkdir()
    return temporary


def check(study, told):
    """Nothing acknowledged is lost, nothing counts twice, and the answer is a single worker's."""
    log = study.rewards()
    kept = dict(zip(log.pulls.tolist(), log.values.tolist()))
    assert len(kept) == len(log.pulls)
    assert len(set(told)) == len(told)
    assert all(kept[pull] == value for pull, value in told)
    single = alone()
    assert study.answer == single.answer
    assert study.rewards().values.tolist() == single.rewards().values.tolist()


def test_two_servers_that_are_killed_lose_nothing(shared_url, database_folder):
    sp.create_study("killed", PROBLEM, "peleg", shared_url).close()
    told, problems = [], []
    with (
        Served(shared_url, database_folder) as one,
        Served(shared_url, database_folder, token=one.token) as two,
    ):
        workers = crew((one, two), "killed", 4, told, problems)
        for victim, after in ((one, 20), (two, 60)):
            while len(told) < after:
                time.sleep(0.01)
            assert any(worker.is_alive() for worker in workers)
            victim.kill()
            victim.start()
        for worker in workers:
            worker.join(120)
    assert not problems
    with sp.load_study("killed", shared_url) as study:
        check(study, told)


@pytest.mark.validation
def test_a_stop_finishes_what_is_under_way(database_folder):
    """Long polls end early, streams end, what was told is kept; and the exit is clean."""
    url, temporary = f"sqlite:///{database_folder}/s.db", own_temporary(database_folder)
    with Served(url, database_folder, fresh=True, env={"TMPDIR": str(temporary)}) as served:
        with served.http() as http:
            body = {"name": "s", "problem": {"arms": [[1, 0], [0, 1]]}}
            http.post("/api/v1/studies", json=body).raise_for_status()
            held = http.post(at("s", "/ask"), json={"n": 10_000, "worker": "all"}).json()["pulls"]
            ended = {}

            def poll():
                with served.http() as client:
                    reply = client.post(at("s", "/ask"), json={"wait": 30})
                    ended["poll"] = reply.json() | {"early": reply.elapsed.total_seconds() < 29}

            def stream():
                with served.http() as client, client.stream("GET", at("s", "/stream")) as news:
                    ended["stream"] = [line for line in news.iter_lines() if line]

            threads = [threading.Thread(target=one) for one in (poll, stream)]
            for thread in threads:
                thread.start()
            rewards = [{"pull": held[0]["id"], "reward": 1.0}]
            http.post(at("s", "/tell"), json={"rewards": rewards}).raise_for_status()
            counted, waiting = "", ("asks_waiting", "streams_open")
            while not all(f"\nsurepick_{what} 1.0" in counted for what in waiting):
                time.sleep(0.5)  # they change once a second
                counted = http.get("/metrics").text
        assert served.stop() in (0, -signal.SIGTERM)
        for thread in threads:
            thread.join(30)
    assert not list(temporary.iterdir())
    assert ended["poll"] == {"pulls": [], "finished": False, "early": True}
    assert any(line.startswith("data:") for line in ended["stream"])
    with sp.load_study("s", url) as study:
        assert study.rewards().values.tolist() == [1.0]
    lines = [json.loads(line) for line in served.log.read_text().splitlines()]
    assert not [line for line in lines if line["level"] == "error"]


@pytest.mark.validation
@pytest.mark.parametrize(
    "kills", [(20,), pytest.param((20, 60), marks=pytest.mark.validation)], ids=len
)
def test_several_processes_share_tokens_studies_and_counts(postgres, database_folder, kills):
    url, temporary = postgres.url(), own_temporary(database_folder)
    several, env = ("--workers", "2"), {"TMPDIR": str(temporary)}
    with Served(url, database_folder, *several, fresh=True, env=env) as served:
        with served.client() as client:
            client.create_study("shared", PROBLEM, "peleg", seed=0)
            token = client.make_token("viewer")
        told, problems = [], []
        for worker in crew((served,), "shared", 4, told, problems, n=5):
            worker.join(120)
        assert not problems
        for _ in range(6):  # new connections, so of either process
            with served.http(token) as http:
                assert http.get(at("shared", "/answer")).json()["label"] == alone().answer.label
        with served.http() as http:
            text = http.get("/metrics").text
        line = re.search(r'surepick_rewards_told_total\{status="accepted"\} (\S+)', text)
        assert float(line[1]) == len(told)
        pids = {json.loads(line)["process"] for line in served.log.read_text().splitlines()}
        assert len(pids) >= 3
        # One of them is killed while workers are at it; another one takes its place.
        with served.client() as client:
            client.create_study("killed", PROBLEM, "peleg", seed=0)
        again, trouble = [], []
        workers = crew((served,), "killed", 4, again, trouble)
        for after in kills:
            while len(again) < after:
                time.sleep(0.01)
            os.kill(max(serving(served)), signal.SIGKILL)
        for worker in workers:
            worker.join(120)
        assert not trouble
        assert any(temporary.iterdir()), "where they add up what they count"
        assert served.stop() in (0, -signal.SIGTERM)
    assert not list(temporary.iterdir())
    for name, acknowledged in (("shared", told), ("killed", again)):
        with sp.load_study(name, url) as study:
            check(study, acknowledged)


def serving(served):
    """The processes that answer requests; one that was killed just now may still be listed."""
    found = []
    for one in psutil.Process(served.process.pid).children():
        with contextlib.suppress(psutil.NoSuchProcess):  # a ZombieProcess is one of them
            if "spawn_main" in " ".join(one.cmdline()):
                found.append(one.pid)
    return found


@pytest.mark.validation
def test_a_database_that_goes_away_and_comes_back(postgres, database_folder):
    """Refused meanwhile, with a reason that says nothing about the inside; then all is well."""
    url = postgres.url()
    with Served(url, database_folder) as served, served.http() as http:
        body = {"name": "s", "problem": {"arms": [[1, 0], [0, 1]]}}
        http.post("/api/v1/studies", json=body).raise_for_status()
        postgres.stop("immediate")
        try:
            away = http.post(at("s", "/ask"), json={})
            assert away.status_code == 503
            assert int(away.headers["Retry-After"]) >= 1
            for secret in ("tester", "host", "psycopg", str(postgres.folder)):
                assert secret not in away.text
            assert httpx2.get(f"{served.url}/health").status_code == 200
        finally:
            postgres.start()
        assert http.post(at("s", "/ask"), json={}).status_code == 200


def test_tls(database_folder, tmp_path):
    certificate = make_certificate(tmp_path)
    url = f"sqlite:///{database_folder}/s.db"
    with Served(url, database_folder, tls=certificate) as served, served.http("") as page:
        found = page.post("/api/v1/session", json={"token": served.token})
        assert found.headers["set-cookie"].startswith("__Host-surepick=")
        assert "Secure" in found.headers["set-cookie"]
        assert "max-age" in found.headers["strict-transport-security"]
        assert page.get("/api/v1/studies").status_code == 200
        with served.client() as client:
            assert client.list_studies() == []


def make_certificate(folder):
    cert, key = folder / "cert.pem", folder / "key.pem"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
    command += ["-nodes", "-keyout", key, "-out", cert, "-days", "2", "-subj", "/CN=localhost"]
    command += ["-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost"]
    subprocess.run(command, check=True, capture_output=True)
    return cert, key


def test_behind_a_proxy(database_folder):
    """The proxy's word about scheme and address counts, and nobody else's."""
    url = f"sqlite:///{database_folder}/s.db"
    proxied = ("--proxy", "127.0.0.1", "--allowed-host", "surepick.example.org")
    head = {"Host": "surepick.example.org", "X-Forwarded-Proto": "https"}
    head |= {"X-Forwarded-For": "192.0.2.7"}
    with Served(url, database_folder, *proxied) as served, served.http("") as http:
        found = http.post("/api/v1/session", json={"token": served.token}, headers=head)
        assert found.headers["set-cookie"].startswith("__Host-surepick=")
        origin = {"Origin": "https://surepick.example.org"}
        fine = http.post("/api/v1/session", json={"token": served.token}, headers=head | origin)
        assert fine.status_code == 200
        assert '"client": "192.0.2.7"' in served.log.read_text()
    with Served(url, database_folder, token=served.token) as plain, plain.http("") as http:
        head["Host"] = "localhost"
        found = http.post("/api/v1/session", json={"token": served.token}, headers=head)
        assert found.headers["set-cookie"].startswith("surepick-session=")
        assert "192.0.2.7" not in plain.log.read_text()


def test_the_admin_token_is_shown_once(database_folder):
    url = f"sqlite:///{database_folder}/s.db"
    with Served(url, database_folder) as served:
        served.stop()
        served.said.write_text("")
        served.start()
        assert "sp_" not in served.said.read_text()
        served.stop()
        served.options += ("--new-admin-token",)
        served.start()
        another = re.search(r"sp_\S+", served.said.read_text())[0]
        assert another != served.token
        for token in (another, served.token):
            with served.http(token) as http:
                assert http.get("/api/v1/tokens").status_code == 200


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--host", "0.0.0.0"], "unencrypted"),
        (["--storage", "memory://"], "database"),
        (["--tls-cert", "x"], "both"),
    ],
)
def test_settings_that_are_unsafe_are_refused(options, says, tmp_path):
    done = forks.run("surepick", "serve", *options, cwd=tmp_path)
    assert (done.returncode, says in done.stderr) == (2, True)
