"""No page links to something that is not there."""

import re
from pathlib import Path
from urllib.parse import unquote

import pytest
from tests.docs.pages import ROOT, name_of, pages

_FENCED = re.compile(r"^( *)(`{3,}).*?^\1\2 *$", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"(`+)[^`].*?\1", re.DOTALL)
_LINK = re.compile(r"\]\(\s*<?([^)>\s]+)>?(?:\s+\"[^\"]*\")?\s*\)")
_IMAGE = re.compile(r"<img[^>]*\ssrc=\"([^\"]+)\"")
_HEADING = re.compile(r"^#+\s+(.+?)\s*$", re.MULTILINE)


def prose(page: Path) -> str:
    """The page without its code."""
    return _CODE.sub("", _FENCED.sub("", page.read_text(encoding="utf-8")))


def anchors(page: Path) -> set[str]:
    """The names that headings of a page can be linked by."""
    text = _FENCED.sub("", page.read_text(encoding="utf-8"))
    words = [re.sub(r"[^\w\- ]", "", heading.lower()) for heading in _HEADING.findall(text)]
    return {word.strip().replace(" ", "-") for word in words}


def broken(page: Path) -> list[str]:
    """Links of a page that lead nowhere."""
    found = []
    text = prose(page)
    for target in [*_LINK.findall(text), *_IMAGE.findall(text)]:
        if re.match(r"[a-z]+:", target):
            continue  # elsewhere on the web, or by mail
        path, _, anchor = unquote(target).partition("#")
        there = (page.parent / path).resolve() if path else page
        lost = not there.exists() or not there.is_relative_to(ROOT)
        if lost or (anchor and there.suffix == ".md" and anchor not in anchors(there)):
            found.append(target)
    return found


@pytest.mark.parametrize("page", pages(), ids=name_of)
def test_links_lead_somewhere(page):
    assert broken(page) == []


def test_broken_links_are_noticed(tmp_path, monkeypatch):
    monkeypatch.setattr("tests.docs.test_links.ROOT", tmp_path)
    page = tmp_path / "page.md"
    page.write_text(
        "# A title\n[fine](page.md) [here](#a-title) `[code](no.md)` [web](https://x.y/z)\n"
        "[gone](other.md) [no heading](page.md#b) ![picture](p.png)\n"
    )
    assert broken(page) == ["other.md", "page.md#b", "p.png"]


_PATH = re.compile(r"`((?:[\w.-]+/)+[\w.-]+\.(?:py|md|csv|json|toml|yml|js))`")


def lost_paths(page: Path) -> list[str]:
    """Files of this repository that a page names and that are not there.

    They are written from the root, from the package, or from a folder that is named nearby.
    """
    known = [p for top in ("src", "tests", "benchmarks") for p in (ROOT / top).rglob("*.py")]
    text = _FENCED.sub("", page.read_text(encoding="utf-8"))
    return [
        name
        for name in _PATH.findall(text)
        if not any((base / name).exists() for base in (ROOT, ROOT / "docs", page.parent))
        and not any(path.as_posix().endswith(f"/{name}") for path in known)
    ]


@pytest.mark.parametrize("page", [p for p in pages() if p.name != "CHANGELOG.md"], ids=name_of)
def test_files_that_are_named_exist(page):
    assert lost_paths(page) == []


def test_lost_paths_are_noticed(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("`research/peleg.py` and `src/surepick/errors.py`, but `problem/estimate.py`\n")
    assert lost_paths(page) == ["problem/estimate.py"]
