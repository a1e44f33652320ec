"""Planning: drawn truths, simulated runs, formulas, and the picture's data."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from surepick import Problem
from surepick.bench.forecast import (
    AB_TEST,
    ASKED,
    HALF_DELTA,
    HALF_GAP,
    LARGEST,
    LOWER_BOUND,
    LeadToFind,
    draw,
    fixed_sample,
    forecast,
)
from surepick.design import complexity
from surepick.errors import InvalidInputError, InvalidTypeError, SurepickError
from surepick.report.planning import chart, draw_chart, number, table, write_report

PROBLEM = Problem([[1, 0, 0], [1, 1, 0], [1, 0, 1], [1, 1, 1], [1, 1, 1]], noise=2.0)


@pytest.fixture(scope="module")
def found():
    return forecast(LeadToFind(PROBLEM, gap=0.5, delta=0.1, algorithms=["peleg", "rage"], trials=6))


@given(st.integers(0, 10**6), st.floats(1e-3, 1e3))
def test_the_best_leads_by_the_gap(seed, gap):
    rng = np.random.default_rng(seed)
    arms = rng.normal(size=(8, 3)) @ rng.normal(size=(3, 4))  # rank 3 in 4 features
    instance = draw(Problem(arms, noise=1.0), gap, rng)
    assert np.sort(instance.gaps)[1] == pytest.approx(gap, rel=1e-6)


def test_duplicates_are_no_rivals():
    instance = draw(PROBLEM, 0.5, np.random.default_rng(1))
    distinct = np.sort(instance.values[PROBLEM.distinct])
    assert distinct[-1] - distinct[-2] == pytest.approx(0.5)


def test_truths_do_not_depend_on_how_features_are_coded():
    recoded = Problem(PROBLEM.arms @ np.array([[1, 2, 0], [0, 3, 1], [0, 0, -0.1]]), noise=1.0)
    # the same distribution, though not the same draw: compare many
    share = [
        np.mean([draw(p, 1.0, np.random.default_rng(s)).gaps.max() < 3 for s in range(400)])
        for p in (PROBLEM, recoded)
    ]
    assert share[0] == pytest.approx(share[1], abs=0.12)


def test_scenarios_share_their_truth():
    question = LeadToFind(PROBLEM, gap=0.5)
    asked, half = question.instance(ASKED, 3), question.instance(HALF_GAP, 3)
    assert half.theta == pytest.approx(asked.theta / 2)
    assert question.scenarios[HALF_DELTA] == (0.5, 0.025)
    other = question.instance(ASKED, 4)
    assert not np.allclose(other.theta, asked.theta)


def test_fixed_samples_keep_their_promise():
    """The formulas, checked by simulating the tests themselves where all others tie."""
    k, gap, delta = 6, 0.4, 0.1
    pulls = fixed_sample(k, 2.0, gap, delta)
    z = norm.ppf(1 - delta / (k - 1))
    assert pulls[AB_TEST] == k * math.ceil(8 * z**2 / gap**2)
    assert pulls[LARGEST] == k * math.ceil(2 * z**2 / gap**2)
    rng = np.random.default_rng(0)
    for lead, method in ((gap, AB_TEST), (0.0, AB_TEST), (gap, LARGEST)):
        n = pulls[method] // k
        means = rng.standard_normal((20_000, k)) / math.sqrt(n)
        means[:, 0] += lead
        ahead = means[:, 0] - means[:, 1:].max(axis=1)
        margin = z * math.sqrt(2 / n) if method == AB_TEST else 0.0
        if lead:
            assert (ahead > margin).mean() >= 1 - delta
        else:  # whatever the truth: another one wins wrongly at most this often
            order = np.sort(means, axis=1)
            wins = (order[:, -1] - order[:, -2] > margin) & (means.argmax(axis=1) != 0)
            assert wins.mean() <= delta


def test_fixed_samples_scale():
    base = fixed_sample(4, 8.0, 0.01, 0.1)[AB_TEST]
    assert fixed_sample(4, 8.0, 0.005, 0.1)[AB_TEST] == pytest.approx(4 * base, rel=1e-3)
    assert fixed_sample(4, 8.0, 0.01, 0.05)[AB_TEST] > base
    assert LeadToFind(PROBLEM, gap=0.01, delta=0.1).fixed_sample(ASKED)[AB_TEST] == base


def test_forecast(found):
    assert found.methods == ["peleg", "rage", AB_TEST, LARGEST, LOWER_BOUND]
    assert len(found.runs) == found.question.size == 2 * 3 * 6
    for method in ("peleg", "rage"):
        cell = found.cell(method, ASKED)
        pulls = found.runs["pulls"][
            (found.runs["method"] == method) & (found.runs["scenario"] == ASKED)
        ]
        assert cell["mean"] == pytest.approx(pulls.mean())
        assert cell["low"] < cell["mean"] < cell["high"]
        assert cell["q10"] <= cell["q50"] <= cell["q90"]
        assert cell["trials"] == 6
        assert found.cell(method, HALF_GAP)["mean"] > 2 * cell["mean"]
    bound = found.cell(LOWER_BOUND, ASKED)["mean"]
    assert bound < found.cell("peleg", ASKED)["mean"]
    assert found.cell(LOWER_BOUND, HALF_GAP)["mean"] == pytest.approx(4 * bound)


def test_the_lower_bound_is_the_mean_over_truths(found):
    question = found.question
    for scenario, (_, delta) in question.scenarios.items():
        each = [
            complexity(PROBLEM, question.instance(scenario, i).theta).lower_bound(delta)
            for i in range(question.trials)
        ]
        shown = found.cell(LOWER_BOUND, scenario)["mean"]
        assert shown == pytest.approx(np.mean(each), rel=5e-3)


@pytest.mark.validation
def test_results_depend_on_nothing_else(found):
    alone = forecast(LeadToFind(PROBLEM, gap=0.5, delta=0.1, algorithms=["rage"], trials=6), jobs=2)
    assert alone.cell("rage", HALF_DELTA) == found.cell("rage", HALF_DELTA)
    shorter = forecast(LeadToFind(PROBLEM, gap=0.5, delta=0.1, algorithms=["rage"], trials=3))
    rows = [r for r in found.runs.rows() if r["method"] == "rage" and r["trial"] < 3]
    assert list(shorter.runs.rows()) == rows


def test_progress_counts_every_run():
    seen = []
    forecast(LeadToFind(PROBLEM, gap=2.0, algorithms=["peleg"], trials=2), progress=seen.append)
    assert seen == list(range(1, 7))


def test_says_what_a_reader_should_know():
    question = LeadToFind(
        PROBLEM,
        gap=2.0,
        algorithms=["lingape:norm_bound=0.001", "xy-oracle", "peleg"],
        trials=2,
        max_samples=20,
    )
    notes = " ".join(forecast(question).notes)
    assert "no longer than 0.001" in notes
    assert "xy-oracle uses the truth" in notes
    assert "peleg gave up" in notes


@pytest.mark.parametrize(
    ("settings", "error"),
    [
        ({"gap": 0}, InvalidInputError),
        ({"gap": "x"}, InvalidTypeError),
        ({"delta": 1}, InvalidInputError),
        ({"trials": 1}, InvalidInputError),
        ({"algorithms": []}, InvalidInputError),
        ({"algorithms": ["peleg", "peleg"]}, InvalidInputError),
        ({"algorithms": ["pelg"]}, SurepickError),
        ({"problem": [[1.0]]}, InvalidTypeError),
        ({"problem": Problem([[1.0], [1.0]], noise=1.0)}, InvalidInputError),
    ],
)
def test_bad_settings(settings, error):
    with pytest.raises(error):
        LeadToFind(**({"problem": PROBLEM, "gap": 0.5} | settings))


def test_chart_is_sorted_and_complete(found):
    data = chart(found)
    pulls = [row.pulls for row in data.rows]
    assert pulls == sorted(pulls)
    assert {row.label for row in data.rows} == {"PELEG (tight)", "RAGE", AB_TEST, LARGEST}
    assert data.bound == found.cell(LOWER_BOUND, ASKED)["mean"]
    assert "4 options" in data.title


@pytest.mark.validation
def test_files(found, tmp_path):
    files, notes = write_report(found, tmp_path / "plan")
    assert notes == []
    assert sorted(p.name for p in (tmp_path / "plan").iterdir()) == [
        "plan.csv",
        "plan.pdf",
        "plan.png",
        "runs.csv",
    ]
    assert len(files) == 4
    assert draw_chart(chart(found), ["png"])["png"] == (tmp_path / "plan/plan.png").read_bytes()


def test_table_for_people(found):
    head, rows = table(found)
    assert all(len(row) == len(head) for row in rows)
    assert rows[-1][0] == LOWER_BOUND
    by_name = {row[0]: row for row in rows}
    assert by_name["RAGE"][1] == number(found.cell("rage", ASKED)["mean"])
    assert "–" in by_name["RAGE"][2]


def test_numbers_are_short():
    assert [number(v) for v in (0, 12.4, 1234, 1_450_000, 2.5e9, math.nan)] == [
        "0",
        "12",
        "1,230",
        "1.45 million",
        "2.5 billion",
        "–",
    ]
