"""A study's page: live, complete, and harmless whatever its data says."""

import contextlib
import csv
import io
import json
import re
import shlex
import sqlite3
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from playwright.sync_api import expect
from tests.forks.client import command_folder
from tests.server.page.layouts import CSV, EXAMPLES

import surepick as sp
from surepick.run.forecast import rough
from surepick.storage.sql import sums
from surepick.study import Sheet


def test_from_a_table_to_a_verified_answer(open_page, client, tmp_path):
    """Create from a CSV, let remote workers measure, watch it to the end; export, verify."""
    page = open_page()
    page.get_by_role("link", name="New study").first.click()
    page.get_by_label("CSV file").set_input_files(CSV)
    expect(page.get_by_text("effects to learn")).to_be_visible()
    page.get_by_label("Name of the study").fill("watched / 1")
    page.get_by_text("More settings", exact=True).click()
    page.get_by_label("How much measurements vary").fill("0.5")
    page.get_by_role("radio", name=re.compile("linear")).check()  # far fewer measurements
    page.get_by_role("button", name="Start the study").click()
    headline = page.locator(".headline")
    expect(headline).to_contain_text("48 of 48 options still in")
    expect(headline).to_contain_text("0 measurements")

    # The command line that the page offers, with a real measurement in it.
    page.get_by_role("button", name="Make a worker token").click()
    line = page.get_by_role("group", name="New worker token").locator("pre").first.inner_text()
    # without packages Python starts in half the time
    measure = f"{sys.executable} -SE {EXAMPLES / 'measure_layout.py'} {{label}}"
    line = line.replace("command {label}", measure)  # one worker: nothing is begun in vain
    line = line.replace("surepick run", shlex.quote(f"{command_folder()}/surepick") + " run")
    said = tmp_path / "worker.log"
    with said.open("w") as log:
        worker = subprocess.Popen(line, shell=True, cwd=tmp_path, stdout=log, stderr=log)
    try:
        seen = _watch(page, headline)
    finally:
        assert worker.wait(120) == 0, said.read_text()
    # It moved while it was watched, without a reload: at the start, on the way, at the end.
    assert len(seen) >= 3

    study = client.load_study("watched / 1")
    answer = study.answer
    card = page.get_by_role("region", name="The answer")
    expect(card).to_contain_text(answer.label)
    expect(card).to_contain_text("Of 100 studies like this one, at most 5 name a wrong option.")
    expect(headline).to_contain_text(f"{answer.samples} measurements")
    card.get_by_role("button", name="Verify").click()
    expect(card).to_contain_text("The certificate holds.")
    expect(card).to_contain_text("47")  # comparisons: all options but the answer

    with page.expect_download() as download:
        card.get_by_role("link", name="Certificate").click()
    assert sp.verify(Path(download.value.path()).read_text()).label == answer.label
    _check_exports(page, study)
    # The chart says in words what it shows, and its table has every batch.
    chart = page.get_by_role("region", name="Options still in over time")
    expect(chart.get_by_role("img")).to_have_attribute("aria-label", _ends_with_one(answer))
    chart.get_by_text("Show as a table").click()
    expect(chart.get_by_role("row")).to_have_count(answer.batches + 1)


def _watch(page, headline):
    """What the headline said until the study was finished."""
    seen = [headline.inner_text()]
    finished = page.get_by_role("region", name="The answer")
    for _ in range(480):
        text = headline.inner_text()
        if text != seen[-1]:
            seen.append(text)
        if finished.count():
            return seen
        page.wait_for_timeout(250)  # it changes once a second
    raise AssertionError(f"not finished: {seen[-3:]}")


def _ends_with_one(answer):
    return (
        "Options still in over the measurements: from 48 at the start to 1 after "
        f"{answer.batches} batches and {answer.samples} measurements."
    )


def _check_exports(page, study):
    rewards = study.rewards().values.tolist()
    readers = {
        "CSV": lambda raw: [float(r["reward"]) for r in csv.DictReader(io.StringIO(raw.decode()))],
        "JSON": lambda raw: [row["reward"] for row in json.loads(raw)],
        "Parquet": lambda raw: pd.read_parquet(io.BytesIO(raw))["reward"].tolist(),
    }
    for name, read in readers.items():
        with page.expect_download() as download:
            page.get_by_role("link", name=name, exact=True).click()
        assert read(Path(download.value.path()).read_bytes()) == rewards, name


def test_a_running_study_shows_what_is_known(page, layouts):
    page.get_by_role("link", name="layouts", exact=True).click()
    status = layouts.load_study("layouts").status()
    left, more = len(status["survivors"]), layouts.load_study("layouts").forecast()
    headline = page.locator(".headline")
    expect(headline).to_contain_text(f"{left} of 48 options still in")
    expect(headline).to_contain_text(f"{status['samples']} measurements")
    said = (
        f"{rough(more.low)} to {rough(more.high)} more"
        if more.high
        else f"at least {rough(more.low)} more"
    )
    expect(headline).to_contain_text(said)
    batch = page.get_by_role("region", name="Batch being measured")
    expect(batch).to_contain_text(f"Batch {status['batch']['number'] + 1}")
    expect(batch).to_contain_text(f"{status['batch']['leased']} with workers")
    expect(batch).to_contain_text(more.text)
    hardest = min(
        (i for i in status["survivors"] if i != status["leader_index"]),
        key=lambda i: status["evidence"][i],
    )
    rivals = page.get_by_role("region", name="Closest rivals")
    first = rivals.get_by_role("progressbar").first
    expect(first).to_have_attribute("aria-label", f"Evidence against {status['labels'][hardest]}")
    shown = int(100 * status["evidence"][hardest])
    expect(first).to_have_attribute("aria-valuenow", str(shown))
    events = page.get_by_role("region", name="Event log")
    expect(events).to_contain_text("failed by lab-1: the visitor left")


def test_the_table_of_options_sorts_searches_and_filters(page, layouts):
    page.goto("/#/studies/layouts")
    status = layouts.load_study("layouts").status()
    table = page.get_by_role("table", name="Options")
    rows = table.locator(".grid-row:visible")
    expect(rows.first).to_contain_text(status["leader"])  # by standing, unless told otherwise
    table.get_by_role("button", name="Measured").click()
    most = max(status["pulls"])
    expect(rows.first.locator(".pulls")).to_have_text(str(most))
    expect(table.get_by_role("columnheader", name="Measured")).to_have_attribute(
        "aria-sort", "descending"
    )
    table.get_by_role("button", name="Option", exact=True).click()
    expect(rows.first).to_contain_text(min(status["labels"]))
    page.get_by_role("radio", name="Ruled out").check()
    out = 48 - len(status["survivors"])
    expect(table).to_have_attribute("aria-rowcount", str(out + 1))
    page.get_by_role("radio", name="All").check()
    page.get_by_label("Search options").fill("SHORT-photo-2")
    expect(table).to_have_attribute("aria-rowcount", "7")
    page.get_by_label("Search options").fill("nothing like it")
    expect(page.get_by_text("No option name contains this text.")).to_be_visible()


def test_broken_assumptions_are_said_at_the_top(page, layouts):
    page.goto("/#/studies/layouts%2C%20noise%20too%20low")
    warnings = page.get_by_role("group", name="Warnings")
    expect(warnings).to_contain_text("The noise is larger than stated: 0.2 is in use")
    checks = page.get_by_role("region", name="Checks")
    expect(checks.get_by_role("heading", name="Noise (does not hold)")).to_be_visible()


@pytest.fixture
def hostile(client):
    """A study whose every text tries to be more than text."""
    script = "<img src=x onerror='window.caught=1'>"
    name = f"{script}/<script>window.caught=1</script>"
    problem = sp.Problem(
        [[1.0], [2.0], [2.0]], labels=[f"{script} {i}" for i in range(3)], noise=1.0
    )
    study = client.create_study(name, problem)
    pull = study.ask(1, worker=script)[0]
    study.fail(pull.id, script, worker=script)
    yield study, script
    client.delete_study(name)


def test_script_in_labels_is_inert(hostile, page):
    study, script = hostile
    page.get_by_role("link", name=study.name).click()
    expect(page.get_by_role("heading", level=1)).to_have_text(study.name)
    expect(page.locator(".grid-row .name").first).to_have_text(f"{script} 0")
    expect(page.get_by_role("region", name="Event log")).to_contain_text(f"by {script}: {script}")
    while not study.finished:
        study.tell_many([(pull.id, float(pull.arm)) for pull in study.ask(50)])
    answer = page.get_by_role("region", name="The answer")
    expect(answer).to_contain_text(
        f"just as good, because they have the same features: {script} 2".capitalize()
    )
    answer.get_by_role("button", name="Verify").click()
    expect(answer).to_contain_text("The certificate holds.")
    page.goto("/#/access")
    expect(page.get_by_label(study.name)).to_be_visible()
    page.goto(f"/#/{script}")
    expect(page.get_by_text("There is no page")).to_be_visible()
    assert page.evaluate("window.caught") is None
    assert page.locator("main img[src=x]").count() == 0


@pytest.mark.validation
def test_a_study_that_cannot_be_read(open_page, served, client):
    """It says so in the list and on its own page, and can be deleted."""
    client.create_study("cut off", table=CSV, noise=0.5)
    path = served.storage.removeprefix("sqlite:///")
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as file:
        sums.provide(file)
        file.execute("UPDATE surepick_studies SET problem = '[' WHERE name = 'cut off'")
    served.stop()
    served.start()
    page = open_page()
    row = page.get_by_role("row").filter(has_text="cut off")
    expect(row).to_contain_text("Cannot be read")
    expect(row).to_contain_text("unknown")  # how many options are left
    expect(row).not_to_contain_text("Error")
    row.get_by_role("link", name="cut off").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("cut off")
    expect(page.get_by_text("stored problem cannot be read")).to_be_visible()
    page.get_by_role("button", name="Delete study").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page.get_by_role("heading", name="Studies", exact=True)).to_be_visible()
    expect(page.get_by_role("row").filter(has_text="cut off")).to_have_count(0)
    page.complaints.forgive("cut%20off")


def test_candidates_that_cannot_be_measured(page, client):
    """Where candidates differ from the arms, the table is about the candidates."""
    problem = sp.Problem(
        [[1.0, 0.0], [0.0, 1.0]],
        candidates=[[1.0, 1.0], [1.0, -1.0], [0.5, 0.5]],
        labels=["first", "second"],
        candidate_labels=["sum", "difference", "half"],
        noise=1.0,
    )
    study = client.create_study("combinations", problem)
    study.tell_many([(pull.id, 1.0) for pull in study.ask(10_000)])
    page.goto("/#/studies/combinations")
    expect(page.locator(".grid-row .name")).to_have_text(["sum", "half", "difference"])
    page.get_by_role("button", name="Delete study").click()
    page.get_by_role("button", name="Cancel").click()
    page.get_by_role("button", name="Delete study").click()
    page.get_by_role("button", name="Delete it").click()
    expect(page.get_by_role("heading", name="Studies", exact=True)).to_be_visible()
    assert "combinations" not in client.list_studies()


def test_an_admin_corrects_a_reward_even_of_a_finished_study(page, client):
    study = client.create_study("typo", sp.Problem([[1.0, 0.0], [0.0, 1.0]], noise=1.0), delta=0.1)
    while not study.finished:
        study.tell_many([(p.id, 2.0 * p.arm + 0.01 * (p.id % 7)) for p in study.ask(20, "w")])
    page.goto("/#/studies/typo")
    card = page.get_by_role("region", name="What was done").first
    expect(page.get_by_role("region", name="The answer")).to_be_visible()
    card.get_by_text("Correct or withdraw a result").click()
    card.get_by_label("Measurement").fill("0")
    card.get_by_label("Result", exact=True).fill("-30,5")
    card.get_by_role("button", name="Change the result").click()
    expect(card).to_contain_text("Give a reason")
    card.get_by_label("Reason").first.fill("the sign was lost")
    card.get_by_role("button", name="Change the result").click()
    expect(card).to_contain_text("counts instead of")
    expect(card).to_contain_text("the sign was lost")
    (change,) = study.corrections()
    assert (change.pull, change.new, change.counted) == (0, -30.5, True)
    assert change.token is not None
    answer = page.get_by_role("region", name="The answer")
    expect(answer if study.finished else page.locator(".headline")).to_be_visible()


def test_an_admin_adds_and_retires_options(page, client):
    table = Sheet(csv="label,size\na,1\nb,2\nc,4\n")
    study = client.create_study("turnover", table=table, noise=0.1)
    page.goto("/#/studies/turnover")
    card = page.get_by_role("region", name="What was done").first
    card.get_by_text("Add options").click()
    card.get_by_role("button", name="Add them").click()
    expect(card).to_contain_text("Paste a table")
    card.get_by_label("Table").fill("label,size\na,3\n")
    card.get_by_role("button", name="Add them").click()
    expect(card).to_contain_text("an option 'a' already exists")
    page.complaints.forgive("422")
    card.get_by_label("Table").fill("label,size\nnew,9\n")
    card.get_by_role("button", name="Add them").click()
    expect(card).to_contain_text("Added: new")
    while not study.finished:
        study.tell_many([(p.id, 2.0 * p.arm + 0.01 * (p.id % 7)) for p in study.ask(20, "w")])
    expect(page.get_by_role("region", name="The answer")).to_contain_text("new")
    card = page.get_by_role("region", name="What was done").first
    card.get_by_text("Retire an option").click()
    card.get_by_label("Option", exact=True).fill("new")
    card.get_by_label("Reason").last.fill("sold out")
    card.get_by_role("button", name="Retire it").click()
    expect(card).to_contain_text("Retired: new (sold out).")
    assert [change.labels for change in study.option_changes()] == [("new",), ("new",)]
    assert not study.finished


@pytest.mark.validation
def test_an_admin_pauses_resumes_and_ends_a_study(page, client):
    study = client.create_study("steered", sp.Problem([[1.0, 0.0], [0.0, 1.0]], noise=1.0))
    page.goto("/#/studies/steered")
    badge, card = page.locator(".view-head .badge"), page.get_by_role("region", name="Course of")
    expect(badge).to_have_text("Waiting for workers")
    pulls = study.ask(1, "ann")
    expect(badge).to_have_text("Live")
    card.get_by_role("button", name="Pause").click()
    expect(badge).to_have_text("Paused")
    assert study.ask(1, "bob") == []
    card.get_by_role("button", name="Resume").click()
    study.tell(pulls[0].id, 0.5)
    expect(badge).to_have_text("Waiting for workers")
    page.goto("/#/studies")
    row = page.get_by_role("row").filter(has_text="steered")
    expect(row).to_contain_text("Waiting")
    page.goto("/#/studies/steered")
    card.get_by_role("button", name="End study").click()
    page.get_by_role("button", name="End it").click()
    expect(badge).to_have_text("Finished")
    expect(page.get_by_role("region", name="The answer")).to_contain_text("by hand")
    assert study.finished
    assert study.stop().guarantee.kind == "none"


def test_what_is_spent_is_shown_and_limits_are_changed(page, client):
    problem = sp.Problem([[1.0, 0.0], [0.0, 1.0]], noise=1.0, costs=[1.0, 4.0])
    study = client.create_study("spending", problem, budget=40)
    study.tell_many([(pull.id, 0.5) for pull in study.ask(2)])
    spent = study.status()["limits"]["spent"]
    page.goto("#/studies/spending")
    card = page.get_by_role("region", name="Limits", exact=True)
    expect(card).to_contain_text(f"{spent:g} of 40 spent, {40 - spent:g} left.")
    card.get_by_text("Change limits").click()
    card.get_by_role("button", name="Change them").click()
    expect(card.get_by_role("alert")).to_contain_text("Give a number")
    card.get_by_label("Budget").fill("75")
    card.get_by_label("Reason").fill("more money")
    card.get_by_role("button", name="Change them").click()
    expect(card).to_contain_text(f"{spent:g} of 75 spent")
    log = page.get_by_role("region", name="Acts")
    expect(log).to_contain_text("budget 75 (more money).")
    assert [(one.budget, one.reason) for one in study.limit_changes()] == [(75.0, "more money")]
