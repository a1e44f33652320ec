"""Tells through the client that do not say who measured: the one who asked there did."""

import shutil
import time

import pytest
from tests.postgres import fast_folder
from tests.server.served import Served

import surepick as sp


@pytest.fixture(scope="module")
def service():
    folder = fast_folder("sp-told-")
    with Served(f"sqlite:///{folder}/studies.db", folder) as served:
        yield served
    shutil.rmtree(folder)


@pytest.mark.parametrize("many", [False, True])
def test_a_pull_that_somebody_else_has_by_now_is_theirs_to_tell(service, many):
    """The lease has gone to another one, whose reward counts; the first one's is kept as late."""
    name = f"told {many}"
    with service.client() as client, service.client() as elsewhere:
        study = client.create_study(name, sp.Problem([[1.0, 0.0], [0.0, 1.0]], noise=1.0))
        first = study.ask(1, "a", lease=0.01)[0]
        others = study.ask(study.progress().size - 1, "c")  # all the rest
        time.sleep(0.05)
        other = elsewhere.load_study(name)
        assert [pull.id for pull in other.ask(1, "b")] == [first.id]
        if many:
            told = study.tell_many([(pull.id, 1.0) for pull in [others[0], first]])
            assert [one.status for one in told] == ["accepted", "late"]
        else:
            assert study.tell(first.id, 1.0).status == "late"  # too late, and not a's mistake
        assert other.tell(first.id, 9.0).status == "accepted"
        assert [event.worker for event in study.events("late")] == ["a"]
