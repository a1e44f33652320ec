"""A website test with an answer for each segment, on the page: begun, reported, and led around."""

import numpy as np
import pytest
from playwright.sync_api import expect

from surepick.study import SegmentStudies, Sheet

DESKTOP, PHONE = (1280, 900), (390, 844)
RATES = {"phone": (0.03, 0.03, 0.09), "desk": (0.06, 0.13, 0.06)}


@pytest.mark.validation
def test_from_names_of_segments_to_a_winner_for_each(open_page, client, picture):
    page = open_page()
    page.goto("/#/new")
    page.get_by_text("Or paste the text of a table").click()
    page.get_by_label("Table as CSV text").fill("label\nold\nbold\nquick\n")
    page.get_by_role("button", name="Use this text").click()
    expect(page.get_by_text("different options")).to_be_visible()
    page.get_by_label("Name of the study").fill("each")
    page.get_by_role("radio", name="By a website that splits its visitors").check()
    page.get_by_text("More settings", exact=True).click()
    page.get_by_label("Segments of visitors").fill("phone, desk")
    page.get_by_role("button", name="Start the study").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("each@phone")
    card = page.get_by_label("Morning look")
    expect(card).to_contain_text("This is segment phone of each. Each of 2 segments")
    test = SegmentStudies.among("each", client.list_studies(), client.load_study)
    rng = np.random.default_rng(0)
    for day in range(9):
        rows = ["label,segment,visits,successes"]
        for name, one in test.split(visits=6000).segments.items():
            for (label, n), rate in zip((one.visits or {}).items(), RATES[name]):
                rows += [f"{label},{name},{n},{rng.binomial(n, rate)}"] if n else []
        report = "\n".join(rows) + "\n"
        if not day:  # the whole report, on the page of either segment
            for name in ("phone", "desk"):
                page.goto(f"/#/studies/each%40{name}")
                reports = page.get_by_label("Report of a period")
                reports.get_by_label("Name of the period").fill("day 0")
                file = {"name": "day.csv", "mimeType": "text/csv", "buffer": report.encode()}
                reports.get_by_label("CSV file").set_input_files(file)
                expect(reports).to_contain_text("6,000 visits in period day 0; no mistakes found.")
                reports.get_by_role("button", name="Record it").click()
                expect(card).to_contain_text("6,000 visits in 1 period")
            continue
        test.record(Sheet(csv=report), f"day {day}")
        if test.finished:
            break
    assert test.answers.labels == {"phone": "quick", "desk": "bold"}
    expect(card).to_contain_text("Decided: bold is best")
    for look, (width, height) in (("desk", DESKTOP), ("phone", PHONE)):
        page.set_viewport_size({"width": width, "height": height})
        page.wait_for_timeout(500)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        picture(page, f"segments-{look}")
    card.get_by_role("link", name="phone").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("each@phone")
    expect(card).to_contain_text("Decided: quick is best")
