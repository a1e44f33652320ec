"""A formula that would run something is refused by every door."""

import shutil

import pytest
from tests.cli.conftest import folder, surepick  # noqa: F401
from tests.postgres import fast_folder
from tests.problem.formulas import attacks
from tests.server.served import Served

import surepick as sp
from surepick.errors import SurepickError

OPTIONS = "label,price,colour\na,1,red\nb,2,blue\nc,3,red\nd,4,blue\n"
COUNT = 51  # the known one, and fifty of its kind


@pytest.fixture(scope="module")
def service():
    place = fast_folder("sp-formulas-")
    with Served(f"sqlite:///{place}/studies.db", place, "--rate", "100000") as served:
        yield served
    shutil.rmtree(place)


def formulas(mark):
    known, *others = attacks(str(mark).replace("price", "").replace("colour", ""))
    # Spread over all kinds, and about columns that are there.
    chosen = [known, *others[:: len(others) // COUNT][: COUNT - 1]]
    return [one.replace("(a", "(price").replace("`a`", "`price`") for one in chosen]


@pytest.mark.validation
def test_requests(service, tmp_path):
    mark = tmp_path / "mark"
    with service.http() as http:
        for place, formula in enumerate(formulas(mark)):
            table = {"csv": OPTIONS, "formula": formula}
            bodies = {
                "/api/v1/tables": table,
                "/api/v1/studies": {"name": "s", "table": table},
            }
            if place % 25 == 0:  # a forecast takes a process of its own, which takes seconds
                bodies["/api/v1/plan"] = {**table, "gap": 1.0, "noise": 1.0}
            for door, body in bodies.items():
                refused = http.post(door, json=body)
                said = refused.json()["error"]
                if door == "/api/v1/tables":  # a look at a table, with what is wrong with it
                    assert refused.json()["problem"] is None
                else:
                    assert refused.status_code == 422, (door, formula, refused.text)
                    assert said["kind"] in ("InvalidInputError", "UnknownNameError"), said
                    said = said["message"]
                assert "formula" in said, (door, formula, said)
    assert not mark.exists()


def test_commands_and_the_library(folder, surepick, tmp_path):  # noqa: F811
    mark = tmp_path / "mark"
    for formula in formulas(mark):
        for command in (["new", "s", "options.csv"], ["plan", "options.csv", "--gap", "1"]):
            code, _, err = surepick(*command, "--formula", formula)
            assert code != 0, (command, formula)
            assert "formula" in err, (formula, err)
            assert "Traceback" not in err
        with pytest.raises(SurepickError, match="formula"):
            sp.create_study("s", table="options.csv", formula=formula, storage="memory://")
    assert not mark.exists()
