"""A new SQLite file is its owner's alone; the rights of one that is there are left as they are."""

import os
import stat

import numpy as np

import surepick as sp

PROBLEM = sp.Problem(np.eye(2), noise=1.0)


def rights(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_a_new_file_and_its_journals_are_private(tmp_path):
    before = os.umask(0o022)
    try:
        study = sp.create_study("s", PROBLEM, storage=f"sqlite:///{tmp_path}/studies.db")
        study.ask(1)
        files = list(tmp_path.iterdir())
        assert {rights(file) for file in files} == {0o600}, files
        study.close()
    finally:
        os.umask(before)


def test_rights_of_a_file_that_is_there_stay(tmp_path):
    sp.create_study("s", PROBLEM, storage=f"sqlite:///{tmp_path}/studies.db").close()
    (tmp_path / "studies.db").chmod(0o660)
    sp.create_study("t", PROBLEM, storage=f"sqlite:///{tmp_path}/studies.db").close()
    assert rights(tmp_path / "studies.db") == 0o660
    (tmp_path / "other.db").touch(0o664)
    mode = rights(tmp_path / "other.db")
    sp.create_study("s", PROBLEM, storage=f"sqlite:///{tmp_path}/other.db").close()
    assert rights(tmp_path / "other.db") == mode
