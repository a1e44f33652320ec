"""Further numbers and limits over HTTP and by the command: the same as in the library."""

import json

import numpy as np
import pytest
from tests.cli.conftest import folder, surepick  # noqa: F401

import surepick as sp
from surepick.errors import InvalidInputError

LABELS = ["slow", "good", "poor"]


def finish(study):
    rng = np.random.default_rng(3)
    while not study.finished:
        pulls = study.ask(60)
        told = {}
        for pull in pulls:
            right = float(rng.random() < (0.95, 0.8, 0.3)[pull.arm])
            latency = float(np.clip(rng.normal((80, 30, 30)[pull.arm], 8), 0, 100))
            told[pull.id] = {"reward": right, "latency": latency}
        study.tell_many(told)


def test_a_service_keeps_the_same_limits(service):
    problem = sp.Problem.unstructured(LABELS, noise="yes-no", numbers={"latency": (0, 100)})
    with service.client(patience=20) as client:
        own = {"keep": ["latency <= 50"], "seed": 2}
        there = client.create_study("limited", problem, **own)
        here = sp.create_study("limited", problem, storage="memory://limited-here", **own)
        for study in (there, here):
            finish(study)
        assert there.answer.to_dict() == here.answer.to_dict()
        assert there.answer.label == "good"
        assert there.standing().limits == ("latency <= 50",)
        assert there.standing()["latency <= 50"] == here.standing()["latency <= 50"]
        assert there.standing()["latency <= 50"][1] == "keeps"
        assert there.rewards().numbers == here.rewards().numbers
        assert sp.verify(there.answer.certificate(), replay=True).replayed


def test_a_service_refuses_what_the_library_refuses(service):
    plain = sp.Problem.unstructured(LABELS, noise="yes-no")
    with service.client(patience=20) as client:
        with pytest.raises(InvalidInputError, match="no further number is called 'cost'"):
            client.create_study("no such", plain, keep=["cost <= 1"])
        study = client.create_study(
            "checked", plain, numbers={"cost": [0, 9], "ok": "yes-no"}, keep="cost <= 1"
        )
        (pull,) = study.ask()
        for wrong in (1.0, {"reward": 1.0, "cost": 10.0}, {"reward": 1.0, "cost": 1, "size": 2}):
            with pytest.raises(InvalidInputError, match="nothing was recorded"):
                study.tell(pull.id, wrong)
        assert study.tell(pull.id, {"reward": 1.0, "cost": 3.0, "ok": 1.0}).status == "accepted"
        made = study.correct(pull.id, 0.5, number="cost", reason="typed 3")
        assert (made.number, made.old, made.new) == ("cost", 3.0, 0.5)
        assert json.loads(study.rewards().numbers[0]) == {"cost": 0.5, "ok": 1.0}
        assert [one.said for one in study.acts("correct")] == [
            f"Measurement {pull.id} ({pull.label}), cost: 0.5 now counts instead of 3."
        ]


def test_the_command_keeps_limits(surepick, folder):  # noqa: F811
    how = ("--rewards", "yes-no", "--number", "time=any", "--keep", "median of time <= 5")
    code, out, _ = surepick("new", "limited", "options.csv", "--features", "price", *how)
    assert code == 0
    assert "which option is the best of those that keep the median of time <= 5" in out
    code, out, _ = surepick("ask", "limited", "-n", "2", "--worker", "ann", "--json")
    one, other = (pull["id"] for pull in json.loads(out)["pulls"])
    code, _, err = surepick("tell", "limited", one, "1", "--worker", "ann")
    assert code == 2
    assert "--number time=" in err
    code, _, err = surepick("tell", "limited", one, "1", "--number", "time", "--worker", "ann")
    assert code == 2
    assert "NAME=VALUE" in err
    more = ("--number", "time=1,5", "--worker", "ann")
    code, out, _ = surepick("tell", "limited", one, "1", *more)
    assert (code, "is recorded" in out) == (0, True)
    (folder / "rewards.csv").write_text(f"pull,reward,time\n{other},0,2.5\n")
    code, out, _ = surepick("tell", "limited", "--file", "rewards.csv", "--worker", "ann")
    assert (code, "1 reward is recorded" in out) == (0, True)
    code, out, _ = surepick("export", "limited")
    head, *rows = (line.split(",") for line in out.splitlines())
    place = head.index("time (number)")  # "time" is when it was told
    assert sorted(row[place] for row in rows) == ["1.5", "2.5"]
    code, out, _ = surepick("status", "limited", "--json")
    assert code == 0
    code, _, err = surepick("new", "other", "options.csv", "--keep", "time < 5")
    assert code == 2
    assert "in place of '<'" in err
