"""Errors that list what is known stay short, whatever the length of the list."""

from __future__ import annotations

import pytest

import surepick as sp
from surepick.errors import UnknownNameError, UnknownStudyError, listed
from surepick.problem.tables import from_table


def test_a_few_names_are_all_shown():
    error = UnknownNameError.among("column", "prise", ["price", "colour"])
    assert str(error) == "unknown column 'prise'; did you mean 'price'? Known: colour, price"


def test_a_long_list_is_cut_and_the_nearest_come_first():
    columns = [f"answer_{i}" for i in range(10_000)] + ["width"]
    said = str(UnknownNameError.among("column", "widht", columns))
    assert said.startswith("unknown column 'widht'; did you mean 'width'? Known: width, answer_0, ")
    assert said.endswith(", … and 9,981 more")
    assert len(said) < 400


def test_a_wide_table_does_not_flood_the_error(tmp_path):
    names = [f"feature {i}" for i in range(900)]
    rows = ["label," + ",".join(names)] + [f"{x}," + ",".join("12" * 450) for x in "ab"]
    (tmp_path / "wide.csv").write_text("\n".join(rows))
    with pytest.raises(UnknownNameError, match=r"Known: .*… and \d+ more$") as caught:
        from_table(str(tmp_path / "wide.csv"), features=["featur 17"])
    assert "did you mean 'feature 17'?" in str(caught.value)
    assert len(str(caught.value)) < 600


def test_other_lists_are_cut_too():
    problem = sp.Problem([[1.0, 0.0], [0.0, 1.0]])
    for i in range(35):
        sp.create_study(f"trial {i}", problem, storage="memory://many")
    with pytest.raises(UnknownStudyError, match=r"there are: trial 3, .*, … and 15 more$"):
        sp.load_study("trail 3", storage="memory://many")
    assert listed(["a", "b"]) == "a, b"
    assert listed([]) == ""
