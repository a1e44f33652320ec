"""When a function is another one."""

import functools
import os
import random
import subprocess
import sys

import numpy as np

from surepick.integrations.versions import version_of

OFFSET = 1


def helper(x):
    return x + OFFSET


def made(factor=2, draw=None, table=None):
    def function(x):
        return helper(factor * x) + (draw.random() if draw else 0) + (table or {}).get(x, 0)

    return function


def test_code_and_what_it_reads_make_another_version(monkeypatch):
    first = version_of(made())
    assert version_of(made()) == first
    others = [
        version_of(made(3)),
        version_of(made(table={1: 2})),
        version_of(lambda x: x),
        version_of(lambda x, y=1: x),
        version_of(functools.partial(made(), 3)),
        version_of(made(table={1: np.arange(3)})),
    ]
    monkeypatch.setitem(globals(), "OFFSET", 2)
    others.append(version_of(made()))
    monkeypatch.setitem(globals(), "helper", lambda x: x - OFFSET)
    others.append(version_of(made()))
    assert len({first, *others}) == 1 + len(others)


def test_being_called_makes_no_other_version():
    for draw in (random.Random(), np.random.default_rng(), np.random.RandomState()):
        function = made(draw=draw)
        before = version_of(function)
        function(3)
        assert version_of(function) == before


def test_a_class_or_module_of_ones_own_counts_with_its_file(tmp_path):
    (tmp_path / "main.py").write_text(
        "import own\nfrom surepick.integrations.versions import version_of\n"
        "print(version_of(lambda x: own.score(x)), version_of(own.Score()))"
    )
    # Whoever writes a file twice in a second keeps its compiled form, where that is kept.
    how = {"cwd": tmp_path, "capture_output": True, "text": True, "check": True}
    how["env"] = os.environ | {"PYTHONDONTWRITEBYTECODE": "1"}

    def printed(text):
        (tmp_path / "own.py").write_text(text)
        return subprocess.run([sys.executable, "main.py"], **how).stdout.split()

    text = "score = abs\nclass Score:\n    def __call__(self, x): return {}\n"
    one, other = printed(text.format(1)), printed(text.format(2))
    assert one == printed(text.format(1))
    assert set(one).isdisjoint(other)
