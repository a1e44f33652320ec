"""The client: a study at a service behaves as one that is here."""

import contextlib
import http.server
import inspect
import json
import signal
import subprocess
import threading
import time
from functools import cached_property

import numpy as np
import pytest
from tests.coroutines import completed
from tests.server.served import COMMAND, OPTIONS
from tests.study.test_strata import problem as plates_problem
from tests.study.test_strata import worked_off

import surepick as sp
from surepick import errors
from surepick.client import Client, RemoteStudy
from surepick.client.transport import error_of
from surepick.study import StudyCore

PROBLEM = sp.Problem([[1.0, 0.0], [0.0, 1.0], [0.8, 0.6]], labels=["a", "b", "mix"], noise=1.0)
#: the run itself stays with the service, and so does which cells are asked again
ONLY_HERE = {"current_run", "rebuild", "traffic"}


@pytest.fixture
def client(service):
    with service.client(patience=20) as client:
        yield client


@pytest.fixture
def study(client, request):
    return client.create_study(request.node.name[:150], PROBLEM)


def reward(pull):
    return float(PROBLEM.arms[pull.arm] @ (0.5, 2.0)) + float(np.sin(pull.id))


@pytest.mark.parametrize(("noise", "wrong"), [("yes-no", 2.0), ((0.0, 1.0), 1.2)])
def test_rewards_that_cannot_be_are_refused_before_anything_is_recorded(client, noise, wrong):
    problem = sp.Problem([[1.0, 0.0], [0.0, 1.0]], noise=noise)
    study = client.create_study(f"impossible {wrong}", problem)
    (first,), (second,) = study.ask(worker="me"), study.ask(worker="you")
    for rewards in ([(first.id, wrong)], [(first.id, 1.0), (second.id, wrong)]):
        with pytest.raises(errors.InvalidInputError, match=f"is {wrong:g}, but rewards of this"):
            study.tell_many(rewards)  # the last ones would take two requests
        assert study.progress().told == 0
    assert [one.used for one in study.tell_many([(first.id, 1.0), (second.id, 0.0)])] == [True] * 2


def public(cls):
    """Public names, with what they are and how they are called."""
    return {
        name: "property"
        if isinstance(value, property | cached_property)
        else inspect.signature(value)
        for name, value in inspect.getmembers(cls)
        if not name.startswith("_")
    }


def test_it_has_the_public_core_of_a_study():
    core, there, here = public(StudyCore), public(RemoteStudy), public(sp.Study)
    assert there == core
    assert {name: here[name] for name in core} == core
    assert here.keys() - core.keys() == ONLY_HERE


@pytest.mark.validation
def test_a_study_to_its_answer_is_the_same_as_here(service, client, study):
    here = sp.create_study("here", PROBLEM, storage="memory://client-test")
    for one in (here, study):
        one.tell_many([(pull.id, reward(pull)) for pull in one.ask(20)])
        one.tell_many([(pull.id, reward(pull)) for pull in one.ask(1)])
    assert study.forecast() == here.forecast()
    assert here.forecast().simulated > 0
    for one in (here, study):
        while not one.finished:
            one.tell_many([(pull.id, reward(pull)) for pull in one.ask(20)])
    assert study.answer == here.answer
    assert str(study.answer.guarantee) == str(here.answer.guarantee)
    assert bool(study.answer.guarantee)
    assert sp.verify(study.answer.certificate()).label == here.answer.label
    assert study.rewards().values.tolist() == here.rewards().values.tolist()
    assert study.history()[-1]["survivors"] == 1
    assert study.problem.labels == PROBLEM.labels
    assert np.array_equal(study.problem.arms, PROBLEM.arms)
    assert study.algorithm == here.algorithm
    there, own = study.status(), json.loads(json.dumps(here.status()))
    assert there["chain"]["links"] == own["chain"]["links"]  # names and times are others
    assert there | {"name": "here", "chain": None} == own | {"chain": None}
    assert study.checks() == here.checks()
    assert study.history() == here.history()
    for name, value in here.definition().items():
        assert name in ("name", "created") or study.definition()[name] == value
    with sp.load_study(study.name, service.storage) as stored:
        assert stored.answer == here.answer


def test_ask_tell_and_fail_follow_the_rules_of_studies(study):
    first, second = study.ask(2)
    assert [first.id, second.id] == [0, 1]
    assert study.tell(first.id, 1.0).status == "accepted"
    assert study.tell(first.id, 1.0).status == "duplicate"
    with pytest.raises(errors.TellConflictError, match="already has the reward"):
        study.tell(first.id, 2.0)
    assert study.fail(second.id, "broken") is True
    assert study.fail(first.id) is False
    assert [event.kind for event in study.events()] == ["duplicate", "conflict", "failed", "late"]
    assert [event.note for event in study.events("failed")] == ["broken"]
    again = study.ask(worker="w")
    assert study.ask(worker="w") == again  # who comes back gets the same
    assert study.ask(worker="other") != again
    assert study.progress().told == 1


def test_asks_without_a_name_get_different_pulls(study):
    assert study.ask()[0].id != study.ask()[0].id


@pytest.mark.some(6)
@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda s: s.tell(10**6, 1.0), errors.UnknownPullError),
        (lambda s: s.tell(2**70, 1.0), errors.UnknownPullError),
        (lambda s: s.tell(0, float("nan")), errors.InvalidInputError),
        (lambda s: s.tell(0, "high"), errors.InvalidTypeError),
        (lambda s: s.tell(-1, 1.0), errors.InvalidInputError),
        (lambda s: s.tell_many([(0, 1.0, "a", 2)]), errors.InvalidTypeError),
        (lambda s: s.ask(0), errors.InvalidInputError),
        (lambda s: s.ask(1, " w"), errors.InvalidInputError),
        (lambda s: s.ask(1, "w", -1.0), errors.InvalidInputError),
        (lambda s: s.fail(0, 5), errors.InvalidTypeError),
        (lambda s: s.answer, errors.RunStateError),
    ],
)
def test_errors_are_those_of_a_study_here(study, call, error):
    here = sp.create_study("errors", PROBLEM, storage=f"memory://{time.time_ns()}")
    with pytest.raises(error):
        call(here)
    with pytest.raises(error):
        call(study)


def test_studies_by_name(client, tmp_path):
    (tmp_path / "options.csv").write_text(OPTIONS)
    made = client.create_study(
        "from/a table", table=tmp_path / "options.csv", features="price", noise=0.5,
        meta={"owner": "me"},
    )  # fmt: skip
    assert made.meta["source"] == "options.csv"
    assert (made.meta["owner"], made.meta["columns"]["price"]) == ("me", ["1", "2", "3", "4"])
    assert "from/a table" in client.list_studies()
    assert client.load_study("from/a table").problem.n_arms == 4
    with pytest.raises(errors.StudyExistsError):
        client.create_study("from/a table", PROBLEM)
    client.delete_study("from/a table")
    with pytest.raises(errors.UnknownStudyError, match="from/a table"):
        client.load_study("from/a table")
    with pytest.raises(errors.UnknownStudyError):
        client.delete_study("from/a table")


def test_exports(service, study, tmp_path):
    study.tell(study.ask()[0].id, 1.5)
    assert study.export(tmp_path / "a.csv").read_text().startswith("pull,arm,label,reward")
    assert json.loads(study.export(tmp_path / "b.json").read_text())[0]["reward"] == 1.5
    assert len(json.loads(study.export(tmp_path / "c", "json", "options").read_text())) == 3
    with sp.load_study(study.name, service.storage) as here:
        for form, what in (("csv", "measurements"), ("json", "options"), ("csv", "events")):
            exported = [
                one.export(tmp_path / "e", form, what).read_bytes() for one in (here, study)
            ]
            assert exported[0] == exported[1]
        with pytest.raises(errors.UnknownNameError, match="format"):
            here.export(tmp_path / "e")


def test_access_is_refused_with_its_own_error(service, client, study):
    with pytest.raises(errors.AccessError, match="not valid"):
        Client(service.url, "sp_wrong").list_studies()
    worker = service.client(client.make_token("worker", [study.name]))
    pull = worker.load_study(study.name).ask(worker="w")[0]
    assert worker.load_study(study.name).tell(pull.id, 1.0, "w").used
    with pytest.raises(errors.AccessError, match="role"):
        worker.delete_study(study.name)
    with pytest.raises(errors.AccessError, match="not for this study"):
        worker.load_study("another")


def test_nobody_there():
    with pytest.raises(errors.ServiceUnreachableError, match="does not answer"):
        Client("http://127.0.0.1:9", "sp_x", patience=0.1).list_studies()
    for url, token in (("127.0.0.1", "x"), ("http://x", ""), ("http://x", None)):
        with pytest.raises(errors.InvalidInputError):
            Client(url, token)


class Unreliable(http.server.BaseHTTPRequestHandler):
    """Passes requests on to a service, but loses every second answer, after it was given."""

    protocol_version = "HTTP/1.1"
    target = None
    count = 0

    def relay(self):
        cls = type(self)
        cls.count += 1
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        head = {"Authorization": self.headers["Authorization"], "Content-Type": "application/json"}
        found = self.target.request(self.command, self.path, content=body, headers=head)
        if cls.count % 2:
            self.close_connection = True
            self.connection.shutdown(2)
            return
        self.send_response(found.status_code)
        self.send_header("Content-Length", str(len(found.content)))
        self.end_headers()
        self.wfile.write(found.content)

    do_GET = do_POST = do_DELETE = relay

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def unreliable(service):
    """The address of a relay to the service, where every request arrives twice."""
    Unreliable.target, Unreliable.count = service.http(), 0
    relay = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Unreliable)
    threading.Thread(target=relay.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{relay.server_port}"
    finally:
        relay.shutdown()
        relay.server_close()
        Unreliable.target.close()


def test_answers_that_are_lost_cost_nothing(service):
    """Everything counts once, and no pull of a worker with a name counts as measured again."""
    with unreliable(service) as url, Client(url, service.token, patience=30) as client:
        study = client.create_study("lossy", PROBLEM)
        while not study.finished:
            pulls = study.ask(20, "lab-1")
            told = study.tell_many([(pull.id, reward(pull)) for pull in pulls])
            assert all(one.used for one in told)
        answer = study.answer
        with sp.load_study("lossy", service.storage) as here:
            log = here.rewards()
            assert here.answer == answer
        assert len(log.pulls) == answer.samples
        assert {event.kind for event in study.events()} == {"duplicate"}
        client.delete_study("lossy")


def test_an_awaited_ask_whose_answer_is_lost_is_the_same_ask(service):
    async def main(url):
        async with sp.AsyncClient(url, service.token, patience=30) as client:
            study = await client.create_study("awaited", PROBLEM)
            first = await study.ask(2, "lab-1")
            assert await study.events("renewed") == []
            assert await study.ask(2, "lab-1") == first
            assert [one.pull for one in await study.events("renewed")] == [p.id for p in first]
            await client.delete_study("awaited")

    with unreliable(service) as url:
        completed(main(url))


class Busy(http.server.BaseHTTPRequestHandler):
    """Has too much to do at first."""

    answers: tuple = ()

    def do_GET(self):
        status, head, body = self.answers.pop(0)
        self.send_response(status)
        for name, value in head.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(json.dumps(body).encode())

    def log_message(self, *_):
        pass


def test_a_busy_service_is_asked_again_and_a_broken_one_is_not():
    fine = (200, {}, {"studies": []})
    broken = {"error": {"kind": "StorageFullError", "message": "no room"}}
    missing = {"error": {"kind": "MissingExtraError", "message": "pip install"}}
    soon = {"Retry-After": "0.1"}
    Busy.answers = [(429, soon, {}), (503, soon, broken), (502, {}, {}), fine, (501, {}, missing)]
    server = http.server.HTTPServer(("127.0.0.1", 0), Busy)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        with Client(f"http://127.0.0.1:{server.server_port}", "sp_x", patience=30) as client:
            assert client.list_studies() == []
            with pytest.raises(errors.MissingExtraError, match="pip install"):
                client.list_studies()
    finally:
        server.shutdown()
        server.server_close()
    assert Busy.answers == []


@pytest.mark.parametrize(
    ("status", "body", "error"),
    [
        (404, {"error": {"kind": "UnknownPullError", "message": "m"}}, errors.UnknownPullError),
        (500, {"error": {"kind": "os", "message": "m"}}, errors.ServiceError),
        (500, {"error": {"kind": "Iterable", "message": "m"}}, errors.ServiceError),
        (502, "<html>", errors.ServiceError),
        (401, "<html>", errors.AccessError),
    ],
)
def test_answers_become_errors(status, body, error):
    import httpx2

    text = body if isinstance(body, str) else json.dumps(body)
    assert type(error_of(httpx2.Response(status, text=text))) is error


# -- the command line -----------------------------------------------------------------------
@pytest.mark.validation
def test_a_remote_worker(service, client, tmp_path):
    (tmp_path / "options.csv").write_text(OPTIONS)
    client.create_study("cli", table=tmp_path / "options.csv", features="price", noise=0.5)
    (tmp_path / "token").write_text(client.make_token("worker", ["cli"]) + "\n")
    command = [COMMAND, "run", "cli", "--server", service.url, "--token-file", "token"]
    command += ["--exec", 'sh -c "echo $SUREPICK_FEATURE_price"', "--workers", "2", "--json"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["finished"] is True
    assert client.load_study("cli").answer.label == "d"
    assert (tmp_path / "cli.measurements.jsonl").exists()
    missing = subprocess.run(
        command[:5] + command[7:], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert (missing.returncode, "--token-file" in missing.stderr) == (2, True)
    away = [*command[:4], "http://127.0.0.1:9", *command[5:]]
    process = subprocess.Popen(away, cwd=tmp_path, stderr=subprocess.DEVNULL)
    time.sleep(3)
    assert process.poll() is None  # it waits for the service
    process.send_signal(signal.SIGKILL)
    process.wait()


@pytest.mark.validation
def test_strata_travel_with_asks_and_rewards(client):
    study = client.create_study("plates", plates_problem(), strata="plate")
    worked_off(study, np.random.default_rng(1))
    assert study.strata == "plate"
    assert set(study.rewards().strata) == {"plate 1", "plate 2"}
    assert study.answer.label == "bold"
    assert sp.verify(study.answer.certificate()).label == "bold"
    with pytest.raises(sp.SurepickError, match="say which"):
        client.create_study("more plates", plates_problem(), strata="plate").ask()


def test_workers_of_a_service_measure_cells_once_more_where_that_is_due(client):
    problem = sp.Problem.unstructured(list("ab"), noise="yes-no")
    study = client.create_study("canaries", problem, complete=40, canaries=0.25, seed=1)
    scores, worker = (
        np.random.default_rng(0).random((2, 40)) < 0.5,
        client.make_token("worker", ["canaries"]),
    )
    there = sp.Client(client.url, worker).load_study("canaries")
    assert there.canary() is None
    with pytest.raises(errors.AccessError, match="admin"):  # who measures sees no answer
        there.run(lambda task: float(scores[task.arm, task.item]))
    assert study.finished
    again = study.acts("ask-again")
    assert len(again) >= 0.2 * study.progress().told
    assert all("asked again" in one.said for one in again)
