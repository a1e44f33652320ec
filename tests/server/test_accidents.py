"""Networks that break and proxies in front: with real namespaces, and with nginx."""

import contextlib
import itertools
import os
import re
import shutil
import ssl
import subprocess
import threading
import time
from pathlib import Path

import httpx2
import pytest
from tests.coroutines import completed
from tests.packages import there
from tests.postgres import Server
from tests.server.served import Served, free_port
from tests.server.test_processes import make_certificate
from tests.server.test_routes import at

from surepick.client import AsyncClient, Client

ROOT = Path(__file__).resolve().parents[2]
BODY = {"name": "s", "problem": {"arms": [[1, 0], [0, 1]], "noise": 1.0}}


# -- a network that breaks --------------------------------------------------------------------
class Elsewhere:
    """Another machine, as far as the network knows; its cable can be pulled."""

    _numbers = itertools.count(os.getpid() % 200)

    def __init__(self):
        number = next(self._numbers)
        self.name, self._cable = f"sp{number}", (f"sp{number}a", f"sp{number}b")
        self._net = f"10.213.{number % 250}"
        self.address = f"{self._net}.2"
        here, there = self._cable
        _ip("netns", "add", self.name)
        _ip("link", "add", here, "type", "veth", "peer", "name", there, "netns", self.name)
        _ip("addr", "add", f"{self._net}.1/24", "dev", here)
        _ip("link", "set", here, "up")
        self.ip("addr", "add", f"{self.address}/24", "dev", there)
        self.ip("link", "set", there, "up")
        self.ip("link", "set", "lo", "up")

    def ip(self, *words):
        _ip("-n", self.name, *words)

    def pull_the_cable(self):
        """Whatever is sent is lost, and nobody is told."""
        self.ip("link", "set", self._cable[1], "down")

    def plug_it_in(self):
        self.ip("link", "set", self._cable[1], "up")

    def close(self):
        _ip("netns", "del", self.name)


def _ip(*words):
    subprocess.run(["ip", *words], check=True, capture_output=True)


class DistantServer(Server):
    """A PostgreSQL server on that machine."""

    def __init__(self, place):
        self._place = place
        super().__init__()
        with (self.folder / "data" / "pg_hba.conf").open("a") as rules:
            rules.write("host all all 10.213.0.0/16 trust\n")
        self.stop()
        self._options += f" -c listen_addresses={place.address}"
        self.start()

    def _command(self, program, *arguments):
        return ["ip", "netns", "exec", self._place.name, *super()._command(program, *arguments)]

    def url(self):
        schema = re.search(r"search_path%3D(\w+)", super().url())[1]
        place = f"postgresql+psycopg://tester@{self._place.address}/postgres"
        return f"{place}?options=-csearch_path%3D{schema}"


@pytest.fixture
def distant():
    """A database on another machine, and that machine."""
    try:
        place = Elsewhere()
    except (subprocess.CalledProcessError, FileNotFoundError):
        pytest.skip("only root can make networks")
    with contextlib.ExitStack() as stack:
        stack.callback(place.close)
        server = DistantServer(place)
        stack.callback(server.close)
        stack.callback(place.plug_it_in)
        yield server, place


@pytest.mark.validation
def test_a_database_that_cannot_be_reached(distant, tmp_path):
    """Nobody waits for ever, others are served, and after it nothing is lost or there twice."""
    server, place = distant
    hasty = "&connect_timeout=2&tcp_user_timeout=1500"
    hasty += "&keepalives_idle=1&keepalives_interval=1&keepalives_count=1"
    with Served(server.url() + hasty, tmp_path) as served, served.http() as http:
        http.post("/api/v1/studies", json=BODY).raise_for_status()
        pulls = http.post(at("s", "/ask"), json={"n": 2, "worker": "w"}).json()["pulls"]
        place.pull_the_cable()
        tell = {"rewards": [{"pull": pulls[0]["id"], "reward": 1.0}], "worker": "w"}
        away = http.post(at("s", "/tell"), json=tell)
        assert away.status_code == 503
        assert int(away.headers["Retry-After"]) >= 1
        assert httpx2.get(f"{served.url}/health").status_code == 200
        told = []

        def work():
            with served.client() as client:
                study = client.load_study("s")
                told.extend(study.tell(pull["id"], 1.0, "w").status for pull in pulls)

        worker = threading.Thread(target=work)
        worker.start()
        time.sleep(1.0)
        assert not told
        place.plug_it_in()
        worker.join(120)
        assert set(told) <= {"accepted", "again"}
        assert len(told) == 2
        kept = http.get(at("s", "/export?format=json")).json()
        assert [row["pull"] for row in kept] == [pull["id"] for pull in pulls]


def test_addresses_say_how_long_to_wait_for_a_network(postgres):
    """Where nothing else is said, a connection that broke is noticed within half a minute."""
    from surepick.storage import open_storage

    storage = open_storage(postgres.url() + "&tcp_user_timeout=7000")
    try:
        given = storage._engine.url.query
        assert given["tcp_user_timeout"] == "7000"
        waits = int(given["keepalives_idle"])
        waits += int(given["keepalives_count"]) * int(given["keepalives_interval"])
        assert waits <= 30
    finally:
        storage.close()


# -- a proxy in front -------------------------------------------------------------------------
@pytest.fixture
def nginx(tmp_path):
    """Starts nginx with what docs/service.md shows; where it listens, and its certificate."""
    places = f"{os.environ['PATH']}:/usr/sbin"
    program = there("nginx", lambda: shutil.which("nginx", path=places), ["nginx"])
    running = []

    def start(served):
        page = (ROOT / "docs" / "service.md").read_text("utf-8")
        server, port = re.search(r"```nginx\n(.*?)```", page, re.DOTALL)[1], free_port()
        certificate, key = make_certificate(tmp_path)
        for shown, real in {
            "listen 443 ssl": f"listen 127.0.0.1:{port} ssl",
            "/etc/ssl/surepick.pem": certificate,
            "/etc/ssl/surepick.key": key,
            "127.0.0.1:8421": f"127.0.0.1:{served.port}",
        }.items():
            assert shown in server
            server = server.replace(shown, str(real))
        places = "".join(
            f"{kind}_temp_path {tmp_path}/{kind};\n"
            for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        )
        settings = tmp_path / "nginx.conf"
        settings.write_text(
            f"daemon off; master_process off; pid {tmp_path}/nginx.pid;\n"
            f"error_log {tmp_path}/errors;\nevents {{}}\n"
            f"http {{\naccess_log off;\n{places}{server}}}\n"
        )
        running.append(subprocess.Popen([program, "-c", settings, "-p", tmp_path]))
        return f"https://127.0.0.1:{port}", str(certificate)

    yield start
    for process in running:
        process.terminate()
        process.wait(30)


@pytest.mark.validation
def test_behind_nginx(nginx, database_folder):
    """TLS by nginx: logging in, names with a slash, workers that wait, news as it comes."""
    proxied = ("--proxy", "127.0.0.1", "--allowed-host", "surepick.example.org")
    with Served(f"sqlite:///{database_folder}/s.db", database_folder, *proxied) as served:
        url, certificate = nginx(served)
        trusted = ssl.create_default_context(cafile=certificate)
        head = {"Authorization": f"Bearer {served.token}", "Host": "surepick.example.org"}
        with httpx2.Client(base_url=url, verify=trusted, headers=head, timeout=60) as http:
            wait_for(lambda: http.get("/health").status_code == 200)
            http.post("/api/v1/studies", json=BODY | {"name": "a / b"}).raise_for_status()
            login = http.post("/api/v1/session", json={"token": served.token})
            assert login.headers["set-cookie"].startswith("__Host-surepick=")
            foreign = {"Host": "elsewhere.example.org"}
            assert http.get("/api/v1/studies", headers=foreign).status_code == 400
            with (
                Client(url, served.token, verify=certificate) as client,
                http.stream("GET", at("a / b", "/stream")) as news,
            ):
                lines = (line for line in news.iter_lines() if line.startswith("data:"))
                next(lines)
                study = client.load_study("a / b")
                (pull,) = study.ask(1, "w", wait=5)
                assert study.tell(pull.id, 1.0, "w").status == "accepted"
                assert '"samples"' in next(lines)  # at once, not when a buffer is full

        async def by_a_coroutine():
            async with AsyncClient(url, served.token, verify=certificate) as client:
                return (await (await client.load_study("a / b")).progress()).told

        assert completed(by_a_coroutine()) == 1
        assert '"client": "127.0.0.1"' in served.log.read_text()


def wait_for(holds, seconds=30):
    end = time.monotonic() + seconds
    while True:
        with contextlib.suppress(httpx2.TransportError):
            if holds():
                return
        assert time.monotonic() < end
        time.sleep(0.1)
