"""The long measurements of noise, in the smallest sizes: that they count what they say."""

import argparse
import json

import numpy as np
import pytest
from benchmarks import (
    baseline_price,
    error_rates,
    evaluation_tools,
    guess,
    noise_cost,
    pairs,
    peeking,
    questions,
    real_judge,
    yes_no,
)
from benchmarks.recorded import Record, chunks, options, table

from surepick.ahead.kinds import check_rewards
from surepick.integrations.evaluations import ScoreTable, decide


def given(folder, **more):
    usual = {"out": folder, "jobs": 1, "fresh": False, "check": None}
    return argparse.Namespace(**(usual | more))


# -- records ---------------------------------------------------------------------------------
def test_a_record_is_picked_up_again(tmp_path):
    asked = []

    def square(n):
        asked.append(n)
        return n * n

    record = Record("squares", {"seed": 0}, given(tmp_path))
    assert record.fill({"a": 2}, square) == {"a": 4}
    again = Record("squares", {"seed": 0}, given(tmp_path))
    assert again.fill({"a": 2, "b": 3}, square) == {"a": 4, "b": 9}
    assert asked == [2, 3]
    again.write(table(["x", "y"], [["1", "2"]]))
    assert (tmp_path / "squares.md").read_text() == "| x | y |\n| --- | --- |\n| 1 | 2 |\n"
    assert json.loads((tmp_path / "squares.json").read_text())["parts"] == {"a": 4, "b": 9}


def test_a_record_of_other_settings_is_not_mixed_in(tmp_path):
    Record("squares", {"seed": 0}, given(tmp_path)).save()
    with pytest.raises(SystemExit, match="--fresh"):
        Record("squares", {"seed": 1}, given(tmp_path))
    assert Record("squares", {"seed": 1}, given(tmp_path, fresh=True)).parts == {}


def test_a_record_is_checked_by_measuring_some_of_it_again(tmp_path, capsys):
    tasks = {f"{n}": n for n in range(10)}
    Record("squares", {}, given(tmp_path)).fill(tasks, lambda n: {"it": n * n, "seconds": 1})
    before = (tmp_path / "squares.json").read_text()

    def check(function, parts):
        asked = []
        record = Record("squares", {}, given(tmp_path, check=parts))
        record.fill(tasks, lambda n: asked.append(n) or function(n))
        record.write("another table")
        return asked

    assert check(lambda n: {"it": n * n, "seconds": 2}, 3) == [0, 4, 8]
    assert "3 of 3 parts came out as recorded" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        check(lambda n: {"it": n * n + (n == 5), "seconds": 1}, 10)
    assert "not as recorded: 5" in capsys.readouterr().out
    assert (tmp_path / "squares.json").read_text() == before
    assert not (tmp_path / "squares.md").exists()


def test_chunks_cover_all_trials():
    assert chunks(12, 5) == [(0, 5), (5, 5), (10, 2)]
    assert options("what", trials=7).parse_args([]).trials == 7


# -- what it costs not to know the noise -----------------------------------------------------
def test_costs_are_ratios_of_means():
    names = ["standard:gap=0.5", "one mean per option, K=5"]
    parts = {
        f"{name} | {delta:g} | {kind} | 0 | 2": {
            "pulls": [base, base],
            "wrong": 0,
            "endless": 0,
            "seconds": 1,
        }
        for name in names
        for delta in noise_cost.DELTAS
        for kind, base in (("known", 100), ("equal", 110), ("unknown", 200))
    }
    text = noise_cost.report(parts, names, 2)
    assert "| 100 | 1.10 ± 0.00 | 2.00 ± 0.00 |" in text
    assert "**1.100** | **2.000**" in text


def test_a_cost_is_measured_on_the_same_truth():
    name = "wines:noise=2"
    found = {
        kind: noise_cost.measure((name, 0.1, kind, 0, 1, 0))["pulls"] for kind in noise_cost.KINDS
    }
    assert all(len(pulls) == 1 and pulls[0] > 100 for pulls in found.values())
    leader = noise_cost.instance_of("one mean per option, K=20")
    assert np.sort(leader.gaps)[[1, -1]] == pytest.approx([0.5, 1.5])
    assert len(noise_cost.tasks([name], 20, 0)) == 2 * 2 * 3


# -- yes or no -------------------------------------------------------------------------------
def test_the_layouts():
    features, lacking = yes_no.layouts()
    assert features.shape == (24, 6)
    assert np.linalg.matrix_rank(features) == 6
    assert np.sort(lacking)[[0, 1, -1]] == pytest.approx([0, 0.1, 0.57])
    for factors in (True, False):
        instance = yes_no.instance_of(0.02, "yes-no", factors)
        assert instance.best == 0
        assert instance.means == pytest.approx(0.02 * (1 - lacking))


def test_the_test_of_fixed_size_by_hand():
    """z of 1 − 0.05/23 is 2.8528, that of 0.8 is 0.8416."""
    v = 0.1 * 0.9 + 0.09 * 0.91
    assert yes_no.ab_size(0.1) == pytest.approx(v * (2.8528 + 0.8416) ** 2 / 0.01**2, rel=1e-3)
    rng = np.random.default_rng(0)
    right = np.mean([yes_no.ab_test(0.1, rng)[1] for _ in range(400)])
    assert 0.6 < right < 0.95  # two are second best, others are near


def test_the_asymptotic_boundary_is_crossed_rarely():
    rng, level = np.random.default_rng(0), 0.05
    rho2 = yes_no.tightest_at(500.0, level)
    walks = rng.standard_normal((2000, 3000)).cumsum(axis=1)
    crossed = (walks > yes_no.bound(np.arange(1.0, 3001.0), rho2, level)).any(axis=1).mean()
    assert 0.01 < crossed <= level + 0.01


def test_every_way_finds_the_best():
    for way in yes_no.WAYS:
        found = yes_no.measure((way, 0.5, 0, 2, 1))
        assert len(found["pulls"]) == 2
        assert way == "A/B/n" or sum(found["right"]) >= 1
    parts = {
        f"{way} | {rate:g} | 0 | 2": {"pulls": [100, 300], "right": [True, False], "seconds": 60}
        for way in yes_no.WAYS
        for rate in yes_no.RATES
    }
    assert "| 0.5 % | 200 (1) |" in yes_no.report(parts, 2)


# -- error rates -----------------------------------------------------------------------------
@pytest.mark.parametrize("case", error_rates.cases(), ids=lambda case: case.name)
def test_the_first_option_is_the_best_of_every_case(case):
    instance, noise = case.instance(), case.family()
    assert instance.gaps[0] == pytest.approx(0.0, abs=1e-12)
    check_rewards(noise, instance.problem, instance.means)
    drawn = noise.totals(
        np.random.default_rng(0),
        instance.means,
        np.full(len(instance.means), 400),
        np.broadcast_to(noise.scales(instance.problem), len(instance.means)),
    )
    means = drawn[0] / 400
    errors = np.sqrt(np.maximum(drawn[1], 1e-300)) / 400
    if isinstance(noise, error_rates.Rounded):
        means -= 0.3
    assert (np.abs(means - instance.means) <= np.maximum(6 * errors, 0.1)).all()
    if instance.problem.noise_kind.bounds is not None:
        assert ((means >= 0) & (means <= 1)).all()


def test_errors_are_counted():
    name = error_rates.cases()[0].name
    found = error_rates.measure((name, 0.9, 0, 40, 0))
    assert found["trials"] == 40
    assert 8 <= found["wrong"] <= 32  # at δ = 0.9 a tie soon loses one of two
    cases = [case for case in error_rates.cases() if "exponential" in case.name][:1]
    cases += error_rates.cases()[:1]
    parts = {
        f"{case.name} | {delta:g} | 0 | 100": {"wrong": 60, "trials": 100, "seconds": 6}
        for case in cases
        for delta in error_rates.DELTAS
    }
    text = error_rates.report(parts)
    assert text.index("covers") < text.index("does not cover")
    assert "60 of 100 | **0.6000** |" in text


# -- peeking ---------------------------------------------------------------------------------
def test_tests_that_are_looked_at_stop_and_proven_ones_are_right():
    for case, ways in (("numbers", peeking.NUMBERS), ("clicks", peeking.CLICKS)):
        for way in ways:
            found = peeking.measure((case, way, False, 0, 3, 0))
            assert len(found["pulls"]) == 3
            assert max(found["pulls"]) < 10 * peeking.MOST  # a clear lead is decided
            if way.startswith("PooledPeleg"):
                assert not any(found["called"])


def test_a_t_test_looked_at_all_the_time_is_wrong_too_often():
    """At one look 3 of 60 are to be expected, and more than 10 have a chance of one in 5,800."""
    found = peeking.measure(("numbers", peeking.NUMBERS[0], True, 0, 60, 0))
    assert sum(found["called"]) > 10


# -- questions -------------------------------------------------------------------------------
def test_every_question_is_asked_and_its_mistakes_are_counted(monkeypatch):
    monkeypatch.setattr(questions, "PULLS", 60)
    asked = questions.tasks(1, 3)
    assert len(asked) == len(questions.CASES) * 4 * 2
    parts = {key: questions.measure(asked[key]) for key in asked if " | σ known | 0.2 | " in key}
    assert len(parts) == len(questions.CASES)
    assert sum(part["wrong"] for part in parts.values()) <= 0.2 * len(parts)
    row = "| 3 of 7, all tied | one of the best dropped | σ known | 0.2 | "
    assert row in questions.tables(parts)
    assert questions._false(0.1, "close", 0.05)
    assert questions._false(0.1, "worse", 0.0)
    assert not questions._false(0.1, "better", 0.0)


def test_guesses_of_all_methods_are_counted(monkeypatch):
    few = {name: case for name, case in guess.INSTANCES.items() if "unrelated" in name}
    monkeypatch.setattr(guess, "INSTANCES", few)
    cells = {key: guess.measure(task) for key, task in guess.tasks(2, 3).items()}
    assert {key.split(" | ")[2] for key in cells} == guess.METHODS.keys()
    assert all(0 <= cell["wrong"] <= cell["trials"] == 2 for cell in cells.values())
    assert guess.tables(cells).count("\n") == 1 + len(few)


@pytest.mark.parametrize(
    "method", ["uniform", "od-linbai", "gse", "Peace-like", "guess", "cut off"]
)
def test_where_it_is_easy_every_method_guesses_right(method, monkeypatch):
    easy = guess.Instance(np.eye(6), np.linspace(30.0, 0.0, 6), 120)
    monkeypatch.setitem(guess.INSTANCES, "easy", easy)
    assert guess.METHODS[method]("easy", easy, np.random.default_rng(0)) == 0


def test_the_price_of_a_claim_adds_up():
    nats, ratio = baseline_price.price("σ known", 0.05, 0, 1)
    bound, needed, reached, told, blocks, whole = nats.mean(axis=0)
    assert bound < needed <= reached < told
    assert blocks < whole
    assert ratio > needed / bound


# -- other people's programs -----------------------------------------------------------------
def test_items_are_asked_for_counting_up():
    cells = [("a", "doc 7"), ("b", "doc 1"), ("a", "doc 12"), ("a", "doc 2")]
    assert evaluation_tools.by_option(cells) == {"a": [2, 7, 12], "b": [1]}


def test_a_program_that_says_something_else_is_noticed():
    pupils, sums = list(evaluation_tools.PUPILS), evaluation_tools.sums(60)
    right = [[evaluation_tools.is_right(pupil, a, b) for a, b in sums] for pupil in pupils]
    full = ScoreTable(pupils, [f"doc {i}" for i in range(60)], right)
    means = dict(zip(pupils, full.scores.mean(axis=1)))
    assert max(means, key=means.__getitem__) == "school/dana"
    found = decide(ScoreTable(full.options, full.items), full.of)
    tried = evaluation_tools.Tried(
        "program 1.0", full, means, found, found.evaluations, 19, found.table
    )
    assert evaluation_tools.row(tried)[:3] == ["program 1.0", "4 × 60", "240"]
    for wrong in (
        {"reported": means | {"school/ann": 0.99}},
        {"asked": found.evaluations + 1},
        {"returned": full},
    ):
        with pytest.raises(AssertionError):
            evaluation_tools.row(tried._replace(**wrong))


# -- pairs -----------------------------------------------------------------------------------
def test_pairs_are_counted():
    assert pairs.errors(("nobody", 4, 0.2, "everyone", 0, 2))["wrong"] == 0.0
    assert pairs.errors(("alike", 3, 0.05, "everyone", 0, 1))["comparisons"] == 2000
    found = pairs.all_pairs((3, 2.0, 2))
    assert 0 < found["until"] <= found["all"]
    for name in pairs.OTHERS:
        assert pairs.beside((name, 3, 2.0, 2))["wrong"] == 0.0
    assert pairs.errors(("items", 4, 0.2, "everyone", 0, 1))["trials"] == 1
    n, first = pairs.crossing(0.9, 0.01, np.random.default_rng(1))
    assert first
    assert 8 < n < 60


def test_a_real_judge_is_asked():
    found = real_judge.measure(1)
    assert sum(found["answers"].values()) == 1
    assert 0.5 <= found["full"][0][2] <= 1.0
