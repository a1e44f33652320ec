"""Exports: headers that no spreadsheet obeys, and columns of options that are called like ours."""

import csv
import io
import json
from datetime import datetime

import pandas as pd
import pytest

import surepick as sp
from surepick.storage.memory import MemoryStorage
from surepick.study.export import content, rows
from surepick.study.sheet import OptionTable

_OBEYED = ("=", "+", "-", "@", "|", "%", "\t", "\r", "＝", "＋", "－", "＠", "｜", "％")
OWN = ("pull", "arm", "label", "reward", "time", "worker", "token")


def worked_on(table, **settings):
    """A study of the options in a table, a few of which were measured."""
    algorithm = sp.algorithms.get("pooled-peleg", delta=0.1)
    options = OptionTable.of(pd.DataFrame(table), **settings)
    study = sp.create_study("s", None, algorithm, MemoryStorage(), table=options)
    for pull in study.ask(6):
        study.tell(pull.id, 100.0 + pull.id)
    return study


@pytest.mark.parametrize("first", _OBEYED)
def test_headers_are_no_formulas(first):
    name = f"{first}HYPERLINK(0)"
    text = content([{"pull": 1, name: "x"}, {"pull": 2, name: "y"}], "csv")
    header, *cells = csv.reader(io.StringIO(text, newline=""))
    assert header[0] == "pull"
    assert not header[1].startswith(_OBEYED)
    assert header[1].endswith(name)  # it can still be recognised
    assert cells == [["1", "x"], ["2", "y"]]
    assert list(json.loads(content([{name: "x"}], "json"))[0]) == [name]  # elsewhere as it was


@pytest.mark.parametrize("end", ["\r", "\n", "\r\n"])
def test_a_line_that_ends_inside_of_a_label_begins_no_row(end):
    evil = f"a{end}=HYPERLINK(0)"
    text = content([{"label": evil, "pulls": 1}, {"label": "b", "pulls": 2}], "csv")
    found = list(csv.reader(io.StringIO(text, newline="")))
    assert found == [["label", "pulls"], [evil, "1"], ["b", "2"]]
    assert text.endswith("b,2\n")


def test_headers_of_a_table_are_no_formulas():
    names = ["=cmd", "+1+1", "@SUM(A1)", "-2+3"]
    table = {"label": ["a", "b", "c"], "size": [1.0, 2.0, 4.0]} | {n: [7, 8, 9] for n in names}
    study = worked_on(table, label="label", features=["size"])
    for what in ("measurements", "options"):
        header = next(csv.reader(io.StringIO(content(rows(study, what), "csv"))))
        assert len(header) >= len(names) + 2
        assert [cell for cell in header if cell.startswith(_OBEYED)] == []


def test_columns_called_like_ours_take_the_place_of_none():
    theirs = {name: [f"{name} {k}" for k in range(3)] for name in ("reward", "time", "arm", "pull")}
    theirs["option_reward"] = ["x", "y", "z"]
    table = {"label": ["a", "b", "c"], "size": [1.0, 2.0, 4.0]} | theirs
    study = worked_on(table, label="label", features=["size"])
    told = study.rewards()
    exported = rows(study)
    assert [row["reward"] for row in exported] == told.values.tolist()
    assert [row["pull"] for row in exported] == told.pulls.tolist()
    assert [row["arm"] for row in exported] == told.arms.tolist()
    times = [datetime.fromisoformat(row["time"]).timestamp() for row in exported]
    assert times == pytest.approx(told.times.tolist(), abs=0.001)
    for row in exported:
        cells = {name: cells[row["arm"]] for name, cells in theirs.items()}
        assert list(row)[: len(OWN)] == list(OWN)
        kept = [row[name] for name in row if name not in (*OWN, "size")]
        assert sorted(kept) == sorted(cells.values())  # every cell of theirs, once
        assert row["option_time"] == cells["time"]
    for row in rows(study, "options"):
        assert row["pulls"] == int((told.arms == row["arm"]).sum())
        assert row["option_arm"] == theirs["arm"][row["arm"]]
        assert row["reward"] == theirs["reward"][row["arm"]]  # no column of ours here


@pytest.mark.parametrize(
    ("cell", "kept"),
    [
        ("=1", "'=1"),
        ("a;=1", "a;'=1"),
        ("a; +1;b;@x", "a;' +1;b;'@x"),
        (";-1", ";'-1"),
        ("-1;2", "'-1;2"),
        ("＝1+1", "'＝1+1"),
        ("＠SUM(A1)", "'＠SUM(A1)"),
        ("－５", "'－５"),  # a number to Python, and perhaps more to a spreadsheet
        (" =1", "' =1"),
        ("-3.5", "-3.5"),
        ("a-b", "a-b"),
        ("a;b", "a;b"),
        ("x=1; y", "x=1; y"),
    ],
)
def test_what_a_spreadsheet_may_obey_is_quoted(cell, kept):
    """Also where a semicolon parts columns, and for the signs of East Asian keyboards."""
    ((_,), (found,)) = csv.reader(io.StringIO(content([{"label": cell}], "csv")))
    assert found == kept
