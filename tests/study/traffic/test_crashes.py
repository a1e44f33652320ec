"""Killed at any contact with the database, no report is lost or counted twice."""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


def test_killed_at_any_contact_no_report_is_lost_or_counted_twice(shared_url):
    command = [sys.executable, "-m", "tests.study.traffic.crashes", shared_url, "--step", "61"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["killed"] >= 5
    assert (found["failed"], found["different"]) == (0, 0), done.stderr
