"""What browsers and strangers may not do."""

import csv
import io
import json
import socket
import time

import httpx2
import pytest
from tests.server.served import Served
from tests.server.test_routes import at, work

HEADERS = {
    "content-security-policy": "default-src 'self'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


@pytest.fixture
def page(service):
    """A browser that has logged in as admin: a cookie, and the token against forged requests."""
    with service.http("") as client:
        found = client.post("/api/v1/session", json={"token": service.token})
        client.csrf = found.json()["csrf"]
        yield client


# -- the page's session ---------------------------------------------------------------------
def test_a_session_is_a_cookie_that_scripts_and_other_sites_cannot_use(service):
    with service.http("") as client:
        found = client.post("/api/v1/session", json={"token": service.token})
        assert found.json()["role"] == "admin"
        cookie = found.headers["set-cookie"]
        for part in ("surepick-session=sp_", "HttpOnly", "SameSite=strict", "Path=/"):
            assert part in cookie
        assert service.token not in cookie
        assert client.get("/api/v1/session").json() == found.json()
        assert client.get("/api/v1/studies").status_code == 200


def test_logging_out_ends_the_session(page, service):
    secret = page.cookies["surepick-session"]
    assert page.delete("/api/v1/session", headers={"X-CSRF-Token": page.csrf}).status_code == 204
    with service.http("", cookies={"surepick-session": secret}) as client:
        assert client.get("/api/v1/studies").status_code == 401


def test_a_wrong_token_does_not_log_in(service):
    found = httpx2.post(f"{service.url}/api/v1/session", json={"token": "sp_guess"})
    assert (found.status_code, "set-cookie" in found.headers) == (401, False)


def test_a_token_is_no_cookie(service):
    with service.http("", cookies={"surepick-session": service.token}) as client:
        assert client.get("/api/v1/studies").status_code == 401


@pytest.mark.parametrize("given", [{}, {"X-CSRF-Token": ""}, {"X-CSRF-Token": "0" * 64}])
def test_requests_with_the_cookie_need_the_csrf_token(page, given):
    body = {"role": "viewer"}
    refused = page.post("/api/v1/tokens", json=body, headers=given)
    assert (refused.status_code, "X-CSRF-Token" in refused.text) == (403, True)
    fine = page.post("/api/v1/tokens", json=body, headers={"X-CSRF-Token": page.csrf})
    assert fine.status_code == 201


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "null", "http://127.0.0.1:1", "http://["]
)
def test_pages_of_other_sites_are_refused(page, http, origin):
    head = {"Origin": origin}
    body = {"role": "viewer"}
    forged = page.post("/api/v1/tokens", json=body, headers=head | {"X-CSRF-Token": page.csrf})
    assert forged.status_code == 403
    assert http.post("/api/v1/tokens", json=body, headers=head).status_code == 403
    log_in = page.post("/api/v1/session", json={"token": "x"}, headers=head)
    assert log_in.status_code == 403  # nor may they log somebody in


def test_the_own_page_is_not(page, service):
    head = {"Origin": service.url, "X-CSRF-Token": page.csrf}
    assert page.post("/api/v1/tokens", json={"role": "viewer"}, headers=head).status_code == 201


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "", "127.0.0.1.evil.example"])
def test_requests_for_another_host_are_refused(http, host):
    for path in ("/", "/api/v1/studies", "/static/index.html"):
        found = http.get(path, headers={"Host": host})
        assert found.status_code == 400, path
        assert "evil" not in found.text


def test_no_other_site_may_read_answers(http, service):
    found = http.get("/api/v1/studies", headers={"Origin": "https://evil.example"})
    assert not [name for name in found.headers if name.startswith("access-control")]
    before = http.options("/api/v1/studies", headers={"Origin": "https://evil.example"})
    assert not [name for name in before.headers if name.startswith("access-control")]


def test_every_answer_has_the_headers(http, service, study):
    answers = [
        httpx2.get(f"{service.url}/health"),
        httpx2.get(f"{service.url}/"),
        httpx2.get(f"{service.url}/api/v1/studies"),
        httpx2.get(f"{service.url}/", headers={"Host": "evil.example"}),
        http.get("/nothing"),
        http.get(at(study)),
        http.get(at(study, "/export")),
        http.post(at(study, "/ask"), content=b"{", headers={"Content-Type": "application/json"}),
    ]
    for answer in answers:
        for name, value in HEADERS.items():
            assert answer.headers[name].startswith(value), (answer.url, name)
        assert "unsafe" not in answer.headers["content-security-policy"]
        assert "server" not in answer.headers
    assert all("no-store" in a.headers["cache-control"] for a in answers[2:])


# -- size, depth, rate ----------------------------------------------------------------------
def test_bodies_that_are_too_large(service, http):
    body = {"csv": "x" * (16 * 2**20)}
    assert http.post("/api/v1/tables", json=body).status_code == 413

    def pieces():
        for _ in range(17):
            yield b" " * 2**20

    # Without a length in advance, the service stops reading; the caller may notice that first.
    try:
        assert http.post("/api/v1/tables", content=pieces()).status_code == 413
    except httpx2.TransportError:
        assert http.get("/health").status_code == 200


@pytest.mark.parametrize("opening", ["[", '{"a":'])
def test_bodies_that_are_nested_too_deeply(http, study, opening):
    closing = "]" if opening == "[" else "}"
    for depth, place in (
        (33, at(study, "/ask")),
        (30_000, at(study, "/tell")),
        (1_000_000, "/api/v1/tables"),
    ):
        content = opening * depth + ("1" if opening != "[" else "") + closing * depth
        found = http.post(place, content=content, headers={"Content-Type": "application/json"})
        assert found.status_code == 422
        assert "nested" in found.json()["error"]["message"]


def test_brackets_in_texts_are_not_nesting(http):
    found = http.post("/api/v1/tables", json={"csv": 'a,b\n"' + "[{" * 500 + '\\""",1\nx,2\n'})
    assert found.status_code == 200
    assert found.json()["rows"] == 2


def test_numbers_that_no_computer_likes(http, study):
    for content in (
        '{"n": 1e999}',
        '{"n": NaN}',
        '{"n": ' + "9" * 5000 + "}",
        '{"lease": Infinity}',
    ):
        found = http.post(
            at(study, "/ask"), content=content, headers={"Content-Type": "application/json"}
        )
        assert found.status_code in (400, 422), content


@pytest.mark.validation
def test_too_many_requests(database_folder):
    """Strangers are slowed down, and so is a caller who comes too often; others are not."""
    limits = ("--rate", "0.01", "--stranger-rate", "0.001")  # 20 and 10 at once, then no more
    with Served(f"sqlite:///{database_folder}/s.db", database_folder, *limits) as served:
        with served.http() as http:
            other = http.post("/api/v1/tokens", json={"role": "viewer"}).json()["token"]
            found = [http.get("/api/v1/studies") for _ in range(22)]
        refused = [one for one in found if one.status_code == 429]
        assert refused
        assert int(refused[0].headers["Retry-After"]) >= 1
        assert refused[0].json()["error"]["kind"] == "TooManyRequestsError"
        with served.http(other) as viewer:
            # Metrics change once a second, and have a limit of their own: 3 at once.
            looks = [viewer.get("/metrics").status_code for _ in range(4)]
            assert looks == [200, 200, 200, 429]
            assert viewer.get("/api/v1/studies").status_code == 200
        guesses = [
            httpx2.post(f"{served.url}/api/v1/session", json={"token": f"sp_{i}"}).status_code
            for i in range(12)
        ]
        assert guesses[0] == 401
        assert guesses[-1] == 429
        with served.http("sp_guess") as stranger:
            assert stranger.get("/api/v1/studies").status_code == 429


# -- content that bites ---------------------------------------------------------------------
@pytest.mark.parametrize(
    "path",
    [
        "/static/../settings.py",
        "/static/%2e%2e/settings.py",
        "/static/..%2fsettings.py",
        "/static/....//settings.py",
        "/static//etc/passwd",
        "/static/%00",
        "/api/v1/studies/..%2f..%2fetc%2fpasswd",
        "/api/v1/studies/%2e%2e/export",
        "/api/v1/studies/..%5c..%5cwindows",
        "/api/v1/studies/%00",
        "/api/v1/studies/%ff%fe",
    ],
)
def test_paths_that_climb_lead_nowhere(service, path):
    with socket.create_connection(("127.0.0.1", service.port), 30) as raw:
        raw.sendall(
            f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n"
            f"Authorization: Bearer {service.token}\r\n\r\n".encode()
        )
        answer = b""
        while part := raw.recv(65536):
            answer += part
    assert answer.split(b" ", 2)[1] in (b"404", b"400", b"422")
    assert b"root:" not in answer
    assert b"class Settings" not in answer


def test_script_in_labels_stays_text(http):
    evil = "<script>alert(1)</script>"
    table = f'label,price\n"{evil}",1\n"<img src=x onerror=alert(1)>",2\n'
    body = {"name": evil, "table": {"csv": table, "features": ["price"]}}
    assert http.post("/api/v1/studies", json=body).status_code == 201
    for what in ("", "/definition", "/export", "/export?format=json"):
        found = http.get(at(evil, what))
        kind = found.headers["content-type"].split(";")[0]
        assert kind in ("application/json", "text/csv")  # and browsers may not guess otherwise
        assert found.headers["x-content-type-options"] == "nosniff"
    found = http.get(at(evil, "/export"))
    assert "<" not in found.headers["content-disposition"]
    assert http.get(at(evil)).json()["labels"][0] == evil


def test_formulas_in_exports_are_inert(http):
    names = ["=HYPERLINK(0)", "+1+1", "-2-cmd|' /C calc'!A0", "@SUM(A1)", "\t=1", "-3.5"]
    arms = [[float(i), 1.0] for i in range(len(names))]
    body = {"name": "=formulas", "problem": {"arms": arms, "labels": names}, "noise": 0.1}
    http.post("/api/v1/studies", json=body).raise_for_status()
    pulls = http.post(at("=formulas", "/ask"), json={"n": 1, "worker": "=w"}).json()["pulls"]
    http.post(
        at("=formulas", "/fail"), json={"pull": pulls[0]["id"], "reason": "=1+1", "worker": "=w"}
    )
    work(http, "=formulas")
    for what in ("measurements", "options", "events"):
        text = http.get(at("=formulas", f"/export?what={what}")).text
        for row in csv.reader(io.StringIO(text)):
            for cell in row:
                if cell[:1] in ("=", "+", "-", "@", "\t", "\r"):
                    float(cell)  # only numbers may begin so
    told = http.get(at("=formulas", "/export?format=json")).json()
    assert {row["label"] for row in told} <= set(names)  # elsewhere they are as they were


def test_errors_say_nothing_about_the_inside(http, service, study):
    """Not even those of the database."""
    unknown = http.get(at("nobody knows")).text
    assert study not in unknown
    assert "sqlite" not in unknown
    exists = http.post("/api/v1/studies", json={"name": study, "problem": {"arms": [[1], [2]]}})
    assert "sqlite" not in exists.text
    for found in (unknown, exists.text):
        assert "Traceback" not in found


def test_the_log_is_json_without_query_strings(http, service, study):
    http.get(at(study, "/events?after=0&kind=secret-in-query"))
    time.sleep(0.1)
    lines = [json.loads(line) for line in service.log.read_text().splitlines()]
    line = next(one for one in reversed(lines) if one.get("path", "").endswith("/events"))
    assert (line["message"], line["method"], line["status"]) == ("request", "GET", 200)
    assert line["ms"] >= 0
    assert "secret-in-query" not in service.log.read_text()
