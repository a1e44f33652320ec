"""Real `surepick serve` processes for tests and benchmarks."""

import os
import re
import signal
import socket
import ssl
import subprocess
import sysconfig
import time
from pathlib import Path

import httpx2
from tests.forks.client import ADDRESS, Forked

from surepick.client import Client

ROOT = Path(__file__).resolve().parents[2]
COMMAND = Path(sysconfig.get_path("scripts")) / "surepick"
# Trusts nobody: without one httpx2 reads the system's list for every client, for 50 ms.
_NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
OPTIONS = "label,price,colour\na,1,red\nb,2,blue\nc,3,red\nd,4,blue\n"


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Served:
    """A running service; ``token`` is an admin's.

    In tests it is forked from a process that has loaded everything, unless it is to be ``fresh``;
    ``what`` is then forked, with ``env`` added to its environment.
    """

    def __init__(
        self, storage, folder, *options,
        token=None, tls=None, fresh=False, what="surepick", env=None,
    ):  # fmt: skip
        self.storage, self.folder, self.options = storage, Path(folder), options
        self.port = free_port()
        self.scheme = "http" if tls is None else "https"
        self.verify = _NO_TLS if tls is None else ssl.create_default_context(cafile=tls[0])
        self.trusted = True if tls is None else str(tls[0])
        if tls is not None:
            self.options += ("--tls-cert", tls[0], "--tls-key", tls[1])
        self.url = f"{self.scheme}://127.0.0.1:{self.port}"
        self.log = self.folder / f"served-{self.port}.log"
        self.said = self.folder / f"served-{self.port}.out"
        self.token = token
        self.fresh = fresh or ADDRESS not in os.environ
        self.what, self.env = what, os.environ | _ONE_THREAD | (env or {})
        self.start()
        if token is None:
            self.token = re.search(r"sp_\S+", self.said.read_text())[0]

    def start(self):
        command = ["serve", "--storage", self.storage]
        command += ["--port", str(self.port), *map(str, self.options)]
        command += ["--signing-key", str(self.folder / "signing-key")]
        place = {"cwd": ROOT, "env": self.env}
        with self.log.open("a") as log, self.said.open("a") as said, open(os.devnull) as nothing:
            if self.fresh:
                words = [str(COMMAND), *command]
                self.process = subprocess.Popen(words, stdout=said, stderr=log, **place)
            else:
                files = [file.fileno() for file in (nothing, said, log)]
                self.process = Forked(self.what, command, files=files, **place)
        try:
            self.wait_until_healthy()
        except BaseException:
            self.kill()
            raise

    def wait_until_healthy(self, seconds=180):
        end = time.monotonic() + seconds
        with self.http("") as http:
            while time.monotonic() < end:
                if self.process.poll() is not None:
                    raise RuntimeError(f"the service ended: {self.log.read_text()[-2000:]}")
                try:
                    if http.get("/health").status_code == 200:
                        return
                except httpx2.TransportError:
                    time.sleep(0.05)
        raise RuntimeError(f"the service does not start: {self.log.read_text()[-2000:]}")

    def http(self, token=None, **options):
        """An HTTP client; without a token where it is empty."""
        token = self.token if token is None else token
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        return httpx2.Client(
            base_url=self.url, headers=headers, timeout=60, verify=self.verify, **options
        )

    def client(self, token=None, **options) -> Client:
        return Client(self.url, token or self.token, verify=self.trusted, **options)

    def kill(self):
        """As a crash: without a chance to finish anything."""
        self.process.kill()
        self.process.wait()

    def stop(self) -> int:
        """As an operator does; the exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.kill()


_ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
