"""Names of workers: which process, and whether it is still there."""

import os
import subprocess

import pytest
from tests.study.workers.processes import until

from surepick.study.workers import identity


@pytest.fixture
def other():
    """Another process of this host."""
    with subprocess.Popen(["sleep", "60"]) as process:
        yield process
        process.kill()


def test_a_process_is_gone_once_it_was_killed(other):
    name = f"{identity._place()}-{other.pid}-{identity._begun(other.pid)}"
    assert not identity.is_gone(f"{name}-1")
    assert not identity.is_gone(identity.own_name())
    other.kill()
    assert until(lambda: identity.is_gone(f"{name}-12"))  # also before anybody has waited for it
    other.wait()
    assert identity.is_gone(name)


def test_a_number_that_went_to_another_process_is_not_taken_for_it():
    place, begun = identity._place(), identity._begun(os.getpid())
    assert identity.own_name() == f"{place}-{os.getpid()}-{begun}"
    earlier = "0" * len(begun) if set(begun) != {"0"} else "1" * len(begun)
    assert identity.is_gone(f"{place}-{os.getpid()}-{earlier}-1")


@pytest.mark.parametrize(
    "name", ["lab", "lab-1", "host-4711-1", "host-abcdef-99999999-abcdef-1", "~x", ""]
)
def test_nobody_else_is_taken_for_gone(name):
    """Names that people give, and processes of another host or container, or before a restart."""
    assert not identity.is_gone(name)


def test_where_processes_cannot_be_looked_at_nobody_is_gone(monkeypatch):
    name = identity.own_name().replace(str(os.getpid()), "99999999")
    assert identity.is_gone(name)
    monkeypatch.setattr(identity, "_begun", lambda pid: None)
    assert not identity.is_gone(name)
    assert identity.own_name().endswith(f"-{os.getpid()}")
