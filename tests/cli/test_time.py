"""surepick time: real commands, in real processes."""

import contextlib
import json
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from surepick.cli import cli

QUICK, SLOW = "true", "sleep 0.03"


def run(*arguments):
    return CliRunner().invoke(cli, ["time", *arguments, "--seed", "0"])


def test_the_faster_command_is_found(tmp_path):
    files = [tmp_path / f"out{ending}" for ending in (".json", ".md", ".csv", ".png")]
    told = [part for file in files for part in ("--export", str(file))]
    found = run(QUICK, SLOW, "--json", *told)
    assert found.exit_code == 0, found.output
    said = json.loads(found.stdout)
    assert (said["label"], said["decided"]) == (QUICK, True)
    assert said["commands"] == {QUICK: QUICK, SLOW: SLOW}
    assert json.loads(files[0].read_text())["label"] == QUICK
    assert files[1].read_text().startswith("true is the fastest")
    assert files[2].read_text().count("\n") == 3
    assert files[3].read_bytes()[:4] == b"\x89PNG"


def test_a_command_is_hardly_ever_faster_than_itself_and_that_has_a_code_of_its_own():
    found = run("--name", "a", "--name", "b", QUICK, QUICK, "--max-runs", "8")
    assert found.exit_code == 7
    assert "looks fastest, but that is not clear yet (after 8 runs in random order)" in found.output


@pytest.mark.validation
def test_the_shortest_quantile_may_be_asked_for():
    found = run(QUICK, "sleep 0.2", "--quantile", "50%", "--max-runs", "200")
    assert "true has the shortest median" in found.output
    beside = run(QUICK, SLOW, "--quantile", "0.5", "--not-slower-than", QUICK)
    assert "leave it out with --not-slower-than" in str(beside.exception)


def test_slower_than_another_is_an_error_for_builds():
    named = ("--name", "main", "--name", "branch")
    worse = run(*named, QUICK, SLOW, "--not-slower-than", "main")
    assert worse.exit_code == 1, worse.output
    assert "branch is slower than main by more than 5 %." in worse.output
    better = run(*named, SLOW, QUICK, "--not-slower-than", "main", "--epsilon", "2%")
    assert better.exit_code == 0, better.output
    assert "branch is not slower than main by more than 2 %." in better.output
    early = run(*named, QUICK, QUICK, "--not-slower-than", "main", "--max-runs", "4")
    assert early.exit_code == 7


def test_parameters_files_and_what_is_done_before(tmp_path):
    log = tmp_path / "log"
    listed = tmp_path / "commands.txt"
    listed.write_text("# two of them\nnap: sleep {n}\n")
    found = run(
        *("--file", str(listed), "--parameter", "n=0,0.03", "--warmup", "0"),
        *("--setup", f"echo setup >> {log}", "--prepare", f"echo prepare >> {log}", "--json"),
    )
    assert found.exit_code == 0, found.output
    said = json.loads(found.stdout)
    assert said["label"] == "nap (0)"
    lines = log.read_text().splitlines()
    assert lines[0] == "setup"
    assert lines[1:] == ["prepare"] * said["runs"]


def test_without_a_shell():
    found = run(QUICK, SLOW, "--shell", "none", "--json")
    assert json.loads(found.stdout)["label"] == QUICK


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ((QUICK,), 1, "there must be two at least"),
        ((QUICK, "false"), 5, "'false' ended with exit code 1"),
        ((QUICK, "sh -c 'echo no >&2; exit 3'"), 5, "ended with exit code 3: no"),
        ((QUICK, "nosuchthing", "--shell", "none"), 5, "'nosuchthing' cannot be started"),
        ((QUICK, SLOW, "--export", "x.doc"), 1, "must end in .json"),
        ((QUICK, SLOW, "--name", "a"), 1, "there are 2 commands and 1 name"),
        ((QUICK, SLOW, "--parameter", "n"), 1, "expected NAME=A,B"),
    ],
)
def test_what_goes_wrong_is_said(arguments, code, said):
    found = run(*arguments)
    assert found.exit_code == code
    assert said in (str(found.exception) if code == 1 else found.output)


HANGS = "sleep 299 & sleep 299"  # with what it has started


def running(words):
    """Who still runs this; what was killed takes a moment to end on a busy machine."""
    until = time.monotonic() + 30.0
    while lines := [line for line in commands() if line.startswith(words)]:
        if time.monotonic() > until:
            break
        time.sleep(0.01)
    return lines


def commands():
    """Of all that runs on this machine."""
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            yield file.read_bytes().replace(b"\0", b" ").decode()


def test_a_command_that_hangs_is_ended_with_all_it_started_when_the_time_is_over():
    found = run(QUICK, HANGS, "--max-seconds", "0.5")
    assert found.exit_code == 5
    assert f"'{HANGS}' was running then" in found.output
    assert not running("sleep 299")


def test_a_command_that_hangs_is_the_slowest_or_has_failed():
    hangs = "sleep 298 & sleep 298"
    found = run(QUICK, hangs, "--timeout", "0.05", "--json")
    assert found.exit_code == 0, found.output
    said = json.loads(found.stdout)
    assert (said["label"], list(said["hung"])) == (QUICK, [hangs])
    failed = run(QUICK, hangs, "--timeout", "0.05", "--hung", "failed")
    assert failed.exit_code == 5
    assert "did not end within 0.05 s; it was ended, with all it had started" in failed.output
    before = run(QUICK, SLOW, "--prepare", hangs, "--timeout", "0.05")
    assert before.exit_code == 5
    assert "what prepares" in before.output
    assert not running("sleep 298")


def test_codes_other_than_0_may_be_all_right():
    found = run("false", f"{SLOW}; false", "--any-exit", "--json")
    assert json.loads(found.stdout)["label"] == "false"
