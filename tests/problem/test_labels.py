"""Labels that are too long, and labels that people may take for each other."""

import numpy as np
import pytest

import surepick as sp
from surepick.errors import InvalidInputError
from surepick.problem.labels import look_alikes
from surepick.problem.tables import from_table
from surepick.problem.tables.read import read_csv


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("pаge", "page"),  # a Cyrillic а
        ("Blue", "blue"),
        ("blue sky", "blue  sky"),
        ("blue", "blue "),
        ("ｂlue", "blue"),
        ("ﬁne", "fine"),
        ("co\u200bat", "coat"),
        ("νet", "vet".replace("v", "n")),  # a Greek nu
        ("СОРУ", "COPY"),
    ],
)
def test_look_alikes_are_pointed_out(one, other):
    (said,) = look_alikes((one, "else", other))
    assert "(row 0)" in said
    assert "(row 2)" in said


def test_what_differs_is_not():
    assert look_alikes(("a", "b", "A1", "A2", "ä", "o", "0", "naïve", "naive", "日", "曰")) == []
    assert look_alikes(sp.Problem(np.eye(3)).labels) == []
    many = look_alikes(tuple("x" + " " * i for i in range(9)))
    assert "and 5 more" in many[0]
    assert look_alikes(("a", "A", "b"), new=2) == []


def test_a_study_points_them_out_when_it_is_created_and_when_options_come():
    problem = sp.Problem.unstructured(["page", "pаge", "other"], noise=1.0)
    with pytest.warns(UserWarning, match="look alike.*Cyrillic small letter a"):
        study = sp.create_study("s", problem, storage="memory://labels")
    with pytest.warns(UserWarning, match=r"'other' \(row 2\) and 'Other' \(row 3\)"):
        study.add(["Other", "more"])
    study.add(["yet another"])  # only what is new is pointed out


def test_a_table_with_them_says_so(tmp_path):
    file = tmp_path / "options.csv"
    file.write_text("label,size\npage,1\npаge,2\n")
    spec = sp.study.StudySpec(name="s", table=sp.study.OptionTable.of(file))
    assert any("look alike" in note for note in spec.prepared.notes)


def test_labels_of_300_000_letters_are_refused_with_their_place():
    with pytest.raises(
        InvalidInputError, match=r"row 1 has 300,000 characters, and at most 10,000"
    ):
        sp.Problem(np.eye(2), labels=["a", "b" * 300_000])
    table = read_csv(f"label,size\na,1\n{'b' * 300_000},2\n", "options.csv")
    with pytest.raises(InvalidInputError, match=r"'label', line 3: the label has 300,000") as said:
        from_table(table)
    assert len(str(said.value)) < 300
    assert from_table(read_csv(f"label,size\na,1\n{'b' * 10_000},2\n", "o.csv")).problem.n_arms == 2
