"""Every example runs as it is, from any folder."""

import subprocess
import sys

import pytest
from tests.docs.pages import ROOT

EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
ARGUMENTS = {"measure_layout.py": ["short-photo-1-red-round"], "site.py": ["1", "1000"]}
INPUT = {
    "site.py": '{"shares": {"old": 0.25, "new": 0.75}}',
    "scratch.py": "pull\toption\n0\tepoxy-slow-60\n",
}
SAYS = {
    "ask_model.py": "",  # a function; docs/uses/prompts.md calls it
    "ask_and_tell.py": "is the best with probability at least 0.95",
    "cheap_probes.py": "mint and ginger, after",
    "compare_algorithms.py": "times the bound, 0 of 10 wrong",
    "measure_layout.py": ".",
    "parallel_study.py": "kept, done by others: 4",
    "quickstart.py": "5 comparisons hold",
    "scratch.py": "pull,reward\n0,",
    "site.py": "label,visits,successes\nold,2",
}


@pytest.mark.some(2)
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_example_runs(example, tmp_path):
    done = subprocess.run(
        [sys.executable, "-W", "error", example, *ARGUMENTS.get(example.name, [])],
        cwd=tmp_path,
        input=INPUT.get(example.name, ""),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert SAYS[example.name] in done.stdout
    assert list(tmp_path.iterdir()) == []  # nothing is left behind


def test_examples_are_listed():
    listed = (ROOT / "examples" / "README.md").read_text(encoding="utf-8")
    for path in (ROOT / "examples").iterdir():
        assert path.suffix in (".py", ".csv", ".md", ".service")
        assert path.name == "README.md" or f"`{path.name}`" in listed
