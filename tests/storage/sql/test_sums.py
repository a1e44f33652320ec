"""A disk that returns a wrong bit changes nothing that anybody is told, but by an error."""

import struct

import pytest
from tests.storage.sql import flips

import surepick as sp
from surepick.errors import StorageError, StudyDamagedError
from surepick.storage.records import Lease
from surepick.storage.sql import sums


def test_a_reward_that_became_another_one_is_not_counted(tmp_path):
    url = f"sqlite:///{tmp_path}/studies.db"
    problem = sp.Problem.unstructured(["a", "b"], noise=1.0)
    with sp.create_study("x", problem, "pooled-peleg", url) as study:
        study.tell(study.ask()[0].id, 1234.5678)
    sp.create_study("y", problem, "pooled-peleg", url).close()
    file = tmp_path / "studies.db"
    content, reward = bytearray(file.read_bytes()), struct.pack(">d", 1234.5678)
    place = content.index(reward)
    assert reward not in content[place + 1 :]
    content[place + 1] ^= 2
    file.write_bytes(content)
    with sp.load_study("x", url) as study, pytest.raises(StudyDamagedError, match=r"studies\.db"):
        study.status()
    with sp.load_study("y", url) as study:  # the others go on
        assert study.status()["samples"] == 0
        assert study.ask()[0].id == 0


def waiting_for_one(url):
    """A study of whose open batch one pull is back in line, and all others are out."""
    problem = sp.Problem.unstructured(["a", "b"], noise=1.0)
    study = sp.create_study("x", problem, "pooled-peleg", url, overlap=False)
    pull, *_ = study.ask(1000, "w", lease=1e6)
    study.fail(pull.id, "the pipette broke", "w")
    return study, pull.id


def test_a_pull_that_is_hidden_by_a_damaged_page_or_index_is_no_pull_that_is_out(tmp_path):
    file = tmp_path / "studies.db"
    study, number = waiting_for_one(f"sqlite:///{file}")
    with study:
        lease = study.storage.read(lambda tx: tx.leases(study.desk.record.id, [number]))[number]
    content, until = file.read_bytes(), struct.pack(">d", lease.until)
    places = [i for i in range(len(content)) if content.startswith(until, i)]
    assert len(places) >= 2, "one in the table, one in an index"
    found = []
    for place in places:
        for log in tmp_path.glob("studies.db-*"):
            log.unlink()
        turned = bytearray(content)
        turned[place] ^= 0x40  # a time that is far away
        file.write_bytes(turned)
        with sp.load_study("x", f"sqlite:///{file}") as study:
            try:
                found.append([pull.id for pull in study.ask(1, "v")])
            except StorageError:
                found.append(None)
    assert None in found
    assert all(one in (None, [number]) for one in found)


def test_a_pull_that_is_gone_is_missed_once_nothing_is_left(storage_url):
    study, number = waiting_for_one(storage_url)
    study.storage.write(lambda tx: tx.drop(study.desk.record.id, Lease, [number]))
    with pytest.raises(StudyDamagedError, match="which pulls are with whom"):
        study.ask(1, "v")


def test_turned_bits_change_nothing_that_is_said():
    counted, different = flips.flips(6, 60)
    assert counted.total() == 6
    assert different == []


@pytest.mark.validation
def test_turned_bits_change_nothing_that_is_said_many_times():
    counted, different = flips.flips(150, 2000, seed=1)
    assert counted["error"] > 50
    assert different == []


def test_numbers_count_the_same_however_they_are_bound():
    assert sums.sum_of(1, 2.0, "a", None) == sums.sum_of(1.0, 2, "a", None)
    assert sums.sum_of(2**60) != sums.sum_of(2**60 + 1)
    assert sums.sum_of("1") != sums.sum_of(1)
    assert sums.sum_of(True) == sums.sum_of(1)  # as SQLite keeps it
