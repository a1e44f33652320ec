"""What is shown: rows in their order, texts as text, numbers as they are."""

from __future__ import annotations

import csv
import io
import json
from html.parser import HTMLParser

import pytest

import surepick as sp
from surepick.cli.status import _p_value, screen
from surepick.cli.studies import bar
from surepick.report.colleague import study_page
from surepick.report.pages import Page
from surepick.report.picture import view
from surepick.run.forecast import Ahead
from surepick.study.export import content, rows

NASTY = "<script>alert(1)</script> & \"quoted\" 'single' </td></figcaption>"


class Read(HTMLParser):
    """A page as a browser reads it: tags, and the text in each of them."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.texts, self.alts, self._open = [], [], [], []
        self.tables = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.alts += [value for name, value in attrs if name == "alt"]
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.tables[-1][-1].append("")
        self._open.append(tag)

    def handle_endtag(self, tag):
        while self._open and self._open.pop() != tag:
            pass

    def handle_data(self, data):
        inside = self._open[-1] if self._open else ""
        self.texts.append((inside, data))
        if inside in ("td", "th"):
            self.tables[-1][-1][-1] += data

    def of(self, tag):
        return [text for inside, text in self.texts if inside == tag]


def test_a_page_shows_texts_as_text():
    page = Page(NASTY)
    page.heading(NASTY)
    page.text(NASTY)
    page.text("a `code <b>` in it")
    page.picture(b"x", NASTY)
    page.table([NASTY, "n"], [[NASTY, 1]])
    read = Read(page.render())
    for tag in ("title", "h1", "h2", "figcaption"):
        assert read.of(tag) == [NASTY], tag
    assert read.of("p")[0] == NASTY
    assert read.of("code") == ["code <b>"]
    assert read.alts == [NASTY]
    assert read.tables == [[[NASTY, "n"], [NASTY, "1"]]]
    assert "script" not in read.tags


def worked(study, means, most=10**9):
    while most > 0 and not study.finished and (pulls := study.ask(min(6, most), "ann")):
        most -= len(pulls)
        study.tell_many([(p.id, means[p.label] + 0.1 * ((5 * p.id) % 7 - 3)) for p in pulls])


@pytest.fixture(scope="module")
def study():
    """One option was retired, one is out, and a label is a script."""
    means = {"low": 0.0, NASTY: 2.0, "mid": 1.0, "near": 1.9, "gone": 3.0, "never": 0.2}
    labels = [*means][:-1]
    made = sp.create_study(
        NASTY, sp.Problem.unstructured(labels, noise=0.4), storage="memory://", max_samples=140
    )
    worked(made, means, 70)
    made.retire("gone", reason=f"sold out {NASTY}")
    worked(made, means, 40)
    made.correct(0, 0.25, reason=NASTY)
    return made


@pytest.fixture(scope="module")
def compared():
    means = {"one": 1.0, "two": 2.0, "now": 1.4, "zero": 0.0}
    problem = sp.Problem.unstructured([*means], noise=0.3)
    made = sp.create_study("compared", problem, storage="memory://shown", baseline="now")
    worked(made, means, 60)
    return made


def printed(study):
    """The table of ``surepick status``, line by line."""
    from rich.console import Console

    ahead = Ahead(None, None, None, 0, "it is not asked here").to_dict()
    terminal = Console(record=True, width=240, file=io.StringIO())
    terminal.print(screen(study, study.status() | {"forecast": ahead}, 0))
    return "\n".join(line.strip() for line in terminal.export_text().splitlines())


def test_a_report_has_no_tags_but_its_own(study):
    read = Read(study_page(study, png=b"x"))
    assert set(read.tags) <= {
        *("html", "head", "meta", "title", "style", "body", "h1", "h2", "p", "code"),
        *("figure", "img", "figcaption", "div", "table", "thead", "tbody", "tr", "th", "td"),
    }
    assert read.of("title") == read.of("h1") == [f"Report: {NASTY}"]
    assert NASTY in read.of("figcaption")[0]
    assert any(NASTY in text for text in read.of("p")), "the reason of the correction"
    assert NASTY in [row[0] for row in read.tables[0]]


def test_a_report_says_what_the_status_says(study):
    """Every number of its table is that of the status, and the highest estimate comes first."""
    head, *lines = Read(study_page(study, png=b"x")).tables[0]
    now = study.status()["standing"]["columns"]
    wanted = sorted(range(len(now["option"])), key=lambda i: -now["estimate"][i])
    assert [line[0] for line in lines] == [now["option"][i] for i in wanted]
    for name, column in (("measured", "pulls"), ("estimate", "estimate")):
        place = head.index(name)
        shown = [float(line[place].replace(",", "")) for line in lines]
        assert shown == [float(f"{now[column][i]:.4g}") for i in wanted]
    states = {line[0]: line[head.index("")] for line in lines}
    assert states["gone"] == "retired"
    assert states["low"] == "ruled out"


def test_a_report_has_every_measurement(study):
    _, *lines = Read(study_page(study, png=b"x")).tables[1]
    rewards = study.rewards()
    assert [int(line[0].replace(",", "")) for line in lines] == rewards.pulls.tolist()
    assert [float(line[3]) for line in lines] == [float(f"{v:.4g}") for v in rewards.values]


def test_a_terminal_shows_those_in_first_and_the_best_of_them_first(study):
    status = study.status()
    text = printed(study)
    places = {label: text.find(f"\n{label} ") for label in ("low", "mid", "near", "gone")}
    assert min(places.values()) > 0
    survivors = [status["labels"][i] for i in status["survivors"]]
    inside = [places[label] for label in places if label in survivors]
    outside = [places[label] for label in places if label not in survivors]
    assert max(inside, default=0) < min(outside)
    estimates = dict(zip(status["labels"], status["estimates"]))
    lines = sorted((label for label in places if label not in survivors), key=places.get)
    assert [estimates[label] for label in lines] == sorted(
        (estimates[label] for label in lines), reverse=True
    )


def test_options_against_a_baseline_come_by_their_lift(compared):
    text, now = printed(compared), compared.status()["standing"]["columns"]
    order = sorted(now["option"], key=lambda label: text.find(f"\n{label} "))
    assert order == ["two", "now", "one", "zero"]
    assert [row.label for row in view(compared, 0).rows] == order
    lifts = dict(zip(now["option"], now["lift"]))
    for label in ("two", "one", "zero"):
        (line,) = [one for one in text.splitlines() if one.startswith(f"{label} ")]
        assert f"{lifts[label]:+.3g}" in line.split()
    assert [one[0] for one in Read(study_page(compared, png=b"x")).tables[0][1:]] == order


def test_a_picture_has_the_best_on_top(study):
    shown, now = view(study, 0).rows, study.status()["standing"]["columns"]
    assert [row.value for row in shown] == sorted((row.value for row in shown), reverse=True)
    for row in shown:
        i = now["option"].index(row.label)
        assert row.value == -now["behind"][i]
        assert (row.pulls, row.mean) == (now["pulls"][i], now["estimate"][i])
        low, high = now["behind_low"][i], now["behind_high"][i]
        if row.state == "in":
            assert (row.low, row.high) == (-high, -low)
            assert row.low < row.value < row.high
    assert [row.label for row in view(study, 2).rows] == [row.label for row in shown[:2]]
    assert view(study, 2).hidden == len(shown) - 2


def test_a_report_of_a_site_has_what_came_of_its_visitors():
    """The mean of all visits, as everywhere on a site, and not an estimate that is evened out."""
    labels = ["now", "new", "other"]
    problem = sp.Problem.unstructured(labels, noise="yes-no")
    made = sp.create_study("visits", problem, storage="memory://visits", traffic=True)
    days = {
        "monday": {"now": (400, 20), "new": (410, 31), "other": (390, 12)},
        "tuesday": {"now": (300, 180), "new": (410, 290), "other": (790, 420)},  # a sale
    }
    for day, report in days.items():
        made.split(period=day)
        made.record(report, day)
    rates = {k: [sum(one) for one in zip(*(report[k] for report in days.values()))] for k in labels}
    assert made.status()["estimates"] != pytest.approx(made.status()["means"], abs=1e-3)
    head, *lines = Read(study_page(made, png=b"x")).tables[0]
    place = head.index("rate of its visits, %")
    shown = {line[0]: line[place] for line in lines}
    assert shown == {label: f"{100 * hits / n:.4g}" for label, (n, hits) in rates.items()}
    assert [line[0] for line in lines] == ["new", "other", "now"]
    assert {line[0]: line[head.index("visits")] for line in lines}["new"] == "820"


def test_a_notebook_has_the_leader_first_and_then_the_highest(study):
    standing = study.current_run.standing()
    _, *lines = Read(standing.table()).tables[0]
    order = sorted(range(len(lines)), key=lambda i: -standing["estimate"][i])
    order.sort(key=lambda i: i != standing.leader_index)
    assert [line[0] for line in lines] == [standing["option"][i] for i in order]


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, ""),
        (0.0, "< 0.0001"),
        (0.000099, "< 0.0001"),
        (0.0001, "0.0001"),
        (0.00012, "0.00012"),
        (0.00099, "0.00099"),
        (0.001, "0.001"),
        (0.0512, "0.051"),
        (1.0, "1"),
    ],
)
def test_p_values_are_shown_down_to_a_ten_thousandth(value, shown):
    assert _p_value(value) == shown


def test_evidence_is_full_only_when_it_decides():
    assert [bar(True, share)[-5:].strip() for share in (0.0, 0.555, 0.999, 1.0)] == [
        "0 %",
        "55 %",
        "99 %",
        "99 %",
    ]
    assert bar(False, 1.0) == "ruled out"


def test_an_export_says_who_is_in(study):
    """Who was retired is not in, whatever its numbers; nor is who was ruled out."""
    status = study.status()
    states = dict(zip(status["labels"], status["standing"]["columns"]["state"]))
    found = {row["label"]: row for row in rows(study, "options")}
    assert [*found] == status["labels"]
    for label, row in found.items():
        assert row["still_in"] == (states[label] in ("in", "leads")), label
    assert not found["gone"]["still_in"]
    read = [*csv.DictReader(io.StringIO(str(content(rows(study, "options"), "csv"))))]
    assert [row["label"] for row in read] == status["labels"]
    assert [int(row["pulls"]) for row in read] == status["pulls"]
    assert [float(row["mean"]) for row in read] == status["means"]
    assert json.loads(content(rows(study, "options"), "json")) == rows(study, "options")


def test_who_is_retired_while_leading_is_not_in(tmp_path):
    """Also before the batch that is open is complete, and where it stood for another one."""
    problem = sp.Problem(
        [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]], labels=["a", "twin", "b"], noise=1.0, misfit=0.0
    )
    study = sp.create_study("twins", problem, storage="memory://twins", max_samples=60)
    worked(study, {"a": 1.0, "twin": 1.0, "b": 0.8}, 12)
    study.retire("a", reason="sold out")
    worked(study, {"a": 1.0, "twin": 1.0, "b": 0.8}, 20)
    found = {row["label"]: row["still_in"] for row in rows(study, "options")}
    assert found == {"a": False, "twin": True, "b": True}
