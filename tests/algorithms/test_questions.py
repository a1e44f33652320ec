"""A question is a value: it is written, read and set, and every layer has its part."""

import ast
from dataclasses import dataclass
from pathlib import Path

import pytest

import surepick as sp
from surepick.algorithms import PooledPeleg, questions
from surepick.algorithms.pooled.questions import BETS
from surepick.algorithms.questions import QUESTIONS, Against, Asked, Best, Top, read
from surepick.errors import InvalidInputError, UnknownNameError
from surepick.verifier.questions import is_known

ALL = [Best(), Top(3), Against("a"), Against(threshold=2.5), Against(1, claims="fdr")]
SOURCE = Path(sp.__file__).parent


@dataclass(frozen=True)
class Odd(Asked):
    name = "odd"


@pytest.fixture
def odd():
    questions.register(Odd)
    yield Odd()
    del QUESTIONS["odd"]


@pytest.mark.parametrize("asked", ALL, ids=str)
def test_settings_make_the_question_that_makes_them(asked):
    made = PooledPeleg(0.1, **asked.settings())
    assert made.asked == asked
    again = PooledPeleg(**made.settings())
    assert (again, again.asked) == (made, asked)


@pytest.mark.parametrize("asked", [Best(), Top(3)], ids=str)
def test_a_question_is_read_as_it_is_written(asked):
    assert read(asked.text()) == read(asked) == asked
    assert (
        PooledPeleg(0.1, question=asked.text()).settings()
        == PooledPeleg(0.1, **asked.settings()).settings()
    )


@pytest.mark.parametrize("name", QUESTIONS)
def test_every_question_has_its_bets(name):
    assert BETS.of(name)


def test_a_question_without_bets_is_an_error_that_names_both(odd):
    problem = sp.Problem.unstructured(2)
    with pytest.raises(InvalidInputError, match="the question 'odd' has no set of bets"):
        PooledPeleg(0.1, question=odd).start(problem)
    assert PooledPeleg(0.1, question="odd").settings() == {"delta": 0.1, "question": "odd"}


@pytest.mark.parametrize(
    ("evidence", "known"),
    [
        ({}, True),
        ({"question": {"top": 2}}, True),
        ({"question": {"claims": "all", "baseline": 0}}, True),
        ({"question": {"asked": "odd:m=3"}}, False),
    ],
)
def test_the_verifier_has_rules_of_its_own(evidence, known):
    assert is_known(evidence) == known


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ("bset", UnknownNameError, "best"),
        ("top", InvalidInputError, "m"),
        ("top:k=3", InvalidInputError, "k"),
        ("top:m=1", InvalidInputError, "m must be at least 2"),
        (7, TypeError, "question must be"),
    ],
)
def test_what_is_no_question_is_refused(given, error, message):
    with pytest.raises(error, match=message):
        PooledPeleg(0.1, question=given)


def test_a_question_is_asked_in_one_way_only():
    with pytest.raises(InvalidInputError, match="leave out top"):
        PooledPeleg(0.1, question="best", top=2)
    with pytest.raises(InvalidInputError, match="'best' already"):
        questions.register(Best)


def test_nobody_branches_on_the_name_of_a_question():
    found = []
    for path in SOURCE.rglob("*.py"):
        source = path.read_text(encoding="utf-8")
        if "question" not in source and "asked" not in source:
            continue
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Compare) and ast.unparse(node.left).endswith(
                ("['question']", ".question", "asked.name")
            ):
                names = {n.value for n in ast.walk(node) if isinstance(n, ast.Constant)}
                found += [f"{path.name}:{node.lineno}"] if names & set(QUESTIONS) else []
    assert found == []
