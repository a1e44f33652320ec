"""A study moves to another database, with everything that was measured and done."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

import surepick as sp
from surepick.cli import cli
from surepick.errors import StorageError, StudyExistsError, UnknownStudyError
from surepick.storage import copying, open_storage
from surepick.study import copy_study

MEANS = {"a": 0.0, "b": 0.4, "c": 1.0, "d": 2.2}


def reward(pull):
    return MEANS[pull.label] + np.random.default_rng(pull.id).normal()


def measured(study, pulls):
    """Tell so many more pulls."""
    for _ in range(pulls):
        if study.finished:
            break
        for pull in study.ask(1, worker="me"):
            study.tell(pull.id, reward(pull))
    return study


def busy(storage, name="tea"):
    """A study in the middle of its life: corrections, options that came, failures, pulls out."""
    problem = sp.Problem.unstructured(["a", "b", "c"])
    study = sp.create_study(name, problem, storage=storage, seed=5)
    measured(study, 10)
    done = study.ask(1, worker="me")[0]
    study.tell(done.id, 7.0)
    study.correct(done.id, 0.7, reason="a slip of the pen")
    study.fail(study.ask(1, worker="other")[0].id, worker="other")
    study.add(["d"])
    measured(study, 30)
    study.ask(2, worker="slow")
    return study


@pytest.mark.some(1)
def test_everything_comes_along_and_goes_on_as_the_original_would(storage_url, tmp_path):
    here, there = f"sqlite:///{tmp_path}/here.db", storage_url
    study = busy(here)
    copy_study("tea", there, here)
    copy = sp.load_study("tea", there)
    assert copy.progress().measured == study.progress().measured
    assert copy.history() == study.history()
    source, target = open_storage(here), open_storage(there)
    rows = [one.read(lambda tx: copying._read(tx, "tea", lock=False)) for one in (source, target)]
    assert rows[0] == rows[1]
    assert rows[0] is not None
    assert len(rows[0].leases) == 2
    for one in (study, copy):  # the two that were out are handed out again, in the copy
        waiting = one.ask(2, worker="slow")
        for pull in waiting:
            one.tell(pull.id, reward(pull))
    for one in (study, copy):
        measured(one, 10_000)
    assert copy.answer.label == study.answer.label
    assert copy.answer.pulls.tolist() == study.answer.pulls.tolist()
    assert sp.verify(copy.answer.certificate(), replay=True).complete
    source.close()
    target.close()


@pytest.mark.some(1)
def test_there_and_back_again(storage_url, tmp_path):
    here = f"sqlite:///{tmp_path}/here.db"
    busy(here)
    source = open_storage(here)
    before = source.read(lambda tx: copying._read(tx, "tea", lock=False))
    copy_study("tea", storage_url, source, new_name="abroad", move=True)
    assert sp.study.list_studies(source) == []
    copy_study("abroad", source, storage_url, new_name="tea", move=True)
    assert source.read(lambda tx: copying._read(tx, "tea", lock=False)) == before
    source.close()


def test_traffic_moves_with_its_periods(tmp_path):
    here, there = (f"sqlite:///{tmp_path}/{name}.db" for name in ("here", "there"))
    problem = sp.Problem.unstructured(["a", "b"], noise="yes-no")
    study = sp.create_study("site", problem, storage=here, traffic=True)
    for day in range(3):
        study.split(visits=2000)
        study.record({"a": (1000, 50 + day), "b": (1000, 60)}, period=f"day {day}")
    study.split(visits=2000)
    copy_study("site", there, here)
    copy = sp.load_study("site", there)
    assert copy.status()["standing"]["columns"] == study.status()["standing"]["columns"]
    assert copy.split(visits=2000) == study.split(visits=2000)


def test_nothing_is_overwritten_and_nothing_is_lost(tmp_path):
    here, there = (f"sqlite:///{tmp_path}/{name}.db" for name in ("here", "there"))
    study = busy(here)
    copy_study("tea", there, here)
    copy_study("tea", there, here)  # it is there already, and the same
    measured(study, 3)
    with pytest.raises(StudyExistsError, match="'tea' already exists"):
        copy_study("tea", there, here)
    with pytest.raises(UnknownStudyError, match="no study is called 'milk'"):
        copy_study("milk", there, here)
    source, target = open_storage(here), open_storage(f"sqlite:///{tmp_path}/other.db", create=True)
    copied = copying.copy(source, "tea", target)
    measured(study, 3)
    with pytest.raises(StorageError, match="went on while it was copied"):
        copying.remove(source, copied)
    assert sp.study.list_studies(source) == ["tea"]
    source.close()
    target.close()


def test_by_the_command(tmp_path):
    here, there = (f"sqlite:///{tmp_path}/{name}.db" for name in ("here", "there"))
    told = busy(here).progress().measured
    call = ["copy", "tea", "--storage", here, "--to", there, "--json"]
    found = CliRunner().invoke(cli, [*call, "--as", "spare"])
    assert json.loads(found.output)["measurements"] == told
    moved = CliRunner().invoke(cli, [*call[:-1], "--move"])
    assert "is moved to" in moved.output
    assert sorted(sp.study.list_studies(there)) == ["spare", "tea"]
    assert sp.study.list_studies(here) == []
