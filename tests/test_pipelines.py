"""The steps of the GitHub action and of the GitLab job, run as they stand there, by a shell."""

import os
import re
import subprocess
import sys
import sysconfig
import xml.etree.ElementTree as Xml
from pathlib import Path

import pytest
import yaml

import surepick as sp

ROOT = Path(__file__).resolve().parents[1]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text())
GITLAB = yaml.safe_load((ROOT / "ci" / "gitlab.yml").read_text())[".surepick"]
QUICK = "main: true\nbranch: sleep 0.03"


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder to work in, with the command on the path."""
    (tmp_path / "bin").mkdir()
    command = tmp_path / "bin" / "surepick"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m surepick "$@"\n')
    command.chmod(0o755)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))
    path = (str(tmp_path / "bin"), sysconfig.get_path("scripts"), os.environ["PATH"])
    monkeypatch.setenv("PATH", os.pathsep.join(path))
    return tmp_path


def filled(text, inputs):
    """What GitHub makes of a text with expressions."""
    known = {f"inputs.{key}": value for key, value in inputs.items()}
    known["github.action_path"] = str(ROOT)
    return re.sub(r"\$\{\{ ([\w.-]+) \}\}", lambda found: known[found[1]], str(text))


def on_github(place, **given):
    """The checking step of the action: how it ended, its outputs, the summary."""
    inputs = {key: str(one.get("default", "")) for key, one in ACTION["inputs"].items()}
    inputs |= {key.replace("_", "-"): value for key, value in given.items()}
    step = next(one for one in ACTION["runs"]["steps"] if one.get("id") == "check")
    env = {key: filled(value, inputs) for key, value in step["env"].items()}
    files = {"GITHUB_OUTPUT": "output", "GITHUB_STEP_SUMMARY": "summary"}
    env |= {key: str(place / name) for key, name in files.items()}
    done = subprocess.run(
        [step["shell"], "-c", filled(step["run"], inputs)],
        env=os.environ | env, cwd=place, capture_output=True, text=True,
    )  # fmt: skip
    rows = (place / "output").read_text().splitlines() if (place / "output").exists() else []
    outputs = dict(row.split("=", 1) for row in rows)
    return done, outputs, (place / "summary").read_text() if (place / "summary").exists() else ""


def test_the_action_is_what_github_takes():
    assert ACTION["runs"]["using"] == "composite"
    assert all(step.get("shell") == "bash" for step in ACTION["runs"]["steps"])
    for step in ACTION["runs"]["steps"]:  # what users give reaches no script but by its environment
        assert "inputs." not in step["run"]
    used = set(re.findall(r"inputs\.([\w-]+)", (ROOT / "action.yml").read_text()))
    assert used == set(ACTION["inputs"])


def test_a_slower_branch_fails(place):
    done, outputs, summary = on_github(place, commands=QUICK, not_slower_than="main")
    assert done.returncode == 1, done.stderr
    assert outputs["result"] == "failed"
    assert "branch is slower than main by more than 5 %" in summary
    assert "| --- |" in (place / outputs["markdown"]).read_text()
    suite = Xml.parse(place / outputs["junit"]).getroot()
    assert (suite.get("tests"), suite.get("failures")) == ("1", "1")
    assert suite.find("testcase").get("name") == "branch is not slower than main"


def undecided(place, **asked):
    """A race of equals; one in twenty may be decided all the same, three in a row hardly are."""
    for _ in range(3):
        done, outputs, _ = on_github(place, **asked)
        if outputs["result"] == "undecided":
            break
    return done, outputs


def test_undecided_has_its_own_exit_code(place):
    same = "main: true\nbranch: true"
    asked = {"commands": same, "not_slower_than": "main", "epsilon": "0.1%", "max_seconds": "0.5"}
    done, outputs = undecided(place, **asked)
    assert (done.returncode, outputs["result"]) == (7, "undecided")
    suite = Xml.parse(place / outputs["junit"]).getroot()
    assert (suite.get("failures"), suite.get("skipped")) == ("0", "1")
    done, _ = undecided(place, **asked, undecided="pass")
    assert done.returncode == 0


def test_a_command_that_fails_is_an_error(place):
    done, outputs, _ = on_github(place, commands="main: true\nbranch: false")
    assert (done.returncode, outputs["result"]) == (5, "error")


@pytest.mark.validation
def test_an_evaluation_is_a_gate(place):
    storage = f"sqlite:///{place}/surepick.db"
    problem = sp.Problem.unstructured(["old", "new"], noise=0.1)
    study = sp.create_study("prompts", problem, storage=storage, seed=1)
    done, outputs, summary = on_github(place, study="prompts")
    assert (done.returncode, outputs["result"]) == (7, "undecided")
    assert "### prompts: **undecided**" in summary
    while not study.finished:
        for pull in study.ask(20, "ci"):
            study.tell(pull.id, 5.0 * pull.arm, "ci")
    done, outputs, summary = on_github(place, study="prompts")
    assert (done.returncode, outputs["result"]) == (0, "passed")
    assert "Answer: new" in summary
    suite = Xml.parse(place / outputs["junit"]).getroot()
    assert (suite.get("failures"), suite.get("skipped")) == ("0", "0")


def test_the_job_of_gitlab_does_the_same(place):
    variables = GITLAB["variables"] | {"COMMANDS": QUICK, "NOT_SLOWER_THAN": "main"}
    (place / "ci").mkdir()
    (place / "ci" / "check.sh").write_text((ROOT / "ci" / "check.sh").read_text())
    for line in GITLAB["script"]:
        done = subprocess.run(
            ["bash", "-c", line], env=os.environ | variables, cwd=place, capture_output=True
        )
    assert done.returncode == 1
    for file in (*GITLAB["artifacts"]["paths"], GITLAB["artifacts"]["reports"]["junit"]):
        assert (place / file).exists()
    assert GITLAB["allow_failure"] == {"exit_codes": [7]}
