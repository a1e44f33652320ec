"""How far workers, viewers and sessions are trusted: no further than they must be."""

import contextlib
import csv
import io
import shutil
import sqlite3
import threading
import time

import pytest
from tests.postgres import fast_folder
from tests.server.served import Served
from tests.server.test_routes import at

from surepick.storage.sql import sums


@pytest.fixture(scope="module")
def service():
    folder = fast_folder("sp-trust-")
    with Served(f"sqlite:///{folder}/studies.db", folder, "--max-lease", "100") as served:
        served.file = folder / "studies.db"
        yield served
    shutil.rmtree(folder)


@pytest.fixture
def crew(service, http, study):
    """Two workers with a token each: their clients, and the ids of the tokens."""
    with contextlib.ExitStack() as stack:
        found = []
        for _ in range(2):
            made = http.post("/api/v1/tokens", json={"role": "worker", "studies": [study]}).json()
            found.append((stack.enter_context(service.http(made["token"])), made["id"]))
        yield found


@pytest.fixture
def http(service):
    with service.http() as client:
        yield client


def ask(client, study, worker="w", **more):
    found = client.post(at(study, "/ask"), json={"worker": worker, **more})
    assert found.status_code == 200, found.text
    return found.json()["pulls"]


def tell(client, study, pull, reward, **more):
    body = {"rewards": [{"pull": pull, "reward": reward}], **more}
    return client.post(at(study, "/tell"), json=body)


# -- tells ----------------------------------------------------------------------------------
def test_a_reward_counts_from_the_token_that_holds_the_pull(crew, http, study):
    (one, id_of_one), (other, id_of_other) = crew
    (pull,) = ask(one, study)
    assert ask(other, study)[0]["id"] != pull["id"]  # of the same name, and not the same
    for more in ({"worker": "w"}, {}):
        refused = tell(other, study, pull["id"], 100.0, **more)
        assert refused.status_code == 409
        late = {"pull": pull["id"], "status": "late", "value": None, "warning": None}
        assert refused.json()["told"] == [late]
        assert refused.json()["error"]["kind"] == "TellConflictError"
    fail = {"pull": pull["id"], "worker": "w"}
    assert other.post(at(study, "/fail"), json=fail).json() == {"returned": False}
    assert tell(one, study, pull["id"], 1.5, worker="w").status_code == 200
    assert tell(one, study, pull["id"], 1.5, worker="w").status_code == 200  # its answer was lost
    conflict = tell(one, study, pull["id"], 2.5, worker="w")
    assert (conflict.status_code, conflict.json()["told"][0]["status"]) == (409, "conflict")
    assert "1.5 does" in conflict.json()["error"]["message"]
    (row,) = csv.DictReader(io.StringIO(http.get(at(study, "/export")).text))
    assert (row["pull"], row["worker"], row["token"]) == (str(pull["id"]), "w", id_of_one)
    events = http.get(at(study, "/events")).json()["events"]
    assert {(e["kind"], e["token"], e["count"]) for e in events} == {
        ("late", id_of_other, 3),
        ("conflict", id_of_one, 1),
        ("duplicate", id_of_one, 1),
    }


def test_what_does_not_count_does_not_hold_up_what_does(crew, study):
    (one, _), (other, _) = crew
    mine, theirs = ask(one, study)[0]["id"], ask(other, study)[0]["id"]
    rewards = [{"pull": mine, "reward": 1.0}, {"pull": theirs, "reward": 2.0}]
    found = one.post(at(study, "/tell"), json={"rewards": rewards, "worker": "w"})
    assert found.status_code == 409
    assert [x["status"] for x in found.json()["told"]] == ["accepted", "late"]


def test_ten_thousand_rewards_and_no_more_in_a_request(http, study):
    rewards = [{"pull": 0, "reward": 1}] * 10_001
    refused = http.post(at(study, "/tell"), json={"rewards": rewards})
    assert refused.status_code == 422


# -- leases ---------------------------------------------------------------------------------
def test_leases_have_a_ceiling(http, study):
    refused = http.post(at(study, "/ask"), json={"lease": 101})
    assert (refused.status_code, "at most 100 s" in refused.text) == (422, True)
    assert len(ask(http, study, lease=100)) == 1


def test_what_a_revoked_token_holds_is_free_at_once(crew, http, study):
    (one, id_of_one), (other, _) = crew
    size = http.get(at(study)).json()["batch"]["size"]
    held = {pull["id"] for pull in ask(one, study, n=size, lease=100)}
    assert len(held) == size
    assert ask(other, study, None, n=size) == []  # with a name, it would begin the next batch
    assert http.delete(f"/api/v1/tokens/{id_of_one}").status_code == 204
    assert {pull["id"] for pull in ask(other, study, None, n=size)} == held


def test_whoever_waits_for_a_pull_gets_none_after_the_token_was_revoked(crew, http, study):
    (one, id_of_one), (other, _) = crew
    held = ask(other, study, n=10_000)
    found = []
    body = {"wait": 20}  # with a name, nobody would have to wait
    waiting = threading.Thread(
        target=lambda: found.append(one.post(at(study, "/ask"), json=body).status_code)
    )
    waiting.start()
    while "surepick_asks_waiting 1.0" not in http.get("/metrics").text:
        time.sleep(0.5)  # they change once a second
    http.delete(f"/api/v1/tokens/{id_of_one}").raise_for_status()
    fail = {"pull": held[0]["id"], "worker": "w"}
    assert other.post(at(study, "/fail"), json=fail).json() == {"returned": True}
    waiting.join(30)
    assert found == [401]


@pytest.mark.validation
def test_who_tells_what_does_not_count_has_to_wait(database_folder):
    """Others do not, not even for the same study; nor does whoever repeats what was accepted."""
    url = f"sqlite:///{database_folder}/s.db"
    with Served(url, database_folder, "--rate", "20") as served, served.http() as http:
        body = {"name": "s", "problem": {"arms": [[1, 0], [0, 1]]}}
        http.post("/api/v1/studies", json=body).raise_for_status()
        tokens = [
            http.post("/api/v1/tokens", json={"role": "worker", "studies": ["s"]}).json()
            for _ in "ab"
        ]
        with served.http(tokens[0]["token"]) as honest, served.http(tokens[1]["token"]) as liar:
            pulls = [one["id"] for one in ask(honest, "s", n=4)]
            false = {"rewards": [{"pull": pulls[0], "reward": 9.0}] * 30, "worker": "x"}
            true = {"rewards": [{"pull": pull, "reward": 1.0} for pull in pulls], "worker": "w"}
            assert liar.post(at("s", "/tell"), json=false).status_code == 409
            slowed = liar.post(at("s", "/tell"), json=false)
            assert (slowed.status_code, "did not count" in slowed.text) == (429, True)
            assert (
                int(slowed.headers["Retry-After"]) >= 40
            )  # 10 more than there may be, 0.2 a second
            assert len(ask(liar, "s", "x")) == 1
            for _ in range(8):
                assert honest.post(at("s", "/tell"), json=true).status_code == 200
            late = {"rewards": false["rewards"] * 10, "worker": "x"}  # such as a fleet's, at last
            assert honest.post(at("s", "/tell"), json=late).status_code == 409
            after = honest.post(at("s", "/tell"), json=true)
            assert after.status_code == 429
            assert int(after.headers["Retry-After"]) <= 60


# -- sessions and streams -------------------------------------------------------------------
def test_a_session_does_not_make_another_one(service):
    with service.http("") as page:
        page.post("/api/v1/session", json={"token": service.token}).raise_for_status()
        session = page.cookies["surepick-session"]
        assert page.post("/api/v1/session", json={"token": session}).status_code == 401


def test_one_viewer_cannot_take_all_streams(service, http, study):
    tokens = [http.post("/api/v1/tokens", json={"role": "viewer"}).json()["token"] for _ in "ab"]
    with contextlib.ExitStack() as stack:

        def follow(token):
            client = stack.enter_context(service.http(token))
            return stack.enter_context(client.stream("GET", at(study, "/stream"))).status_code

        assert [follow(tokens[0]) for _ in range(17)] == [200] * 16 + [429]
        assert follow(tokens[1]) == 200


# -- studies that cannot be read ------------------------------------------------------------
def test_one_bad_study_hides_nothing(service, http, study):
    for name in ("strange algorithm", "cut off"):
        body = {"name": name, "problem": {"arms": [[1, 0], [0, 1]]}}
        http.post("/api/v1/studies", json=body).raise_for_status()
    with sqlite3.connect(service.file) as file:
        sums.provide(file)
        change = "UPDATE surepick_studies SET {} WHERE name = ?"
        file.execute(change.format("algorithm = 'nonsense'"), ["strange algorithm"])
        file.execute(change.format("problem = substr(problem, 1, 20)"), ["cut off"])
    service.stop()
    service.start()
    end = time.monotonic() + 60
    while time.monotonic() < end:
        rows = {row["name"]: row for row in http.get("/api/v1/studies").json()["studies"]}
        assert {study, "strange algorithm", "cut off"} <= rows.keys()
        if rows["strange algorithm"]["broken"] and rows["cut off"]["broken"]:
            break
        time.sleep(0.2)
    assert "nonsense" in rows["strange algorithm"]["broken"]
    assert rows["cut off"]["broken"]
    assert rows[study]["broken"] is None
    assert http.get(at(study)).status_code == 200
    assert http.get(at("strange algorithm")).status_code in (422, 500)
