"""What is promised is said in one place: every door shows what a promise says of itself."""

import ast
import re

import pytest
from tests.test_structure import ROOT, modules

import surepick as sp
from surepick.algorithms.pairs.pairs import NO_ONE
from surepick.conditions import CONDITIONS, stated
from surepick.promise import Condition, Promise, Promised, Reason, in_a_circle

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


#: what was found is worded in one place, too; doors hand in claims
FOUND = re.compile(
    r"(?<!which )is the fastest|has the (shortest|best mean of)|looks fastest"
    r"|not (clear|decided) whether|usually (wins against|loses to)"
    r"|(worse|slower|better) (than [^ ]+ )?by more than"
)
WORDS = ("surepick.finding", "surepick.promise", "surepick.verifier.")


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
        if not name.startswith(MADE) and "surepick.promise" in source
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ImportFrom) and node.module == "surepick.promise"
        for alias in node.names
        if alias.name in OWN
    }


def test_no_second_place_says_how_sure_something_is():
    sources = {name: path.read_text() for name, path in modules().items()}
    assert len(sources) > 300
    assert elsewhere(sources) == set()
    assert borrowed(sources) == set()


def worded(sources):
    """Modules that word by themselves what was found."""
    there = {name for name in sources if not name.startswith(WORDS)}
    return {name for name in there if any(map(FOUND.search, said(sources[name])))}


def test_no_second_place_words_what_was_found():
    sources = {name: path.read_text() for name, path in modules().items()}
    assert worded(sources) == set()
    assert worded({"surepick.timing.race": 'f"{label} is the fastest, after {runs} runs"'})
    assert worded({"surepick.cli.time": 'f"{name} is not worse than {other} by more than {by}"'})
    assert not worded({"surepick.finding": sources["surepick.finding"]})


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
    assert borrowed({"surepick.report.pages": "from surepick.promise import of_many"})


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


def test_a_short_form_says_that_there_are_conditions_and_names_what_happened():
    what, alone, lost = Promised("the best"), CONDITIONS["alone"].of(), stated("lost", pulls=3)
    usual = (alone, CONDITIONS["afresh"].of())
    line = "This holds for one study alone, on conditions that the answer lists."
    assert Promise(0.05, what, conditions=usual).short("a").endswith(f"name a wrong option. {line}")
    rests = (*usual, CONDITIONS["changed"].of(), lost, Condition("provided that it does not rain"))
    promise = Promise(0.05, what, conditions=rests)
    for short in (promise.short(), promise.ahead):
        assert short == (
            "Of 100 studies like this one, at most 5 name a wrong option. This holds for one study "
            "alone, on conditions that the answer lists, also about results that were corrected or "
            "withdrawn, and measurements that failed or came too late."
        )
    assert "This holds" not in Promise(0.05, what).short()
    assert "This holds" not in promise.withdrawn(Reason("it rained")).short()


#: conditions that every study of a kind has, whatever happens
STANDING = {"alone", "afresh", "visitors", "sent", "until-reported", "in-window"}
STANDING |= {"leads", "gaps", "sides", "keeps"}
STANDING |= {"file", "growing-file", "apart"}  # whoever asks in this way has it from the start


def test_whatever_happens_has_words_for_short_forms():
    assert {one.name for one in CONDITIONS.values() if not one.happened} == STANDING


def test_a_study_that_goes_on_names_what_happened():
    problem = sp.Problem([[1.0, 0.0], [0.0, 1.0]], noise=1.0, labels=["a", "b"])
    study = sp.create_study("short", problem, storage="memory://short", overlap=False)
    (pull, *_) = study.ask(8, "w")
    usual = "This holds for one study alone, on conditions that the answer lists"
    assert study.status()["promise"]["text"].endswith(f"name a wrong option. {usual}.")
    study.fail(pull.id, "timed out", "w")
    lost = f"{usual}, also about measurements that failed or came too late."
    assert study.status()["promise"]["text"].endswith(lost)
    while pulls := study.ask(8, "w"):
        for pull in pulls:
            study.tell(pull.id, 3.0 * pull.arm, "w")
    again = "and measurements that were handed out again"  # to the worker who had failed
    assert study.status()["promise"]["text"].endswith(f"{lost[:-1]}, {again}.")


def test_a_circle_has_a_risk_of_its_own():
    around = Promise(0.025, in_a_circle("'a' beats 'b', 'b' beats 'a'"))
    plain = Promise(0.05, NO_ONE, also=around).plain()
    assert plain == (
        "No option beats every other one. Of 100 studies like this one, at most 5 are wrong about "
        "that. 'a' beats 'b', 'b' beats 'a'. Of 1,000 studies like this one, at most 25 are wrong "
        "about that circle (a risk of its own)."
    )
