"""A plugin with a rule and a family of instances, through the laboratory: the tutorial's file."""

import csv
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.docs.pages import ROOT, blocks

PAGE = ROOT / "docs" / "tutorials" / "pulls.md"


@pytest.fixture
def installed(tmp_path):
    """Where the package lies, and an environment that has it."""
    (code,) = [block.code for block in blocks(PAGE) if "class Challenger(" in block.code]
    (tmp_path / "challenger.py").write_text(code, encoding="utf-8")
    folder = tmp_path / "challenger-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: challenger\nVersion: 1.0\n")
    (folder / "entry_points.txt").write_text("[surepick.plugins]\nchallenger = challenger\n")
    paths = [str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}


def bench(*arguments):
    return [sys.executable, "-m", "surepick", "bench", *map(str, arguments)]


def samples(out):
    with (Path(out) / "trials.csv").open(encoding="utf-8") as file:
        return [(row["algorithm"], row["trial"], row["samples"]) for row in csv.DictReader(file)]


def test_the_file_has_forty_lines_at_most():
    (code,) = [block.code for block in blocks(PAGE) if "class Challenger(" in block.code]
    assert len(code.splitlines()) <= 40


@pytest.mark.validation
def test_a_plugin_goes_through_bench_a_kill_and_a_resume(installed, tmp_path):
    out = tmp_path / "out"
    command = bench("--algorithms", "challenger,uniform", "--instances", "ladder:k=3,step=0.4")
    command += ["--trials", "100", "--out", str(out)]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen(command, env=installed, **quiet)
    log = out / "unfinished.jsonl"
    while not log.exists() or log.read_bytes().count(b"\n") < 3:
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    before = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    done = subprocess.run(command, env=installed, capture_output=True, text=True, check=True)
    assert "of 200 trials are there" in done.stderr
    rows = samples(out)
    assert len(rows) == 200
    there = {(row["algorithm"], str(row["trial"]), str(row["samples"])) for row in before}
    assert there <= set(rows)


@pytest.mark.validation
def test_a_plugin_on_two_processes_a_cluster_and_the_leaderboard(installed, tmp_path, monkeypatch):
    from dask.distributed import LocalCluster

    from surepick.algorithms.registry import unregister
    from surepick.bench.named import unregister_family

    named = ["--algorithms", "challenger", "--instances", "ladder", "--trials", "4"]
    run = {"env": installed, "capture_output": True, "text": True, "check": True}
    subprocess.run(bench(*named, "--jobs", "2", "--out", tmp_path / "two"), **run)
    monkeypatch.setenv("PYTHONPATH", installed["PYTHONPATH"])  # workers inherit it
    monkeypatch.syspath_prepend(tmp_path)  # the scheduler is here, and reads what it passes on
    try:
        with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
            where = ["--engine", "dask", "--scheduler", cluster.scheduler_address]
            subprocess.run(bench(*named, *where, "--out", tmp_path / "dask"), **run)
    finally:
        if sys.modules.pop("challenger", None):
            unregister("challenger")
            unregister_family("ladder")
    assert samples(tmp_path / "two") == samples(tmp_path / "dask")
    board = bench("--suite", "leaderboard", "--algorithms", "challenger,rage", "--trials", "1")
    board += ["--instances", "standard:gap=0.5", "--delta", "0.1", "--json", "--out", str(tmp_path)]
    said = json.loads(subprocess.run(board, **run).stdout)
    assert "challenger" in json.dumps(said)
