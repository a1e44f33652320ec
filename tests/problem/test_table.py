"""Tables of options and of past measurements."""

import builtins

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from surepick import Problem
from surepick.errors import (
    InvalidInputError,
    InvalidTypeError,
    MissingExtraError,
    SurepickError,
    UnknownNameError,
)
from surepick.problem.tables import from_table, past_measurements

OPTIONS = """label,price,colour,layout
a,1,red,wide
b,2,blue,wide
c,4,red,tall
d,3,blue,tall
e,7,green,wide
f,5,green,tall
"""


@pytest.fixture
def csv(tmp_path):
    def write(text, name="options.csv"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


def without(monkeypatch, *names):
    real = builtins.__import__

    def guarded(name, *args, **kwargs):
        if name.split(".")[0] in names:
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", guarded)


def same_span(a, b):
    both = np.linalg.matrix_rank(np.hstack([a, b]))
    return np.linalg.matrix_rank(a) == both == np.linalg.matrix_rank(b)


def test_numbers_are_standardised_and_categories_lose_their_first_level(csv):
    made = from_table(csv(OPTIONS), features=["price", "colour"])
    assert made.columns == ("intercept", "price", "colour[green]", "colour[red]")
    arms = made.problem.arms
    assert (arms[:, 0] == 1).all()
    assert arms[:, 1].mean() == pytest.approx(0)
    assert arms[:, 1].std() == pytest.approx(1)
    assert arms[:, 3].tolist() == [1, 0, 1, 0, 0, 0]
    assert made.problem.labels == tuple("abcdef")
    assert any("'label'" in note for note in made.notes)


def test_rewards_may_have_any_level(csv):
    """Without an intercept a level of rewards would be taken for an effect of the features."""
    made = from_table(csv("size\n1\n2\n3\n4\n"))
    rewards = 100 - made.problem.arms[:, 1]
    theta, *_ = np.linalg.lstsq(made.problem.arms, rewards, rcond=None)
    assert made.problem.arms @ theta == pytest.approx(rewards)
    through_zero = from_table(csv("size\n1\n2\n3\n4\n"), intercept=False)
    assert through_zero.columns == ("size",)
    assert through_zero.problem.arms[:, 0] / through_zero.problem.arms[0, 0] == pytest.approx(
        [1, 2, 3, 4]
    )


def test_a_formula_of_main_effects_spans_what_the_features_span(csv):
    plain = from_table(csv(OPTIONS), features=["price", "colour", "layout"])
    formula = from_table(csv(OPTIONS), formula="price + C(colour) + layout")
    assert formula.columns == plain.columns
    assert same_span(plain.problem.arms, formula.problem.arms)


def test_interactions_by_formula(csv):
    made = from_table(csv(OPTIONS), formula="C(colour)*C(layout)")
    assert "colour[red]:layout[wide]" in made.columns
    assert made.problem.rank == 6
    assert any("any rewards" in note for note in made.notes)


def test_the_intercept_comes_back(csv):
    made = from_table(csv(OPTIONS), formula="0 + price")
    assert made.columns == ("intercept", "price")
    assert any("intercept" in note.lower() for note in made.notes)


def test_says_what_was_dropped_and_merged(csv):
    text = "name,a,b,c,d\nx,1,5,10,u\ny,2,5,20,u\nz,4,5,40,u\nw,4,5,40,u\n"
    made = from_table(csv(text))
    notes = " ".join(made.notes)
    assert made.columns == ("intercept", "a")
    assert "same value: b" in notes
    assert "no option differs in it: d" in notes
    assert "c (from a)" in notes
    assert "'z', 'w'" in notes
    assert made.problem.duplicate_candidates == ((2, 3),)


@given(st.integers(0, 10**6), st.integers(3, 12), st.integers(1, 5))
def test_dropping_loses_nothing(seed, rows, columns):
    rng = np.random.default_rng(seed)
    base = rng.normal(size=(rows, columns)) * 10.0 ** rng.integers(-4, 5, size=columns)
    copies = base @ rng.integers(-1, 2, size=(columns, 2))
    frame = pd.DataFrame(np.hstack([base, copies]), columns=[f"c{i}" for i in range(columns + 2)])
    made = from_table(frame)
    scale = np.abs(base).max(axis=0)
    assert same_span(made.problem.arms, np.hstack([np.ones((rows, 1)), base / scale]))
    assert made.problem.rank == made.problem.n_features


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a,b\n1,2\n,3\n", ["'a'", "line 3", "empty"]),
        ("a,b\n1,2\nNA,3\n2,2\n", ["'a'", "line 3", "'NA'"]),
        ("a,b\n1,2\nx,3\n", ["'a'", "line 3", "'x'", "C(a)"]),
        ('a\n"1,5"\n"2,5"\n', ["'a'", "line 2", "'1,5'", "decimal point"]),
        ("a\n12 %\n15 %\n", ["'12 %'", "C(a)"]),
        ("a,b\n1\n", ["line 2", "1 cell", "2 columns"]),
        ("a,a\n1,2\n", ["'a'", "two columns"]),
        ("", ["empty"]),
        ("a,b\n", ["no rows"]),
        ("a\ninf\n2\n", ["'a'", "line 2", "inf"]),
        ("a,b\n1,2\n1,2\n", ["same features"]),
        ('a,b\n"1,2\n', ["line 2"]),
        ("label,b\nx,2\ny,1\nx,3\n", ["'x'", "line 4", "line 2"]),
        ("label,b\n,2\ny,1\n", ["'label'", "line 2"]),
        ("label,b\n" + "\n".join(f"{i},k{i % 2999}" for i in range(3000)), ["'b'", "2999 levels"]),
        (b"a,b\n\xff,1\n", ["line 2", "UTF-8"]),
        (b"PK\x03\x04", ["CSV"]),
        (b"PAR1 and no more", ["damaged"]),
        (b"a\0b", ["not a text file"]),
    ],
)
def test_bad_tables_are_refused_with_the_place(csv, text, words):
    with pytest.raises(InvalidInputError) as caught:
        from_table(csv(text))
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"features": ["pric"]}, UnknownNameError, ["'price'", "options.csv"]),
        ({"features": ["price", "price"]}, InvalidInputError, ["twice"]),
        ({"features": ["label"], "label": "label"}, InvalidInputError, ["labels"]),
        ({"features": []}, InvalidInputError, ["no features"]),
        ({"features": [3]}, InvalidTypeError, ["names of columns"]),
        ({"features": 3}, InvalidTypeError, ["list"]),
        ({"label": "lable"}, UnknownNameError, ["'label'"]),
        ({"features": ["price"], "formula": "price"}, InvalidInputError, ["not both"]),
        ({"features": ["price"], "unstructured": True}, InvalidInputError, ["unstructured"]),
        ({"formula": "pric + colour"}, UnknownNameError, ["'price'"]),
        ({"formula": "I(pric)"}, UnknownNameError, ["'price'"]),
        ({"formula": "y ~ price"}, InvalidInputError, ["'~'"]),
        ({"formula": "price +"}, InvalidInputError, ["price +"]),
        ({"formula": "price | colour"}, InvalidInputError, ["'|'"]),
        ({"formula": "."}, InvalidInputError, ["name the columns"]),
        ({"formula": "log(price - 1)"}, InvalidInputError, ["line 2", "logarithm"]),
        ({"formula": "sqroot(price)"}, UnknownNameError, ["sqroot"]),
        ({"formula": ""}, InvalidTypeError, ["formula"]),
        ({"noise": 0}, InvalidInputError, ["noise"]),
        ({"max_levels": 2}, InvalidInputError, ["'colour'", "3 levels"]),
    ],
)
def test_bad_arguments(csv, options, error, words):
    with pytest.raises(error) as caught:
        from_table(csv(OPTIONS), **options)
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize("source", [3, None, [1, 2], "missing.csv"])
def test_not_a_table(source):
    with pytest.raises(SurepickError, match=r"table|no file"):
        from_table(source)


def test_a_folder_is_not_a_table(tmp_path):
    with pytest.raises(InvalidInputError, match="folder"):
        from_table(tmp_path)


def test_numbers_as_categories(csv):
    made = from_table(csv(OPTIONS), features=["C(price)"])
    assert made.columns[1:] == tuple(f"price[{p}]" for p in (2, 3, 4, 5, 7))
    mixed = from_table(csv("size\nS\n38\nM\n"), features=["C(size)"])
    assert mixed.columns[1:] == ("size[M]", "size[S]")
    assert from_table(csv("size\nS\n38\nM\n"), formula="C(size)").columns == mixed.columns


def test_csv_dialects(csv):
    plain = from_table(csv(OPTIONS)).problem
    assert from_table(csv(OPTIONS.replace(",", ";"))).problem == plain
    assert from_table(csv(OPTIONS.replace(",", "\t"))).problem == plain
    assert from_table(csv("\ufeff" + OPTIONS.replace("\n", "\r\n\r\n"))).problem == plain
    indexed = "\n".join(
        f"{i}{',' if i else ''}{line}" if i else f",{line}"
        for i, line in enumerate(OPTIONS.splitlines())
    )
    made = from_table(csv(indexed))
    assert made.problem == plain
    assert any("without a name" in note for note in made.notes)


def test_all_sources_give_the_same_problem(csv, tmp_path):
    path = csv(OPTIONS)
    frame = pd.read_csv(path)
    frame.to_parquet(tmp_path / "options.parquet")
    plain = from_table(path).problem
    assert from_table(str(path)).problem == plain
    assert from_table(frame).problem == plain
    assert from_table(tmp_path / "options.parquet").problem == plain
    assert from_table(frame.set_index("label")).problem == plain


def test_missing_values_of_frames():
    for column in ([1.0, None], pd.array([1, pd.NA], dtype="Int64"), [np.datetime64("NaT"), 1]):
        with pytest.raises(InvalidInputError, match=r"row '[xy]'"):
            from_table(pd.DataFrame({"a": column}, index=["x", "y"]))


def test_csv_needs_nothing_and_the_rest_says_what(csv, tmp_path, monkeypatch):
    path = csv(OPTIONS)
    expected = from_table(path, features="price,colour")
    pd.read_csv(path).to_parquet(tmp_path / "options.parquet")
    without(monkeypatch, "pandas", "pyarrow", "formulaic")
    assert from_table(path, features="price,colour") == expected
    assert from_table(path, formula="price + colour").columns == expected.columns
    with pytest.raises(MissingExtraError, match=r"surepick\[pandas\]"):
        from_table(tmp_path / "options.parquet")


def test_unstructured(csv):
    made = from_table(csv(OPTIONS), unstructured=True, noise=2.0)
    assert made.problem == Problem.unstructured(list("abcdef"), noise=2.0)
    assert Problem.unstructured(3, noise=1.0).rank == 3
    for bad in (0, True, "abc", [], ["a", "a"], {"a"}, 2.5):
        with pytest.raises(SurepickError):
            Problem.unstructured(bad, noise=1.0)


def test_past_measurements(csv):
    problem = from_table(csv(OPTIONS)).problem
    text = "label,reward\nb,1\na,2.5\nb,3\n"
    past = past_measurements(problem, csv(text, "past.csv"), chosen_in_advance=True)
    assert past.counts.tolist() == [1, 2, 0, 0, 0, 0]
    assert past.sums.tolist() == [2.5, 4, 0, 0, 0, 0]
    assert (past.arms.tolist(), past.rewards.tolist()) == ([1, 0, 1], [1, 2.5, 3])
    assert past.total == 3
    assert past.evidence
    assert "count as evidence" in past.notes[0]
    guide = past_measurements(problem, csv(text, "past.csv"), chosen_in_advance=False)
    assert not guide.evidence
    assert "not evidence" in guide.notes[0]


@pytest.mark.parametrize(
    ("text", "error", "words"),
    [
        ("label,reward\na,1\nz,2\n", UnknownNameError, ["'z'", "line 3"]),
        ("label,reward\na,1\nb,\n", InvalidInputError, ["'reward'", "line 3"]),
        ("label,reward\na,good\n", InvalidInputError, ["'good'", "line 2"]),
        ("label,value\na,1\n", UnknownNameError, ["reward"]),
    ],
)
def test_bad_past_measurements(csv, text, error, words):
    problem = from_table(csv(OPTIONS)).problem
    with pytest.raises(error) as caught:
        past_measurements(problem, csv(text, "past.csv"), chosen_in_advance=True)
    for word in words:
        assert word in str(caught.value)


def test_whoever_measured_must_say_how_it_was_chosen(csv):
    problem = from_table(csv(OPTIONS)).problem
    with pytest.raises(InvalidTypeError, match="chosen_in_advance"):
        past_measurements(problem, csv("label,reward\na,1\n", "p.csv"), chosen_in_advance="yes")  # pyright: ignore
