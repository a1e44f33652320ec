"""Pictures of studies and reports on them: what they say is what the study says."""

from __future__ import annotations

import math

import numpy as np
import pytest
from matplotlib import pyplot
from tests.study.traffic import site

import surepick as sp
from surepick.errors import InvalidInputError
from surepick.report.colleague import study_page
from surepick.report.picture import _in_thousands, _number, draw, view
from surepick.storage.memory import MemoryStorage

LABELS = ["plain", "$5 off", "<b>bold</b>", "日本", "last"]
MEANS = np.array([0.0, 0.3, 0.5, 0.6, 2.5])


def studied(most=10_000, **settings):
    """A study of five options, measured so often at most."""
    rng, problem = np.random.default_rng(0), sp.Problem(np.eye(5), noise=1.0, labels=LABELS)
    study = sp.create_study("five", problem, storage=MemoryStorage(), **settings)
    told = 0
    while not study.finished and told < most:
        pulls = study.ask(10)
        study.tell_many([(p.id, MEANS[p.arm] + rng.normal()) for p in pulls])
        told += len(pulls)
    return study


def test_the_answer_and_who_was_ruled_out():
    study = studied()
    seen = view(study)
    assert seen.title == "last is the answer"
    assert "Of 100 studies like this one, at most 5 name a wrong option." in seen.subtitle
    assert seen.rows[0][:3] == ("last", "best", 0.0)
    assert {row.state for row in seen.rows[1:]} == {"out"}
    assert sum(row.pulls for row in seen.rows) == study.answer.samples
    assert seen.steps[0] == (0, 5)
    assert seen.steps[-1] == (study.answer.samples, 1)


def test_a_study_that_was_stopped_proves_nothing():
    study = studied(10)
    assert "no answer yet" in view(study).subtitle
    study.stop()
    seen = view(study)
    assert seen.title.endswith("looks best, which is not proven")
    assert "that is not proven" in seen.subtitle
    assert "Nothing looks wrong" in study_page(study)


def test_lines_are_those_of_the_standing():
    study = studied(60, baseline="plain")
    seen, now = view(study), study.status()["standing"]["columns"]
    for row in seen.rows:
        i = now["option"].index(row.label)
        assert row.state == now["state"][i]
        assert (row.value, row.pulls) == (now["lift"][i], now["pulls"][i])
        ends = [now[end][i] for end in ("lift_low", "lift_high")]
        assert [row.low, row.high] == [
            e if e is not None else pytest.approx(s * math.inf) for e, s in zip(ends, (-1, 1))
        ]
    assert seen.compared == "compared with plain"


def test_on_test_questions_options_are_compared_on_the_same_ones():
    problem = sp.Problem.unstructured(["a", "b"], noise="yes-no")
    study = sp.create_study("table", problem, storage=MemoryStorage(), complete=6, seed=1)
    while not study.finished:
        study.tell_many([(p.id, float(p.arm)) for p in study.ask(5)])
    assert view(study).compared == "compared with b on the same questions"


@pytest.mark.validation
def test_the_same_study_is_the_same_file_and_labels_are_taken_literally():
    seen = view(studied())
    first, again = draw(seen, ["svg", "png", "pdf"]), draw(seen, ["svg", "png", "pdf"])
    assert first == again
    assert first["png"].startswith(b"\x89PNG")
    assert first["pdf"].startswith(b"%PDF")


@pytest.mark.parametrize(
    ("mean", "percent", "written"),
    [(0.027, True, "2.70 %"), (1.0, True, "100 %"), (4.0, False, "4.000"), (None, True, "")],
)
def test_means_are_written_with_as_many_digits_as_their_neighbours(mean, percent, written):
    assert _number(mean, percent) == written


@pytest.mark.parametrize("most", [1, 6, 40, 75_000])
def test_counts_stand_at_whole_numbers(most):
    figure, axes = pyplot.subplots()
    axes.barh([1], [most])
    _in_thousands(axes.xaxis)
    assert [place for place in axes.get_xticks() if place != round(place)] == []
    pyplot.close(figure)


def test_nothing_measured_is_nothing_to_draw():
    study = sp.create_study("new", sp.Problem(np.eye(2)), storage=MemoryStorage())
    with pytest.raises(InvalidInputError, match="nothing to draw yet"):
        view(study)
    assert "None yet." in study_page(study)


@pytest.mark.validation
def test_traffic_is_compared_with_its_control():
    study = site.create(control="plain", control_share=0.2)
    site.decide(study)
    seen = view(study)
    assert seen.title == study.status()["traffic"]["headline"]
    assert seen.compared == "compared with plain (the control)"
    assert seen.unit == "visits"
    assert next(row.value for row in seen.rows if row.label == "plain") == 0.0
    assert draw(seen)["png"]
    assert "monday" not in study_page(study)
    assert "day 0" in study_page(study)


def test_a_report_has_everything_inside_and_runs_nothing():
    study = studied()
    study.correct(0, 0.5, reason="<script>typo</script>")
    page = study_page(study)
    assert "&lt;script&gt;typo" in page
    assert "<b>bold" not in page
    assert "&lt;b&gt;bold&lt;/b&gt;" in page
    assert "<script" not in page
    assert 'src="http' not in page
    assert "href=" not in page
    assert str(study.answer.guarantee).replace("'", "&#x27;") in page
    assert page.count("<tr>") == 2 + 5 + study.answer.samples  # two heads


@pytest.mark.validation
def test_a_study_at_a_service_is_drawn_as_one_that_is_here(tmp_path):
    from tests.server.served import Served

    with Served(f"sqlite:///{tmp_path}/s.db", tmp_path) as served, served.client() as client:
        remote = client.create_study("five", sp.Problem(np.eye(2), noise=0.1, labels=["a", "b"]))
        while not remote.finished:
            remote.tell_many([(p.id, float(p.arm)) for p in remote.ask(10, "me")], "me")
        assert view(remote).title == "b is the answer"
        page = study_page(remote)
    assert "<td>-0</td>" not in page
    assert page == study_page(sp.load_study("five", storage=f"sqlite:///{tmp_path}/s.db"))


def test_a_report_lists_an_estimate_of_nought_between_the_others(monkeypatch):
    study = studied(200)
    status = study.status()
    columns = status["standing"]["columns"]
    columns["estimate"] = [-1.0, 0.0, None, 2.0, 0.5]
    monkeypatch.setattr(study, "status", lambda: status)
    page = study_page(study)
    table = page[page.index("behind the best") :]
    names = ["last", "$5 off", "plain", "&lt;b&gt;bold"]
    places = [table.index(name) for name in names]
    assert places == sorted(places)


def judged(name, most=10**6, **settings):
    """Four options compared two at a time, by two judges."""
    study = sp.create_study(
        name, sp.Problem.pairs(LABELS[:4]), storage=f"memory://drawn {name}", seed=2, **settings
    )
    rng, told = np.random.default_rng(3), 0
    while not study.finished and told < most:
        for worker in ("ann", "bob"):
            for pull in study.ask(2, worker=worker):
                first, second = (LABELS.index(one) for one in (pull.first, pull.second))
                study.tell(pull.id, float((first < second) == (rng.random() < 0.85)), worker=worker)
                told += 1
    return study


def test_pairs_are_drawn_by_shares_of_wins_and_the_matrix():
    study = judged("pairs")
    seen, found = view(study), study.judgements()
    assert seen.title == "plain is the answer"
    assert f"{study.answer.samples} comparisons" in seen.subtitle
    for row, told in zip(seen.rows, found["standings"]):
        assert (row.label, row.value, row.low, row.high) == (
            *(told["option"], told["share"], told["low"], told["high"]),
        )
    assert seen.rows[0].state == "best"
    won = sum(cell[0] for row in seen.wins for cell in row)
    assert won == found["comparisons"] == study.answer.samples
    assert draw(seen)["png"].startswith(b"\x89PNG")
    page = study_page(study)
    assert "Which option beats every other?" in page
    assert "share of wins" in page
    assert "agrees with others" in page
    early = view(judged("early", 12))
    assert "options still in" in early.title


def test_two_numbers_are_axes_where_a_limit_has_to_be_kept():
    problem = sp.Problem.unstructured(LABELS, noise=1.0, numbers={"cost": 1.0})
    rng, costs = np.random.default_rng(0), np.array([-2.0, -2.0, -2.0, -2.0, 2.0])
    study = sp.create_study("kept", problem, storage=MemoryStorage(), keep=["cost <= 0"], seed=1)
    for _ in range(4):
        for pull in study.ask(30):
            reward, cost = MEANS[pull.arm] + rng.normal(), costs[pull.arm] + rng.normal()
            study.tell(pull.id, {"reward": reward, "cost": cost})
    seen = view(study)
    assert seen.limited is not None
    assert (seen.limited.limit, seen.limited.mark, seen.limited.above) == ("cost <= 0", 0.0, False)
    columns = study.standing().columns
    for row, value in zip(seen.rows, seen.limited.values, strict=True):
        assert value == columns["cost <= 0: mean"][LABELS.index(row.label)]
    assert draw(seen) == draw(seen)
