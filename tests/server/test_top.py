"""The m best over HTTP and by the command: the same as in the library."""

import json

import numpy as np
import pytest
from tests.cli.conftest import folder, surepick  # noqa: F401

import surepick as sp
from surepick.errors import InvalidInputError

MEANS = [0.2, 0.9, 0.1, 0.85, 0.3]


def finish(study):
    rng = np.random.default_rng(3)
    while not study.finished:
        pulls = study.ask(100)
        study.tell_many({pull.id: MEANS[pull.arm] + 0.2 * rng.normal() for pull in pulls})


@pytest.mark.validation
def test_a_service_finds_the_same_two(service):
    problem = sp.Problem(np.eye(5), labels=list("abcde"))
    with service.client(patience=20) as client:
        there = client.create_study("the two best", problem, top=2)
        here = sp.create_study("the two best", problem, storage="memory://", top=2)
        for study in (there, here):
            assert study.status()["standing"]["question"] == "top"
            finish(study)
        assert there.answer.to_dict() == here.answer.to_dict()
        assert set(there.answer.labels) == {"b", "d"}
        assert there.answer.labels == here.answer.labels
        assert sp.verify(there.answer.certificate(), replay=True).replayed
        states = there.status()["standing"]["columns"]["state"]
        assert states == ["out", "leads", "out", "leads", "out"]
        with pytest.raises(InvalidInputError, match="ask for fewer"):
            client.create_study("all of them", problem, top=5)


def test_the_command_asks_for_several(surepick):  # noqa: F811
    wanted = ("--features", "price", "--noise", "0.1", "--top", "2")
    code, out, _ = surepick("new", "two", "options.csv", *wanted)
    assert code == 0
    assert "Asked: which 2 options are the best." in out
    finished = False
    while not finished:
        code, out, _ = surepick("ask", "two", "-n", "100", "--json")
        for pull in json.loads(out)["pulls"]:
            code, said, _ = surepick("tell", "two", pull["id"], pull["arm"], "--json")
            finished = json.loads(said)["finished"]
    _, out, _ = surepick("answer", "two", "--certificate", "proof.json")
    assert out.startswith("Answer, best-looking first: d, c\n")
    assert "Of 100 studies like this one, at most 5 are wrong about the 2 best." in out
    _, out, _ = surepick("verify", "proof.json")
    assert "The certificate holds: the answer is d, c." in out
    _, out, _ = surepick("status", "two")
    assert "2 of 4 options not ruled out" in out
    assert "p-value" in out
    assert out.count("the answer") == 3
    code, out, _ = surepick("new", "three", "options.csv", "--traffic", "--top", "2")
    assert code == 0
    assert "Asked: which 2 options are the best." in out
