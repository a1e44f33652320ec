"""A real browser for the tests: Debian's Chromium, found or installed, driven by Playwright."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, sync_playwright
from tests.packages import there

# The first is Chromium without windows, which opens pages with two thirds of the work.
_NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
#: every rule for WCAG 2 at levels A and AA, and what axe calls best practice
_RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
#: those of them that depend on colours
_COLOUR_RULES = ["color-contrast", "link-in-text-block"]


@contextmanager
def running_browser() -> Iterator[Browser]:
    """Chromium, closed again in the end."""
    # Chromium refuses its sandbox to root; the pages it is shown here are our own.
    options = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=options)
        try:
            yield browser
        finally:
            browser.close()


class Complaints:
    """What a page complains about: errors and warnings in its console, and uncaught exceptions."""

    def __init__(self, page: Page) -> None:
        self.found: list[str] = []
        page.on("console", lambda said: self._take(said.type, f"{said.text} {said.location}"))
        page.on("pageerror", lambda error: self._take("error", str(error)))

    def _take(self, kind: str, text: str) -> None:
        if kind in ("error", "warning"):
            self.found.append(text)

    def forgive(self, *parts: str) -> None:
        """Take back those that a test has provoked: each of the parts must occur in one."""
        for part in parts:
            assert any(part in text for text in self.found), f"no complaint about {part!r}"
        self.found = [text for text in self.found if not any(part in text for part in parts)]


def accessibility_violations(
    page: Page, colours_only: bool = False, but_colours: bool = False
) -> list[str]:
    """What axe-core finds wrong with the page as it is; or with its colours alone, or but them."""
    # Only what is wrong is listed: the rest, with all its elements, would be most of the work.
    rules = _COLOUR_RULES if colours_only else _RULES
    # Without preload: it fetches style sheets for rules that are not among these.
    wanted: dict[str, Any] = {"runOnly": rules, "resultTypes": ["violations"], "preload": False}
    if but_colours:  # they are most of the work
        wanted["rules"] = {rule: {"enabled": False} for rule in _COLOUR_RULES}
    if not page.evaluate("'axe' in window"):
        page.evaluate(Axe().axe_script)
    found = page.evaluate("wanted => axe.run(wanted)", wanted)["violations"]
    return [f"{one['id']}: {node['html'][:200]}" for one in found for node in one["nodes"]]


def chromium() -> str:
    """The browser's program."""
    # The font is what pictures of the page are made with; Chromium alone brings none.
    ways = [(program, "fonts-inter") for program in _NAMES[:2]]
    return there("Chromium", _find, *ways)


def _find() -> str | None:
    return next((path for path in map(shutil.which, _NAMES) if path), None)
