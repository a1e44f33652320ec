"""What a release wrote stays readable: one small file of each format, from format 1 on."""

import csv
import gzip
import json
from pathlib import Path

import pytest
from tests.data.format_1 import write

import surepick as sp
from surepick.run.replay import EXACT
from surepick.study.chain import check_chain

DATA = Path(__file__).parent / "data" / "format_1"


def rows_of(path):
    with path.open() as file:
        return list(csv.DictReader(file))


def rewards(met):
    found = write.Rewards()
    found.met = dict(met)
    return found


def test_a_saved_run_goes_on_as_it_did():
    saved = json.loads((DATA / "run.json").read_text())
    assert saved["run"]["version"] == 1
    run = write.go_on(sp.Run.from_json(json.dumps(saved["run"])), rewards(saved["met"]))
    answer = run.answer
    assert [answer.label, answer.samples, answer.guarantee.kind] == saved["answer"]
    assert sp.verify(answer.certificate(), replay=True).replay == EXACT


def test_a_certificate_holds_and_replays():
    found = sp.verify(DATA / "certificate.json", replay=True)
    answer = json.loads((DATA / "run.json").read_text())["answer"]
    assert [write.LABELS[found.candidate], found.guarantee] == [answer[0], answer[2]]
    assert (found.replay, found.unknown) == (EXACT, ())


@pytest.fixture
def study(database_folder):
    path = database_folder / "study.db"
    path.write_bytes(gzip.decompress((DATA / "study.db.gz").read_bytes()))
    study = sp.load_study("photos", f"sqlite:///{path}")
    yield study
    study.close()


def test_a_study_goes_on_in_its_database(study, tmp_path):
    assert study.status()["samples"] <= 30
    check_chain(study.storage, study._record)
    assert study.rebuild().active == study.current_run.active
    told = write.Rewards()
    for row in rows_of(study.export(tmp_path / "again.csv")):
        told.of(row["label"])
    while not study.finished:
        write.measure(study, told, 1)
    assert sp.verify(study.answer.certificate(), replay=True).replayed


def test_an_export_is_read_as_past_measurements():
    assert len(rows_of(DATA / "export.csv")) == 30
    found = sp.create_study(
        "next",
        write.problem(),
        storage="memory://next of format 1",
        past=str(DATA / "export.csv"),
        past_chosen="in advance",
    )
    assert found.current_run.past.measurements == 30
