"""Complete tables on the page: the form asks for them, and each answer says what it is about."""

import pytest
from playwright.sync_api import expect
from tests.server.test_tables import QUESTIONS, N, finish

import surepick as sp


@pytest.mark.validation
def test_every_question_about_a_table_is_answered(page, client):
    problem = sp.Problem.unstructured(list("abcd"), noise="yes-no")
    for name in ("best", "top", "baseline"):
        finish(client.create_study(name, problem, complete=N, seed=3, **QUESTIONS[name]))
        page.goto(f"/#/studies/{name}")
        card = page.get_by_label("The answer")
        expect(card).to_contain_text(f"on these {N} items")
        expect(card).to_contain_text("On new items like these")
        card.get_by_role("button", name="Verify").click()
        expect(card).to_contain_text("The certificate holds.")
    expect(page.get_by_role("table", name="Options")).to_contain_text("Over the baseline")
    page.goto("/#/new")
    page.get_by_text("More settings", exact=True).click()
    expect(page.get_by_label("Test questions")).to_be_visible()
