"""The site builds without a warning, and nothing on it comes from elsewhere."""

import re
import subprocess
import sys

import pytest
from tests.docs.pages import ROOT

_LOADED = re.compile(r"<(?:script|img|iframe|source)\b[^>]*\ssrc=\"([^\"]+)\"")
_STYLED = re.compile(r"<link\b(?=[^>]*rel=\"(?:stylesheet|preload|icon)\")[^>]*\shref=\"([^\"]+)\"")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site as ``make docs`` builds it."""
    folder = tmp_path_factory.mktemp("site")
    how = ["-W", "--keep-going", "-q", "-b", "html"]
    where = ["-d", folder / "doctrees", "docs", folder / "html"]
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", *how, *where],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "html"


def test_nothing_is_loaded_from_elsewhere(site):
    pages = list(site.rglob("*.html"))
    assert len(pages) > 30
    for page in pages:
        text = page.read_text(encoding="utf-8")
        loaded = [*_LOADED.findall(text), *_STYLED.findall(text)]
        assert loaded, page.name
        assert [url for url in loaded if re.match(r"(https?:)?//", url)] == [], page.name


def test_every_verb_is_in_the_reference(site):
    from surepick.cli import _VERBS

    text = (site / "reference" / "cli.html").read_text(encoding="utf-8")
    for verb in _VERBS:
        assert f"Usage: surepick {verb}" in text


def test_every_public_name_is_in_the_reference(site):
    from tests.docs.test_docstrings import PUBLIC

    text = "".join(p.read_text(encoding="utf-8") for p in (site / "reference").glob("*.html"))
    missing = [name for name in PUBLIC if f'id="{name}"' not in text]
    assert missing == []
