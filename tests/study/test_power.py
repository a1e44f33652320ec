"""A machine that loses its power: of what was acknowledged, nothing is lost."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def lose_power(folder, *options):
    """What ``tests.study.power`` finds, on a folder that forgets what was not synced."""
    layer, live, kept = folder / "synced.so", folder / "live", folder / "kept"
    build = ["gcc", "-shared", "-fPIC", "-o", layer, Path(__file__).with_name("synced.c")]
    subprocess.run([*build, "-ldl", "-lpthread"], check=True)
    live.mkdir()
    kept.mkdir()
    layered = {"LD_PRELOAD": str(layer), "SYNCED_FROM": str(live), "SYNCED_TO": str(kept)}
    command = [sys.executable, "-m", "tests.study.power", *options]
    done = subprocess.run(
        command, cwd=ROOT, env=os.environ | layered, capture_output=True, text=True, timeout=240
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.validation
@pytest.mark.skipif(shutil.which("gcc") is None, reason="the layer is compiled here")
def test_what_was_acknowledged_survives_a_loss_of_power(database_folder):
    found = lose_power(database_folder, "--count", "6", "--each", "40")
    assert found.pop("acknowledged") > 100  # of 200: some die before they hear of it
    clean = dict.fromkeys(("lost", "twice", "batches", "wrong", "failed"), 0)
    assert found == clean | {"losses": 6}


@pytest.mark.validation
@pytest.mark.skipif(shutil.which("gcc") is None, reason="the layer is compiled here")
def test_a_database_that_does_not_sync_is_noticed(database_folder):
    assert lose_power(database_folder, "--count", "2", "--each", "20", "--careless")["lost"] > 0
