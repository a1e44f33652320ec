"""An hour in the life of the page, as `docs/tutorials/hour.md` tells it, with its pictures."""

import re

import pytest
from playwright.sync_api import expect

import surepick as sp

TEAS = """label,leaf,minutes
green-2,green,2
green-4,green,4
black-2,black,2
black-4,black,4
white-4,white,4
"""
TASTE = {"green": 1.0, "black": 2.0, "white": 0.0, "oolong": 4.5}


def taste(pull):
    """What a panel says of a tea: the same in every run."""
    leaf, minutes = pull.label.split("-")
    return TASTE[leaf] + 0.5 * float(minutes) + 0.1 * ((7 * pull.id) % 5 - 2)


@pytest.mark.validation
def test_an_hour_from_a_table_to_an_answer(page, client, served, picture):
    # 9:00 a table is pasted, and a study made of it
    page.get_by_role("link", name="New study").first.click()
    page.get_by_text("Or paste the text of a table").click()
    page.get_by_label("Table as CSV text").fill(TEAS)
    page.get_by_role("button", name="Use this text").click()
    expect(page.get_by_text("different options")).to_be_visible()
    page.get_by_label("Name of the study").fill("teas")
    page.get_by_role("button", name="Start the study").click()
    headline = page.locator(".headline")
    expect(headline).to_contain_text("5 of 5 options still in")
    # 9:05 a token for the panel, whose program asks and tells
    page.get_by_role("button", name="Make a worker token").click()
    group = page.get_by_role("group", name="New worker token")
    token = re.search(r"sp_\S+", group.locator("pre").first.inner_text())[0]
    panel = sp.Client(served.url, token).load_study("teas")
    page.reload()  # the token is shown only once
    first = panel.ask(4, worker="panel")
    panel.tell_many([(p.id, taste(p)) for p in first[:3]])
    expect(headline).to_contain_text("3 measurements")
    expect(page.locator(".view-head .badge")).to_have_text("Live")
    picture(page, "hour-live", whole=False)
    # 9:20 somebody forgot the point, and sees it on the page
    right = taste(first[3])
    panel.tell(first[3].id, 10 * right)
    card = page.get_by_role("region", name="What was done").first
    card.get_by_text("Correct or withdraw a result").click()
    card.get_by_label("Measurement").fill(str(first[3].id))
    card.get_by_label("Result", exact=True).fill(str(right))
    card.get_by_label("Reason").first.fill("the point was forgotten")
    card.get_by_role("button", name="Change the result").click()
    expect(card).to_contain_text("counts instead of")
    picture(page, "hour-correction", part=card)
    # 9:30 a break, in which nothing is handed out
    course = page.get_by_role("region", name="Course of")
    course.get_by_role("button", name="Pause").click()
    expect(page.locator(".view-head .badge")).to_have_text("Paused")
    assert panel.ask(1, worker="panel") == []
    course.get_by_role("button", name="Resume").click()
    expect(course.get_by_role("button", name="Pause")).to_be_visible()
    # 9:40 the guest brings a tea
    coming = page.get_by_role("region", name="What was done").first
    coming.get_by_text("Add options").click()
    coming.get_by_label("Table").fill("label,leaf,minutes\noolong-4,oolong,4\n")
    coming.get_by_role("button", name="Add them").click()
    expect(coming).to_contain_text("Added: oolong-4")
    # 9:45 the rest of the measurements
    while not panel.finished:
        panel.tell_many([(p.id, taste(p)) for p in panel.ask(6, worker="panel")])
    answer = page.get_by_role("region", name="The answer")
    expect(answer).to_contain_text("oolong-4")
    answer.get_by_role("button", name="Verify").click()
    expect(answer).to_contain_text("The certificate holds.")
    expect(headline).to_contain_text(f"{client.load_study('teas').answer.samples} measurements")
    picture(page, "hour-answer", whole=False)
    page.goto("about:blank")  # nothing of it is asked for any more
    client.delete_study("teas")
