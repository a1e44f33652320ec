"""Who may do what: every operation of the description, with every kind of token."""

import itertools
import time

import httpx2
import pytest
from tests.server.served import OPTIONS

NAME = "guarded"
#: operations that are open, and why
OPEN = {("get", "/health"): "no data", ("post", "/api/v1/session"): "the way in"}
BODIES = {
    "/api/v1/studies": {"name": "new", "table": {"csv": OPTIONS, "features": ["price"]}},
    "/api/v1/studies/{name}/tell": {"rewards": [{"pull": 0, "reward": 1}]},
    "/api/v1/studies/{name}/fail": {"pull": 0},
    "/api/v1/studies/{name}/keep": {"held": {"ann": [0]}},
    "/api/v1/studies/{name}/acts/add": {"labels": ["new"]},
    "/api/v1/studies/{name}/acts/retire": {"label": "a", "reason": "sold out"},
    "/api/v1/studies/{name}/acts/limit": {"budget": 500},
    "/api/v1/studies/{name}/acts/withdraw": {"pull": 0, "reason": "dust"},
    "/api/v1/tables": {"csv": OPTIONS},
    "/api/v1/plan": {"csv": OPTIONS, "features": ["price"], "gap": 1, "trials": 2},
    "/api/v1/tokens": {"role": "viewer"},
}


@pytest.fixture(scope="module")
def setup(service):
    with service.http() as http:
        body = {"name": NAME, "problem": {"arms": [[1, 0], [0, 1]]}}
        http.post("/api/v1/studies", json=body).raise_for_status()
        description = http.get("/api/v1/openapi.json").json()
        made = {}
        for label, wanted in {
            "worker": {"role": "worker", "studies": [NAME]},
            "viewer": {"role": "viewer"},
            "viewer of this": {"role": "viewer", "studies": [NAME]},
            "worker elsewhere": {"role": "worker", "studies": ["elsewhere"]},
            "viewer elsewhere": {"role": "viewer", "studies": ["elsewhere"]},
            "expired": {"role": "admin", "expires_in": 0.001},
        }.items():
            made[label] = http.post("/api/v1/tokens", json=wanted).json()["token"]
        time.sleep(0.01)
        return description, made


def operations(description):
    return [
        (method, path, spec)
        for path, methods in description["paths"].items()
        for method, spec in methods.items()
    ]


def send(service, token, method, path):
    body = BODIES.get(path, {} if method == "post" else None)
    place = path.replace("{name}", NAME).replace("{id}", "0" * 16)
    with service.http(token) as http:
        if path.endswith("/stream"):
            with http.stream("GET", place) as stream:
                return stream.status_code
        return http.request(method, place, json=body).status_code


def test_nothing_but_what_is_named_is_open(setup):
    description, _ = setup
    for method, path, spec in operations(description):
        assert bool(spec.get("x-roles")) != ((method, path) in OPEN), (method, path)


@pytest.mark.parametrize("token", ["", "sp_wrong", "expired", "é".encode("latin-1")])
def test_every_operation_without_a_valid_token(service, setup, token):
    description, made = setup
    token = made.get(token, token) if isinstance(token, str) else token.decode("latin-1")
    headers = {"Authorization": f"Bearer {token}".encode("latin-1")} if token else {}
    with httpx2.Client(base_url=service.url, headers=headers, timeout=60) as http:
        for method, path, spec in operations(description):
            if not spec.get("x-roles"):
                continue
            found = http.request(method, path.replace("{name}", NAME).replace("{id}", "x"))
            assert found.status_code == 401, (method, path)
            assert found.json()["error"]["kind"] == "AccessError"
            assert found.headers["www-authenticate"] == "Bearer"


def test_every_operation_with_the_wrong_role(service, setup):
    description, made = setup
    for (method, path, spec), role in itertools.product(
        operations(description), ("worker", "viewer")
    ):
        if spec.get("x-roles") and role not in spec["x-roles"]:
            assert send(service, made[role], method, path) == 403, (method, path, role)


def test_every_operation_on_a_study_with_a_token_for_another(service, setup):
    description, made = setup
    tried = 0
    for method, path, spec in operations(description):
        for role in ("worker", "viewer"):
            if "{name}" in path and role in spec["x-roles"]:
                tried += 1
                assert send(service, made[f"{role} elsewhere"], method, path) == 403, path
    assert tried > 10


def test_every_operation_with_the_right_role(service, setup):
    """The other side: no role is refused what the description allows it."""
    description, made = setup
    for method, path, spec in operations(description):
        for role in ("worker", "viewer of this"):
            if role.split()[0] in spec.get("x-roles", ()) and method != "delete":
                assert send(service, made[role], method, path) not in (401, 403), (path, role)


def test_paths_that_are_not_described_need_a_token_too(service):
    for path in (
        "/nothing",
        "/api/v1",
        "/docs",
        "/openapi.json",
        "/api/v1/openapi.json",
        "/static",
    ):
        assert httpx2.get(service.url + path).status_code == 401, path


def test_lists_show_what_the_token_is_for(service, setup, http):
    _, made = setup
    http.post("/api/v1/studies", json={"name": "other", "problem": {"arms": [[1, 0], [0, 1]]}})

    def names(token):
        with service.http(token) as client:
            return [one["name"] for one in client.get("/api/v1/studies").json()["studies"]]

    assert {NAME, "other"} <= set(names(made["viewer"]))
    assert names(made["worker"]) == names(made["viewer of this"]) == [NAME]
    assert names(made["viewer elsewhere"]) == []


def test_tokens_are_listed_without_their_secret_and_revoked(service, http):
    made = http.post("/api/v1/tokens", json={"role": "viewer", "note": "for the wall"}).json()
    listed = {one["id"]: one for one in http.get("/api/v1/tokens").json()["tokens"]}
    assert listed[made["id"]]["note"] == "for the wall"
    assert made["token"] not in http.get("/api/v1/tokens").text
    with service.http(made["token"]) as viewer:
        assert viewer.get("/api/v1/studies").status_code == 200
        logged_in = viewer.post("/api/v1/session", json={"token": made["token"]})
        session = logged_in.cookies["surepick-session"]
        assert http.delete(f"/api/v1/tokens/{made['id']}").status_code == 204
        assert viewer.get("/api/v1/studies").status_code == 401
    with service.http("", cookies={"surepick-session": session}) as page:
        assert page.get("/api/v1/studies").status_code == 401
    assert http.delete(f"/api/v1/tokens/{made['id']}").status_code == 422


def test_tokens_that_make_no_sense_are_refused(http):
    for body in (
        {"role": "worker"},
        {"role": "worker", "studies": []},
        {"role": "admin", "studies": ["a"]},
        {"role": "king"},
        {"role": "viewer", "expires_in": -1},
    ):
        assert http.post("/api/v1/tokens", json=body).status_code == 422, body


def test_the_last_admin_token_cannot_be_revoked(http):
    admins = [
        one
        for one in http.get("/api/v1/tokens").json()["tokens"]
        if one["role"] == "admin" and one["expires"] is None
    ]
    assert len(admins) == 1
    refused = http.delete(f"/api/v1/tokens/{admins[0]['id']}")
    assert (refused.status_code, refused.json()["error"]["kind"]) == (409, "RunStateError")


def test_secrets_are_neither_stored_nor_logged(service, http):
    made = http.post("/api/v1/tokens", json={"role": "viewer"}).json()["token"]
    with service.http(made) as viewer:
        viewer.get(f"/api/v1/studies?token={made}")
        viewer.post("/api/v1/session", json={"token": made})
        viewer.get(f"/api/v1/studies/{NAME}", headers={"X-CSRF-Token": made})
    database = service.storage.removeprefix("sqlite:///")
    for secret in (made, service.token):
        with open(database, "rb") as file:
            assert secret.encode() not in file.read()
        assert secret not in service.log.read_text()
    assert service.said.read_text().count(service.token) == 1  # shown once
