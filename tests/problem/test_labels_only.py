"""Tables that hold labels and nothing else, and labels that are ids."""

import pandas as pd

import surepick as sp
from surepick.problem.tables import from_table
from surepick.study import OptionTable


def test_a_table_of_labels_is_a_problem_without_features():
    for name in ("label", "variant"):
        made = from_table(pd.DataFrame({name: ["A", "B", "C"]}))
        assert made.problem.labels == ("A", "B", "C")
        assert (made.problem.rank, made.problem.misfit) == (3, 0.0)
        assert any("each is measured on its own" in note for note in made.notes)


def test_a_table_of_labels_and_costs_has_no_features_either():
    table = pd.DataFrame({"variant": ["A", "B"], "price": [1.0, 2.0]})
    made = from_table(table, cost="price")
    assert (made.problem.labels, made.problem.rank) == (("A", "B"), 2)


def test_a_single_column_of_numbers_still_describes():
    made = from_table(pd.DataFrame({"id": [1, 2, 3]}, index=["a", "b", "c"]))
    assert made.columns == ("intercept", "id")
    assert from_table(pd.DataFrame({"size": [1, 2, 3]})).columns == ("intercept", "size")


def test_ids_are_labels_and_are_said_to_be():
    table = {"item_id": [101, 102, 103], "colour": ["red", "blue", "red"], "size": [1, 2, 4]}
    made = from_table(pd.DataFrame(table))
    assert made.problem.labels == ("101", "102", "103")
    assert made.notes[0].startswith("Labels come from column 'item_id'")
    assert made.columns == ("intercept", "colour[red]", "size")


def test_row_numbers_are_said_to_be_labels():
    made = from_table(pd.DataFrame({"size": [1, 2, 4], "weight": [3, 1, 2]}))
    assert made.problem.labels == ("0", "1", "2")
    assert made.notes[0].startswith("No column names the options")


def test_a_study_of_labels_takes_more_of_them():
    table = OptionTable.of(pd.DataFrame({"variant": ["A", "B"]}))
    study = sp.create_study("labels", table=table, storage="memory://")
    study.add(pd.DataFrame({"variant": ["C"]}))
    assert study.option_changes()[0].labels == ("C",)
