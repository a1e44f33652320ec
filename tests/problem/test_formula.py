"""Formulas: the same columns as formulaic, by a grammar that runs nothing."""

import numpy as np
import pandas as pd
import pytest
from tests.problem.formulas import (
    ISSUE,
    WATCH,
    attacks,
    by_formulaic,
    random_formula,
    random_table,
    tried,
)

from surepick.errors import InvalidInputError, SurepickError, UnknownNameError
from surepick.problem.tables import from_table
from surepick.problem.tables.encode import by_formula
from surepick.problem.tables.read import Columns

TABLE = pd.DataFrame({"price": [1.0, 2, 4, 8], "colour": list("abab"), "size": [1, 1, 2, 3]})


@pytest.mark.some(3)
@pytest.mark.parametrize("seed", range(12))
def test_columns_are_those_of_formulaic(seed):
    """Names, order and every bit of the values, so that old studies find their features again."""
    rng = np.random.default_rng(seed)
    compared = 0
    while compared < 12:
        formula, table = random_formula(rng), random_table(rng)
        theirs = by_formulaic(table, formula)
        if theirs is None:
            continue
        names, values, without = theirs
        found, left_out = by_formula(table, formula, 100)
        assert [name for name, _ in found] == names, formula
        assert left_out == without, formula
        if found:
            assert np.array_equal(np.stack([c for _, c in found], axis=1), values), formula
        compared += 1


@pytest.mark.parametrize(
    ("formula", "names"),
    [
        ("k*l", ["k[2]", "l[y]", "k[2]:l[y]"]),
        ("0 + k:l", ["k[1]:l[x]", "k[2]:l[x]", "k[1]:l[y]", "k[2]:l[y]"]),
        ("k:l", ["l[y]", "k[2]:l[x]", "k[2]:l[y]"]),
        ("a + k:a - 1", ["a", "k[2]:a"]),
        ("(a + k)**2 - a:k", ["a", "k[2]"]),
        ("l/a", ["l[y]", "l[x]:a", "l[y]:a"]),
        ("poly(a, 2) + `an odd: one`", ["poly(a, 2)[1]", "poly(a, 2)[2]", "an odd: one"]),
        ("I(-( a+1 )** 2) + center(log( a ))", ["I(-(a + 1) ** 2)", "center(log(a))"]),
        ("a - -k", ["a", "k[2]"]),
        ("a + (1 + k):a", ["a", "k[2]:a"]),
    ],
)
def test_columns_by_hand(formula, names):
    cells = {"a": [1, 2, 3, 5], "k": list("1212"), "l": list("xxyy"), "an odd: one": [2, 3, 3, 2]}
    cells["k"] = [f"{c}" for c in cells["k"]]
    marked = formula.replace("k", "C(k)")
    found, _ = by_formula(Columns("t", cells, list("1234")), marked, 100)
    assert [name for name, _ in found] == names


def test_arithmetic():
    x = np.array([1.0, 2.0, 4.0])
    table = Columns("t", {"x": list(x), "y": [3.0, 1.0, 2.0]}, list("123"))
    y = np.array([3.0, 1.0, 2.0])
    expected = {
        "I(x - y - x)": x - y - x,
        "I(x - (y - x))": x - (y - x),
        "I(x / y * 2 / x)": x / y * 2 / x,
        "I(-x ** 2)": -(x**2),
        "I(2 ** -x ** 2)": 2.0 ** -(x**2),
        "I(x ** y ** 0.5)": x ** (y**0.5),
        "I(1.5e-1 * +x - .5)": 0.15 * x - 0.5,
        "log2(x) ": np.log2(x),
        "scale(x)": (x - x.mean()) / x.std(ddof=1),
        "exp(center(y))": np.exp(y - y.mean()),
    }
    for formula, values in expected.items():
        ((_, found),), _ = by_formula(table, formula, 100)
        assert found == pytest.approx(values, rel=1e-14), formula
    p = from_table(pd.DataFrame({"x": [1.0, 2, 4, 5]}), formula="poly(x, 2)").problem.arms
    assert p.T @ p == pytest.approx(4 * np.eye(3), abs=1e-12)


@pytest.mark.parametrize(
    ("formula", "said"),
    [
        ("price +", "at the end: a column"),
        ("price + * size", r"at letter 9, '\*': a column"),
        ("price size", r"at letter 7, 'size': an operator"),
        ("price + (size", r"at the end: an operator or '\)'"),
        ("price)", r"letter 6, '\)'"),
        ("log(price", "at the end"),
        ("log(price, 2)", "takes one argument"),
        ("C(price + 1)", r"letter 9.*one column, and nothing else"),
        ("C(log(price))", "one column"),
        ("poly(price)", r"poly\(column, 2\)"),
        ("poly(price, 99)", "at most 10"),
        ("poly(price, size)", "whole number"),
        ("poly(size, 3)", "more than 3 different values"),
        ("log(poly(price, 2))", r"poly\( \) creates several columns"),
        ("I(C(price))", r"letter 3: C\( \) creates several columns"),
        ("log(colour)", "'colour' is a category, and log"),
        ("C(size) + I(size**2)", "'size' is a category, and I"),
        ("I(3)", r"I\(3\) names no column"),
        ("2*price", "letter 1, '2': a number other than 0 and 1"),
        ("price*0", "a 0 that is multiplied"),
        ("price**0", "from 1 on"),
        ("price**2.5", "whole number"),
        ("price**2**2", "in brackets"),
        ("I(price*1e999)", "letter 9, '1e999': the number is too large"),
        ("I(price**1e200)", "inf"),
        ("I(1/(price-2))", "division by 0"),
        ("`price", "letter 1.*closing backtick"),
        ("``", "letter 1.*backtick"),
        ("I(price^2)", "letter 8"),
        ("price\0", r"letter 6, '\\x00': this is not understood"),
        ("price − size", "letter 7, '−'"),
        ("'price'", "letter 1"),
    ],
)
def test_errors_say_where_and_what_would_do(formula, said):
    with pytest.raises(InvalidInputError, match=said):
        from_table(TABLE, formula=formula)


def test_unknown_names_have_a_place_and_a_suggestion():
    with pytest.raises(UnknownNameError, match=r"letter 9 of the formula.*did you mean 'colour'"):
        from_table(TABLE, formula="price + color")
    with pytest.raises(UnknownNameError, match=r"function at letter 1 .*did you mean 'log'"):
        from_table(TABLE, formula="logg(price)")
    with pytest.raises(UnknownNameError, match=r"I\(x\*\*10\)"):
        from_table(TABLE, formula="exp10(price)")


def test_a_power_of_one_column_is_said_to_be_that_column():
    made = from_table(TABLE, formula="price**2 + size")
    assert made.columns == ("intercept", "price", "size")
    assert any("I(price**2)" in note for note in made.notes)


@pytest.mark.parametrize("formula", [ISSUE, *attacks("mark")[:60]])
def test_nothing_is_run(formula, monkeypatch):
    monkeypatch.setattr("os.system", lambda *_: pytest.fail("the formula was run"))
    table = Columns("t", {name: list(TABLE[name]) for name in TABLE}, list("1234"))
    WATCH.events.clear()
    with pytest.raises(SurepickError), WATCH():
        by_formula(table, formula, 100)
    assert not WATCH.events


def test_the_watch_sees_what_it_is_for():
    WATCH.events.clear()
    WATCH.called.clear()
    with WATCH(calls=True):
        eval("1 + 1")
    assert WATCH.events["exec"]
    assert WATCH.called["eval"]


def test_any_text_is_refused_or_made_into_columns():
    counts, wrong = tried(800, seed=1)
    assert wrong == []
    assert min(counts.values()) > 80
