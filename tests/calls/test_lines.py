"""Files of lines that several processes add to, and that survive being killed in the middle."""

import errno
import json
import os
import subprocess
import sys

import pytest

from surepick.calls.lines import Lines


@pytest.fixture
def path(tmp_path):
    return tmp_path / "lines.jsonl"


def test_a_torn_line_is_left_out_and_the_next_one_stands_by_itself(path):
    lines = Lines(path)
    lines.add({"a": 1}, {"b": "ü"})
    with open(path, "ab") as file:
        file.write(b'{"c": 0.3')  # killed here
    assert Lines(path).read() == [{"a": 1}, {"b": "ü"}]
    lines.add({"d": 4})
    assert lines.read() == [{"a": 1}, {"b": "ü"}, {"d": 4}]
    assert lines.damaged == 1
    assert path.stat().st_mode & 0o777 == 0o600
    assert Lines(path.with_name("none.jsonl")).read() == []


MANY = """
import sys
from pathlib import Path
from surepick.calls.lines import Lines
lines = Lines(Path(sys.argv[1]))
for number in range(200):
    lines.add({"by": sys.argv[2], "number": number, "text": "x" * 500})
"""


def test_processes_do_not_write_into_each_others_lines(path):
    command = [sys.executable, "-c", MANY, str(path)]
    both = [subprocess.Popen([*command, name]) for name in "ab"]
    assert [one.wait(60) for one in both] == [0, 0]
    found = [json.loads(line) for line in path.read_text().splitlines()]
    for name in "ab":
        assert [one["number"] for one in found if one["by"] == name] == list(range(200))


TAKES = """
import sys
from pathlib import Path
from surepick.calls.lines import Lines
lines = Lines(Path(sys.argv[1]))
print(lines.take("run"), lines.take("other"), flush=True)
sys.stdin.read()
"""


def test_what_a_process_has_taken_is_free_again_once_it_is_killed(path):
    one = Lines(path)
    assert one.take("run")
    assert not one.take("run")
    command = [sys.executable, "-c", TAKES, str(path)]
    how = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **how) as other:
        assert other.stdout.readline() == "False True\n"
        one.read()  # reading lets go of nothing
        assert not one.take("other")
        other.kill()
    assert one.take("other")
    one.let_go("run")
    with subprocess.Popen(command, **how) as other:
        assert other.stdout.readline() == "True False\n"
        other.kill()


def test_a_file_that_was_removed_begins_anew(path):
    one, other = Lines(path), Lines(path)
    one.add({"a": 1})
    other.add({"b": 1})
    other.remove()
    one.add({"c": 1})
    assert one.read() == [{"c": 1}]


def test_a_full_disk_leaves_no_half_of_a_line(path, monkeypatch):
    lines = Lines(path)
    lines.add({"a": 1})
    write, written = os.write, []

    def until_full(file, content):
        if written:
            raise OSError(errno.ENOSPC, "No space left on device")
        written.append(1)
        return write(file, bytes(content)[:4])

    monkeypatch.setattr(os, "write", until_full)
    with pytest.raises(OSError, match="No space left"):
        lines.add({"b": "long enough"})
    monkeypatch.undo()
    lines.add({"c": 3})
    assert (lines.read(), lines.damaged) == ([{"a": 1}, {"c": 3}], 0)
