"""The page to judge on: two things, three keys, and nothing lost or counted twice."""

import json
import time

import numpy as np
import pytest
from playwright.sync_api import expect
from tests.browser import Complaints, accessibility_violations
from tests.server.served import Served

import surepick as sp
from surepick.study.sheet import OptionTable, Sheet

TEXTS = {
    "terse": "It scatters.\n<script>document.title = 'taken over'</script>",
    "polite": "<img src=x onerror=alert(1)> Thank you for asking.",
    "wordy": "It is a long story. " * 60,
    "with a link": "https://example.org/long",
}
ANSWERS = {
    "plain": "Air scatters blue light far more than red light, so blue comes from all sides.",
    "as to a child": "Sunlight has all colours in it. The air catches the blue ones and throws "
    "them around, so wherever you look up, some blue comes to you.",
    "with numbers": "Scattering by molecules grows with the fourth power of the frequency: light "
    "of 450 nm is scattered 4.4 times as much as light of 650 nm.",
}
DOT = "data:image/gif;base64,R0lGODlhAQABAAAAACwAAAAAAQABAAACAkQBADs="


def table(texts):
    columns = {"prompt": list(texts), "asked": ["Why is the sky blue?"] * len(texts)}
    columns |= {"answer": list(texts.values()), "look": ["dot.gif"] * len(texts)}
    return OptionTable(Sheet(columns=columns), label="prompt", unstructured=True)


def enter(page, token, name, place="/"):
    """Come in with a judge's token, and say who one is."""
    page.goto(place)
    page.get_by_label("Access token").fill(token)
    page.get_by_role("button", name="Log in").click()
    page.get_by_label("Your name").fill(name)
    page.get_by_role("button", name="Start").click()
    page.get_by_role("button", name="A is better").wait_for()


def sides(page):
    return [page.get_by_role("region", name=one, exact=True).inner_text() for one in "AB"]


def test_a_judge_sees_two_things_and_answers_by_keys(open_page, client, picture):
    study = client.create_study("sky", table=table(TEXTS), pairs=True, files={"dot.gif": DOT})
    page = open_page(token=None)
    enter(page, client.make_token("judge", ["sky"]), "ann")
    expect(page.get_by_role("heading", name="Which one is better?")).to_be_visible()
    expect(page.get_by_label("About both")).to_contain_text("Why is the sky blue?")
    image = page.get_by_label("About both").get_by_role("img")
    page.wait_for_function(
        "one => one.complete && one.naturalWidth === 1", arg=image.element_handle()
    )
    assert page.get_by_role("navigation").get_by_role("link").count() == 0

    def told():
        return study.judgements()["judges"][0] if study.progress().told else {"comparisons": 0}

    def judged(key, count):
        before = sides(page)
        page.keyboard.press(key)
        expect(page.locator(".judge-head")).to_contain_text(f"{count} comparison")
        page.wait_for_function(
            "before => document.querySelector('.pair').innerText !== before", arg="\n".join(before)
        )
        return before

    seen = [judged("ArrowLeft", 1), judged("ArrowRight", 2), judged(" ", 3)]
    for label in TEXTS:  # names are hidden
        assert all(label not in one for pair in seen for one in pair)
    _until(lambda: told()["comparisons"] == 3)
    assert {key: told()[key] for key in ("name", "first", "second", "ties")} == {
        "name": "ann", "first": 1, "second": 1, "ties": 1,
    }  # fmt: skip
    # What was said last is shown again, and counts as it is said then.
    page.keyboard.press("Backspace")
    expect(page.get_by_role("button", name="Undo")).to_be_disabled()
    assert sides(page) == seen[2]
    page.keyboard.press("ArrowLeft")
    _until(lambda: told()["ties"] == 0)
    assert told()["first"] == 2
    (act,) = study.acts()
    assert (act.kind, act.by) == ("correct", "ann")
    assert page.title() != "taken over"
    assert accessibility_violations(page) == []
    # A click, and a reload: the pair that was shown is still there.
    before = sides(page)
    page.reload()
    page.get_by_role("button", name="A is better").wait_for()
    assert sides(page) == before
    page.get_by_role("button", name="B is better").click()
    _until(lambda: told()["second"] == 2)
    # So that space means a tie.
    page.wait_for_function("document.activeElement === document.body")


@pytest.mark.validation
def test_on_a_phone_one_is_below_the_other_and_the_buttons_stay(open_page, client, picture):
    columns = {"prompt": list(ANSWERS), "asked": ["Why is the sky blue?"] * len(ANSWERS)}
    sheet = Sheet(columns=columns | {"answer": list(ANSWERS.values())})
    options = OptionTable(sheet, label="prompt", unstructured=True)
    client.create_study("phone", table=options, pairs=True)
    page = open_page(token=None, width=390, height=844)
    enter(page, client.make_token("judge", ["phone"]), "bob", "/#/judge/phone")
    first, second = (
        page.get_by_role("region", name=one, exact=True).bounding_box() for one in "AB"
    )
    assert second["y"] >= first["y"] + first["height"]
    bar = page.get_by_role("button", name="Neither").bounding_box()
    assert bar["y"] + bar["height"] <= 844
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    page.get_by_role("button", name="Neither").click()
    expect(page.locator(".judge-head")).to_contain_text("1 comparison by bob")
    assert accessibility_violations(page) == []
    picture(page, "judge-phone", whole=False)
    page.set_viewport_size({"width": 1280, "height": 560})
    picture(page, "judge", whole=False)


def test_who_may_only_judge_sees_nothing_else_and_others_are_told_to_stay(open_page, client):
    client.create_study("one of two", table=table(TEXTS), pairs=True, files={"dot.gif": DOT})
    client.create_study("two of two", sp.Problem.pairs(3))
    client.create_study("measured", sp.Problem([[1.0], [2.0]]))
    token = client.make_token("judge", ["one of two", "two of two", "measured"])
    page = open_page(token=None)
    page.get_by_label("Access token").fill(token)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="What would you like to do?")).to_be_visible()
    links = page.get_by_role("main").get_by_role("link")
    expect(links).to_have_count(3)
    expect(links.get_by_text("Judge two of two")).to_be_visible()
    expect(links.get_by_text("Measure measured")).to_be_visible()
    page.goto("/#/studies/one%20of%20two")
    expect(page.get_by_role("heading", name="What would you like to do?")).to_be_visible()
    page.goto("/#/judge/measured")
    expect(page.get_by_text("Nothing to judge")).to_be_visible()
    page.goto("/#/judge/two%20of%20two")
    page.get_by_label("Your name").fill("cy")
    page.keyboard.press("Enter")
    # Where options have nothing but names, these are what is compared.
    assert sorted(one.split()[-1] for one in sides(page)) <= ["0", "1", "2"]


def _until(holds, seconds=30):
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.fixture
def on_postgresql(postgres, tmp_path):
    with Served(postgres.url(), tmp_path, "--rate", "100000") as served:
        yield served


@pytest.mark.validation
def test_two_browsers_at_once_on_postgresql_with_kills(on_postgresql, browser):
    """Nothing that a judge said is lost, and nothing counts twice."""
    served, names = on_postgresql, ("ann", "bob")
    worth = {f"number {i}": i for i in range(5)}
    columns = {"name": [f"option {i}" for i in worth.values()], "text": list(worth)}
    with served.client() as client:
        sheet = OptionTable(Sheet(columns=columns), unstructured=True)
        client.create_study("both", table=sheet, pairs=True, seed=5, max_samples=32)
        tokens = [client.make_token("judge", ["both"]) for _ in names]
    said = {name: {} for name in names}
    pages = []
    for name, token in zip(names, tokens):
        page = browser.new_context(base_url=served.url).new_page()
        page.complaints = Complaints(page)
        enter(page, token, name)
        pages.append(page)
    kills = iter((5, 14))
    next_kill, rng = next(kills), np.random.default_rng(1)

    def judge(page, name):
        """Say which number is larger, as seen, mostly; by the pull that the page shows."""
        if not page.get_by_role("button", name="A is better").is_visible():
            page.wait_for_timeout(50)
            return
        first, second = (worth[" ".join(one.split()[-2:])] for one in sides(page))
        value = float(first > second) if rng.random() < 0.9 else 0.5
        before = page.locator(".judge-head .number").inner_text()
        page.keyboard.press({1.0: "ArrowLeft", 0.0: "ArrowRight", 0.5: " "}[value])
        said[name][before] = (first, second, value)

    end = time.monotonic() + 240  # a machine may be busy with others
    while not all(page.get_by_text("Done, thank you").is_visible() for page in pages):
        assert time.monotonic() < end
        for page, name in zip(pages, names):
            judge(page, name)
        if next_kill is not None and sum(map(len, said.values())) >= next_kill:
            served.kill()
            for page, name in zip(pages, names):  # they go on with what they have
                judge(page, name)
            served.start()
            next_kill = next(kills, None)
    with served.client() as client:
        study = client.load_study("both")
        found = study.judgements()
        rows = json.loads(study.export(served.folder / "told.json").read_text())
    total = sum(map(len, said.values()))
    assert total > 14  # both kills came in between
    assert len({row["pull"] for row in rows}) == len(rows) == total
    for name in names:
        own = sorted(
            (worth[row["first text"]], worth[row["second text"]], row["reward"])
            for row in rows
            if row["worker"] == name
        )
        assert own == sorted(said[name].values()), name
    assert {one["name"]: one["comparisons"] for one in found["judges"]} == {
        name: len(own) for name, own in said.items()
    }
    for page in pages:
        page.context.close()


@pytest.mark.validation
def test_the_form_asks_what_pairs_need_and_the_study_says_who_judged(page, client, picture):
    page.get_by_role("link", name="New study").first.click()
    sheet = "prompt,text\nterse,Be brief.\npolite,Be kind.\nlong,Write a lot.\n"
    given = {"name": "prompts.csv", "mimeType": "text/csv", "buffer": sheet.encode()}
    page.get_by_label("CSV file").set_input_files(files=[given])
    page.get_by_label("How are options judged?").select_option(label="Two at a time")
    expect(page.get_by_text("Judges see the texts and links")).to_be_visible()
    for gone in ("What does a measurement give?", "What describes an option?", "Which is better?"):
        expect(page.get_by_text(gone)).to_be_hidden()
    page.get_by_text("More settings", exact=True).click()
    expect(page.get_by_label("Algorithm")).to_be_hidden()
    expect(page.get_by_label("Which option is the best?")).to_be_visible()
    expect(page.get_by_label("How many of the best")).to_be_visible()
    page.get_by_label("When one option is left").select_option(index=0)
    page.get_by_label("Name of the study").fill("from the form")
    page.get_by_role("button", name="Start the study").click()
    expect(page.locator(".headline")).to_contain_text("0 comparisons")
    expect(page.get_by_role("link", name="Judge", exact=True)).to_be_visible()
    page.get_by_role("button", name="Make a judge token").click()
    invited = page.get_by_role("group", name="New judge token")
    expect(invited).to_contain_text("/#/judge/from%20the%20form")

    study = client.load_study("from the form")
    order = ["terse", "polite", "long"]
    while not study.finished:
        for name in ("ann", "lefty"):
            for pull in study.ask(2, worker=name):
                better = min(pull.first, pull.second, key=order.index)
                study.tell(pull.id, pull.first if name == "lefty" else better, worker=name)
    page.reload()
    answer = page.get_by_label("The answer")
    expect(answer).to_contain_text("terse")
    expect(answer).to_contain_text("comparisons of 3 options")
    wins = page.get_by_role("region", name="Wins")
    met = study.judgements()["standings"][0]
    row = wins.get_by_role("row", name="terse").first
    expect(row).to_contain_text(f"{round(100 * met['share'])} %")
    expect(row).to_contain_text("the answer")
    expect(wins.get_by_role("table", name="How often")).to_contain_text("1. terse")
    judges = page.get_by_role("region", name="Judges", exact=True)
    expect(judges).to_contain_text("lefty preferred the one on the left")
    expect(judges).to_contain_text("said the same in")

    study = client.create_study("in a circle", sp.Problem.pairs(["a", "b", "c"]), confirm=True)
    while not study.finished:
        for pull in study.ask(8):
            first, second = study.problem.pairing.of(pull.arm)
            study.tell(pull.id, float((second - first) % 3 == 1))
    page.goto("/#/studies/in%20a%20circle")
    around = "No option beats every other: a beats b beats c beats a"
    expect(page.locator(".headline")).to_contain_text(around)

    study = client.create_study("if any", sp.Problem.pairs(["a", "b", "c"]), confirm=False, seed=1)
    while not study.finished:
        for pull in study.ask(8):
            first, second = study.problem.pairing.of(pull.arm)
            study.tell(pull.id, float(first < second))
    assert study.answer.guarantee.kind == "if-any"
    page.goto("/#/studies/if%20any")
    card = page.get_by_role("region", name="The answer")
    expect(card).to_contain_text("Not shown to be the best, but only if any option is")
    expect(card.locator(".promise")).to_contain_text("If any option beats every other, it is this")
    picture(page, "if any")
    assert accessibility_violations(page, but_colours=True) == []
    picture(page, "pairs")
