"""Several options asked for, and costs: what the page says of them."""

import numpy as np
import pytest
from playwright.sync_api import expect

import surepick as sp

MEANS = [0.2, 0.9, 0.1, 0.85, 0.3]


@pytest.mark.validation
def test_the_two_best_are_the_answer_and_what_was_spent_is_said(page, client):
    labels = ["plain", "short", "long", "polite", "odd"]
    problem = sp.Problem(np.eye(5), labels=labels, costs=[1.0, 2.0, 3.0, 2.0, 1.0])
    study, rng = client.create_study("two prompts", problem, top=2), np.random.default_rng(3)
    page.goto("/#/studies/two%20prompts")
    while not study.finished:
        pulls = study.ask(100)
        study.tell_many({pull.id: MEANS[pull.arm] + 0.2 * rng.normal() for pull in pulls})
    page.reload()
    card = page.get_by_label("The answer")
    expect(card).to_contain_text("The best 2 options")
    expect(card).to_contain_text("short")
    expect(card).to_contain_text("polite")
    expect(card).to_contain_text(
        "Of 100 studies like this one, at most 5 are wrong about the 2 best."
    )
    expect(page.locator(".headline")).to_contain_text("spent")
    card.get_by_role("button", name="Verify").click()
    expect(card).to_contain_text("The certificate holds.")
    expect(page.locator(".tag:visible")).to_have_count(2)
    expect(page.get_by_text("the answer", exact=True)).to_have_count(2)
    page.goto("/#/new")
    page.get_by_text("More settings", exact=True).click()
    expect(page.get_by_label("How many of the best")).to_have_value("1")
    expect(page.get_by_label("Column with costs")).to_be_visible()


@pytest.mark.validation
def test_compared_with_a_baseline_nothing_is_ruled_out_and_near_is_not_called_best(page, client):
    rng, means = np.random.default_rng(3), {"now": 1.0, "new": 1.5, "old": 0.4, "same": 1.01}
    problem = sp.Problem.unstructured(list(means), noise=0.1)
    for name, asked in {"compared": {"baseline": "now"}, "near": {}}.items():
        study = client.create_study(name, problem, epsilon=0.6 if not asked else 0.2, **asked)
        while not study.finished:
            pulls = study.ask(100)
            study.tell_many({pull.id: means[pull.label] + 0.1 * rng.normal() for pull in pulls})
    page.goto("/#/studies/compared")
    expect(page.get_by_label("The answer")).to_contain_text("As good: 1")
    expect(page.locator(".headline")).to_contain_text("0 of 3 options undecided")
    table = page.get_by_role("table", name="Options")
    expect(table).to_contain_text("Over the baseline")
    for word in ("better", "worse", "as good", "baseline"):
        expect(table.get_by_text(word, exact=True).first).to_be_attached()
    expect(page.get_by_text("ruled out")).to_have_count(0)
    page.goto("/#/studies/near")
    answer = page.get_by_label("The answer")
    expect(answer).to_contain_text("It is within 0.6 of the best.")
    expect(answer).not_to_contain_text("The best option")
