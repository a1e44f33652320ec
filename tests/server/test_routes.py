"""Every route, over the wire, from creating a study to its answer."""

import json
import math
import threading
import time
from urllib.parse import quote

import httpx2
import pytest
from tests.server.served import OPTIONS

import surepick as sp

NEWS = {"samples": 0, "batch": 0, "finished": False, "paused": False, "revision": 0}


def at(study, what=""):
    return f"/api/v1/studies/{quote(study, safe='')}{what}"


def work(http, study, worker="w"):
    """Work until the study is finished."""
    while True:
        found = http.post(at(study, "/ask"), json={"n": 50, "worker": worker}).json()
        if found["finished"]:
            return
        rewards = [{"pull": p["id"], "reward": float(p["arm"])} for p in found["pulls"]]
        told = http.post(at(study, "/tell"), json={"rewards": rewards, "worker": worker})
        assert {one["status"] for one in told.json()["told"]} == {"accepted"}


def test_from_a_table_to_an_answer(http, service, study):
    first = http.post(at(study, "/ask"), json={"worker": "w"}).json()["pulls"][0]
    assert first == {"id": 0, "arm": 0, "label": "a", "attempt": 1, "stratum": None} | {
        "item": None,
        "first": None,
        "second": None,
        "features": {"price": "1", "colour": "red"},
    } | {key: first[key] for key in ("arm", "label", "features")}
    assert http.get(at(study, "/answer")).status_code == 409
    work(http, study)
    here = sp.load_study(study, service.storage)
    answer = http.get(at(study, "/answer")).json()
    assert (answer["label"], answer["finished"]) == ("d", True)
    assert answer["pulls"] == here.answer.pulls.tolist()
    certificate = http.get(at(study, "/certificate"))
    assert "attachment" in certificate.headers["content-disposition"]
    assert sp.verify(certificate.json()).label == "d"
    verdict = http.post(at(study, "/verify")).json()
    assert (verdict["valid"], verdict["label"]) == (True, "d")
    listed = {one["name"]: one for one in http.get("/api/v1/studies").json()["studies"]}[study]
    assert (listed["answer"], listed["finished"], listed["options"]) == ("d", True, 4)
    assert listed["samples"] == answer["samples"]
    here.close()


def test_the_status_is_that_of_the_study(http, service, study):
    http.post(at(study, "/ask"), json={"n": 3})
    http.post(at(study, "/tell"), json={"rewards": [{"pull": 0, "reward": 1.5}]})
    http.post(at(study, "/fail"), json={"pull": 1, "reason": "broken"})
    with sp.load_study(study, service.storage) as here:
        found = http.get(at(study)).json()
        assert found["chain"].pop("signature")["algorithm"] == "Ed25519"
        assert found == json.loads(json.dumps(here.status()))


def test_progress_definition_rewards_events_and_history(http, service, study):
    http.post(at(study, "/ask"), json={"n": 2, "worker": "w"})
    assert http.post(at(study, "/fail"), json={"pull": 1}).json() == {"returned": True}
    for status in ("accepted", "duplicate"):
        told = http.post(at(study, "/tell"), json={"rewards": [{"pull": 0, "reward": 2}]}).json()
        assert told == {"told": [{"pull": 0, "status": status, "value": 2.0, "warning": None}]}
    position = http.get(at(study, "/progress")).json()
    assert (position["told"], position["samples"], position["finished"]) == (1, 1, False)
    assert http.get(at(study, "/rewards")).json()["values"] == [2.0]
    log = http.get(at(study, "/events")).json()
    assert [one["kind"] for one in log["events"]] == ["failed", "duplicate"]
    assert http.get(at(study, "/events?after=1")).json()["events"] == log["events"][1:]
    late = http.get(at(study, "/events?kind=duplicate")).json()
    assert [one["kind"] for one in late["events"]] == ["duplicate"]
    definition = http.get(at(study, "/definition")).json()
    assert definition["meta"]["columns"]["price"] == ["1", "2", "3", "4"]
    work(http, study)
    rows = http.get(at(study, "/history")).json()["batches"]
    with sp.load_study(study, service.storage) as here:
        assert len(rows) == here.current_run.batches
        assert rows[-1] == {
            "batch": here.current_run.batches - 1,
            "samples": here.current_run.samples,
            "survivors": len(here.current_run.active),
        }
    assert rows[0]["survivors"] == 4


def test_a_study_from_features(http):
    body = {"name": "features", "problem": {"arms": [[1, 0], [0, 1]], "labels": ["l", "r"]}}
    more = {"algorithm": "peleg", "delta": 0.1, "noise": 1}
    made = http.post("/api/v1/studies", json=body | more)
    assert made.status_code == 201
    assert made.json()["study"]["labels"] == ["l", "r"]
    again = http.post("/api/v1/studies", json=body)
    assert (again.status_code, again.json()["error"]["kind"]) == (409, "StudyExistsError")


@pytest.mark.parametrize(
    ("noise", "words", "scale"),
    [
        (None, "numbers with symmetric noise", None),
        ("any", "numbers of any kind", None),
        ("equal", "numbers, with the same noise for all options", None),
        (0.5, "numbers, with noise 0.5", 0.5),
        ([3, 4], "numbers, with noise 3 to 4", 12.5**0.5),
        ("yes-no", "yes or no", None),
        ({"low": -1, "high": 1}, "numbers between -1 and 1", None),
    ],
)
@pytest.mark.parametrize("where", ["problem", "beside it"])
def test_every_kind_of_noise(http, noise, words, scale, where):
    name, problem = f"{words} {where}", {"arms": [[1, 0], [0, 1]]}
    body = {"name": name, "problem": problem}
    (problem if where == "problem" else body)["noise"] = noise
    made = http.post("/api/v1/studies", json=body)
    assert made.status_code == 201, made.text
    status = made.json()["study"]
    assert (status["rewards"], status["noise"]) == (words, scale)
    assert status["noise_estimated"] == (scale is None)


def test_a_reward_that_cannot_be_is_refused_and_nothing_is_lost(http):
    body = {"name": "clicks", "problem": {"arms": [[1, 0], [0, 1]]}, "noise": "yes-no"}
    assert http.post("/api/v1/studies", json=body).status_code == 201
    pulls = http.post(at("clicks", "/ask"), json={"n": 2, "worker": "w"}).json()["pulls"]
    rewards = [{"pull": p["id"], "reward": 1 + i} for i, p in enumerate(pulls)]
    told = {"rewards": rewards, "worker": "w"}
    refused = http.post(at("clicks", "/tell"), json=told)
    assert refused.status_code == 422
    said = refused.json()["error"]["message"]
    assert said.startswith(f"reward of measurement {pulls[1]['id']} is 2, but rewards of this")
    assert http.get(at("clicks", "/progress")).json()["told"] == 0
    again = http.post(at("clicks", "/ask"), json={"n": 2, "worker": "w"}).json()["pulls"]
    assert [p["id"] for p in again] == [p["id"] for p in pulls]
    rewards[1]["reward"] = 0
    assert http.post(at("clicks", "/tell"), json=told).status_code == 200


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({"table": {"csv": OPTIONS}, "problem": {"arms": [[1]]}}, "either a table or a problem"),
        ({}, "either a table or a problem"),
        ({"table": {"csv": OPTIONS, "features": ["nothing"]}}, "nothing"),
        ({"table": {"csv": ""}}, "table.csv is empty"),
        ({"problem": {"arms": [[1, 2], [3]]}}, "arms"),
        ({"problem": {"arms": [[1, 0], [0, 1]]}, "algorithm": "pelge"}, "did you mean 'peleg'"),
        ({"problem": {"arms": [[1, 0], [0, 1]]}, "settings": {"x": 1}}, "'x'"),
        ({"problem": {"arms": [[1, 0], [0, 1]]}, "delta": 2}, "strictly between 0 and 1"),
        ({"problem": {"arms": [[1, 0], [0, 1]]}, "surprise": 1}, "surprise"),
        ({"problem": {"arms": [[1, 0], [0, 1]], "noise": "loud"}}, "noise must be 'yes-no'"),
        ({"problem": {"arms": [[1, 0], [0, 1]], "noise": {"low": 1}}}, "noise"),
        ({"problem": {"arms": [[1, 0], [0, 1]], "noise": {"low": 1, "high": 0}}}, "below the"),
        ({"table": {"csv": OPTIONS, "formula": "price.__class__"}}, "formula"),
    ],
)
def test_what_cannot_become_a_study_is_refused_with_a_reason(http, body, says):
    refused = http.post("/api/v1/studies", json={"name": "refused"} | body)
    assert refused.status_code == 422
    assert says in refused.json()["error"]["message"]


@pytest.mark.parametrize("name", ["a/b", "../../etc/passwd", "100%2F", "ü ✓", "a?b#c", "x" * 200])
def test_any_name_works_in_an_address(http, name):
    body = {"name": name, "problem": {"arms": [[1, 0], [0, 1]]}}
    assert http.post("/api/v1/studies", json=body).status_code == 201
    assert http.get(at(name)).json()["name"] == name
    assert http.get(at(name, "/progress")).json()["samples"] == 0
    assert http.delete(at(name)).status_code == 204
    assert http.get(at(name)).json()["error"]["kind"] == "UnknownStudyError"


@pytest.mark.parametrize("name", [".", "..", " a", "~a", "a\nb", "\ud800", "x" * 201, ""])
def test_names_that_cannot_be_kept_are_refused(http, name):
    content = json.dumps({"name": name, "problem": {"arms": [[1, 0], [0, 1]]}})
    head = {"Content-Type": "application/json"}
    refused = http.post("/api/v1/studies", content=content, headers=head)
    assert refused.status_code == 422
    assert "name" in refused.json()["error"]["message"]


def test_a_study_that_was_deleted_and_made_again_is_the_new_one(http, service, study):
    http.post(at(study, "/ask"), json={})
    http.post(at(study, "/tell"), json={"rewards": [{"pull": 0, "reward": 1}]})
    sp.delete_study(study, service.storage)  # not through the service
    sp.create_study(study, sp.Problem([[1.0], [2.0]], noise=1.0), "peleg", service.storage).close()
    asked = http.post(at(study, "/ask"), json={}).json()
    assert asked["pulls"][0]["id"] == 0
    assert http.get(at(study)).json()["samples"] == 0


def test_tables_say_what_is_in_them(http):
    mixed = "size,colour,empty\n1,red,\n2,blue,\n3,,\n"
    found = http.post("/api/v1/tables", json={"csv": mixed, "features": ["size"]}).json()
    assert [(c["name"], c["kind"], c["missing"]) for c in found["columns"]] == [
        ("size", "number", 0),
        ("colour", "text", 1),
        ("empty", "text", 3),
    ]
    assert (found["rows"], found["error"]) == (3, None)
    assert (found["problem"]["options"], found["problem"]["rank"]) == (3, 2)
    bad = http.post("/api/v1/tables", json={"csv": mixed, "features": ["colour"]}).json()
    assert bad["problem"] is None
    assert "line 4" in bad["error"]
    assert http.post("/api/v1/tables", json={"csv": '"'}).json()["error"] is not None


@pytest.mark.validation
def test_a_plan_is_that_of_the_command_line(http, tmp_path):
    from surepick.bench.forecast import LeadToFind, forecast
    from surepick.problem.tables import from_table

    (tmp_path / "options.csv").write_text(OPTIONS)
    made = from_table(tmp_path / "options.csv", ["price"], misfit=math.inf)
    assert made.problem.noise == "any"
    rows = forecast(LeadToFind(made.problem, 0.5, noise=0.5, trials=2)).summary.rows()
    body = {"csv": OPTIONS, "features": ["price"], "gap": 0.5, "noise": 0.5, "trials": 2}
    found = http.post("/api/v1/plan", json=body).json()
    assert [row["mean"] for row in found["forecast"]] == pytest.approx(
        [row["mean"] for row in rows]
    )


def test_an_ask_waits_for_a_pull(http, study):
    """The last open pull comes back while another worker waits for one."""
    asked = http.post(at(study, "/ask"), json={"n": 100, "worker": "holds all"}).json()["pulls"]
    assert http.post(at(study, "/ask"), json={}).json()["pulls"] == []
    got = []

    def wait():
        body = {"wait": 30}  # who has no name does not begin another batch
        got.append(http.post(at(study, "/ask"), json=body).json()["pulls"])

    waiting = threading.Thread(target=wait)
    waiting.start()
    time.sleep(0.5)
    assert not got
    http.post(at(study, "/fail"), json={"pull": asked[-1]["id"], "worker": "holds all"})
    waiting.join(25)
    assert [pull["id"] for pull in got[0]] == [asked[-1]["id"]]
    assert got[0][0]["attempt"] == 2


def test_an_ask_that_waits_gets_nothing_in_the_end(http, study):
    asked = http.post(at(study, "/ask"), json={"n": 100, "worker": "holds all"})
    held = asked.json()["pulls"]
    found = http.post(at(study, "/ask"), json={"wait": 0.3}).json()
    assert found == {"pulls": [], "finished": False}
    # With a name it is known not to be the one who has the rest, and begins the next batch.
    found = http.post(at(study, "/ask"), json={"worker": "w"}).json()
    assert [pull["id"] for pull in found["pulls"]] == [len(held)]
    at_once = http.get(at(study, "/progress")).json()
    assert at_once["ahead"] > 0
    assert (at_once["batch"], at_once["early"], at_once["samples"]) == (0, 0, 0)


def test_the_stream_tells_what_changes(http, study):
    with http.stream("GET", at(study, "/stream")) as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        lines = stream.iter_lines()

        def news():
            for line in lines:
                if line.startswith("data: "):
                    return json.loads(line[6:])

        assert news() == NEWS | {"samples": 0}
        work(http, study)
        while not (found := news())["finished"]:
            assert found["samples"] > 0
    assert found["samples"] == http.get(at(study)).json()["samples"]


def test_the_stream_of_a_study_that_is_deleted_elsewhere_ends(http, service, study):
    end = time.monotonic() + 30
    with http.stream("GET", at(study, "/stream")) as stream:
        for line in stream.iter_lines():  # without end, it would say now and then: still here
            assert time.monotonic() < end
            if line.startswith("data: "):
                sp.delete_study(study, service.storage)
    assert http.get(at(study)).status_code == 404


@pytest.mark.parametrize(
    ("form", "begins"), [("csv", b"pull,"), ("json", b"["), ("parquet", b"PAR1")]
)
def test_exports(http, study, form, begins):
    work(http, study)
    found = http.get(at(study, f"/export?format={form}"))
    assert found.content.startswith(begins)
    assert f".{form}" in found.headers["content-disposition"]
    options = http.get(at(study, f"/export?format={form}&what=options"))
    assert options.content.startswith(b"arm," if form == "csv" else begins)


def test_health_and_metrics(http, service, study):
    assert httpx2.get(f"{service.url}/health").json() == {"status": "ok"}
    http.post(at(study, "/ask"), json={})
    http.post(at(study, "/tell"), json={"rewards": [{"pull": 0, "reward": 1}]})
    text = http.get("/metrics").text
    route = 'method="POST",route="/api/v1/studies/{name}/ask",status="200"'
    for name in (
        f"surepick_requests_total{{{route}}}",
        'surepick_request_seconds_bucket{le="0.25",route="/api/v1/studies/{name}/tell"}',
        "surepick_pulls_asked_total",
        'surepick_rewards_told_total{status="accepted"}',
        "surepick_studies_open",
    ):
        line = next(line for line in text.splitlines() if line.startswith(name))
        assert float(line.split()[-1]) >= 1


def test_errors_have_one_form(http, study):
    for method, path, status, kind in (
        ("GET", "/api/v1/nothing", 404, "UnknownNameError"),
        ("GET", at("no such study"), 404, "UnknownStudyError"),
        ("PUT", at(study), 405, "InvalidInputError"),
        ("GET", at(study, "/answer"), 409, "RunStateError"),
        ("GET", at(study, "/export?format=xls"), 422, "InvalidInputError"),
    ):
        found = http.request(method, path)
        assert (found.status_code, found.json()["error"]["kind"]) == (status, kind)
        assert set(found.json()["error"]) == {"kind", "message"}
    unknown = http.post(at(study, "/tell"), json={"rewards": [{"pull": 99, "reward": 1}]})
    assert (unknown.status_code, unknown.json()["error"]["kind"]) == (404, "UnknownPullError")
    broken = http.post(
        at(study, "/tell"), content=b"{", headers={"Content-Type": "application/json"}
    )
    assert broken.status_code == 422
    large = http.post(at(study, "/tell"), json={"rewards": [{"pull": 0, "reward": 1e200}]})
    assert (large.status_code, "too large" in large.text) == (422, True)
