import contextlib
import json
import os
import shutil
from pathlib import Path

import pytest
from playwright.sync_api import expect
from tests.browser import Complaints, running_browser
from tests.postgres import fast_folder
from tests.server.page.layouts import CSV, Layouts
from tests.server.served import Served

_PICTURES = "SUREPICK_SCREENSHOTS"  # a folder: the tests then leave pictures of the page there

_PATIENCE = 60_000  # milliseconds: the machine may be busy
expect.set_options(timeout=_PATIENCE)


# Of the package, not of the session: Playwright's event loop must not be there for other tests.
@pytest.fixture(scope="package")
def browser():
    with running_browser() as browser:
        yield browser


@pytest.fixture(scope="package")
def served():
    """A service, without studies at first."""
    folder = fast_folder("sp-page-")
    with Served(f"sqlite:///{folder}/studies.db", folder) as served:
        yield served
    shutil.rmtree(folder)


@pytest.fixture(scope="package")
def client(served):
    with served.client() as client:
        yield client


@pytest.fixture(scope="package")
def layouts(client):
    """Three studies of page layouts: in the middle, at its end, and one with wrong assumptions."""
    for name, noise, misfit in (
        ("layouts", 0.5, None),
        ("layouts, first round", 0.5, 0.0),
        ("layouts, noise too low", 0.2, 0.0),
    ):
        client.create_study(name, table=CSV, noise=noise, misfit=misfit)
    running = Layouts(client.load_study("layouts"))
    running.measure(181, failing=0.02)
    running.study.ask(5, worker="lab-2", lease=3600)
    Layouts(client.load_study("layouts, first round")).measure()
    Layouts(client.load_study("layouts, noise too low")).measure(28)
    return client


@pytest.fixture(scope="package")
def _profiles(browser, served):
    """Profiles of the browser that nobody uses now; taken again, they know the page's files."""
    return []


@pytest.fixture
def open_page(browser, served, _profiles):
    """Opens pages, each in a session of its own; none may complain in its console."""
    with contextlib.ExitStack() as stack:
        yield lambda **look: stack.enter_context(_page(browser, served, _profiles, **look))


@pytest.fixture(scope="package")
def _shared_page(browser, served, _profiles):
    with _page(browser, served, _profiles) as page:
        yield page


@pytest.fixture
def page(_shared_page, request):
    """The list of studies, in a session that tests share, as beginning one takes long.

    Every change of the address makes its view anew.
    """
    page, failed = _shared_page, request.session.testsfailed
    page.goto("/#/studies")
    page.get_by_role("heading", name="Studies", exact=True).wait_for()
    yield page
    complaints, page.complaints.found = page.complaints.found, []
    page.goto("/#/nowhere")  # where nothing is asked for, whatever the next test does
    if request.session.testsfailed > failed:
        page.reload()
    assert complaints == []


@contextlib.contextmanager
def _page(
    browser, served, profiles, token="", width=1280, height=900, theme="light", motion="reduce"
):
    context = profiles.pop() if profiles else _profile(browser, served)
    page = context.new_page()
    page.set_viewport_size({"width": width, "height": height})
    # A light that pulses is drawn sixty times a second.
    page.emulate_media(color_scheme=theme, reduced_motion=motion)
    page.complaints = Complaints(page)
    reusable = False
    try:
        page.goto("/")
        if token is not None:
            log_in(page, token or served.token)
        yield page
        assert page.complaints.found == []
        reusable = page.url.startswith(served.url)
    finally:
        if reusable:  # as if it had never been there
            page.evaluate("localStorage.clear()")
            page.close()
            context.clear_cookies()
            profiles.append(context)
        else:
            context.close()


def _profile(browser, served):
    context = browser.new_context(base_url=served.url, timezone_id="UTC")
    context.set_default_timeout(_PATIENCE)
    return context


@contextlib.contextmanager
def few_trials(page):
    """Forecasts of four trials instead of thirty look the same, and take a second."""

    def fewer(route):
        route.continue_(post_data=json.dumps(route.request.post_data_json | {"trials": 4}))

    page.route("**/api/v1/plan", fewer)
    try:
        yield
    finally:
        page.unroute("**/api/v1/plan", fewer)


def log_in(page, token):
    page.get_by_label("Access token").fill(token)
    page.get_by_role("button", name="Log in").click()
    page.get_by_role("heading", name="Studies", exact=True).wait_for()


@pytest.fixture
def picture():
    """Keeps a picture of a page for the docs, where that is asked for."""
    folder = os.environ.get(_PICTURES)

    def keep(page, name, whole=True, part=None):
        if folder:
            page.mouse.move(0, 0)  # nothing is pointed at
            page.evaluate("scrollTo(0, 0)")
            path = Path(folder) / f"{name}.png"
            if part is not None:
                part.screenshot(path=path, animations="disabled")
                return
            page.screenshot(path=path, full_page=whole, animations="disabled")

    return keep
