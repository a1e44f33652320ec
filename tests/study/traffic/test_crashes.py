"""Killed at any contact with the database, no report is lost or counted twice."""

import json

import pytest
from tests.forks import client as forks


@pytest.mark.some(1)
def test_killed_at_any_contact_no_report_is_lost_or_counted_twice(shared_url):
    done = forks.run("tests.study.traffic.crashes", shared_url, "--step", 101)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["killed"] >= 3
    assert (found["failed"], found["different"]) == (0, 0), done.stderr
