"""For everybody: accessible, on a phone, light and dark, by keyboard, and when it is offline."""

import re

import pytest
from playwright.sync_api import expect
from tests.browser import accessibility_violations
from tests.server.page.conftest import few_trials
from tests.server.page.layouts import CSV
from tests.server.served import Served

DESKTOP, PHONE = (1280, 900), (360, 740)


def tour(page):
    """Every view in turn; says when it stands still."""
    yield "studies", page.get_by_role("link", name="layouts, first round")
    page.goto("/#/studies/layouts")
    yield "study", page.get_by_role("progressbar").first
    page.goto("/#/studies/layouts%2C%20first%20round")
    page.get_by_role("button", name="Verify").click()
    yield "answer", page.get_by_text("The certificate holds.")
    page.goto("/#/studies/layouts%2C%20noise%20too%20low")
    yield "warnings", page.get_by_role("group", name="Warnings")
    page.goto("/#/new")
    page.get_by_label("CSV file").set_input_files(CSV)
    yield "create", page.get_by_text("effects to learn")
    page.goto("/#/access")
    yield "access", page.get_by_role("button", name="Revoke").first
    page.goto("/#/plan")
    page.get_by_label("CSV file").set_input_files(CSV)
    page.get_by_label("Gap").fill("0.4")
    page.get_by_label("Noise").fill("0.5")
    with few_trials(page):
        page.get_by_role("button", name="Forecast").click()
        yield "plan", page.get_by_role("region", name="Forecast", exact=True)
    page.get_by_role("button", name="Log out").click()
    yield "login", page.get_by_label("Access token")


# In this order: each view is first drawn for a phone, as all other tests draw them for a desktop.
LOOKS = (("phone", PHONE, "light"), ("light", DESKTOP, "light"), ("dark", DESKTOP, "dark"))


@pytest.mark.validation
def test_every_view_is_accessible_and_fits(open_page, layouts, picture):
    page = open_page(width=PHONE[0], height=PHONE[1], theme="light")
    for name, settled in tour(page):
        for look, size, theme in LOOKS:
            page.set_viewport_size({"width": size[0], "height": size[1]})
            page.emulate_media(color_scheme=theme)
            expect(settled).to_be_visible()
            page.wait_for_timeout(150)  # charts draw when their size is known
            # The dark look differs from the light one in its colours, and in nothing else; on a
            # phone colours are those of the desktop.
            found = accessibility_violations(page, look == "dark", but_colours=look == "phone")
            assert found == [], (name, look)
            assert page.evaluate("document.documentElement.scrollWidth") <= size[0], (name, look)
            lines = "[...document.querySelectorAll('.interval, .spread')]"
            starts = page.evaluate(f"{lines}.map((x) => +x.getAttribute('x1'))")
            assert min(starts, default=8) >= 8, (name, look)  # no line leaves a chart
            background = page.evaluate("getComputedStyle(document.body).backgroundColor")
            dark = max(map(int, re.findall(r"\d+", background)[:3])) < 60
            assert dark == (theme == "dark"), (name, look)
            if look == "light" or (look == "dark" and name == "study"):
                picture(page, name if look == "light" else f"{name}-dark")
            if look == "phone" and name in ("study", "answer"):
                picture(page, f"{name}-phone", whole=False)
        page.set_viewport_size({"width": PHONE[0], "height": PHONE[1]})


def test_axe_would_find_something(page):
    page.evaluate("document.querySelector('main').append(document.createElement('button'))")
    assert any("button-name" in one for one in accessibility_violations(page))


@pytest.mark.validation
def test_the_theme_can_be_chosen_and_is_kept(open_page):
    page = open_page(theme="light")
    colour = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(colour)
    page.get_by_role("button", name="Use the dark theme").click()
    dark = page.evaluate(colour)
    assert dark != light
    page.reload()
    page.get_by_role("button", name="Use the light theme").click()
    assert page.evaluate(colour) == light


def test_by_keyboard_alone(open_page, served, layouts):
    page = open_page(token=None)
    focused = page.locator(":focus")

    def tab_to(**wanted):
        for _ in range(60):
            page.keyboard.press("Tab")
            assert page.evaluate(_RING) >= 2, focused.evaluate("one => one.outerHTML")
            if focused.and_(page.get_by_role(**wanted)).count():
                return
        raise AssertionError(f"the Tab key does not lead to {wanted}")

    page.keyboard.press("Tab")
    expect(focused).to_have_text("Skip to the content")
    page.keyboard.press("Enter")
    tab_to(role="textbox", name="Access token")
    page.keyboard.type(served.token)
    page.keyboard.press("Enter")
    expect(page.get_by_role("link", name="layouts", exact=True)).to_be_visible()
    tab_to(role="link", name="layouts", exact=True)
    page.keyboard.press("Enter")
    expect(page.locator(".headline")).to_be_visible()
    expect(page.locator("main")).to_be_focused()
    tab_to(role="searchbox", name="Search options")
    page.keyboard.type("green")
    expect(page.get_by_role("table", name="Options")).to_have_attribute("aria-rowcount", "17")
    tab_to(role="radio", name="All")
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("radio", name="Still in")).to_be_checked()
    tab_to(role="region", name="Options, scrolls")
    tab_to(role="button", name="Measured")
    page.keyboard.press("Space")
    expect(page.get_by_role("columnheader", name="Measured")).to_have_attribute(
        "aria-sort", "descending"
    )
    tab_to(role="button", name="Delete study")
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(focused).to_have_text("Delete study")


# Width of the ring around what has the focus, or around the label that stands for it.
_RING = """() => {
  const one = document.activeElement;
  const shown = one.type === "radio" && one.closest(".segments label") || one;
  const style = getComputedStyle(shown);
  return style.outlineStyle === "none" ? 0 : parseFloat(style.outlineWidth);
}"""


@pytest.mark.validation
def test_what_changes_is_announced(page, layouts):
    page.goto("/#/studies/layouts")
    expect(page.locator("#announcer")).to_contain_text("of 48 options still in")
    page.goto("/#/studies/layouts%2C%20first%20round")
    expect(page.locator("#announcer")).to_contain_text("Finished. The answer is")


@pytest.mark.validation
def test_a_service_that_goes_away_is_missed_and_found_again(open_page, tmp_path):
    storage = f"sqlite:///{tmp_path}/studies.db"
    with Served(storage, tmp_path) as mine, mine.client() as client:
        study = client.create_study("steady", table=CSV, noise=0.5)
        page = open_page(token=None, motion="no-preference")
        page.goto(mine.url)
        page.get_by_label("Access token").fill(mine.token)
        page.keyboard.press("Enter")
        page.get_by_role("link", name="steady").click()
        expect(page.locator(".headline")).to_be_visible()
        expect(page.get_by_text("Waiting for workers")).to_be_visible()
        mine.kill()
        expect(page.get_by_text("The service does not answer.")).to_be_visible()
        expect(page.get_by_text("Disconnected")).to_be_visible()
        mine.start()
        expect(page.get_by_text("Waiting for workers")).to_be_visible()
        expect(page.get_by_text("The service does not answer.")).to_be_hidden()
        study.tell_many([(pull.id, 5.0) for pull in study.ask(3)])
        expect(page.locator(".headline")).to_contain_text("3 measurements")
        page.goto(f"{mine.url}/#/studies/missing")
        expect(page.get_by_text("Not here")).to_be_visible()
        mine.kill()
        page.goto(f"{mine.url}/#/studies/steady")  # a page that has never seen it
        expect(page.get_by_text("The service does not answer.")).to_be_visible()
        page.complaints.forgive("ERR_", "404")
