"""The pytest plugin, in real runs of pytest; and the comparison behind it."""

import json
import os
import random
import subprocess
import sys
import tomllib
from importlib.metadata import entry_points
from pathlib import Path

import numpy as np
import pytest
from tests.interrupts import hear_interrupts

import surepick as sp
from surepick.errors import InvalidInputError, InvalidTypeError
from surepick.integrations.comparing import compare

pytest_plugins = ["pytester"]
ROOT = Path(__file__).resolve().parents[2]
PLUGIN = "surepick.integrations.pytest_plugin"
TESTS = """
import random
draw = random.Random(0)

def rate(p):
    return lambda: draw.random() < p

def test_as_good(sure):
    found = sure.not_worse(rate(0.9), rate(0.9), epsilon=0.1, max_calls=3000, noise="yes-no")
    assert found.calls < 3000

def test_much_worse(sure):
    sure.not_worse(rate(0.5), rate(0.9), epsilon=0.1, max_calls=3000, noise="yes-no")

def test_too_few_calls(sure):
    sure.not_worse(rate(0.9), rate(0.9), epsilon=0.1, max_calls=20, noise="yes-no")

def test_too_few_calls_but_skipped(sure):
    settings = {"epsilon": 0.1, "max_calls": 20, "noise": "yes-no"}
    sure.not_worse(rate(0.9), rate(0.9), undecided="skip", **settings)
"""


def test_tests_pass_fail_and_are_not_decided(tmp_path):
    (tmp_path / "test_rates.py").write_text(TESTS)
    installed = any(one.value == PLUGIN for one in entry_points(group="pytest11"))
    named = [] if installed else ["-p", PLUGIN]  # a checkout that was installed before it had one
    command = [sys.executable, "-m", "pytest", "-q", "-rA", "-p", "no:cacheprovider", *named]
    done = subprocess.run(
        [*command, "--junitxml=report.xml"], cwd=tmp_path, capture_output=True, text=True
    )
    assert "2 failed, 1 passed, 1 skipped" in done.stdout, done.stdout + done.stderr
    assert "PASSED test_rates.py::test_as_good" in done.stdout
    assert "The new variant is worse than the old one by more than 0.1 (mean scores" in done.stdout
    assert (
        "It is not decided whether the new variant is worse than the old one by more than 0.1"
        in done.stdout
    )
    assert "comparing.py" not in done.stdout  # no traceback: nothing is wrong in there
    report = (tmp_path / "report.xml").read_text()
    assert (
        'name="surepick" value="The new variant is not worse than the old one by more than 0.1'
        in report
    )


AGAIN = """
import random, time
draw = random.Random(time.time_ns())

def rate(p):
    return lambda: draw.random() < p

def test_gate(sure):
    sure.not_worse(rate(0.9), rate({old}), epsilon=0.1, max_calls={most}, noise="yes-no")
"""


def test_a_gate_that_is_run_again_goes_on(pytester):
    def run(old, most, *more):
        pytester.makepyfile(test_gate=AGAIN.format(old=old, most=most))
        return pytester.runpytest_inprocess("-rA", *more).stdout.str()

    assert "20 calls)" in run(0.9, 20)
    assert "Of the calls, 20 were made in earlier runs." in run(0.9, 20)
    assert "Of the calls, 40 were made in earlier runs." in run(0.9, 20)
    anew = run(0.9, 20, "--sure-anew")
    assert "20 calls)" in anew
    assert "earlier runs" not in anew
    assert "earlier runs" not in run(0.8, 20)  # another one is compared
    assert "1 passed" in run(0.5, 2000)
    assert "earlier runs" not in run(0.5, 2000)  # what has passed is over


KILLED = """
import os, random, signal
from pathlib import Path
draw = random.Random(os.getpid())

def new():
    with open("calls", "a") as file:
        file.write("new\\n")
    if len(Path("calls").read_text()) == 4 * 30 and not Path("killed").exists():
        Path("killed").touch()
        os.kill(os.getpid(), signal.{sent})
    return draw.random() < 0.9

def old():
    return draw.random() < 0.9

def test_gate(sure):
    sure.not_worse(new, old, epsilon=0.1, max_calls=3000, noise="yes-no", warm_up=0)
"""


@pytest.mark.some(1)
@pytest.mark.parametrize("sent", ["SIGKILL", "SIGINT"])
def test_a_run_of_tests_that_is_killed_loses_no_call(tmp_path, sent):
    (tmp_path / "test_killed.py").write_text(KILLED.replace("{sent}", sent))
    (tmp_path / "pytest.ini").write_text("[pytest]")
    command = [sys.executable, "-m", "pytest", "-q", "-rA", "-p", PLUGIN, "--junitxml=report.xml"]
    how = {"cwd": tmp_path, "capture_output": True, "text": True}
    how["env"] = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    how["preexec_fn"] = hear_interrupts
    assert subprocess.run(command, **how).returncode != 0
    (kept,) = (tmp_path / ".pytest_cache" / "d" / "surepick").iterdir()
    lines = list(map(json.loads, kept.read_text().splitlines()))
    known = sum("score" in line for line in lines)
    assert sum(line.get("variant") == "new" for line in lines if "score" in line) == 29
    done = subprocess.run(command, **how)
    assert "1 passed" in done.stdout, done.stdout
    assert (
        f"Of the calls, {known} were made in earlier runs." in (tmp_path / "report.xml").read_text()
    )
    assert not kept.exists()  # it has passed


def test_pytest_finds_it():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["entry-points"]["pytest11"] == {"surepick": PLUGIN}


@pytest.mark.validation
def test_verdicts_are_proven_and_rarely_wrong():
    """At the boundary both verdicts are right; 0.05 beyond it, one of them is wrong."""
    wrong = decided = 0
    for seed in range(24):
        rng = np.random.default_rng(seed)
        found = compare(
            lambda r=rng: float(r.random() < 0.70),
            lambda r=rng: float(r.random() < 0.85),
            **{"epsilon": 0.1, "max_calls": 1000, "delta": 0.2, "noise": "yes-no"},
        )
        decided += found.verdict != "undecided"
        wrong += found.verdict == "not worse"
        assert found.calls <= 1000
    assert decided >= 6
    assert wrong <= 9  # 5 expected at most; more than 9 would happen in 1 of 75 such tests
    assert sp.verify(found.answer.certificate())


def test_numbers_of_any_size_and_their_direction():
    draw = random.Random(1)
    old = {"epsilon": 5.0, "max_calls": 2000}
    better = compare(lambda: draw.gauss(103, 4), lambda: draw.gauss(100, 8), **old)
    worse = compare(lambda: draw.gauss(90, 4), lambda: draw.gauss(100, 8), **old)
    assert (better.verdict, worse.verdict) == ("not worse", "worse")
    assert better.new == pytest.approx(103, abs=3)
    assert worse.old == pytest.approx(100, abs=5)


def test_what_makes_no_sense_is_refused():
    draw = random.Random(2)
    settings = {"epsilon": 0.1, "max_calls": 200}
    with pytest.raises(InvalidInputError, match="epsilon must be above 0"):
        compare(draw.random, draw.random, epsilon=0, max_calls=10)
    with pytest.raises(InvalidTypeError, match="old must be a function"):
        compare(draw.random, 0.9, **settings)
    with pytest.raises(InvalidInputError, match="set noise='yes-no'"):
        compare(*[lambda: draw.random() < 0.5] * 2, noise="symmetric", **settings)
    with pytest.raises(InvalidInputError, match=r"new returned 0\.5, but"):
        compare(lambda: 0.5, lambda: 1, noise="yes-no", **settings)
