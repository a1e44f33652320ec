"""Inside `surepick.study` imports have a direction, also those inside functions and for types."""

import ast
from graphlib import TopologicalSorter
from pathlib import Path

import surepick.study

FOLDER = Path(surepick.study.__file__).parent
PACKAGE = "surepick.study"
PRIVATE = {"study", "opened", "desk", "remote"}  # what studies are called in other rooms


def modules():
    for path in FOLDER.rglob("*.py"):
        parts = path.relative_to(FOLDER).with_suffix("").parts
        if parts[-1] != "__init__":
            yield ".".join((PACKAGE, *parts)), path


def imported(path, known):
    """Modules of the package that a file imports, wherever in the file."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        found = [name for name in names if name in known]
        # The package itself loads everything: inside it that would be a circle.
        assert found or PACKAGE not in names, f"{path} imports from {PACKAGE}"
        yield from found


def test_there_is_no_circle():
    known = dict(modules())
    graph = {name: set(imported(path, known)) for name, path in known.items()}
    order = list(TopologicalSorter(graph).static_order())  # raises CycleError
    assert order.index("surepick.study.pulls") < order.index("surepick.study.study")


def test_others_read_nothing_private_of_a_study():
    root = FOLDER.parent
    rooms = [*(root / name for name in ("server", "cli", "report", "client")), FOLDER / "desk"]
    for path in (file for room in rooms for file in room.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Attribute) or not node.attr.startswith("_"):
                continue
            owner = node.value
            name = owner.attr if isinstance(owner, ast.Attribute) else getattr(owner, "id", "")
            private = name.strip("_") in PRIVATE and not node.attr.startswith("__")
            assert not private, f"{path}, line {node.lineno}: {ast.unparse(node)}"
