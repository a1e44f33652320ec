import builtins
import copy

import numpy as np
import pandas as pd
import pytest

from surepick.errors import InvalidInputError, MissingExtraError, UnknownNameError
from surepick.simulate import Table


@pytest.fixture
def table():
    rows = [{"a": 1, "b": 2.5, "name": "x"}, {"a": 3, "b": 4.5, "name": "y"}]
    return Table.from_rows(rows)


def test_columns_by_name(table):
    assert table.columns == ("a", "b", "name")
    assert table["a"].tolist() == table.a.tolist() == [1, 3]
    assert table["a"].dtype == np.int64
    assert table["b"].mean() == 3.5
    assert len(table) == 2
    assert repr(table) == "Table(2 rows: a, b, name)"


def test_rows_are_plain_values(table):
    rows = list(table.rows())
    assert rows == [{"a": 1, "b": 2.5, "name": "x"}, {"a": 3, "b": 4.5, "name": "y"}]
    assert [type(v) for v in rows[0].values()] == [int, float, str]
    assert list(Table.from_rows(table.rows()).rows()) == rows


def test_unknown_columns_are_named_with_a_suggestion(table):
    with pytest.raises(UnknownNameError, match=r"unknown column 'nam'; did you mean 'name'\?"):
        table["nam"]
    with pytest.raises(LookupError):
        table[0]
    with pytest.raises(AttributeError, match="no column 'nam'"):
        _ = table.nam
    assert not hasattr(table, "_nothing")


def test_an_empty_table():
    empty = Table.from_rows([])
    assert (len(empty), empty.columns, list(empty.rows())) == (0, (), [])
    assert len(Table({"a": []})) == 0


def test_columns_must_have_one_length():
    with pytest.raises(InvalidInputError, match="one length"):
        Table({"a": [1, 2], "b": [1]})
    with pytest.raises(InvalidInputError, match="flat"):
        Table({"a": 1})
    with pytest.raises(InvalidInputError, match="row 1 has columns"):
        Table.from_rows([{"a": 1}, {"b": 1}])


def test_as_pandas(table):
    frame = table.to_pandas()
    expected = pd.DataFrame({"a": [1, 3], "b": [2.5, 4.5], "name": ["x", "y"]})
    pd.testing.assert_frame_equal(frame, expected, check_dtype=False)


def test_without_pandas_it_says_what_to_install(table, monkeypatch):
    original = builtins.__import__

    def no_pandas(name, *args, **kwargs):
        if name == "pandas":
            raise ImportError(name)
        return original(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", no_pandas)
    with pytest.raises(MissingExtraError, match=r"surepick\[pandas\]") as caught:
        table.to_pandas()
    assert isinstance(caught.value, ImportError)


def test_tables_can_be_copied(table):
    assert list(copy.deepcopy(table).rows()) == list(table.rows())
