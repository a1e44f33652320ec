"""Options that are nearly equal: said first, with a button for each way out."""

import numpy as np
import pytest
from playwright.sync_api import expect


@pytest.fixture
def alike(client, tmp_path):
    (table := tmp_path / "alike.csv").write_text("name\na\nb\nc\n")
    study = client.create_study("alike", table=table, noise=1.0)
    rng = np.random.default_rng(2)
    while study.status()["near"] is None:
        pulls = study.ask(60, "ann")
        study.tell_many(
            {one.id: (0.2 if one.label == "c" else 1.0) + rng.normal() for one in pulls}
        )
    return study


def test_nearly_equal_options_are_accepted_on_the_page(open_page, alike, picture):
    page = open_page()
    page.goto("/#/studies/alike")
    card = page.get_by_role("region", name="Nearly equal")
    expect(card.get_by_text("as much work again")).to_be_visible()
    expect(card.get_by_text("is accepted from now on")).to_be_visible()
    picture(page, "near")
    card.get_by_label("Accept what is within").fill("0,3")
    card.get_by_role("button", name="Accept", exact=True).click()
    expect(card.get_by_text("Give a reason")).to_be_visible()
    card.get_by_label("Why that is enough").fill("nobody would notice")
    card.get_by_role("button", name="Accept", exact=True).click()
    expect(card).to_be_hidden()
    (made,) = alike.acts("accept")
    assert (made.details["epsilon"], made.reason) == (0.3, "nobody would notice")
