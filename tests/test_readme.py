"""Every Python snippet of the README runs, in order, as one program; so do the shell lines."""

import json
import os
import re
import shutil
import subprocess
import sysconfig
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"


def test_python_snippets_run(capsys):
    snippets = re.findall(r"```python\n(.*?)```", README.read_text(), flags=re.S)
    assert snippets
    exec(compile("\n".join(snippets), str(README), "exec"), {})
    assert "mix" in capsys.readouterr().out


def test_from_a_table_to_an_answer(tmp_path):
    section = README.read_text().split("## From a table to an answer")[1].split("\n## ")[0]
    (lines,) = re.findall(r"```sh\n(.*?)```", section, flags=re.S)
    assert len(lines.splitlines()) == 5
    shutil.copytree(README.parent / "examples", tmp_path / "examples")
    path = f"{sysconfig.get_path('scripts')}{os.pathsep}{os.environ['PATH']}"
    env = {k: v for k, v in os.environ.items() if k != "SUREPICK_STORAGE"} | {"PATH": path}
    done = subprocess.run(
        ["sh", "-e", "-c", lines],
        cwd=tmp_path,
        env=env,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Answer: short-photo-2-green-round" in done.stdout
    assert "Holds: candidate 'short-photo-2-green-round'" in done.stdout
    claim = json.loads((tmp_path / "layouts.json").read_text())["claim"]
    measured, options = re.findall(r"takes (\d+) measurements of (\d+) layouts", section)[0]
    batches = json.loads((tmp_path / "layouts.json").read_text())["batches"]
    assert claim["samples"] == int(measured)
    assert len({arm for batch in batches for arm in batch["arms"]}) == int(options)
