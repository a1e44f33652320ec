"""Colleagues who only have a browser: what to measure, a box for each result, corrections."""

import pytest
from playwright.sync_api import expect
from tests.server.page.layouts import CSV

import surepick as sp
from surepick.study.acts.rewards import Change


@pytest.fixture
def study(client, request):
    name = f"by hand, {request.node.name}"[:100]
    return client.create_study(name, table=CSV, noise=0.5, seed=1)


def opened(open_page, study, **look):
    page = open_page(**look)
    page.goto(f"/#/studies/{study.name}")
    expect(page.get_by_role("heading", name=study.name)).to_be_visible()
    return page, page.get_by_role("region", name="Measure", exact=True)


def ask(card, n):
    card.get_by_label("Your name").fill("ann")
    card.get_by_label("How many").fill(str(n))
    card.get_by_role("button", name="Get the next measurements").click()
    boxes = card.get_by_role("textbox", name="Result of measurement")
    expect(boxes).to_have_count(n)
    return boxes


@pytest.mark.validation
def test_results_are_typed_one_after_the_other_with_the_keyboard_alone(open_page, study):
    page, card = opened(open_page, study)
    boxes = ask(card, 3)
    expect(boxes.nth(0)).to_be_focused()
    page.keyboard.type("4,56")
    page.keyboard.press("Enter")
    expect(boxes.nth(1)).to_be_focused()
    page.keyboard.type("five")
    page.keyboard.press("Enter")
    expect(card.get_by_text("Not a number; type 4.56 or 4,56.")).to_be_visible()
    boxes.nth(1).fill("4.5")
    page.keyboard.press("Enter")
    expect(boxes.nth(2)).to_be_focused()
    page.keyboard.type("3")
    page.keyboard.press("Enter")
    expect(card.get_by_text("All results are saved.")).to_be_visible()
    assert sorted(study.rewards().values.tolist()) == [3.0, 4.5, 4.56]
    assert study.progress().measured == 3


def test_a_number_that_may_be_mistyped_is_asked_about_beside_its_box(open_page, client, picture):
    study = client.create_study("typed", sp.Problem.unstructured(["a", "b"]), seed=1)
    for value in (0.7, 0.8, 0.9, 0.75, 0.85, 0.7, 0.9, 0.8):
        (pull,) = study.ask(1)
        assert study.tell(pull.id, value).warning is None
    page, card = opened(open_page, study)
    boxes = ask(card, 1)
    page.keyboard.type("8.1")
    page.keyboard.press("Enter")
    expect(card.get_by_role("status").first).to_contain_text("8.1, others 0.7")
    expect(card.get_by_role("status").first).to_contain_text("typed right?")
    expect(boxes).to_be_disabled()
    assert 8.1 in study.rewards().values
    picture(page, "typed")


def test_a_workers_token_is_enough_to_measure(open_page, study, client):
    page = open_page(token=None, width=390)
    page.get_by_label("Access token").fill(client.make_token("worker", [study.name]))
    page.keyboard.press("Enter")
    card = page.get_by_role("region", name="Measure", exact=True)
    ask(card, 2)
    page.keyboard.type("4,56")
    page.keyboard.press("Enter")
    expect(card.get_by_text("Saved.")).to_be_visible()
    assert study.rewards().values.tolist() == [4.56]
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_measurements_are_listed_and_corrected_from_the_list(open_page, study):
    for pull in study.ask(3, "ann"):
        study.tell(pull.id, 4.0 + pull.id, "ann")
    page, _ = opened(open_page, study)
    table = page.get_by_role("region", name="List of measurements")
    expect(table.locator("tbody tr")).to_have_count(3)
    page.get_by_role("button", name="Correct or withdraw measurement 1").click()
    expect(page.get_by_label("Measurement", exact=True)).to_have_value("1")
    expect(page.get_by_label("Result", exact=True)).to_have_value("5")
    page.get_by_label("Result", exact=True).fill("5,25")
    page.get_by_label("Reason", exact=True).first.fill("misread")
    page.get_by_role("button", name="Change the result").click()
    expect(table.get_by_text("5.25")).to_be_visible()
    (made,) = study.corrections()
    assert isinstance(made, Change)


@pytest.mark.validation
@pytest.mark.parametrize("width", [1280, 390])
def test_nothing_is_cut_and_the_sheet_prints_alone(open_page, study, width):
    for pull in study.ask(4, "ben"):
        study.tell(pull.id, 4.0, "ben")
    page, card = opened(open_page, study, width=width)
    ask(card, 3)
    expect(page.get_by_role("region", name="List of measurements")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    measured = page.get_by_role("region", name="Measurements", exact=True)
    for region in (card, measured):
        edge = region.bounding_box()
        for part in region.locator("td:visible, th:visible, input, caption, button").all():
            at = part.bounding_box()
            assert edge["x"] <= at["x"]
            assert at["x"] + at["width"] <= edge["x"] + edge["width"]
    change = measured.get_by_role("button").first
    assert change.bounding_box()["height"] < 50  # its word is in one line
    page.emulate_media(media="print")
    page.evaluate("document.body.classList.add('prints-sheet')")
    seen = "getComputedStyle(document.querySelector('{}')).visibility"
    assert page.evaluate(seen.format(".samples td")) == "visible"
    assert page.evaluate(seen.format("h1")) == "hidden"
    page.emulate_media(media="screen")


@pytest.mark.validation
def test_those_who_only_look_have_no_boxes(open_page, study, client):
    token = client.make_token("viewer", [study.name])
    _, card = opened(open_page, study, token=token)
    expect(card).to_be_hidden()


@pytest.mark.validation
def test_the_report_is_there_to_download(open_page, study):
    page, _ = opened(open_page, study)
    with page.expect_download() as begun:
        page.get_by_role("link", name="Report", exact=True).click()
    assert "What is known about each option" in begun.value.path().read_text()


def test_a_workers_own_view_asks_for_further_numbers_and_they_are_corrected(
    open_page, client, picture
):
    problem = sp.Problem.unstructured(["a", "b"], noise=(0, 1), numbers={"latency": (0, 100)})
    study = client.create_study("two numbers", problem, keep=["latency <= 50"])
    page = open_page()
    page.goto("/#/measure/two numbers")
    card = page.get_by_role("region", name="Measure", exact=True)
    ask(card, 1)
    page.keyboard.type("0,5")
    page.keyboard.press("Enter")
    expect(card.get_by_label("latency of measurement")).to_be_focused()
    page.keyboard.type("31")
    page.keyboard.press("Enter")
    expect(card.get_by_text("All results are saved.")).to_be_visible()
    assert study.rewards().numbers == ['{"latency": 31.0}']
    page.goto("/#/studies/two numbers")
    page.get_by_role("button", name="Correct or withdraw measurement 0").click()
    page.get_by_label("What was wrong").select_option("latency")
    page.get_by_label("Result", exact=True).fill("3,1")
    page.get_by_label("Reason", exact=True).first.fill("misread")
    picture(page, "correct-number", part=page.get_by_role("region", name="What was done"))
    page.get_by_role("button", name="Change the result").click()
    expect(
        page.get_by_text("Measurement 0 (a), latency: 3.1 now counts instead of 31")
    ).to_be_visible()
    assert study.rewards().numbers == ['{"latency": 3.1}']
