"""A disk that returns a wrong bit changes nothing that anybody is told, but by an error."""

import struct

import pytest
from tests.storage.sql import flips

import surepick as sp
from surepick.errors import StudyDamagedError
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
