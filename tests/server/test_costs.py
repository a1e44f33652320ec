"""What measurements cost, over HTTP and by the command: the same as in the library."""

import json
import math

import numpy as np
import pytest
from tests.cli.conftest import folder, surepick  # noqa: F401
from tests.coroutines import completed

import surepick as sp
from surepick.errors import AccessError, InvalidInputError

TABLE = "label,size,price\na,1,2\nb,2,50\nc,3,1\nd,4,1\n"


def finish(study):
    rng = np.random.default_rng(3)
    while not study.finished:
        study.tell_many({p.id: p.arm + 0.2 * rng.normal() for p in study.ask(100)})


def test_a_service_spends_the_same(service, tmp_path):
    (tmp_path / "options.csv").write_text(TABLE)
    how = {"features": "size", "misfit": 0.0, "noise": 0.2}
    with service.client(patience=20) as client:
        there = client.create_study("dear", table=tmp_path / "options.csv", cost="price", **how)
        assert there.problem.costs.tolist() == [2.0, 50.0, 1.0, 1.0]
        here = sp.create_study("dear", there.problem, storage="memory://")
        for study in (there, here):
            finish(study)
        assert there.answer.to_dict() == here.answer.to_dict()
        assert there.answer.cost == there.status()["cost"] == there.answer.pulls @ [2, 50, 1, 1]
        assert sp.verify(there.answer.certificate(), replay=True).replayed
        bad = tmp_path / "bad.csv"
        bad.write_text(TABLE.replace("b,2,50", "b,2,-3"))
        with pytest.raises(
            InvalidInputError, match="'-3' is not a cost; costs are numbers above 0"
        ):
            client.create_study("bad", table=bad, cost="price", **how)


def test_a_budget_is_changed_through_both_clients(service):
    problem = sp.Problem(np.eye(3), noise=1.0, costs=[1.0, 2.0, 5.0])
    with service.client(patience=20) as client:
        study = client.create_study("spending", problem, budget=100, delta=1e-9, guess=True)
        assert study.status()["limits"]["budget"] == 100.0
        rng = np.random.default_rng(1)
        while not study.finished:
            study.tell_many({p.id: rng.normal() for p in study.ask(100)})
        assert 95.0 < study.answer.cost <= 100.0
        here = sp.load_study("spending", service.storage).answer
        assert study.answer.p_value == here.p_value > 0.0
        made = study.limit(budget=200, reason="more money", by="ann")
        assert made.token is not None
        assert not study.finished
        worker = sp.Client(service.url, client.make_token("worker", ["spending"]))
        with worker, pytest.raises(AccessError, match="admin"):
            worker.load_study("spending").limit(budget=300)

        async def awaited():
            async with sp.AsyncClient(service.url, service.token) as other:
                there = await other.load_study("spending")
                await there.limit(budget=math.inf, max_samples=150)
                return await there.limit_changes()

        changes = completed(awaited())
        assert changes[0] == made
        assert (changes[1].budget, changes[1].max_samples) == (None, 150)
        with pytest.raises(InvalidInputError, match="the study already has these limits"):
            study.limit(max_samples=150, reason="as before")
        while not study.finished:
            study.tell_many({p.id: rng.normal() for p in study.ask(100)})
        assert study.answer.samples == 150
        assert sp.verify(study.answer.certificate(), replay=True).replayed


def test_the_command_knows_costs(surepick, folder):  # noqa: F811
    (folder / "options.csv").write_text(TABLE)
    code, out, _ = surepick(
        "new", "dear", "options.csv", "--cost", "price", "--noise", "0.1", "--json"
    )
    assert code == 0
    assert json.loads(out)["features"] == ["intercept", "size"]  # a cost is no feature
    finished = False
    while not finished:
        code, out, _ = surepick("ask", "dear", "-n", "100", "--json")
        for pull in json.loads(out)["pulls"]:
            code, said, _ = surepick("tell", "dear", pull["id"], pull["arm"], "--json")
            finished = json.loads(said)["finished"]
    _, out, _ = surepick("answer", "dear", "--json")
    answer = json.loads(out)
    assert answer["cost"] == np.array(answer["pulls"]) @ [2, 50, 1, 1]
    for verb in ("answer", "status"):
        _, out, _ = surepick(verb, "dear")
        assert f"measurements (cost {answer['cost']:,.6g})" in out
    code, _, err = surepick("new", "other", "options.csv", "--cost", "weight")
    assert code == 2
    assert "weight" in err
