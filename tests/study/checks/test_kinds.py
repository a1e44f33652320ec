"""What the checks of a study say under each kind of noise."""

from dataclasses import replace

import numpy as np
import pytest

import surepick as sp
from surepick.run.diagnostics import ArmSummary
from surepick.run.doubts import scales_of
from surepick.run.guarantee import only_yes_and_no
from surepick.storage.memory import MemoryStorage
from surepick.study.checks.checks import Checks, better_kinds, pulls_if_equal

ARMS = np.column_stack([np.ones(12), np.linspace(-1, 1, 12)])
RATES = 0.05 + 0.4 * (ARMS[:, 1] + 1) / 2


def finished(noise, reward, seed=0, problem=None, **settings):
    """A study of this noise, taken to its end (or to 4,000 pulls)."""
    problem = problem or sp.Problem(ARMS, noise=noise)
    settings = {"delta": 0.05, "max_samples": 4000} | settings
    study = sp.create_study("s", problem, storage=MemoryStorage(), **settings)
    draws = np.random.default_rng(seed)
    while pulls := study.ask(200):
        study.tell_many([(p.id, reward(p.arm, draws)) for p in pulls])
    return study


def normal(scale, bend=0.0):
    scales = np.broadcast_to(scale, len(ARMS))

    def reward(arm, draws):
        return ARMS[arm, 1] + bend * (arm == 5) + scales[arm] * draws.normal()

    return reward


def click(arm, draws):
    return float(draws.random() < RATES[arm])


def share(arm, draws):
    return 10.0 * float(draws.beta(9 * RATES[arm], 9 * (1 - RATES[arm])))


KINDS = [
    (None, normal(3.0)),
    ("equal", normal(3.0)),
    (3.0, normal(3.0)),
    ([3.0] * 6 + [1.0] * 6, normal([3.0] * 6 + [1.0] * 6)),
    ("yes-no", click),
    ((0.0, 10.0), share),
]


@pytest.mark.some(1)
@pytest.mark.parametrize(("noise", "reward"), KINDS)
def test_where_all_is_well_nothing_is_withdrawn(noise, reward):
    for seed in range(2):
        study = finished(noise, reward, seed, check_fit=1.0)
        checks = study.checks()
        assert checks.warnings == []
        assert checks.fit is not None
        assert not checks.fit.blind
        assert study.answer.guarantee.kind == "pac"
        assert (checks.scales is not None) == (noise == "equal")
        again = Checks.from_dict(study.status()["checks"])
        assert again.to_dict() == checks.to_dict()


@pytest.mark.some(1)
@pytest.mark.parametrize(
    ("noise", "reward"),
    [
        (None, normal(0.3, bend=2.0)),
        ("equal", normal(0.3, bend=2.0)),
        ([0.3] * 6 + [0.2] * 6, normal([0.3] * 6 + [0.2] * 6, bend=2.0)),
        ((0.0, 10.0), lambda arm, draws: 8.0 if arm == 5 else share(arm, draws)),
    ],
)
def test_a_model_that_does_not_fit_is_noticed_without_a_scale(noise, reward):
    study = finished(noise, reward, check_fit=0.5)
    assert "the linear model does not fit" in study.answer.guarantee
    assert 5 in study.checks().fit.arms


@pytest.mark.some(1)
@pytest.mark.parametrize(("bend", "stands"), [(0.3, True), (2.0, False)])
def test_features_that_are_off_by_more_than_was_allowed_withdraw_the_guarantee(bend, stands):
    problem = sp.Problem(ARMS, misfit=0.5)
    study = finished(None, normal(0.3, bend=bend), problem=problem, check_fit=0.5)
    checks = study.checks()
    assert not checks.fit.blind
    assert bool(checks.fit) != stands
    assert (study.answer.guarantee.kind == "pac") == stands
    if not stands:
        assert checks.fit.arms == (5,)


def test_drift_is_noticed_without_a_scale():
    study = sp.create_study(
        "s", sp.Problem.unstructured(4, noise="symmetric"), storage=MemoryStorage()
    )
    draws = np.random.default_rng(0)
    told = 0
    while told < 600 and (pulls := study.ask(20)):
        rewards = [(p.id, 0.02 * draws.normal() + 2.0 * (told > 300)) for p in pulls]
        told += len(study.tell_many(rewards))
    checks = study.checks()
    assert checks.broken == []
    assert any("All options changed together" in remark for remark in checks.remarks)


def test_an_option_that_changes_alone_withdraws_the_guarantee():
    study = sp.create_study(
        "s", sp.Problem.unstructured(4, noise="symmetric"), storage=MemoryStorage(), delta=1e-40
    )
    draws = np.random.default_rng(0)
    told = 0
    while told < 600 and (pulls := study.ask(20)):
        later = told > 300
        rewards = [(p.id, 0.2 * draws.normal() + 2.0 * later * (p.arm == 2)) for p in pulls]
        told += len(study.tell_many(rewards))
    checks = study.checks()
    assert checks.broken == ["rewards changed over time"]
    assert checks.drift.arms[0] == 2


@pytest.mark.some(1)
@pytest.mark.parametrize("noise", [None, "yes-no"])
def test_options_that_vary_by_different_amounts_are_no_misfit(noise):
    """With one noise scale for all, the loud ones would seem not to fit, or to drift."""
    loud = np.where(np.arange(12) % 3 == 0, 6.0, 0.5)
    for seed in range(2):
        reward = normal(loud) if noise is None else click
        study = finished(noise, reward, seed, check_fit=0.5)
        assert study.checks().warnings == []


def test_scales_that_differ_withdraw_a_guarantee_that_rests_on_equal_ones():
    loud = np.where(np.arange(12) == 11, 6.0, 1.0)
    study = finished("equal", normal(loud), seed=1)
    (warning,) = study.checks().warnings
    assert "'11' (" in warning
    assert "leave noise out" in warning
    assert "some options vary more than others" in study.answer.guarantee
    assert study.answer.guarantee.kind == "heuristic"
    assert study.status()["checks"]["scales"]["alarm"]
    fresh = sp.load_study("s", study.storage)  # looks at all batches at once
    assert fresh.checks().scales.log_evidence == pytest.approx(study.checks().scales.log_evidence)


def test_noise_of_each_option_that_was_stated_too_small_is_said():
    stated = np.array([3.0] * 6 + [2.0] * 6)
    study = finished(list(stated), normal(4 * stated))
    (warning,) = [text for text in study.checks().warnings if "larger than stated" in text]
    assert "times what was stated for it" in warning
    right = finished(list(stated), normal(stated))
    assert right.checks().warnings == []
    wasteful = finished(list(10 * stated), normal(stated))
    assert any("times as many measurements as needed" in text for text in wasteful.checks().remarks)


def test_an_unknown_scale_is_never_said_to_be_wrong():
    for noise in (None, "equal"):
        for scale in (1e-3, 1e3):
            study = finished(noise, lambda arm, draws, s=scale: s * normal(3.0)(arm, draws))
            status = study.status()
            assert status["checks"]["noise_alarm"] == ""
            assert status["noise_estimated"]
            assert status["noise"] == pytest.approx(3 * scale, rel=0.5)


# -- advice ------------------------------------------------------------------------------------
@pytest.mark.some(2)
@pytest.mark.parametrize("noise", [None, "equal", 0.5, "yes-no", (0.0, 1.0)])
def test_rewards_that_are_all_yes_or_no_are_pointed_out(noise):
    study = finished(noise, click, max_samples=60)
    said = [text for text in study.checks().warnings if "--rewards yes-no" in text]
    assert len(said) == (noise in (None, "equal"))


@pytest.mark.parametrize(
    ("rewards", "expected"),
    [
        ([0, 1] * 20, True),
        ([0] * 40, False),  # the same every time: no noise to be seen
        ([1] * 40, False),
        ([0, 1] * 4, False),  # too few
        ([0, 2] * 20, False),
        ([0, 1] * 19 + [0.5, 0.5], False),
        ([-1, 0, 1, 1] * 10, False),
        ([1e-3, 0.0] * 20, False),
    ],
)
def test_only_zeros_and_ones_are_yes_and_no(rewards, expected):
    arms = np.arange(len(rewards)) // 2 % 3
    told = ArmSummary.of(3, arms, rewards)
    assert only_yes_and_no(told.counts, told.sums, told.spread) == expected


@pytest.mark.validation
def test_what_equal_would_have_saved_is_said_where_options_vary_alike():
    problem = sp.Problem.unstructured(6, noise="symmetric")
    truth = np.random.default_rng(2).normal(size=6)

    def reward(arm, draws):
        return truth[arm] + 2.0 * draws.normal()

    found = []
    for seed in range(6):
        study = finished(None, reward, seed, problem=problem, delta=1e-9)
        fewer = pulls_if_equal(study.current_run)
        said = [text for text in study.checks().remarks if "--noise equal" in text]
        assert fewer is None or fewer <= study.current_run.samples
        assert len(said) <= (fewer is not None and fewer <= 0.9 * study.current_run.samples)
        found += said
    assert found
    assert "would have been enough" in found[0]


def test_nothing_is_said_of_equal_where_options_vary_differently():
    loud = np.where(np.arange(12) % 2 == 0, 5.0, 1.0)
    study = finished(None, normal(loud))
    assert not any("--noise equal" in text for text in study.checks().remarks)


def test_nothing_is_said_of_equal_beside_a_sign_of_skew():
    problem = sp.Problem.unstructured(6, noise="symmetric")
    truth = np.random.default_rng(2).normal(size=6)

    def reward(arm, draws):
        return truth[arm] + 2.0 * draws.exponential()

    study = finished(None, reward, 3, problem=problem, delta=1e-9)
    run = study.current_run
    fewer, skew = pulls_if_equal(run), run.doubts.skew(problem)
    assert fewer is not None
    assert fewer < 0.9 * run.samples
    alike = scales_of(problem, run.told())
    assert better_kinds(run, alike, replace(skew, log_evidence=0.0))
    assert not better_kinds(run, alike, skew)
    assert not any("--noise equal" in text for text in study.checks().remarks)
