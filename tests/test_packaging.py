"""What the package promises as a package: layers, a light import, locked versions."""

import importlib.metadata
import importlib.resources
import re
import subprocess
import sys
import sysconfig
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
HEAVY = ("numba", "scipy", "pandas", "matplotlib", "sqlalchemy")


@pytest.fixture(scope="module")
def project() -> dict:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_import_contracts_hold():
    lint_imports = Path(sysconfig.get_path("scripts")) / "lint-imports"
    done = subprocess.run(
        [lint_imports, "--no-cache", "--no-logo"], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_import_is_light():
    code = f"import sys, surepick; print(*[m for m in {HEAVY!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == []


def test_is_marked_as_typed():
    assert importlib.resources.files("surepick").joinpath("py.typed").is_file()


def test_installed_and_cited_version_is_the_declared_one(project):
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    cited = re.search(r"^version: (.+)$", citation, re.MULTILINE)
    assert cited is not None
    assert cited[1] == project["version"] == importlib.metadata.version("surepick")


def test_constraints_pin_every_declared_dependency(project):
    pins = {}
    for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines():
        match = re.fullmatch(r"([A-Za-z0-9._-]+)==([A-Za-z0-9.]+)", line)
        assert match is not None, f"constraints.txt: not a plain name==version line: {line!r}"
        pins[canonicalize_name(match[1])] = match[2]

    declared = [
        *project["dependencies"],
        *(line for extra in project["optional-dependencies"].values() for line in extra),
    ]
    for requirement in map(Requirement, declared):
        name = canonicalize_name(requirement.name)
        if name == "surepick":
            continue
        assert name in pins, f"{name} is declared but not pinned"
        assert requirement.specifier.contains(pins[name], prereleases=True), requirement
