"""What a judge's token allows: to see two options and say which is better, and no more."""

import base64

import pytest
from tests.server.served import Served

from surepick.errors import InvalidInputError, NotAllowedError
from surepick.server.settings import Settings

DOT = "data:image/gif;base64,R0lGODlhAQABAAAAACwAAAAAAQABAAACAkQBADs="
CSV = "name,text,look\na,One.,a.gif\nb,Two.,a.gif\nc,<b>Three.</b>,a.gif\n"


@pytest.fixture
def arena(service, http, request):
    """A study of pairs, and clients of two judges."""
    name = request.node.name[:150]
    body = {"name": name, "table": {"csv": CSV}, "pairs": True, "files": {"a.gif": DOT}}
    made = http.post("/api/v1/studies", json=body)
    assert made.status_code == 201, made.text
    tokens = [
        http.post("/api/v1/tokens", json={"role": "worker", "studies": [name]}).json()["token"]
        for _ in range(2)
    ]
    with service.http(tokens[0]) as ann, service.http(tokens[1]) as bob:
        yield f"/api/v1/studies/{name}", ann, bob


def ask(judge, path, worker, n=1):
    reply = judge.post(f"{path}/ask", json={"worker": worker, "n": n})
    return reply.raise_for_status().json()["pulls"]


def tell(judge, path, worker, pull, reward):
    body = {"worker": worker, "rewards": [{"pull": pull["id"], "reward": reward}]}
    return judge.post(f"{path}/tell", json=body)


def test_an_ask_brings_what_to_show(arena):
    path, ann, _ = arena
    (pull,) = ask(ann, path, "ann")
    assert [one["content"] for one in pull["shown"]["both"]] == ["a.gif"]
    assert pull["shown"]["first"][0]["content"] == pull["features"]["first"]["text"]
    found = ann.get(f"{path}/shown", params={"file": "a.gif"})
    assert found.headers["content-type"] == "image/gif"
    assert found.headers["x-content-type-options"] == "nosniff"
    assert found.content == base64.b64decode(DOT.partition(",")[2])
    assert ann.get(f"{path}/shown", params={"file": "../secret"}).status_code == 422


def test_a_judge_corrects_the_last_comparison_of_its_own_and_nothing_else(arena, http):
    path, ann, bob = arena
    pulls = ask(ann, path, "ann", 2)
    (other,) = ask(bob, path, "bob")
    for pull in pulls:
        tell(ann, path, "ann", pull, 1.0).raise_for_status()
    tell(bob, path, "bob", other, "tie").raise_for_status()

    def correct(judge, pull, by="ann", reward=0.5):
        body = {"pull": pull["id"], "reward": reward, "reason": "a slip", "by": by}
        return judge.post(f"{path}/acts/correct", json=body).status_code

    assert correct(ann, pulls[0]) == 403  # not the last
    assert correct(ann, other) == 403  # another judge's
    assert correct(bob, pulls[1]) == 403
    assert correct(bob, pulls[1], "bob") == 403
    assert correct(ann, pulls[1], "bob") == 403  # under another name
    assert correct(ann, pulls[1]) == 200
    assert correct(ann, pulls[1]) == 200  # as when an answer was lost
    for kind in ("withdraw", "pause", "stop", "retire"):
        body = {"pull": pulls[1]["id"], "reason": "no"}
        assert ann.post(f"{path}/acts/{kind}", json=body).status_code == 403
    assert ann.get(f"{path}/judgements").status_code == 403
    found = http.get(f"{path}/judgements").json()
    assert {one["name"]: one["ties"] for one in found["judges"]} == {"ann": 1, "bob": 1}
    assert len(http.get(f"{path}/acts").json()["acts"]) == 1


def test_workers_of_other_studies_correct_nothing(service, http, study):
    made = http.post("/api/v1/tokens", json={"role": "worker", "studies": [study]}).json()
    with service.client(made["token"]) as client:
        one = client.load_study(study)
        (pull,) = one.ask(worker="w")
        one.tell(pull.id, 1.0, worker="w")
        with pytest.raises(NotAllowedError, match="two at a time"):
            one.correct(pull.id, 2.0, reason="no", by="w")


def test_pictures_of_other_sites_are_shown_where_the_service_says_so(tmp_path):
    with pytest.raises(InvalidInputError, match="pictures_from"):
        Settings(storage="sqlite:///s.db", pictures_from=("https://a.org/x; script-src *",))
    csv = "name,look\na,https://pics.example/a.png\nb,https://pics.example/b.png\n"
    options = ("--pictures-from", "https://pics.example")
    with Served(f"sqlite:///{tmp_path}/s.db", tmp_path, *options) as served, served.http() as http:
        body = {"name": "far", "table": {"csv": csv}, "pairs": True}
        assert http.post("/api/v1/studies", json=body).status_code == 201
        (pull,) = ask(http, "/api/v1/studies/far", "me")
        assert pull["shown"]["first"][0]["kind"] == "picture"
        policy = http.get("/health").headers["content-security-policy"]
        assert policy.endswith("; img-src 'self' https://pics.example")
        assert "default-src 'self'" in policy
