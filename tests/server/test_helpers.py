"""Long tasks are done by processes of their own, which end when nobody wants them any more."""

import asyncio
import os
import signal
import subprocess
import threading
import time
from pathlib import Path

import httpx2
import pytest
from tests.server.test_routes import at

from surepick.errors import SurepickError
from surepick.server.helpers import COMMAND, PART, _Helper
from surepick.server.replies import explain
from surepick.server.settings import SETTINGS, Settings


def helpers(service):
    """Ids of the helpers of a service."""
    tasks = Path(f"/proc/{service.process.pid}/task")
    children = [pid for task in tasks.iterdir() for pid in (task / "children").read_text().split()]
    found = set()
    for pid in children:
        try:
            if b"surepick.server.helping" in Path(f"/proc/{pid}/cmdline").read_bytes():
                found.add(int(pid))
        except FileNotFoundError:
            pass
    return found


def cpu(pid):
    """Seconds that a process has computed."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


#: every option is a feature of its own: that takes a while
LONG = {"name": "long", "table": {"csv": "label\n" + "\n".join(f"o{i}" for i in range(2000))}}
LONG["table"]["unstructured"] = True


@pytest.mark.validation
def test_a_task_ends_when_its_caller_leaves(service, http):
    """And the service is there for others all the time."""
    before = helpers(service)
    with pytest.raises(httpx2.TimeoutException):
        http.post("/api/v1/studies", json=LONG, timeout=3.0)
    end = time.monotonic() + 60
    while time.monotonic() < end:
        busy = [pid for pid in helpers(service) if pid not in before or cpu(pid) > 60]
        used = {pid: cpu(pid) for pid in busy}
        time.sleep(1.0)
        if all(pid not in helpers(service) or cpu(pid) - used[pid] < 0.2 for pid in used):
            break
    else:
        pytest.fail("it goes on")
    assert http.get("/health").status_code == 200
    assert http.get(at("long")).status_code == 404


@pytest.mark.parametrize(("task", "status", "wait"), [("look", 503, "5"), ("plan", 422, None)])
def test_what_takes_too_long_is_the_fault_of_who_can_change_it(task, status, wait):
    async def hurry():
        helper = await _Helper.start()
        try:
            async for _ in helper.parts(task, 0.0, {}):
                pass
        finally:
            helper.end()
            await helper._process.wait()

    with pytest.raises(SurepickError, match="longer than 0 s") as late:
        asyncio.run(hurry())
    said = explain(late.value, None)
    assert (said.status_code, said.headers.get("Retry-After")) == (status, wait)


def test_a_helper_that_dies_is_replaced(service, http, study):
    assert http.get(at(study)).status_code == 200
    for pid in helpers(service):
        os.kill(pid, signal.SIGKILL)
    time.sleep(0.2)
    assert [http.get(at(study, "/history")).status_code for _ in range(6)] == [200] * 6


def test_an_export_is_sent_in_parts_and_is_whole(service, http, study):
    pulls = http.post(at(study, "/ask"), json={"n": 3, "worker": "w"}).json()["pulls"]
    rewards = [{"pull": pull["id"], "reward": pull["id"] / 2} for pull in pulls]
    http.post(at(study, "/tell"), json={"rewards": rewards, "worker": "w"}).raise_for_status()
    with http.stream("GET", at(study, "/export?format=json")) as answer:
        assert "content-length" not in answer.headers  # it is not known beforehand
        answer.read()
    assert [row["reward"] for row in answer.json()] == [pull["id"] / 2 for pull in pulls]


def test_readers_do_not_wait_for_each_other_for_ever(service, http, study):
    """Forty looks at once with one token: all are answered, one after the other."""
    statuses = []

    def look():
        with service.http() as client:
            statuses.append(client.get(at(study, "/history")).status_code)

    threads = [threading.Thread(target=look) for _ in range(30)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert statuses == [200] * 30


def test_helpers_stand_back_for_those_who_ask_and_tell(database_folder):
    patience, url = 10, f"sqlite:///{database_folder}/s.db"
    settings = Settings(storage=url).to_json()
    pipe, surroundings = subprocess.PIPE, os.environ | {SETTINGS: settings}
    with subprocess.Popen(
        COMMAND, stdin=pipe, stdout=pipe, env=surroundings, start_new_session=True
    ) as helper:
        helper.stdin.write(b'{"task": "nothing", "seconds": 5, "given": {}}\n')
        helper.stdin.flush()
        assert helper.stdout.read(1) == PART  # it is at work
        between_sessions = Path(f"/proc/{helper.pid}/autogroup")
        mine = os.getpriority(os.PRIO_PROCESS, 0)  # more than 0 where the tests stand back, too
        assert os.getpriority(os.PRIO_PROCESS, helper.pid) == min(mine + patience, 19)
        if between_sessions.exists():
            assert between_sessions.read_text().split()[-1] == str(patience)
        helper.stdin.close()
