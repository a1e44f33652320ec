"""Forecasts for every kind of rewards: what is drawn, what is simulated, what is cut off."""

import math

import numpy as np
import pytest

from surepick import Problem
from surepick.bench.forecast import (
    AB_TEST,
    ALGORITHMS,
    ASKED,
    HALF_GAP,
    LARGEST,
    LOWER_BOUND,
    LeadToFind,
    Room,
    draw_within,
    forecast,
    study_noise,
)
from surepick.errors import InvalidInputError, InvalidTypeError
from surepick.problem.noise import read_rewards
from surepick.report.planning import chart, explained, table
from surepick.simulate import Beta, Gaussian
from surepick.simulate.families import factorial

LINE = [[1, 0], [1, 1], [1, 2], [1, 4]]
LAYOUTS = factorial("3x2x2", interactions=0).problem.arms


# -- what rewards are ------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("text", "noise"),
    [
        ("symmetric", "symmetric"),
        ("number", "symmetric"),
        ("any", "any"),
        (" yes-no ", "yes-no"),
        ("0..10", (0.0, 10.0)),
        ("-1.5..-.5", (-1.5, -0.5)),
        ("0...5", (0.0, 0.5)),
        ("1e-3..1e3", (0.001, 1000.0)),
    ],
)
def test_rewards_are_read(text, noise):
    assert read_rewards(text) == noise


@pytest.mark.parametrize("text", ["", "yes", "0..", "..1", "a..b", "1..0", "0..inf", "0..nan"])
def test_rewards_that_are_none_are_refused(text):
    with pytest.raises(InvalidInputError):
        read_rewards(text)


def test_rewards_must_be_text():
    with pytest.raises(InvalidTypeError, match=r"yes-no, LO\.\.HI, symmetric or any"):
        read_rewards((0, 1))


def test_what_a_study_is_told_and_what_is_guessed():
    assert study_noise(None, None, "guessed") == (None, None)
    assert study_noise("number", None, "guessed") == ("symmetric", None)
    assert study_noise("number", 2.0, "equal") == ("equal", 2.0)
    assert study_noise("0..4", 0.5, "guessed") == ((0.0, 4.0), 0.5)
    for rewards, noise, told in (
        ("yes-no", None, "equal"),
        ("0..4", 1.0, "known"),
        ("number", None, "known"),
        ("number", 1.0, "sure"),
    ):
        with pytest.raises(InvalidInputError, match="noise"):
            study_noise(rewards, noise, told)


# -- truths ----------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("arms", "base", "lift"),
    [(np.eye(30), 0.02, 0.2), (np.eye(300), 0.5, 0.1), (LAYOUTS, 0.02, 0.2), (LINE, 0.3, 0.05)],
)
def test_rates_are_the_lift_apart_and_stay_rates(arms, base, lift):
    question = LeadToFind(Problem(arms, noise="yes-no"), base_rate=base, lift=lift)
    for trial in range(5):
        rates = np.sort(question.instance(ASKED, trial).values)[::-1]
        assert rates[:2] == pytest.approx([base * (1 + lift), base])
        assert rates[-1] > 0
        half = np.sort(question.instance(HALF_GAP, trial).values)[::-1]
        assert half[:2] == pytest.approx([base * (1 + lift / 2), base])
        assert half == pytest.approx(base + (rates - base) / 2)


def test_rates_stay_away_from_zero_where_they_can():
    """Options that never say yes would tell all about effects that are additive."""
    rates = draw_within(
        Problem.unstructured(20, noise="symmetric"),
        0.002,
        Room(0, 1, second=0.02),
        np.random.default_rng(0),
    ).values
    assert rates.min() >= 0.01 - 1e-12


def test_bounded_means_stay_between_their_bounds():
    question = LeadToFind(Problem(LAYOUTS, noise=(-5, 5)), gap=0.5)
    for trial in range(5):
        means = question.instance(ASKED, trial).values
        assert np.diff(np.sort(means))[-1] == pytest.approx(0.5)
        assert -5 < means.min() < 0 < means.max() < 5
        assert means.max() == pytest.approx(-means.min())


def test_a_lead_that_leaves_no_room_is_refused():
    with pytest.raises(InvalidInputError, match="smaller lead"):
        LeadToFind(Problem(LAYOUTS, noise="yes-no"), base_rate=0.02, lift=2.0)
    with pytest.raises(InvalidInputError, match="intercept"):
        LeadToFind(Problem([[1.0], [2.0], [3.0]], noise="yes-no"), base_rate=0.02, lift=0.1)


# -- the test with fixed numbers -------------------------------------------------------------
def test_an_ab_test_of_rates_has_their_variances():
    """By hand, for 46 items at 1.0 % at most and one at 1.5 %; sigma = 1/2 made it 34 million."""
    problem = Problem.unstructured(46, noise="yes-no")
    z = 3.0588  # of 1 − 0.05/45, from a table
    variance = 0.015 * 0.985 + 0.010 * 0.990
    each = variance * (2 * z) ** 2 / 0.005**2  # 36,936
    question = LeadToFind(problem, base_rate=0.01, lift=0.5, delta=0.05)
    pulls = question.fixed_sample(ASKED)
    assert pulls[AB_TEST] == pytest.approx(46 * each, rel=1e-3)
    assert pulls[AB_TEST] == pytest.approx(1.70e6, rel=1e-3)
    assert pulls[LARGEST] == pytest.approx(pulls[AB_TEST] / 4, rel=1e-3)
    half = LeadToFind(Problem.unstructured(46, noise=0.5), gap=0.005).fixed_sample(ASKED)
    assert half[AB_TEST] == pytest.approx(34.4e6, rel=2e-3)


def test_the_ab_test_of_rates_keeps_its_promise():
    k, base, lift, delta = 5, 0.1, 0.3, 0.1
    question = LeadToFind(
        Problem.unstructured(k, noise="yes-no"), base_rate=base, lift=lift, delta=delta
    )
    n = question.fixed_sample(ASKED)[AB_TEST] // k
    rng = np.random.default_rng(0)
    for best in (base * (1 + lift), base):
        rates = rng.binomial(n, [best, *[base] * (k - 1)], size=(20_000, k)) / n
        spread = np.sqrt(rates * (1 - rates) / n)
        z = 1.959964  # of 1 − 0.1/4
        order = np.argsort(rates, axis=1)
        two = np.take_along_axis(rates, order, 1)[:, -2:]
        error = np.hypot(*np.take_along_axis(spread, order, 1)[:, -2:].T)
        wins = two[:, 1] - two[:, 0] > z * error
        if best > base:
            assert (wins & (order[:, -1] == 0)).mean() >= 1 - delta - 0.01
        else:
            assert (wins & (order[:, -1] != 0)).mean() <= delta


# -- what is simulated -----------------------------------------------------------------------
def test_algorithms_that_need_the_scale_need_a_kind_that_has_one():
    unknown = LeadToFind(Problem(LINE), gap=1.0)
    assert [c.text for c in unknown.simulated] == [ALGORITHMS[0]]
    known = LeadToFind(Problem(LINE, noise=1.0), gap=1.0)
    assert [c.text for c in known.simulated] == list(ALGORITHMS)
    rates = LeadToFind(Problem(LINE, noise="yes-no"), base_rate=0.2, lift=0.2)
    assert [c.text for c in rates.simulated] == list(ALGORITHMS[:-1])
    mixed = LeadToFind(Problem(LINE), gap=1.0, algorithms=["rage", "pooled-peleg"], trials=2)
    found = forecast(mixed)
    assert found.methods == ["pooled-peleg", AB_TEST, LARGEST, LOWER_BOUND]
    assert any(
        note.startswith("rage is not simulated: noise: rage needs to") for note in found.notes
    )
    with pytest.raises(InvalidInputError, match="needs to know the scale"):
        LeadToFind(Problem(LINE), gap=1.0, algorithms=["rage"])


@pytest.mark.some(1)
@pytest.mark.parametrize("noise", [None, "equal"])
def test_a_guess_is_told_to_nobody_but_scales_everything(noise):
    """Twice the noise and twice the gap: the same runs, tests and bounds."""
    one, two = (
        forecast(LeadToFind(Problem(LINE, noise=noise), gap=s * 0.5, noise=s * 0.3, trials=3))
        for s in (1.0, 2.0)
    )
    assert one.runs["pulls"].tolist() == two.runs["pulls"].tolist()
    for method in (AB_TEST, LOWER_BOUND):
        means = [found.cell(method, ASKED)["mean"] for found in (one, two)]
        assert means[0] == pytest.approx(means[1], rel=2e-3)  # designs are solved to 1e-3
    assert one.question.family == Gaussian(scale=0.3)
    assert not any("No noise was given" in note for note in one.notes)


def test_the_guess_that_was_made_is_said():
    found = forecast(LeadToFind(Problem(LINE), gap=2.0, trials=2))
    assert any("differ by about 1 " in note for note in found.notes)
    assert "about 1 (a guess)" in chart(found).title
    bounded = LeadToFind(Problem(LINE, noise=(0, 8)), gap=0.5)
    assert bounded.deviation == 2.0
    family = bounded.family
    assert family == Beta(0.0, 8.0, 3.0)
    assert family.draw(np.random.default_rng(0), 4.0, 10**5, 1.0).std() == pytest.approx(
        2, rel=0.02
    )


def test_yes_no_forecasts():
    problem = Problem.unstructured(4, noise="yes-no")
    found = forecast(
        LeadToFind(problem, base_rate=0.3, lift=0.4, algorithms=["pooled-peleg"], trials=4)
    )
    assert found.methods == ["pooled-peleg", AB_TEST, LARGEST]
    assert found.bound == 0.0
    head, rows = table(found)
    assert "× bound" not in head
    assert all(len(row) == len(head) for row in rows)
    assert math.isfinite(found.cell("pooled-peleg", ASKED)["mean"])
    assert "p(1 − p) + q(1 − q)" in explained(found)
    assert "the best at 42 %, all others at 30 % at most" in chart(found).title


@pytest.mark.validation
def test_bounded_forecasts():
    found = forecast(
        LeadToFind(Problem(LINE, noise=(0, 1)), gap=0.1, algorithms=["pooled-peleg"], trials=2)
    )
    assert found.methods == ["pooled-peleg", AB_TEST, LARGEST]
    assert found.cell("pooled-peleg", ASKED)["wrong"] <= 1


# -- what is cut off -------------------------------------------------------------------------
@pytest.mark.validation
def test_no_algorithm_hangs_a_forecast():
    """Round robin takes millions of single pulls here."""
    question = LeadToFind(
        Problem(np.eye(8), noise=1.0),
        gap=0.001,
        algorithms=["uniform", "pooled-peleg"],
        trials=2,
        seconds=2.0,
    )
    seen = []
    found = forecast(question, progress=seen.append)
    assert seen[-1] == question.size
    cell = found.cell("uniform", ASKED)
    assert (cell["trials"], cell["gave_up"], cell["wrong"], cell["failed"]) == (1, 1, 0, 0)
    assert cell["mean"] > 100
    assert cell["skipped"] == 1
    notes = " ".join(found.notes)
    assert "uniform was cut off after 2 s of computing: 5 of 6 runs" in notes
    head, rows = table(found)
    row = next(r for r in rows if r[0].startswith("uniform"))
    assert row[0].endswith("(cut off: 1 of 6 runs)")
    assert row[1].startswith("> ")
    assert row[2] == ""
    assert row[head.index("half the gap")] == "–"
    assert found.cell("pooled-peleg", ASKED)["skipped"] == 0


def test_runs_give_up_after_many_times_the_pulls_of_a_test():
    question = LeadToFind(Problem(LINE, noise=1.0), gap=0.1)
    assert question.sample_limit(ASKED) == 20 * question.fixed_sample(ASKED)[AB_TEST]
    assert question.sample_limit(HALF_GAP) > 3 * question.sample_limit(ASKED)
    assert LeadToFind(Problem(LINE, noise=1.0), gap=50.0).sample_limit(ASKED) == 20_000
    assert LeadToFind(Problem(LINE, noise=1.0), gap=0.1, max_samples=7).sample_limit(ASKED) == 7


@pytest.mark.parametrize(
    ("noise", "settings", "said"),
    [
        (None, {}, "gap is missing"),
        (None, {"gap": 1, "lift": 0.1}, "lift is for yes/no"),
        ("yes-no", {"base_rate": 0.1}, "lift is missing"),
        ("yes-no", {"lift": 0.1}, "base_rate is missing"),
        ("yes-no", {"gap": 0.1}, "give base_rate and lift"),
        ("yes-no", {"base_rate": 0.6, "lift": 0.8}, "is not below 1"),
        ("yes-no", {"base_rate": 1.2, "lift": 0.8}, "base_rate must"),
        (
            "yes-no",
            {"base_rate": 0.1, "lift": 0.1, "noise": 1.0},
            "leave it out, the problem already has",
        ),
        (1.0, {"gap": 1, "noise": 1.0}, "leave it out, the problem already has"),
        ((0, 1), {"gap": 0.1, "noise": 0.5}, "have a standard deviation below 0.5"),
        (None, {"gap": 1, "noise": 0.0}, "noise must be"),
        (None, {"gap": 1, "seconds": 0.0}, "seconds must be"),
        (None, {"gap": 1, "max_samples": 0}, "max_samples must be"),
    ],
)
def test_bad_questions_are_named(noise, settings, said):
    with pytest.raises(InvalidInputError, match=said):
        LeadToFind(Problem(LINE, noise=noise), **settings)


def test_smaller_rates_and_times_are_planned_for_from_the_other_side():
    rates = Problem.unstructured(4, noise="yes-no", minimise=True)
    question = LeadToFind(rates, base_rate=0.1, lift=0.4, trials=2)
    assert question.words == "yes/no rewards, the best at 6 %, all others at 10 % at least"
    best, second, *_ = np.sort(question.instance(ASKED, 0).values)
    assert (best, second) == pytest.approx((0.06, 0.1))
    assert question.instance(ASKED, 0).best == question.instance(ASKED, 0).values.argmin()
    with pytest.raises(InvalidInputError, match=r"lift: -0\.5 times a base_rate of 0\.1 is"):
        LeadToFind(rates, base_rate=0.1, lift=1.5)
    times = Problem(np.c_[np.ones(5), np.arange(5.0)], noise=1.0, minimise=True)
    gaps = np.sort(LeadToFind(times, 0.5).instance(ASKED, 1).gaps)
    assert gaps[:2] == pytest.approx([0.0, 0.5])
    found = forecast(LeadToFind(times, 3.0, algorithms=["pooled-peleg"], trials=2))
    assert found.cell("pooled-peleg", ASKED)["failed"] == 0
