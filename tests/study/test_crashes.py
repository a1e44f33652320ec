"""Workers that die at the worst moment, crowds, cut connections, wrong clocks.

The sizes here fit into a test run; ``benchmarks/study_crashes.py`` runs the full ones.
"""

import json
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.forks import client as forks
from tests.study import toy

import surepick as sp
from surepick.storage import open_storage

NOTHING = {"lost": 0, "twice": 0, "batches": 0, "wrong": 0}


def run(what, url, *options):
    """Run ``tests.study.crashes``; what it found, of which nothing may be lost or wrong."""
    done = forks.run("tests.study.crashes", what, url, *options)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert {key: found[key] for key in NOTHING} == NOTHING, done.stderr
    return found


@pytest.mark.some(1)
@pytest.mark.parametrize("step", [79, pytest.param(23, marks=pytest.mark.validation)])
def test_killed_at_any_contact_with_the_database_nothing_is_lost(shared_url, step):
    # The benchmark takes every single contact; here each database has its own of the many.
    start = 1 if shared_url.startswith("sqlite") else 1 + step // 2
    found = run("points", shared_url, "--first", start, "--step", step)
    assert found["failed"] == 0
    assert found["opening"] >= 200 // step
    assert found["study"] >= 460 // step - 1


@pytest.mark.some(1)
@pytest.mark.parametrize("step", [33, pytest.param(11, marks=pytest.mark.validation)])
def test_killed_at_any_contact_while_options_come_and_go_nothing_is_lost(shared_url, step):
    found = run("turns", shared_url, "--step", step)
    assert found["failed"] == 0
    assert found["turns"] >= 33 // step  # the benchmark takes every single contact


@pytest.mark.validation
def test_killed_at_any_contact_with_several_batches_open_nothing_is_lost(shared_url):
    every = 61 if shared_url.startswith("sqlite") else 151  # the benchmark takes every single one
    found = run("ahead", shared_url, "--step", every)
    assert found["failed"] == 0
    assert found["study"] >= 4


@pytest.mark.some(1)
def test_killed_at_random_times_nothing_is_lost(shared_url):
    found = run("kills", shared_url, "--count", 8)
    assert found["kills"] == 8
    assert found["failed"] == 0


@pytest.mark.some(1)
def test_a_crowd_finds_what_a_single_worker_finds(shared_url):
    found = run("crowd", shared_url, "--workers", 6, "--each", 15)
    assert found["errors"] == found["clean_errors"] == 0
    assert found["worst_wait"] < 10


def test_cut_connections_lose_nothing(postgres):
    found = run("cuts", postgres.url(), "--workers", 3, "--each", 30, "--count", 10)
    assert found["errors"] == 0
    assert found["cuts"] >= 10


def test_a_server_that_crashes_loses_nothing(postgres):
    url = postgres.url()
    onlooker = open_storage(url)  # once: the crowd would be done before it is seen
    with ThreadPoolExecutor(1) as pool:
        crowd = pool.submit(run, "crowd", url, "--workers", 3, "--each", 50)
        while onlooker.read(told_so_far) < 30:
            time.sleep(0.01)
        assert not crowd.done()
        onlooker.close()
        postgres.stop("immediate")
        postgres.start()
        assert crowd.result()["errors"] == 0


def told_so_far(tx):
    study = tx.find_study("crowd")
    return 0 if study is None else tx.progress(study.id).measured


@pytest.mark.some(2)
@pytest.mark.parametrize("off", [86_400.0, -86_400.0])
def test_wrong_clocks_of_clients_lose_no_lease(shared_url, off, monkeypatch):
    study = sp.create_study("clocks", toy.problem(), toy.Toy(0.1), shared_url)
    mine = study.ask(3, "right")
    for name in ("time", "monotonic"):
        right = getattr(time, name)
        monkeypatch.setattr(time, name, lambda right=right: right() + off)
    other = sp.load_study("clocks", shared_url)
    theirs = other.ask(6, "wrong")
    assert [pull.id for pull in theirs] == [3, 4, 5]
    monkeypatch.undo()
    toy.register()
    assert study.ask(6, "third") == []  # neither ended early nor is held too long
    leases = study.storage.read(lambda tx: tx.leases(study.desk.record.id, range(6)))
    untils = [lease.until for lease in leases.values()]
    assert max(untils) - min(untils) < 60
    assert {pull.id for pull in study.ask(6, "right")} == {pull.id for pull in mine}
