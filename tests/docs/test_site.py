"""The site builds without a warning, nothing on it comes from elsewhere, and newcomers find in."""

import functools
import http.server
import itertools
import re
import threading
from html.parser import HTMLParser
from urllib.parse import unquote

import pytest
from tests.browser import Complaints, accessibility_violations, running_browser
from tests.docs.pages import ROOT
from tests.forks import client as forks

# Half a minute goes into building it.
pytestmark = pytest.mark.validation

_LOADED = re.compile(r"<(?:script|img|iframe|source)\b[^>]*\ssrc=\"([^\"]+)\"")
_STYLED = re.compile(r"<link\b(?=[^>]*rel=\"(?:stylesheet|preload|icon)\")[^>]*\shref=\"([^\"]+)\"")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site as ``make docs`` builds it."""
    folder = tmp_path_factory.mktemp("site")
    how = ["-W", "--keep-going", "-q", "-b", "html"]
    where = ["-d", folder / "doctrees", "docs", folder / "html"]
    done = forks.run("tests.docs.build_site", *how, *where, cwd=ROOT)
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


def test_every_page_has_an_icon_so_that_no_browser_asks_for_another(site):
    assert (site / "_static" / "favicon.svg").is_file()
    for page in site.rglob("*.html"):
        if "_static" in page.parts:  # a part of pages
            continue
        icons = re.findall(r"<link\b[^>]*rel=\"icon\"[^>]*>", page.read_text(encoding="utf-8"))
        assert any("_static/favicon.svg" in icon for icon in icons), page.name


def test_every_verb_is_in_the_reference(site):
    from surepick.cli import _VERBS

    text = (site / "reference" / "cli.html").read_text(encoding="utf-8")
    for verb in _VERBS:
        assert f"Usage: surepick {verb}" in text


def test_every_setting_is_in_the_reference(site):
    from surepick.study.settings import known

    text = (site / "reference" / "settings.html").read_text(encoding="utf-8")
    for setting in known().values():
        assert f'<span class="pre">{setting.name}</span>' in text


def test_every_public_name_is_in_the_reference(site):
    from tests.docs.test_docstrings import PUBLIC

    text = "".join(p.read_text(encoding="utf-8") for p in (site / "reference").glob("*.html"))
    missing = [name for name in PUBLIC if f'id="{name}"' not in text]
    assert missing == []


class _Sections(HTMLParser):
    """The sections of a page, by name: their words, and where their links lead."""

    def __init__(self, site, page):
        super().__init__()
        self.words: dict[str, list[str]] = {}
        self.links: dict[str, list[tuple[str, str]]] = {}
        self._site, self._page, self._open = site.resolve(), page, []
        self.feed((site / page).read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        if tag == "section":
            self._open.append(found["id"])
            self.words[found["id"]], self.links[found["id"]] = [], []
        if tag == "a" and not re.match(r"[a-z]+:|#", found["href"]):
            path, _, section = unquote(found["href"]).partition("#")
            target = ((self._site / self._page).parent / path).resolve()
            for name in self._open:
                self.links[name].append((str(target.relative_to(self._site)), section))

    def handle_endtag(self, tag):
        if tag == "section":
            self._open.pop()

    def handle_data(self, data):
        for name in self._open:
            self.words[name] += data.split()


def test_ten_questions_are_answered_within_two_clicks(site):
    start = _Sections(site, "index.html")
    answers = "uses/ten-questions.html"
    first_clicks = [section for page, section in start.links["ten-questions"] if page == answers]
    short = _Sections(site, answers)
    assert first_clicks == [name for name in short.words if name != "ten-questions"]
    assert len(first_clicks) == 10
    for question in first_clicks:
        assert len(short.words[question]) > 25, question  # a short answer after one click
        assert short.links[question], question  # and a long one after the second
        for page, section in short.links[question]:
            there = _Sections(site, page).words
            words = there[section] if section else next(iter(there.values()))
            assert len(words) > 40, (question, page, section)


DOORS = ("index", "uses/website", "uses/prompts", "uses/laboratory", "uses/fastest")
ROOMS = ("uses/for-me", "uses/prices", "uses/ten-questions", "uses/gallery")
LOOKS = (("light", 1280), ("dark", 1280), ("light", 360))


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *said):
        pass


@pytest.fixture
def address(site):
    """The site, served as a web server would."""
    handler = functools.partial(_Quiet, directory=str(site))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_front_pages_are_accessible_fit_and_do_not_complain(address):
    with running_browser() as browser:
        page = browser.new_page()
        complaints = Complaints(page)
        for name, (theme, width) in itertools.product(DOORS + ROOMS, LOOKS):
            page.set_viewport_size({"width": width, "height": 900})
            page.emulate_media(color_scheme=theme)
            page.goto(f"{address}/{name}.html")
            assert page.evaluate("document.documentElement.dataset.theme") == theme
            # Each look is asked for what the others do not have.
            found = accessibility_violations(page, theme == "dark", but_colours=width == 360)
            assert found == [], (name, theme, width)
            assert page.evaluate("document.documentElement.scrollWidth") <= width, name
            for picture in page.locator("article img").all():
                assert picture.evaluate("one => one.complete && one.naturalWidth") > 0
                assert len(picture.get_attribute("alt").split()) > 4
        assert complaints.found == []
