"""The way pages are run notices what goes wrong on them."""

import json
import re
import subprocess
import sys

import pytest
from tests.docs.pages import ROOT, blocks

FENCE = "```"


def run(tmp_path, *parts):
    page = tmp_path / "page.md"
    page.write_text("\n\n".join(f"{FENCE}{kind}\n{code}\n{FENCE}" for kind, code in parts))
    work = [{"page": "page", "saved_as": b.saved_as, **vars(b)} for b in blocks(page) if b.is_run]
    command = [sys.executable, "-m", "tests.docs.run_page"]
    return subprocess.run(
        command,
        input=json.dumps(work),
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"},
    )


@pytest.mark.some(4)
@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ([("python", "x = 1 / 0")], "ZeroDivisionError"),
        ([("python", "print(1)"), ("text", "2")], "promises"),
        ([("sh", "false\ntrue")], "exit code 1"),
        ([("sh", "false | true")], "exit code 1"),
        ([("sh", "echo one"), ("text", "two")], "but prints\n\none"),
        ([("python", "print('a 1 b')"), ("text {data-numbers=vary}", "a 2 c")], "promises"),
        ([("python", "print('x-1')"), ("text {data-numbers=vary}", "x-2")], "promises"),
        ([("python", "# later.py\nraise KeyError"), ("python", "import later")], "KeyError"),
    ],
)
def test_failures_are_noticed(tmp_path, parts, message):
    done = run(tmp_path, *parts)
    assert done.returncode == 1
    assert re.match(r"page:[27] ", done.stderr)
    assert message in done.stderr


def test_names_environment_and_files_last(tmp_path):
    done = run(
        tmp_path,
        ("python", "# mine.py\nname = 'there'"),
        ("python", "from mine import name"),
        ("sh", "export WHERE=here"),
        ("sh {data-run=never}", "exit 1"),
        ("python", "print(name, 0.25)"),
        ("text", "there ..."),
        ("python", "print('took', 1.25, 'and', 12, end=', all told')"),
        ("text {data-numbers=vary}", "took 0.5 and 3,000, all told"),
        ("sh", 'echo "$WHERE"'),
        ("text", "here"),
    )
    assert done.returncode == 0, done.stderr
