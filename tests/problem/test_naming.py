"""Which column names the options, and which only seem to describe them."""

import numpy as np
import pandas as pd
import pytest

from surepick import errors
from surepick.problem.tables import from_table
from surepick.server import models
from surepick.server.creation import content_of

TEAS = "tea_id,tea,origin,degrees\n17,assam,India,90\n4,sencha,Japan,70\n9,gyokuro,Japan,60\n"


@pytest.fixture
def csv(tmp_path):
    def write(text):
        path = tmp_path / "options.csv"
        path.write_text(text)
        return path

    return write


def test_the_first_column_of_different_texts_names_the_options(csv):
    made = from_table(csv(TEAS))
    assert made.problem.labels == ("assam", "sencha", "gyokuro")
    assert (
        made.notes[0] == "Labels come from column 'tea', the first column whose texts all differ."
    )
    assert made.columns == ("intercept", "origin[Japan]", "degrees")
    assert "like a name: tea_id." in made.notes[1]
    # who wants it gets it
    assert "tea_id" in from_table(csv(TEAS), features="tea_id, degrees").columns


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("id,name,x\n1,b,1\n2,a,2\n", ("b", "a")),  # names come before ids
        ("x,y\n1,2\n3,4\n", ("0", "1")),  # numbers name nothing
        ("Option\nred\nblue\n", ("red", "blue")),  # nothing describes them, nothing has to
        ("item_id,x\n7,1\n9,2\n", ("7", "9")),
        ("colour,x\nred,1\nred,2\n", ("0", "1")),
        ("kind,what,x\nu,v,1\nu,w,2\n", ("v", "w")),
    ],
)
def test_what_names_the_options(csv, text, labels):
    assert from_table(csv(text)).problem.labels == labels


def test_many_different_texts_are_no_category(csv):
    rng = np.random.default_rng(0)
    rows = [f"o{i},remark number {i},{rng.normal():.3f}" for i in range(60)]
    made = from_table(csv("\n".join(["label,remark,x", *rows])))
    assert made.columns == ("intercept", "x")
    few = from_table(csv("label,remark,x\na,u,1\nb,v,2\nc,w,4\n"))
    assert few.problem.rank == 3  # of few options each may well be of a kind of its own


def test_the_page_is_told_the_same(csv):
    found = content_of(models.TableBody(csv=TEAS))
    assert found["label"] == "tea"
    assert {c["name"]: c["feature"] for c in found["columns"]} == {
        "tea_id": False,
        "tea": False,
        "origin": True,
        "degrees": True,
    }


@pytest.mark.parametrize(
    ("formula", "columns"),
    [
        ("C(class) + for", ("class[b]", "for")),
        ("class*for", ("class[b]", "for", "class[b]:for")),
        ("log(for) + C(`class`)", ("log(for)", "class[b]")),
        ("for_rent + I(for**2)", ("for_rent", "I(for ** 2)")),
    ],
)
def test_columns_called_like_words_of_python(formula, columns):
    table = {"class": list("aabb"), "for": [1, 2, 4, 9], "for_rent": [1, 5, 2, 2]}
    made = from_table(pd.DataFrame(table), formula=formula)
    assert sorted(made.columns[1:]) == sorted(columns)
    with pytest.raises(errors.SurepickError, match=r"'lambda'\. Known: class, for"):
        from_table(pd.DataFrame(table), formula="class + lambda")


@pytest.mark.parametrize(
    "text", ["red\nblue\ngreen\n", "red,3\nblue,4\ngreen,5\n", "1\n2\n3\n", "tea;1,5;3\nmilk;2;4\n"]
)
def test_the_first_option_of_a_file_without_names_of_columns_is_not_lost(csv, text):
    with pytest.raises(errors.InvalidInputError, match=r"is its first line .* an option"):
        from_table(csv(text))


@pytest.mark.parametrize("head", ["version", "Models", "prompt", "Label"])
def test_what_lists_are_usually_headed_by_is_no_option(csv, head):
    assert from_table(csv(f"{head}\nred\nblue\n")).problem.labels == ("red", "blue")


def test_a_column_may_be_called_anything_where_that_is_said(csv):
    assert from_table(csv("dish\nsoup\nstew\n"), label="dish").problem.labels == ("soup", "stew")
    years = from_table(csv("town,2019,2020\nulm,1,2\nbonn,2,4\n"), label="town")
    assert years.columns == ("intercept", "2019")
    assert from_table(csv("dose\n1\n2\n")).columns == ("intercept", "dose")
    one = pd.DataFrame({"dish": ["soup", "stew"]})  # whoever makes one names its columns
    assert from_table(one).problem.labels == ("soup", "stew")
