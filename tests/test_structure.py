"""The shape of the source tree: no circles among modules."""

import ast
import importlib
import re
from pathlib import Path

import pytest

from surepick.algorithms.registry import DEFAULT, maker

ROOT = Path(__file__).resolve().parents[1] / "src"


def modules() -> dict[str, Path]:
    """Every module by its dotted name."""
    found = {}
    for path in sorted(ROOT.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports(tree: ast.AST) -> set[str]:
    """Names imported anywhere in a module: inside functions and for the type checker, too.

    An arrow that only the type checker follows counts: who reads one of two modules then has to
    read the other.
    """
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def arrows(sources: dict[str, str]) -> dict[str, set[str]]:
    """Which module imports which: a name stands for the module that holds it."""
    graph: dict[str, set[str]] = {}
    for name, source in sources.items():
        graph[name] = set()
        for target in imports(ast.parse(source)):
            while target and target not in sources:
                target = target.rpartition(".")[0]
            if target and target != name:
                graph[name].add(target)
    return graph


def circles(graph: dict[str, set[str]]) -> set[frozenset[str]]:
    """Groups of modules each of which imports, over others, all of its group."""
    reach = {name: _reachable(graph, name) for name in graph}
    return {
        frozenset(group)
        for name in graph
        if len(group := [m for m in reach[name] if name in reach[m]]) > 1
    }


def _reachable(graph: dict[str, set[str]], start: str) -> set[str]:
    found, left = set(), [start]
    while left:
        for target in graph[left.pop()] - found:
            found.add(target)
            left.append(target)
    return found


def read() -> dict[str, str]:
    return {name: path.read_text(encoding="utf-8") for name, path in modules().items()}


def test_modules_import_in_one_direction():
    assert circles(arrows(read())) == set()


@pytest.mark.parametrize(
    "back",
    [
        "import p.a",
        "from p.a import thing",
        "from p import a",
        "def later():\n    from p.a import thing",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from p.a import thing",
    ],
)
def test_a_circle_is_seen_however_it_is_written(back):
    graph = arrows({"p": "", "p.a": "from p.b import other", "p.b": "import p.c", "p.c": back})
    assert circles(graph) == {frozenset({"p.a", "p.b", "p.c"})}
    del graph["p.c"]
    assert circles(graph | {"p.c": set()}) == set()


def test_the_cutoffs_are_plain_numbers_each_of_which_is_used():
    cutoffs = vars(importlib.import_module("surepick.arrays.cutoffs"))
    names = [name for name in cutoffs if name.isupper()]
    text = "\n".join(text for name, text in read().items() if name != "surepick.arrays.cutoffs")
    assert len(names) > 20
    assert [name for name in names if not re.search(rf"\b{name}\b", text)] == []


def test_the_default_algorithm_is_named_in_one_place():
    """Elsewhere its name may stand in a message, a list or an example, but as nobody's default."""
    named = re.compile(rf"""(=|default:) *["']{DEFAULT}["']""")
    own = maker(DEFAULT).__module__  # which says what it is called
    assert {name for name, text in read().items() if named.search(text)} == {
        "surepick.algorithms.registry",
        own,
    }
    page = (ROOT / "surepick/server/page/js/views/create.js").read_text(encoding="utf-8")
    first = re.search(r'const ALGORITHMS = \[\s*{ name: "([^"]+)"', page)
    assert first is not None
    assert first[1] == DEFAULT  # what the page offers first


def test_no_class_is_a_slice_of_another():
    """What only raises is a hole that a class in another file has to fill."""
    holes = ("NotImplementedError", "reportIncompatibleVariableOverride")
    for name, path in modules().items():
        if not name.startswith("surepick.cli"):  # click's types have names that are worked out
            text = path.read_text(encoding="utf-8")
            assert not any(hole in text for hole in holes), name


def test_orders_of_items_are_drawn_in_one_place():
    """An order that something else draws may be one that somebody has met already."""
    shuffles = re.compile(r"\bshuffled\(|\.permutation\(|\.permuted\(|\.shuffle\(|random\.sample\(")
    examples = re.compile(r"^ *(>>>|\.\.\.) .*$", re.MULTILINE)
    texts = {name: examples.sub("", text) for name, text in read().items()}
    drawing = {name for name, text in texts.items() if shuffles.search(text)}
    assert drawing == {
        "surepick.algorithms.items",
        "surepick.arrays.grid",  # by which it is done
        "surepick.ahead.noise",  # in which order simulated pulls come
        "surepick.run.past",  # of past measurements, by what they are
    }
    seeded = re.compile(r"default_rng\(\[|np\.uint64\(items\)")
    with_items = (
        "surepick.algorithms.complete",
        "surepick.algorithms.pooled",
        "surepick.integrations",
    )
    assert not [n for n, text in texts.items() if n.startswith(with_items) and seeded.search(text)]


def test_what_becomes_of_a_failed_call_is_decided_in_one_place():
    judged = re.compile(r"\bfault\.again\b|[<>]=? *(self\.)?retries\b|pace\.pause\(|refusals *>")
    deciding = {name for name, text in read().items() if judged.search(text)}
    assert deciding == {"surepick.calls.rule"}


def test_what_is_measured_by_a_function_goes_through_one_loop():
    """Others who tell a run replay what was told, or are told by people and workers."""
    telling = re.compile(r"\brun\.tell\(")
    examples = re.compile(r"^ *(>>>|\.\.\.) .*$", re.MULTILINE)
    doors = ("integrations", "timing", "run.identify", "calls", "cli", "agents")
    texts = {name: examples.sub("", text) for name, text in read().items()}
    found = {name for name, text in texts.items() if telling.search(text)}
    assert "surepick.run.measuring" in found
    assert not [n for n in found if n.removeprefix("surepick.").startswith(doors)]
