"""The page's files: whole, small, and nothing that its content security policy would forbid."""

import re
from importlib.resources import files
from pathlib import Path

import pytest

PAGE = Path(str(files("surepick.server") / "page"))
FILES = sorted(path for path in PAGE.rglob("*") if path.is_file())
IMPORT = re.compile(r'from "(\.[^"]+)"')


def test_the_page_says_where_everything_is():
    html = (PAGE / "index.html").read_text()
    named = re.findall(r'(?:src|href)="/static/([^"]+)"', html)
    assert len(named) > 8
    assert [name for name in named if not (PAGE / name).is_file()] == []
    # Every style sheet is used, and every script is reached from the first one.
    assert {n for n in named if n.endswith(".css")} == {
        str(path.relative_to(PAGE)) for path in PAGE.glob("css/*.css")
    }
    reached, ahead = set(), [PAGE / name for name in named if name.endswith(".js")]
    while ahead:
        path = ahead.pop()
        reached.add(path)
        found = {(path.parent / name).resolve() for name in IMPORT.findall(path.read_text())}
        ahead += found - reached
    assert reached == set(PAGE.rglob("*.js"))


def test_nothing_inline_and_nothing_from_elsewhere():
    html = (PAGE / "index.html").read_text()
    assert re.findall(r"<script(?![^>]*\bsrc=)", html) == []
    assert re.findall(r"<style|\sstyle=|\son\w+=", html) == []
    for path in FILES:
        addresses = set(re.findall(r"https?://[^\s\"'`)]+", path.read_text()))
        assert addresses <= {"http://www.w3.org/2000/svg"}, path  # a name, not an address


@pytest.mark.parametrize("forbidden", ["innerHTML", "outerHTML", "insertAdjacentHTML", "eval("])
def test_no_markup_is_made_from_text(forbidden):
    assert [path.name for path in FILES if forbidden in path.read_text()] == []
