"""What the package promises as a package: layers, a light import, locked versions."""

import importlib.metadata
import importlib.resources
import json
import os
import re
import subprocess
import sys
import sysconfig
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from surepick.cli.serve import command as serve

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


# -- other ways to install it ----------------------------------------------------------------
def test_the_conda_recipe_has_the_same_version_and_needs(project):
    text = (ROOT / "conda" / "meta.yaml").read_text(encoding="utf-8")
    assert f'set version = "{project["version"]}"' in text
    recipe = yaml.safe_load(re.sub(r"\{%.*?%\}|\{\{.*?\}\}", "", text))
    needs = {
        canonicalize_name(one.name): str(one.specifier)
        for one in map(Requirement, project["dependencies"])
    }
    run = dict(line.split(maxsplit=1) for line in recipe["requirements"]["run"])
    assert run == needs | {"python": project["requires-python"]}
    assert recipe["build"]["entry_points"] == [f"surepick = {project['scripts']['surepick']}"]


def test_the_image_installs_extras_and_options_that_there_are(project):
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    extras = set(",".join(re.findall(r"\[([a-z,]+)\]'", text)).split(","))
    assert {"server", "client"} <= extras <= project["optional-dependencies"].keys()
    command = json.loads(re.search(r"^CMD (\[.*\])$", text, re.MULTILINE)[1])
    assert command[:2] == ["surepick", "serve"]
    words = [word for word in command[2:] if word.startswith("--")]
    options = {name for one in serve.params for name in one.opts}
    assert set(words) <= options
    copied = re.findall(r"^COPY (.+) \S+$", text, re.MULTILINE)
    for name in " ".join(one for one in copied if "--from" not in one).split():
        assert (ROOT / name).exists(), name


def test_a_release_is_tested_built_and_tried_before_it_is_published():
    text = (ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8")
    jobs = yaml.safe_load(text)["jobs"]
    steps = [step.get("run", "") for step in jobs["build"]["steps"]]
    assert steps.index("make test") < steps.index("make dist")
    assert jobs["publish"]["needs"] == "build"
    tag = next(step for step in steps if "GITHUB_REF_NAME" in step)
    for name, code in (("v0.0.0", 1), (f"v{importlib.metadata.version('surepick')}", 0)):
        env = os.environ | {"GITHUB_REF_NAME": name}
        done = subprocess.run(["bash", "-c", tag], cwd=ROOT, env=env, capture_output=True)
        assert done.returncode == code, done.stderr
