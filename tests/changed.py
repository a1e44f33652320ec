"""Run the tests that a change concerns: ``make test-changed``, or ``python -m tests.changed main``.

A test concerns a module that it imports, and every module which that one imports: the import graph
says which. ``make test`` runs all of them, and is what counts; this is for working.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import surepick as sp

ROOT = Path(__file__).parent.parent
# What is loaded by names in a table, which no import says.
BY_NAME = {
    "surepick.algorithms.registry": "surepick.algorithms",
    "surepick.cli": "surepick.cli",
    "surepick.verifier.questions": "surepick.verifier",
    "surepick.storage.sql.migrate": "surepick.storage.sql.migrations",
    "surepick.server.helpers": "surepick.server",
}
# Folders whose files no module imports, and the tests that read them.
READ_BY = {
    "docs": "tests/docs",
    "examples": "tests/docs",
    "README.md": "tests/docs",
    "benchmarks": "tests/test_benchmarks.py",
    "src/surepick/server/page": "tests/server/page",
    "tests/data/format_1": "tests/test_old_files.py",
    "tests/data/verified.jsonl.gz": "tests/verifier/test_recorded.py",
    "tests/data": "tests/test_processors.py",
    "pyproject.toml": "tests/test_structure.py",
}


@cache
def imports() -> dict[str, set[str]]:
    """Of each module, those that it imports."""
    import grimp

    graph = grimp.build_graph("surepick", exclude_type_checking_imports=True, cache_dir=None)
    found = {one: set(graph.find_modules_directly_imported_by(one)) for one in graph.modules}
    for importer, folder in BY_NAME.items():
        found[importer] |= {one for one in found if one.startswith(folder + ".")}
    for one in found:  # a module is found through its packages
        found[one] |= {one.rpartition(".")[0]} - {"", "surepick"}
    return found


def reached(modules: Iterable[str]) -> set[str]:
    """These modules, and all that they lead to."""
    known, waiting = set(), [one for one in modules if one in imports()]
    while waiting:
        one = waiting.pop()
        if one not in known:
            known.add(one)
            waiting += imports()[one] - known
    return known


def named(tree: ast.AST) -> set[str]:
    """The modules of surepick that a file names: by imports, or as ``sp.study``."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Attribute) and _is_sp(node.value):
            found |= _offered(node.attr)
    if any(isinstance(n, ast.Constant) and n.value == "surepick" for n in ast.walk(tree)):
        found.add("surepick.cli")  # the command is started
    return {one for one in found if one.startswith("surepick.")}


def _is_sp(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and node.id == "sp"


def _offered(name: str) -> set[str]:
    """Where ``sp.name`` is from."""
    value = getattr(sp, name, None)
    home = getattr(value, "__module__", None) or getattr(value, "__name__", None)
    return {f"surepick.{name}", str(home)}


@cache
def concerns(test: Path) -> frozenset[str]:
    """The modules that a file of tests concerns, helpers beside it included."""
    tree = ast.parse(test.read_text())
    found = named(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tests"):
            base = ROOT / str(node.module).replace(".", "/")
            inner = [base.with_suffix(".py"), *(base / f"{a.name}.py" for a in node.names)]
            for helper in inner:
                if helper.is_file() and helper != test:
                    found |= concerns(helper)
    return frozenset(found)


@cache
def leads_to(test: Path) -> set[str]:
    """The modules that a file of tests may run."""
    return reached(concerns(test))


def chosen(changed: Iterable[str]) -> list[str]:
    """The files of tests that changes of these files concern."""
    changed = set(changed)
    modules = {_module(file) for file in changed if file.startswith("src/") and file[-3:] == ".py"}
    tests = sorted(ROOT.glob("tests/**/test_*.py"))
    found = set()
    for test in tests:
        name = test.relative_to(ROOT).as_posix()
        helpers = [file for file in changed if file.startswith("tests/") and file not in name]
        beside = any(Path(file).parent == Path(name).parent for file in helpers if _helps(file))
        if name in changed or beside or modules & leads_to(test):
            found.add(name)
    for start, reader in READ_BY.items():
        if any(file == start or file.startswith(start + "/") for file in changed):
            inside = {name for name in _names(tests) if name == reader}
            found |= inside | {name for name in _names(tests) if name.startswith(reader + "/")}
    return sorted(found)


def _names(tests: list[Path]) -> list[str]:
    return [test.relative_to(ROOT).as_posix() for test in tests]


def _helps(file: str) -> bool:
    return file.endswith(".py") and not Path(file).name.startswith("test_")


def _module(file: str) -> str:
    parts = list(Path(file).with_suffix("").parts[1:])
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def changes(base: str) -> list[str]:
    """Files that differ from a commit, and new ones."""
    git = ["git", "-C", str(ROOT)]
    differ = subprocess.check_output([*git, "diff", "--name-only", base], text=True)
    new = subprocess.check_output([*git, "ls-files", "--others", "--exclude-standard"], text=True)
    return (differ + new).split("\n")[:-1]


def main() -> int:
    """Run them."""
    files = changes(sys.argv[1] if len(sys.argv) > 1 else "HEAD")
    tests = chosen(files)
    print(f"{len(files)} changed files concern {len(tests)} files of tests", flush=True)
    if not tests:
        return 0
    command = [sys.executable, "-m", "pytest", "-n", "3", "--dist", "worksteal", *tests]
    return subprocess.call(command, cwd=ROOT)


if __name__ == "__main__":
    sys.exit(main())
