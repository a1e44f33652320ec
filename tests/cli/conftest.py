"""A folder with a table of options, and the command as a user types it."""

import sys

import pytest

from surepick.cli import main

OPTIONS = "label,price,colour\na,1,red\nb,2,blue\nc,3,red\nd,4,blue\n"
# Prints a reward without noise; the best option is d.
MEASURE = """
import os, sys
print(float(os.environ["SUREPICK_FEATURE_price"]) + (sys.argv[1] == "b") * 0)
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SUREPICK_STORAGE", raising=False)
    (tmp_path / "options.csv").write_text(OPTIONS)
    (tmp_path / "measure.py").write_text(MEASURE)
    return tmp_path


@pytest.fixture
def surepick(folder, monkeypatch, capsys):
    """Call the command in this process: exit code, stdout, stderr."""

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["surepick", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capsys.readouterr()
        return ended.value.code or 0, out, err

    return call


@pytest.fixture
def study(surepick):
    """A study of four options, noise 0.5."""
    code, _, err = surepick("new", "s", "options.csv", "--features", "price", "--noise", "0.5")
    assert code == 0, err
    return "s"
