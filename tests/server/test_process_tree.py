"""Processes of a service end with it, however it ended, and hold nothing that they do not need."""

import contextlib
import json
import os
import socket
import subprocess
import threading
import time
from pathlib import Path

import httpx2
import psutil
import pytest
from tests.server.served import Served
from tests.server.test_routes import at

from surepick.server.helpers import COMMAND, PART
from surepick.server.settings import SETTINGS, Settings

STUDY = {"name": "s", "problem": {"arms": [[1, 0], [0, 1]]}}
#: what takes a helper many seconds
LONG = {"name": "long", "table": {"csv": "label\n" + "\n".join(f"o{i}" for i in range(2000))}}
LONG["table"]["unstructured"] = True


def ends(process, seconds=20):
    """Whether it ends soon; one that nobody has waited for counts as ended."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            if process.status() == psutil.STATUS_ZOMBIE:
                return True
        except psutil.NoSuchProcess:
            return True
        time.sleep(0.02)
    return False


def helper(database_folder):
    """A helper of a service that is not there, and its stdin and stdout."""
    settings = Settings(storage=f"sqlite:///{database_folder}/s.db").to_json()
    pipe, surroundings = subprocess.PIPE, os.environ | {SETTINGS: settings}
    found = subprocess.Popen(
        COMMAND, stdin=pipe, stdout=pipe, env=surroundings, start_new_session=True
    )
    found.stdin.write(b'{"task": "nothing", "seconds": 60, "given": {}}\n')
    found.stdin.flush()
    assert found.stdout.read(1) == PART  # it is at work
    return found


def test_a_helper_ends_in_the_middle_of_a_task_once_nobody_sends_any(database_folder):
    with helper(database_folder) as process:
        body = json.dumps(LONG).encode()
        asked = {"task": "create", "seconds": 600, "given": {}, "body": len(body)}
        process.stdin.write(json.dumps(asked).encode() + b"\n" + body)
        process.stdin.flush()
        one = psutil.Process(process.pid)
        before = sum(one.cpu_times()[:2])
        while sum(one.cpu_times()[:2]) < before + 0.1:  # until it is at it
            time.sleep(0.01)
        process.stdin.close()
        assert process.wait(20) == 0


@pytest.mark.validation
def test_all_processes_end_when_the_main_one_is_killed(database_folder):
    """Nothing holds the port, so that the service can be started again at once.

    Nor did helpers have the socket that listens: one of them might outlive the service.
    """
    url = f"sqlite:///{database_folder}/s.db"
    with Served(url, database_folder, "--workers", "2", fresh=True) as served:
        with served.http() as http:
            http.post("/api/v1/studies", json=STUDY).raise_for_status()
            assert http.get(at("s")).status_code == 200
        below = psutil.Process(served.process.pid).children(recursive=True)
        commands = [" ".join(one.cmdline()) for one in below]
        assert sum("spawn_main" in one for one in commands) == 2
        helping = [one for one, words in zip(below, commands) if "server.helping" in words]
        assert len(helping) >= 2
        listening = open_sockets(served.process)
        assert listening
        for one in helping:
            assert not listening & open_sockets(one)
        asking = threading.Thread(target=ask_for_long, args=(served,))
        asking.start()
        served.process.kill()
        served.process.wait()
        assert all(ends(one) for one in below)
        asking.join(30)
        with socket.socket() as free:
            free.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            free.bind(("127.0.0.1", served.port))


def ask_for_long(served):
    with served.http() as http, contextlib.suppress(httpx2.TransportError):
        http.post("/api/v1/studies", json=LONG)  # the service ends in the middle of it


def open_sockets(process):
    """The sockets that a process has open, by their numbers."""
    there = [os.readlink(one) for one in Path(f"/proc/{process.pid}/fd").iterdir()]
    return {one for one in there if one.startswith("socket:")}
