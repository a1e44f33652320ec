"""Every public name has a docstring with an example, and the examples do what they say."""

import doctest
import importlib
import inspect
import re

import pytest
from tests.docs.pages import ROOT, blocks

from surepick.algorithms import registry

MODULES = (
    "surepick",
    "surepick.algorithms",
    "surepick.design",
    "surepick.simulate",
    "surepick.simulate.instances",
    "surepick.simulate.families",
    "surepick.bench",
    "surepick.research.game",
    "surepick.storage",
    "surepick.study",
    "surepick.study.settings",
    "surepick.client",
    "surepick.problem.tables",
    "surepick.integrations.comparing",
    "surepick.integrations.evaluations",
    "surepick.integrations.optuna",
    "surepick.integrations.sklearn",
)


def _public() -> dict[str, object]:
    """Names that users import, by their shortest path; each object once."""
    found: dict[str, object] = {}
    for place in MODULES:
        module = importlib.import_module(place)
        names = getattr(module, "__all__", None) or [
            name
            for name, value in vars(module).items()
            if inspect.isfunction(value) and value.__module__ == place and name[0] != "_"
        ]
        for name in names:
            value = getattr(module, name)
            if not inspect.ismodule(value) and value not in found.values():
                found[f"{place}.{name}"] = value
    return found


PUBLIC = _public()
# They need a service: a page starts one and uses them.
ON_A_PAGE = {
    "surepick.Client": "sp.Client(",
    "surepick.client.RemoteStudy": ".load_study(",
    "surepick.AsyncClient": "sp.AsyncClient(",
    "surepick.client.AsyncStudy": "await service.load_study(",
}


def _described(name: str, doc: str) -> bool:
    """Whether a parameter has a place in the section about parameters."""
    section = re.search(r"^Parameters\n-+\n(.*?)(?=^\w+\n-+\n|\Z)", doc, re.M | re.S)
    named = [] if section is None else re.findall(r"^(\S.*)$", section[1], re.M)
    return any(name in re.split(r"[, *]+", line) for line in named)


FUNCTIONS = {name: value for name, value in PUBLIC.items() if inspect.isfunction(value)}
for place in ("surepick.proof.bets", "surepick.timing", "surepick.study.acts"):
    module = importlib.import_module(place)
    for name in module.__all__:
        if inspect.isfunction(getattr(module, name)):
            FUNCTIONS[f"{place}.{name}"] = getattr(module, name)


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_parameters_of_functions_are_described(name):
    doc = inspect.getdoc(FUNCTIONS[name]) or ""
    own = inspect.signature(FUNCTIONS[name]).parameters
    assert [one for one in own if not _described(one, doc)] == []


def test_those_without_an_example_are_used_on_a_page():
    code = "".join(block.code for block in blocks(ROOT / "docs" / "tutorials" / "team.md"))
    for use in ON_A_PAGE.values():
        assert use in code


@pytest.mark.parametrize("name", sorted(PUBLIC.keys() - ON_A_PAGE.keys()))
def test_example_runs(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    # What an example registers must not be there for the tests after it.
    monkeypatch.setattr(registry, "_REGISTERED", dict(registry._REGISTERED))
    value = PUBLIC[name]
    module = importlib.import_module(value.__module__)
    tests = [
        test
        for test in doctest.DocTestFinder(recurse=True).find(value, name, module=module)
        if test.examples
    ]
    assert tests, f"{name} has no example"
    for test in tests:
        said: list[str] = []
        result = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=said.append)
        assert result.failed == 0, "".join(said)
