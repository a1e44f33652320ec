"""One study with strata, a misfit and yes-or-no rewards, done in four ways, ends in one answer."""

from __future__ import annotations

import csv
import json
import shutil
import sys

import numpy as np
import pytest
from tests.coroutines import completed
from tests.postgres import fast_folder
from tests.server.served import Served

import surepick as sp
from surepick.cli import main

ROWS = [("a", 1), ("b", 2), ("c", 3), ("d", 4), ("e", 5)]
MEANS = {"a": 0.1, "b": 0.22, "c": 0.3, "d": 0.42, "e": 0.8}  # nearly linear in the price
PLATES = ("plate 1", "plate 2")
HAND = 5  # pulls that are asked for at a time
SETTINGS = {"noise": "yes-no", "misfit": 0.25, "strata": "plate", "delta": 0.1}


def reward(pull: int, label: str, plate: str) -> float:
    """Whoever measures a pull comes to the same."""
    chance = MEANS[label] + 0.1 * (plate == PLATES[1])
    return float(np.random.default_rng(pull).random() < chance)


@pytest.fixture
def table(tmp_path):
    file = tmp_path / "options.csv"
    with file.open("w", newline="") as out:
        csv.writer(out).writerows([("label", "price"), *ROWS])
    return file


def worked_off(study):
    """Plate after plate, in this process or at a service."""
    turn = 0
    while not study.finished:
        plate = PLATES[turn % 2]
        pulls = study.ask(HAND, worker="me", stratum=plate)
        study.tell_many([(p.id, reward(p.id, p.label, p.stratum)) for p in pulls], "me")
        turn += 1
    return study.answer


async def worked_off_by_coroutines(url, token, name, table):
    async with sp.AsyncClient(url, token) as client:
        study = await client.create_study(name, table=table, **SETTINGS)
        turn = 0
        while not await study.finished:
            pulls = await study.ask(HAND, worker="me", stratum=PLATES[turn % 2])
            told = [(p.id, reward(p.id, p.label, p.stratum)) for p in pulls]
            await study.tell_many(told, "me")
            turn += 1
        return await study.answer


def by_command(monkeypatch, capsys, table, storage):
    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["surepick", *map(str, arguments), "--storage", storage])
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capsys.readouterr()
        assert not ended.value.code, err
        return json.loads(out)

    chosen = ("--rewards", "yes-no", "--misfit", 0.25, "--strata", "plate", "--delta", 0.1)
    call("new", "s", table, *chosen, "--json")
    turn, finished, file = 0, False, table.parent / "told.csv"
    while not finished:
        asked = call(
            *("ask", "s", "-n", HAND, "--worker", "me", "--stratum", PLATES[turn % 2], "--json")
        )
        rows = [(p["id"], reward(p["id"], p["label"], p["stratum"])) for p in asked["pulls"]]
        with file.open("w", newline="") as out:
            csv.writer(out).writerows([("pull", "reward"), *rows])
        finished = call("tell", "s", "--file", file, "--worker", "me", "--json")["finished"]
        turn += 1
    call("answer", "s", "--certificate", table.parent / "proof.json", "--json")
    return json.loads((table.parent / "proof.json").read_text())


def told_to_a_run(study):
    """The rewards of a study, in the order in which it settled them."""
    run, rewards, first = study.algorithm.start(study.problem), study.rewards(), 0
    run.order_seed = study.definition()["order_seed"]
    while not run.stopped:
        batch = run.ask()
        own = slice(first, first + len(batch))
        assert (batch.arms == rewards.arms[own]).all()
        run.tell(batch, rewards.values[own], strata=rewards.strata[own].tolist())
        first += len(batch)
    return run.answer


def essence(certificate):
    parts = ("stratum", "arms", "counts", "sums")
    return [
        [batch[part] for part in parts] for batch in json.loads(json.dumps(certificate))["batches"]
    ]


@pytest.mark.validation
def test_library_service_client_and_command_line_agree(table, tmp_path, monkeypatch, capsys):
    storage = f"sqlite:///{tmp_path}/own.db"
    own = sp.create_study("own", storage=storage, table=table, **SETTINGS)
    answer = worked_off(own)
    assert answer.label == "e"
    assert answer.guarantee.kind == "pac"
    assert "to within 0.25" in answer.guarantee
    expected = essence(answer.certificate())
    assert {part[0] for part in expected} == set(PLATES)
    assert essence(told_to_a_run(own).certificate()) == expected
    typed = by_command(monkeypatch, capsys, table, f"sqlite:///{tmp_path}/typed.db")
    assert essence(typed) == expected
    assert sp.verify(typed, replay=True).label == "e"
    folder, found = fast_folder("sp-agree-"), []
    with Served(f"sqlite:///{folder}/studies.db", folder) as served, served.client() as client:
        remote = client.create_study("remote", table=table, **SETTINGS)
        found.append(worked_off(remote))
        doing = worked_off_by_coroutines(served.url, served.token, "coroutines", table)
        found.append(completed(doing))
    shutil.rmtree(folder)
    for other in found:
        assert str(other.guarantee) == str(answer.guarantee)
        assert essence(other.certificate()) == expected
