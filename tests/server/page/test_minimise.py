"""Smaller is better: asked at once, and everything on the page is as it was measured."""

import re

import numpy as np
import pytest
from playwright.sync_api import expect

import surepick as sp

MILLISECONDS = {"now": 100.0, "cached": 70.0, "fancy": 130.0, "same": 101.0}


def measure(study, seed=3):
    rng = np.random.default_rng(seed)
    while not study.finished:
        pulls = study.ask(100)
        study.tell_many({p.id: MILLISECONDS[p.label] + 5 * rng.normal() for p in pulls})


def rows(page):
    """Labels in the order in which the table of options shows them, once it is drawn."""
    return page.locator(".option .name:visible")


@pytest.mark.validation
def test_a_study_of_times_from_the_form_to_the_answer(page, client, picture):
    page.goto("/#/new")
    page.get_by_text("Or paste the text of a table").click()
    lines = [f"{label},{i}" for i, label in enumerate(MILLISECONDS)]
    page.get_by_label("Table as CSV text").fill("\n".join(["label,size", *lines, ""]))
    page.get_by_role("button", name="Use this text").click()
    expect(page.get_by_text("different options")).to_be_visible()
    page.get_by_label("Name of the study").fill("times")
    page.get_by_role("radio", name=re.compile("anything else: a time", re.IGNORECASE)).check()
    which = page.get_by_label("Which is better")
    expect(which).to_be_visible()  # without opening further settings
    which.select_option("Smaller")
    picture(page, "minimise-form")
    page.get_by_role("button", name="Start the study").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("times")
    expect(page.get_by_text("smaller is better").first).to_be_visible()
    study = client.load_study("times")
    assert study.problem.minimise
    measure(study)
    page.reload()
    card = page.get_by_label("The answer")
    expect(card).to_contain_text("cached")
    expect(card).to_contain_text("Smaller is better here.")
    expect(rows(page).first).to_have_text("cached")
    card.get_by_role("button", name="Verify").click()
    expect(card).to_contain_text("The certificate holds.")
    page.get_by_role("button", name="Estimate").click()
    expect(rows(page).last).to_have_text("fancy")
    expect(rows(page).first).to_have_text("cached")
    picture(page, "minimise-answer")


@pytest.mark.validation
def test_against_a_baseline_less_has_a_minus_and_is_better(page, client, picture):
    problem = sp.Problem.unstructured(list(MILLISECONDS), noise=5.0, minimise=True)
    study = client.create_study("slower or faster", problem, baseline="now", epsilon=8.0)
    measure(study)
    page.goto("/#/studies/slower%20or%20faster")
    card = page.get_by_label("The answer")
    expect(card).to_contain_text("cached (−")
    expect(card).to_contain_text("fancy (+")
    expect(page.get_by_role("table", name="Options")).to_contain_text("Against the baseline")
    expect(rows(page)).to_have_count(len(MILLISECONDS))
    shown = rows(page).all_inner_texts()
    assert shown.index("cached") < shown.index("fancy")
    picture(page, "minimise-baseline")
