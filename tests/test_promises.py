"""What is promised is said in one place: every door shows what a promise says of itself."""

import ast
import re

import pytest
from tests.test_structure import ROOT, modules

#: how sure something is, what that takes, and what becomes of it when one chooses among several
SURE = re.compile(
    r"like this one, at most|such tests, at most|with probability at least|This holds [a-z]"
    r"|multipl\w+ the (risk|probability)|\bname a wrong option\b|On average over studies"
)
#: what a promise is made of, and where it is made; the verifier makes it again by code of its own
MADE = ("surepick.promise", "surepick.conditions", "surepick.verifier.")
#: what says how sure it is: a door that puts such a sentence together is a second place
OWN = {"of_many", "rests_on", "confidence", "found_plainly"}
#: a past test that is looked back at is no study: it lists its own conditions, one per line
OTHERS = {"surepick.cli.lookback": "This holds if, in the test as it was run:"}


def said(source):
    """Texts of a module that people may read: all but its docstrings, parts of one put together."""
    tree = ast.parse(source)
    written = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docs = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, written) and node.body and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            parts = (x.value if isinstance(x, ast.Constant) else "{}" for x in node.values)
            yield "".join(map(str, parts))
        elif (
            isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs
        ):
            yield node.value


def elsewhere(sources):
    """Sentences that say how sure something is, and are not made where promises are."""
    return {
        (name, text)
        for name, source in sources.items()
        if not name.startswith(MADE)
        for text in said(source)
        if SURE.search(text) and text != OTHERS.get(name)
    }


def borrowed(sources):
    """Modules that put such sentences together from the parts of a promise."""
    return {
        (name, alias.name)
        for name, source in sources.items()
        if not name.startswith(MADE)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ImportFrom) and node.module == "surepick.promise"
        for alias in node.names
        if alias.name in OWN
    }


def test_no_second_place_says_how_sure_something_is():
    sources = {name: path.read_text() for name, path in modules().items()}
    assert len(sources) > 600
    assert elsewhere(sources) == set()
    assert borrowed(sources) == set()


@pytest.mark.parametrize(
    "code",
    [
        'x = "Of 100 races like this one, at most 5 name the wrong one."',
        'x = f"Of {many} tests like this one, at most {few} are wrong. {rests}"',
        'def f():\n    """Fine."""\n    return f"the best with probability at least {1 - delta}"',
        'x = "This holds if the machine was as quick all the time."',
        'x = "choosing among several multiplies the risk"',
    ],
)
def test_a_second_place_would_be_found(code):
    assert elsewhere({"surepick.timing.result": code})
    assert not elsewhere({"surepick.promise": code})
    assert borrowed({"surepick.report.html": "from surepick.promise import of_many"})


def test_docstrings_may_say_what_they_like():
    assert not elsewhere({"surepick.bench": '"""The best with probability at least 0.95."""'})


def test_pages_do_not_say_it_themselves():
    """The page shows what the service says; a field that asks for delta says what delta is."""
    found = {
        (path.name, line.strip())
        for path in (ROOT / "surepick" / "server" / "page").rglob("*.js")
        for line in path.read_text().splitlines()
        if SURE.search(line) and "field(" not in line
    }
    assert found == set()
