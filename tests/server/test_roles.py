"""Who may do what, written down here: the description of the service is not asked."""

from tests.server.test_access import BODIES

NAME = "with roles"
EVERYONE = {"admin", "worker", "viewer"}
READERS = {"admin", "viewer"}
WORKERS = {"admin", "worker"}
ADMINS = {"admin"}
ROLES = {
    ("get", "/api/v1/session"): EVERYONE,
    ("delete", "/api/v1/session"): EVERYONE,
    ("get", "/api/v1/studies"): EVERYONE,
    ("post", "/api/v1/studies"): ADMINS,
    ("get", "/api/v1/settings"): EVERYONE,
    ("get", "/api/v1/studies/{name}"): EVERYONE,
    ("delete", "/api/v1/studies/{name}"): ADMINS,
    ("get", "/api/v1/studies/{name}/progress"): EVERYONE,
    ("get", "/api/v1/studies/{name}/definition"): EVERYONE,
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
        for kind in ("withdraw", "add", "retire", "limit", "pause", "resume", "stop")
    },
    # of a worker only what it told last, where two options are compared (test_judging.py)
    ("post", "/api/v1/studies/{name}/acts/correct"): WORKERS,
    ("post", "/api/v1/studies/{name}/acts/record"): WORKERS,
    ("post", "/api/v1/studies/{name}/acts/correct-report"): ADMINS,
    ("get", "/api/v1/studies/{name}/report-changes"): READERS,
    ("post", "/api/v1/studies/{name}/report-changes"): ADMINS,
    ("get", "/api/v1/studies/{name}/corrections"): READERS,
    ("post", "/api/v1/studies/{name}/correct"): ADMINS,
    ("get", "/api/v1/studies/{name}/options"): READERS,
    ("post", "/api/v1/studies/{name}/options"): ADMINS,
    ("post", "/api/v1/studies/{name}/retire"): ADMINS,
    ("get", "/api/v1/studies/{name}/limits"): READERS,
    ("post", "/api/v1/studies/{name}/limits"): ADMINS,
    ("post", "/api/v1/studies/{name}/withdraw"): ADMINS,
    ("post", "/api/v1/studies/{name}/pause"): ADMINS,
    ("post", "/api/v1/studies/{name}/resume"): ADMINS,
    ("post", "/api/v1/studies/{name}/stop"): ADMINS,
    ("get", "/api/v1/studies/{name}/forecast"): READERS,
    ("post", "/api/v1/studies/{name}/ask"): WORKERS,
    ("post", "/api/v1/studies/{name}/tell"): WORKERS,
    ("post", "/api/v1/studies/{name}/split"): WORKERS,
    ("post", "/api/v1/studies/{name}/record"): WORKERS,
    ("post", "/api/v1/studies/{name}/fail"): WORKERS,
    ("post", "/api/v1/tables"): ADMINS,
    ("post", "/api/v1/plan"): ADMINS,
    ("get", "/api/v1/tokens"): ADMINS,
    ("post", "/api/v1/tokens"): ADMINS,
    ("delete", "/api/v1/tokens/{id}"): ADMINS,
    ("get", "/metrics"): READERS,
}
OPEN = {("get", "/health"), ("post", "/api/v1/session")}


def test_every_operation_is_in_the_table(http):
    described = http.get("/api/v1/openapi.json").json()["paths"]
    found = {(method, path) for path, methods in described.items() for method in methods}
    assert found == ROLES.keys() | OPEN


def test_roles_may_do_what_the_table_says_and_nothing_else(service, http):
    body = {"name": NAME, "problem": {"arms": [[1, 0], [0, 1]]}}
    http.post("/api/v1/studies", json=body).raise_for_status()
    wanted = {"worker": {"role": "worker", "studies": [NAME]}, "viewer": {"role": "viewer"}}
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
                assert (reply.status_code != 403) == (role in allowed), (method, path, role)
                assert reply.status_code != 401
