"""A folder with a table of options, and the command as a user types it."""

import shutil
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


@pytest.fixture(scope="session")
def made_once(tmp_path_factory):
    """A folder with a database in which there is a study of four options, noise 0.5."""
    folder = tmp_path_factory.mktemp("made")
    (folder / "options.csv").write_text(OPTIONS)
    words = ["new", "s", "options.csv", "--features", "price", "--noise", "0.5"]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.delenv("SUREPICK_STORAGE", raising=False)
        patch.setattr(sys, "argv", ["surepick", *words])
        with pytest.raises(SystemExit) as ended:
            main()
    assert not ended.value.code
    return folder


@pytest.fixture
def study(folder, made_once):
    """A study of four options, noise 0.5; a copy, as ``new`` takes time."""
    for file in made_once.glob("surepick.db*"):
        shutil.copy(file, folder)
    return "s"
