import json
import os
import subprocess
import sys
import textwrap

import pytest

from surepick.bench.store import ResultsFolder
from surepick.errors import SurepickError
from surepick.files import write_whole

PLAN = {"experiment": "x", "trials": 3}


def test_keeps_what_was_put_and_continues(tmp_path):
    folder = ResultsFolder(tmp_path / "r", PLAN)
    assert not folder.has("t1")
    folder.put("t1", {"rows": [[1, 2.5, "a"]]})
    again = ResultsFolder(tmp_path / "r", PLAN)
    assert again.has("t1")
    assert again.get("t1") == {"rows": [[1, 2.5, "a"]]}


def test_refuses_another_plan_and_says_what_differs(tmp_path):
    ResultsFolder(tmp_path, PLAN).put("t1", 1)
    with pytest.raises(SurepickError, match=r"trials: 3 there, 4 asked for.*--fresh"):
        ResultsFolder(tmp_path, {**PLAN, "trials": 4})
    fresh = ResultsFolder(tmp_path, {**PLAN, "trials": 4}, fresh=True)
    assert not fresh.has("t1")


def test_damaged_part_and_plan_are_named(tmp_path):
    folder = ResultsFolder(tmp_path, PLAN)
    folder.put("t1", 1)
    (tmp_path / "parts" / "t1.json").write_text("{")
    with pytest.raises(SurepickError, match=r"t1\.json is damaged"):
        folder.get("t1")
    (tmp_path / "plan.json").write_text("{")
    with pytest.raises(SurepickError, match="--fresh"):
        ResultsFolder(tmp_path, PLAN)


def test_a_failed_write_leaves_the_old_file_and_no_crumbs(tmp_path, monkeypatch):
    file = tmp_path / "a.txt"
    write_whole(file, "old")

    def full(fd):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_whole(file, "new")
    assert file.read_text() == "old"
    assert [f.name for f in tmp_path.iterdir()] == ["a.txt"]


def test_a_really_full_disk_loses_nothing(tmp_path):
    """A file-size limit of the process plays the full disk: the write fails, old parts stay."""
    code = textwrap.dedent(
        f"""
        import resource, signal
        from pathlib import Path
        from surepick.bench.store import ResultsFolder
        folder = ResultsFolder(Path({str(tmp_path)!r}), {{"a": 1}})
        folder.put("small", [1, 2, 3])
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
        try:
            folder.put("large", list(range(10_000)))
        except OSError:
            print("failed as it should", folder.has("large"), folder.get("small"))
        """
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "failed as it should False [1, 2, 3]"
    assert json.loads((tmp_path / "parts" / "small.json").read_text()) == [1, 2, 3]
