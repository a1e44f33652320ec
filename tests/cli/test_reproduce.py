"""The paper's experiments end to end on a tiny plan: files, kill and resume, bad input."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.forks import client as forks
from tests.interrupts import hear_interrupts

TINY = ["--figure", "a", "--figure", "d", "--algorithms", "peleg,xy-static", "--trials", "2"]


def surepick(*arguments, **more):
    return forks.run("surepick", *arguments, **more)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """An uninterrupted run, on one process."""
    out = tmp_path_factory.mktemp("whole")
    done = surepick("reproduce", *TINY, "--out", str(out), "--jobs", "1", "--json")
    assert done.returncode == 0, done.stderr
    return out, json.loads(done.stdout)


def contents(folder):
    """Every final file but the timings, which are never the same twice."""
    files = [f for f in Path(folder).iterdir() if f.is_file() and f.name != "timings.csv"]
    return {f.name: f.read_bytes() for f in files}


@pytest.mark.validation
def test_all_files_are_there(whole):
    out, said = whole
    names = {f.name for f in out.iterdir()}
    figures = {f"figure_{k}.{e}" for k in "ad" for e in ("png", "pdf")}
    tables = {f"{n}.csv" for n in ("trials", "summary", "success", "table1", "timings")}
    assert (
        figures | tables | {"trials.parquet", "summary.parquet", "summary.md", "report.html"}
        <= names
    )
    assert {Path(f).name for f in said["files"]} <= names
    assert said["notes"] == []


@pytest.mark.validation
def test_one_row_per_trial_in_csv_and_parquet(whole):
    import pandas as pd

    out, _ = whole
    rows = pd.read_csv(out / "trials.csv")
    assert len(rows) == (5 + 9) * 2 * 2
    again = pd.read_parquet(out / "trials.parquet")
    assert (rows["samples"].to_numpy() == again["samples"].to_numpy()).all()
    summary = pd.read_csv(out / "summary.csv")
    assert (summary["lower_bound"] > 0).all()
    assert set(pd.read_csv(out / "table1.csv")["algorithm"]) == {"xy-static"}


@pytest.mark.validation
def test_the_summary_can_be_pasted_into_a_page(whole):
    lines = (whole[0] / "summary.md").read_text().splitlines()
    assert "### (a) Standard bandit, five arms" in lines
    (row,) = [line for line in lines if line.startswith("| (a) | XY-static")]
    assert row == "| (a) | XY-static | 10 of 10 |"


@pytest.mark.validation
def test_the_report_stands_alone(whole):
    page = (whole[0] / "report.html").read_text()
    assert page.count("data:image/png;base64,") == 2
    assert "http" not in page
    assert "surepick reproduce --figure a" in page


@pytest.mark.validation
def test_killed_and_started_again_gives_the_same_bytes(whole, tmp_path):
    # the command in the report must not name what does not change the results
    command = ["reproduce", *TINY, "--out", tmp_path, "--jobs"]
    kills = 0
    for wanted, jobs in ((3, 2), (9, 1)):
        with open(os.devnull, "r+") as nothing:
            process = forks.Forked("surepick", [*command, jobs], files=[nothing.fileno()] * 3)
        parts = tmp_path / "parts"
        while process.poll() is None and (
            not parts.exists() or len(list(parts.glob("[!.]*.json"))) < wanted
        ):
            time.sleep(0.01)
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            kills += 1
        process.wait()
    assert kills
    done = surepick(*command, 1)
    assert done.returncode == 0, done.stderr
    assert contents(tmp_path) == contents(whole[0])


@pytest.mark.validation
def test_ctrl_c_says_how_to_continue(tmp_path):
    command = [sys.executable, "-c", "from surepick.cli import main; main()", "reproduce"]
    command += ["--figure", "c", "--algorithms", "peleg", "--out", str(tmp_path), "--jobs", "1"]
    with subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=hear_interrupts,
    ) as process:
        parts = tmp_path / "parts"
        while not parts.exists() or not list(parts.glob("[!.]*.json")):
            assert process.poll() is None
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "To continue: surepick reproduce --figure c" in said


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--figure", "e"], "unknown figure 'e'"),
        (["--algorithms", "pelge"], "did you mean 'peleg'"),
        (["--engine", "dask"], "--scheduler"),
        (["--trials", "0"], "trials"),
        (["--delta", "2"], "delta"),
    ],
)
def test_bad_input(arguments, message, tmp_path):
    done = surepick("reproduce", *arguments, "--out", str(tmp_path))
    assert done.returncode == 2
    assert message in done.stderr


@pytest.mark.validation
def test_another_plan_in_the_folder(whole):
    done = surepick("reproduce", *TINY, "--seed", "5", "--out", str(whole[0]))
    assert done.returncode == 2
    assert "seed: 0 there, 5 asked for" in done.stderr
    assert "--fresh" in done.stderr


@pytest.mark.validation
def test_check_delta_on_a_few_trials(tmp_path):
    out = ["--out", str(tmp_path), "--jobs", "1", "--json"]
    done = surepick(
        "reproduce", "--check-delta", "--algorithms", "peleg,lucb", "--trials", "40", *out
    )
    assert done.returncode == 0, done.stderr
    table = (tmp_path / "errors.csv").read_text().splitlines()
    assert len(table) == 1 + 2 * 6
    assert "report.html" in done.stdout
