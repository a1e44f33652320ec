"""Who may do what, written down here: the description of the service is not asked."""

import pytest
from tests.server.served import Served
from tests.server.test_access import BODIES

from surepick.server.visible import LESS

NAME = "with roles"
EVERYONE = {"admin", "worker", "viewer", "judge"}
ALL_BUT_JUDGES = {"admin", "worker", "viewer"}
READERS = {"admin", "viewer"}
WORKERS = {"admin", "worker"}
MEASURERS = {"admin", "worker", "judge"}
ADMINS = {"admin"}
ROLES = {
    ("get", "/api/v1/session"): EVERYONE,
    ("delete", "/api/v1/session"): EVERYONE,
    ("get", "/api/v1/studies"): EVERYONE,
    ("post", "/api/v1/studies"): ADMINS,
    ("get", "/api/v1/settings"): ALL_BUT_JUDGES,
    ("get", "/api/v1/studies/{name}"): ALL_BUT_JUDGES,
    ("delete", "/api/v1/studies/{name}"): ADMINS,
    ("get", "/api/v1/studies/{name}/progress"): EVERYONE,
    ("get", "/api/v1/studies/{name}/definition"): ALL_BUT_JUDGES,
    ("get", "/api/v1/studies/{name}/history"): READERS,
    ("get", "/api/v1/studies/{name}/judgements"): READERS,
    ("get", "/api/v1/studies/{name}/periods"): READERS,
    ("get", "/api/v1/studies/{name}/shown"): EVERYONE,
    ("get", "/api/v1/studies/{name}/rewards"): READERS,
    ("get", "/api/v1/studies/{name}/events"): READERS,
    ("get", "/api/v1/studies/{name}/stream"): READERS,
    ("get", "/api/v1/studies/{name}/answer"): READERS,
    ("get", "/api/v1/studies/{name}/certificate"): READERS,
    ("get", "/api/v1/studies/{name}/envelope"): READERS,
    ("post", "/api/v1/studies/{name}/verify"): READERS,
    ("get", "/api/v1/key"): EVERYONE,
    ("get", "/api/v1/studies/{name}/export"): READERS,
    ("get", "/api/v1/studies/{name}/picture"): READERS,
    ("get", "/api/v1/studies/{name}/report"): READERS,
    ("get", "/api/v1/studies/{name}/acts"): READERS,
    **{
        ("post", f"/api/v1/studies/{{name}}/acts/{kind}"): ADMINS
        for kind in (
            "withdraw",
            "set-aside",
            "add",
            "retire",
            "limit",
            "pause",
            "resume",
            "stop",
            "accept",
        )
    },
    ("post", "/api/v1/studies/{name}/acts/ask-again"): WORKERS,
    # of a worker only what it told last, where two options are compared (test_judging.py)
    ("post", "/api/v1/studies/{name}/acts/correct"): MEASURERS,
    ("post", "/api/v1/studies/{name}/acts/record"): WORKERS,
    ("post", "/api/v1/studies/{name}/acts/correct-report"): ADMINS,
    ("get", "/api/v1/studies/{name}/forecast"): READERS,
    ("post", "/api/v1/studies/{name}/ask"): MEASURERS,
    ("post", "/api/v1/studies/{name}/tell"): MEASURERS,
    ("post", "/api/v1/studies/{name}/split"): WORKERS,
    ("post", "/api/v1/studies/{name}/fail"): MEASURERS,
    ("post", "/api/v1/studies/{name}/keep"): MEASURERS,
    ("get", "/api/v1/studies/{name}/canary"): WORKERS,
    ("post", "/api/v1/tables"): ADMINS,
    ("post", "/api/v1/plan"): ADMINS,
    ("get", "/api/v1/tokens"): ADMINS,
    ("post", "/api/v1/tokens"): ADMINS,
    ("delete", "/api/v1/tokens/{id}"): ADMINS,
    ("get", "/metrics"): READERS,
}
OPEN = {("get", "/health"), ("post", "/api/v1/session")}
#: where two options are compared, a worker does not see where the study stands
NOT_OF_PAIRS = {("get", "/api/v1/studies/{name}", "worker")}


def test_every_operation_is_in_the_table(http):
    described = http.get("/api/v1/openapi.json").json()["paths"]
    found = {(method, path) for path, methods in described.items() for method in methods}
    assert found == ROLES.keys() | OPEN


def test_roles_may_do_what_the_table_says_and_nothing_else(service, http):
    body = {"name": NAME, "table": {"csv": "name,text\na,One.\nb,Two.\n"}, "pairs": True}
    http.post("/api/v1/studies", json=body).raise_for_status()
    wanted = {role: {"role": role, "studies": [NAME]} for role in ("worker", "judge")}
    wanted |= {"viewer": {"role": "viewer"}}
    tokens = {
        role: http.post("/api/v1/tokens", json=given).json()["token"]
        for role, given in wanted.items()
    }
    for (method, path), allowed in ROLES.items():
        place = path.replace("{name}", NAME).replace("{id}", "0" * 16)
        body = BODIES.get(path, {} if method == "post" else None)
        for role, token in tokens.items():
            with (
                service.http(token) as one,
                one.stream(method.upper(), place, json=body) as reply,
            ):
                may = role in allowed and (method, path, role) not in NOT_OF_PAIRS
                assert (reply.status_code != 403) == may, (method, path, role)
                assert reply.status_code != 401


def test_what_is_less_for_whom_is_said_of_operations_that_they_may_use():
    for method, path, role in LESS:
        assert role in ROLES[method, path]


# -- what a judge learns -----------------------------------------------------------------------
LABELS = ("zebrawood", "quokka", "marzipan")
ROWS = [f"{one},Said {i}.,pic-{one}.gif" for i, one in enumerate(LABELS)]
CSV = "\n".join(["name,text,look", *ROWS])
DOT = "data:image/gif;base64,R0lGODlhAQABAAAAACwAAAAAAQABAAACAkQBADs="


@pytest.fixture(scope="module")
def arena(service):
    """A study of pairs in which a worker and a judge have compared; their tokens."""
    with service.http() as http:
        files = {f"pic-{one}.gif": DOT.replace("AkQB", f"AkQ{i}") for i, one in enumerate(LABELS)}
        body = {"name": "arena", "table": {"csv": CSV}, "pairs": True, "files": files}
        http.post("/api/v1/studies", json=body).raise_for_status()
        found = {}
        for role in ("judge", "worker"):
            given = {"role": role, "studies": ["arena"]}
            found[role] = http.post("/api/v1/tokens", json=given).json()["token"]
            with service.http(found[role]) as one:
                for verdict in (1, 0.5, 0):
                    asked = one.post("/api/v1/studies/arena/ask", json={"worker": role}).json()
                    rewards = [{"pull": asked["pulls"][0]["id"], "reward": verdict}]
                    body = {"rewards": rewards, "worker": role}
                    one.post("/api/v1/studies/arena/tell", json=body).raise_for_status()
        yield found


def bodies(path, pull):
    """Requests of somebody who wants to know more than he should."""
    verdict, name = {"pull": pull, "reward": 1}, {"pull": pull, "reward": "quokka"}
    if path.endswith("/ask"):
        return [{"worker": "judge", "n": 100, "lease": 100}, {"worker": "other", "same": True}]
    if path.endswith("/tell"):
        told = [{"rewards": [one], "worker": "judge"} for one in (verdict, name)]
        told += [{"rewards": [verdict | {"label": "quokka"}], "worker": "judge"}]
        told += [{"rewards": [verdict | {"pull": p, "reward": 0.5}]} for p in range(6)]
        return [*told, {"rewards": [verdict], "strict": True}]
    if path.endswith("/acts/correct"):
        return [one | {"reason": "why", "by": "judge"} for one in (verdict, name)]
    if path.endswith("/keep"):
        return [{"held": {"judge": [pull], "other": [0]}, "lease": 60}, {"held": {}}]
    if path.endswith("/fail"):
        return [{"pull": pull, "worker": "judge"}, {"pull": 0, "worker": "other"}]
    return [BODIES.get(path, {})]


def test_a_judge_learns_nothing_but_the_comparison_that_it_was_handed(service, http, arena):
    """Whatever it sends to whatever address: no name of an option, and not who is ahead."""
    secret = [*LABELS, "survivor", '"leader"', '"standing"', '"estimates"', '"p_value"']
    with service.http(arena["judge"]) as judge:
        asked = judge.post("/api/v1/studies/arena/ask", json={"worker": "judge"}).json()
        (pull,) = asked["pulls"]
        assert set(pull) == {"id", "attempt", "stratum", "item", "shown"}
        said = {one["content"] for one in pull["shown"]["first"] if one["kind"] == "text"}
        assert said <= {"Said 0.", "Said 1.", "Said 2."}
        (look,) = [one["content"] for one in pull["shown"]["first"] if one["kind"] == "file"]
        shown = judge.get("/api/v1/studies/arena/shown", params={"file": look})
        assert shown.headers["content-type"] == "image/gif"
        for method, path in ROLES:
            place = path.replace("{name}", "arena").replace("{id}", "0" * 16)
            if "/session" in path:
                continue
            for body in bodies(path, pull["id"]) if method == "post" else [None]:
                for query in ({}, {"file": "pic-quokka.gif"}) if path.endswith("/shown") else ({},):
                    reply = judge.request(method.upper(), place, json=body, params=query)
                    known = reply.text.replace("pic-quokka.gif", "") if query else reply.text
                    known = known.replace('survivors":null', "")  # in the list of studies
                    assert not [one for one in secret if one in known], (method, path, body)
        listed = judge.get("/api/v1/studies").json()["studies"][0]
        assert (listed["survivors"], listed["answer"], listed["options"]) == (None, None, None)
    kept = http.get("/api/v1/studies/arena/rewards").json()
    assert len(kept["pulls"]) >= 6


def test_a_worker_of_pairs_does_not_learn_who_is_ahead(service, arena):
    with service.http(arena["worker"]) as worker:
        assert worker.get("/api/v1/studies/arena").status_code == 403
        (listed,) = worker.get("/api/v1/studies").json()["studies"]
        assert (listed["survivors"], listed["answer"]) == (None, None)


def test_a_judge_measures_nothing(service, http, study):
    made = http.post("/api/v1/tokens", json={"role": "judge", "studies": [study]}).json()
    with service.http(made["token"]) as judge:
        refused = judge.post(f"/api/v1/studies/{study}/ask", json={})
        assert refused.status_code == 403
        assert "measured one by one" in refused.json()["error"]["message"]
    assert http.post("/api/v1/tokens", json={"role": "judge"}).status_code == 422


def test_counts_are_open_only_where_that_is_said(service, tmp_path):
    with service.http("") as stranger:
        assert stranger.get("/metrics").status_code == 401
    with (
        Served(f"sqlite:///{tmp_path}/s.db", tmp_path, "--metrics-open") as served,
        served.http("") as stranger,
    ):
        assert "surepick_requests" in stranger.get("/metrics").text
        assert stranger.get("/api/v1/studies").status_code == 401
        assert stranger.post("/metrics").status_code in (401, 405)
