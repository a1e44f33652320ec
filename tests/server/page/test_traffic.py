"""A click test on the page: from a table of layouts to a decided test, morning by morning."""

import csv
import io

import numpy as np
import pytest
from playwright.sync_api import expect
from tests.browser import accessibility_violations
from tests.server.page.test_looks import DESKTOP, PHONE

import surepick as sp

RATES = {"plain": 0.04, "bold": 0.05, "photo": 0.06, "video": 0.10}
TABLE = "label,size\nplain,1\nbold,2\nphoto,3\nvideo,4\n"


def report(shares, number, n=4000):
    """What a day came to, as a site writes it."""
    rng = np.random.default_rng(number)
    counts = rng.multinomial(n, [float(row["share"]) for row in shares])
    hits = [rng.binomial(c, RATES[row["label"]]) for c, row in zip(counts, shares)]
    rows = [f"{row['label']},{c},{h}" for row, c, h in zip(shares, counts, hits)]
    return "\n".join(["label,visits,successes", *rows, ""])


def drop(page, name, text):
    """Drop a file on the place for reports."""
    page.evaluate(
        """([name, csv]) => {
          const transfer = new DataTransfer();
          transfer.items.add(new File([csv], name, {type: "text/csv"}));
          const drop = new DragEvent("drop", {dataTransfer: transfer, cancelable: true});
          document.querySelector(".drop").dispatchEvent(drop);
        }""",
        [name, text],
    )


def downloaded(page, press):
    with page.expect_download() as found:
        press.click()
    return found.value.path().read_bytes()


@pytest.mark.validation
def test_from_a_table_to_a_decided_test(open_page, client, picture):
    page = open_page()
    page.goto("/#/new")
    page.get_by_text("Or paste the text of a table").click()
    page.get_by_label("Table as CSV text").fill(TABLE)
    page.get_by_role("button", name="Use this text").click()
    expect(page.get_by_text("different options")).to_be_visible()
    page.get_by_label("Name of the study").fill("shop")
    page.get_by_role("radio", name="By a website that splits its visitors").check()
    page.get_by_label("Control", exact=True).fill("plain")
    page.get_by_label("Least share").fill("5%")
    expect(page.get_by_role("radio", name="Yes or no")).to_be_checked()
    page.get_by_role("button", name="Start the study").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("shop")
    assert client.load_study("shop").meta["traffic"]["at_least"] == 0.05

    # Shares, as a table and in whole numbers.
    shares = page.get_by_label("Shares", exact=True)
    shares.get_by_role("button", name="Get the shares of the next period").click()
    expect(shares.get_by_role("row", name="plain 25.00 %")).to_be_visible()
    expect(page.get_by_text("Period under way")).to_be_visible()
    shares.get_by_label("Visitors").fill("10001")
    shares.get_by_role("button", name="Show").click()
    expect(shares.get_by_role("row", name="plain 25.00 % 2,501")).to_be_visible()

    # A report with a mistake is refused with its place, and nothing is recorded.
    card = page.get_by_label("Report of a period")
    due = client.load_study("shop").status()["traffic"]["open"][0]
    drop(page, "monday.csv", "label,visits,successes\nplain,1000,40\n")
    expect(card.get_by_role("alert")).to_contain_text("Which period is this?")
    card.get_by_label("Name of the period").fill("monday")
    drop(page, "monday.csv", "label,visits,successes\nplain,1000,40\nbold,40,41\n")
    expect(card.get_by_role("alert")).to_contain_text("monday.csv: column 'successes', line 3")
    card.get_by_text("Or type the numbers in").click()
    for label in RATES:
        card.get_by_label(f"visits of {label}", exact=True).fill("1,000")
        card.get_by_label(f"successes of {label}", exact=True).fill("40")
    card.get_by_role("button", name="Check").click()
    expect(card.get_by_role("alert")).to_contain_text("without thousands separators")
    assert client.load_study("shop").status()["traffic"]["settled"] == 0
    for label in RATES:
        card.get_by_label(f"visits of {label}", exact=True).fill("1000")
    card.get_by_role("button", name="Check").click()
    expect(card).to_contain_text("4,000 visits in period monday; no mistakes found.")
    assert client.load_study("shop").status()["traffic"]["open"] == [due]  # only looked at
    card.get_by_role("button", name="Record it").click()
    expect(page.get_by_label("Morning look")).to_contain_text("4,000 visits in 1 period")
    page.complaints.forgive("422")

    # It turns out to be wrong, and is corrected.
    fix = page.get_by_label("What was done")
    fix.get_by_text("Correct a report", exact=True).click()
    fix.get_by_label("Period", exact=True).fill("monday")
    fix.get_by_label("Reason").fill("one robot")
    right = "label,visits,successes\nplain,999,39\nbold,1000,40\nphoto,1000,40\nvideo,1000,40\n"
    file = {"name": "right.csv", "mimeType": "text/csv", "buffer": right.encode()}
    fix.get_by_label("CSV file").set_input_files(file)
    fix.get_by_role("button", name="Correct the report").click()
    expect(fix).to_contain_text("plain 39 of 999 instead of 40 of 1,000 (one robot).")
    expect(page.get_by_label("Morning look")).to_contain_text("3,999 visits in 1 period")

    # Mornings like that, until it is decided.
    morning = page.get_by_label("Morning look")
    for day in range(1, 10):
        shares.get_by_role("button", name="Get the shares of the next period").click()
        press = shares.get_by_role("button", name="Download CSV")
        rows = list(csv.DictReader(io.StringIO(downloaded(page, press).decode())))
        if day == 2:
            expect(morning).to_contain_text("If another option were the best, at most")
            expect(morning.get_by_role("row", name="plain (control)")).to_be_visible()
            _look(page, picture)
        card.get_by_label("Name of the period").fill(f"day {day}")
        drop(page, "report.csv", report(rows, day))
        card.get_by_role("button", name="Record it").click()
        expect(morning).to_contain_text(f"in {day + 1} periods")
        if client.load_study("shop").finished:
            break
    expect(morning).to_contain_text("Decided: video is best")
    expect(morning).to_contain_text("Send everybody to video.")
    expect(page.get_by_label("The answer")).to_contain_text("video")
    expect(card).to_be_hidden()
    drawn = downloaded(page, page.get_by_role("link", name="PNG"))
    assert drawn.startswith(b"\x89PNG")
    page.get_by_role("button", name="Verify").click()
    expect(page.get_by_text("The certificate holds.")).to_be_visible()


@pytest.mark.validation
def test_a_version_that_breaks_its_guardrail_is_named_and_not_chosen(open_page, client, picture):
    page = open_page()
    page.goto("/#/new")
    page.get_by_text("Or paste the text of a table").click()
    page.get_by_label("Table as CSV text").fill("label,size\nold,1\nfair,2\npushy,3\n")
    page.get_by_role("button", name="Use this text").click()
    expect(page.get_by_text("different options")).to_be_visible()
    page.get_by_label("Name of the study").fill("guarded")
    page.get_by_role("radio", name="By a website that splits its visitors").check()
    page.get_by_label("Control", exact=True).fill("old")
    page.get_by_label("Guardrails").fill("refunds <= control + 0.5%\ncomplaints <= control + 1%")
    page.get_by_role("button", name="Start the study").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("guarded")
    study = client.load_study("guarded")
    rates = {"old": (0.04, 0.01, 0.01), "fair": (0.06, 0.01, 0.01), "pushy": (0.09, 0.05, 0.01)}
    for day in range(12):
        split, rng = study.split(), np.random.default_rng(day)
        counts = rng.multinomial(8000, list(split.shares.values()))
        rows = {label: (int(n), *rng.binomial(n, rates[label])) for label, n in zip(rates, counts)}
        done = study.record(rows, f"day {day}")
        if day == 3:
            study.split()
            morning = page.get_by_label("Morning look")
            expect(morning).to_contain_text("in 4 periods")
            expect(morning.get_by_role("columnheader", name="refunds <= old")).to_be_visible()
            expect(morning.get_by_role("row", name="pushy")).to_contain_text("breaks")
            expect(page.get_by_label("refunds of fair")).to_be_attached()
            for size in (DESKTOP, PHONE):
                page.set_viewport_size({"width": size[0], "height": size[1]})
                assert page.evaluate("document.documentElement.scrollWidth") <= size[0]
                picture(page, f"guardrails-{size[0]}")
        if done.finished:
            break
    expect(morning).to_contain_text("Decided: fair is the best that keeps refunds <= old + 0.5 %")
    expect(morning).to_contain_text("but breaks refunds <= old + 0.5 % and is not chosen")
    picture(page, "guardrails-decided")
    page.get_by_role("button", name="Verify").click()
    expect(page.get_by_text("The certificate holds.")).to_be_visible()


def _look(page, picture):
    looks = (("phone", PHONE, "light"), ("light", DESKTOP, "light"), ("dark", DESKTOP, "dark"))
    for look, size, theme in looks:
        page.set_viewport_size({"width": size[0], "height": size[1]})
        page.emulate_media(color_scheme=theme)
        page.wait_for_timeout(500)  # charts draw when their size is known, colours fade
        found = accessibility_violations(page, look == "dark", but_colours=look == "phone")
        assert found == [], look
        assert page.evaluate("document.documentElement.scrollWidth") <= size[0], look
        if look == "light":
            picture(page, "traffic")
    page.emulate_media(color_scheme="light")


def test_a_day_is_set_aside_on_the_page(open_page, client, picture):
    problem = sp.Problem.unstructured(["plain", "bold"], noise="yes-no")
    study = client.create_study("a day of bots", problem, traffic=True)
    study.split(period="monday")
    study.record({"plain": (500, 20), "bold": (500, 450)}, "monday")
    page = open_page()
    page.goto("/#/studies/a day of bots")
    page.get_by_text("Set a period aside").click()
    page.get_by_label("Period to set aside").fill("monday")
    card = page.get_by_role("region", name="What was done")
    card.get_by_role("button", name="Set it aside for all options").click()
    expect(card.get_by_role("alert").filter(has_text="Give a reason")).to_be_visible()
    page.get_by_label("Why", exact=True).fill("bots")
    picture(page, "set-aside", part=card)
    card.get_by_role("button", name="Set it aside for all options").click()
    page.get_by_role("dialog").get_by_role("button", name="Set it aside").click()
    said = "Period 'monday' is set aside for all options: 1,000 visits do not count"
    expect(card.get_by_text(said)).to_be_visible()
    assert study.status()["samples"] == 0
    assert [act.details["decided"] for act in study.acts("set-aside")] == ["afterwards"]
    assert accessibility_violations(page) == []
