"""No pattern goes back over what it has read in ever more ways: texts come from anybody.

A repetition inside a repetition takes exponential time on a text made for it, unless the inner one
gives nothing back or is so many times at most.
"""

import ast
import re

import pytest
from tests.test_structure import ROOT

from surepick.algorithms.limits.limit import parse_limit
from surepick.errors import InvalidInputError
from surepick.study.shown import _names_for_some_item
from surepick.study.traffic.query import _TEXTS
from surepick.study.workers.line import _is_shell_flag
from surepick.verifier.statement import _is_failures

_FUNCTIONS = {"compile", "match", "search", "fullmatch", "sub", "findall", "split", "finditer"}
#: patterns put together while the program runs: from words of our own alone
_PUT_TOGETHER = {
    "study/workers/measure.py": 1,
    "integrations/evaluations/reading.py": 1,
    "testing/storages.py": 1,
}


def patterns() -> list[tuple[str, str | None]]:
    """All patterns of the source, and where they are; None: it is not written down as a text."""
    found = []
    for path in sorted(ROOT.rglob("*.py")):
        source = path.read_text()
        for node in ast.walk(ast.parse(source)) if "re." in source else ():
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and isinstance(node.func.value, ast.Name)
                and node.func.value.id == "re"
                and node.func.attr in _FUNCTIONS
            ):
                given = node.args[0]
                text = given.value if isinstance(given, ast.Constant) else None
                found.append((path.relative_to(ROOT / "surepick").as_posix(), text))
    return found


def goes_back(tree, inside: bool = False) -> bool:
    """Whether a repetition without end that gives back is inside of another one."""
    for kind, given in tree:
        name = str(kind)
        if name == "POSSESSIVE_REPEAT" or name == "ATOMIC_GROUP":
            continue  # what is inside is tried once, from each place on
        if name in ("MAX_REPEAT", "MIN_REPEAT"):
            endless = given[1] is re._constants.MAXREPEAT  # pyright: ignore
            if (endless and inside) or goes_back(given[2], inside or endless):
                return True
        elif name == "SUBPATTERN":
            if goes_back(given[3], inside):
                return True
        elif name == "BRANCH":
            if any(goes_back(one, inside) for one in given[1]):
                return True
        elif name in ("ASSERT", "ASSERT_NOT") and goes_back(given[1], inside):
            return True
    return False


def test_no_pattern_takes_exponential_time():
    known = [text for _, text in patterns() if text is not None]
    assert len(known) > 40
    assert [text for text in known if goes_back(re._parser.parse(text))] == []  # pyright: ignore


@pytest.mark.parametrize("text", [r"(a+)+", r"(?:\w*\s?)*!", r"(x|(?:.+ y)+)*"])
def test_a_bad_one_is_seen(text):
    assert goes_back(re._parser.parse(text))  # pyright: ignore


def test_patterns_are_written_down():
    found = [where for where, text in patterns() if text is None]
    assert {where: found.count(where) for where in found} == _PUT_TOGETHER


def test_files_named_by_many_items_are_looked_for_in_one_go():
    assert not _names_for_some_item("{item}" * 40, "1" * 41)
    assert _names_for_some_item("{item}-{item}", "17-17")
    assert not _names_for_some_item("{item}-{item}", "17-18")
    assert not _names_for_some_item("a{item}", "a")


def test_reasons_of_failures_are_read_from_their_end():
    one = "a; b failed 1 of 2 times, far more often than the other arms"
    every = "3 of 4 measurements failed"
    for text in (one, every, f"{one}; {every}", f"{every}; {one}", f"{one}; {one}; {every}"):
        assert _is_failures(text), text
    for text in ("", f"; {every}", f"so; {every}", one.removeprefix("a; b"), f"{one}; so"):
        assert not _is_failures(text), text
    assert not _is_failures(f"{one}; " * 40 + "!")  # 2⁴⁰ ways to cut it


def test_texts_of_a_query_end_where_it_ends():
    query = "SELECT 'a''b', \"c\" -- d\n, /* e */ :since"
    assert _TEXTS.findall(query) == ["'a''b'", '"c"', "-- d", "/* e */"]
    assert len(_TEXTS.findall("/* " * 50_000)) == 1  # never closed


def test_flags_of_shells():
    assert all(map(_is_shell_flag, ("-c", "+C", "-abc", "/C", "--command", "--command=x")))
    assert not any(
        map(_is_shell_flag, ("-", "-x", "c", "--comm", "/x", "-a.c", "-" + "c" * 99 + "!"))
    )


def test_a_limit_has_an_end():
    with pytest.raises(InvalidInputError, match="at most 1000 characters"):
        parse_limit("a" + " " * 5000 + "<= 3")
