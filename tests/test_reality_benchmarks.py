"""The long measurements of misfit and drift, in small: that they count what they say."""

import math

import numpy as np
import pytest
from benchmarks import drift, living, misfit, traffic, truths

import surepick as sp
from surepick.run.diagnostics import ArmSummary


# -- truths ------------------------------------------------------------------------------------
@pytest.mark.parametrize("share", misfit.SHARES)
def test_features_explain_the_share_that_they_should(share):
    truth = truths.explained((3, 4, 5), share, np.random.default_rng(1))
    fitted = truth.features @ np.linalg.lstsq(truth.features, truth.means, rcond=None)[0]
    assert truth.features.shape == (60, 10)
    assert np.var(truth.means) == pytest.approx(1.0, abs=0.3)
    assert np.var(fitted) / np.var(truth.means) == pytest.approx(share, abs=1e-9)
    raised = truths.lifted(truth, 0.25)
    assert raised.best == truth.best
    assert raised.lead == pytest.approx(truth.lead + 0.25)


@pytest.mark.some(4)
@pytest.mark.parametrize("name", truths.MISFITS)
def test_features_do_not_describe_these_truths(name):
    for seed in range(3):
        truth = truths.misfitting(name, np.random.default_rng(seed))
        assert truth.lead >= 0.5 * truths.LEAD
        assert truth.misfit > 0.01
        rates = truth.as_rates()
        assert rates.best == truth.best
        assert (rates.means.min(), rates.means.max()) == pytest.approx((0.1, 0.5))
        scale = 0.4 / (truth.means.max() - truth.means.min())
        assert rates.misfit == pytest.approx(scale * truth.misfit, rel=1e-6)


def test_the_misfit_of_a_truth_by_hand():
    """A line is at best off by half of what the middle of three points is off their line by."""
    features = np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]])
    assert truths.Truth(features, np.array([0.0, 3.0, 2.0])).misfit == pytest.approx(1.0)
    assert truths.Truth(features, features @ [1.0, 2.0]).misfit == pytest.approx(0.0, abs=1e-9)


def test_some_truths_mislead_and_others_do_not():
    def points_at_the_best(name):
        truth = truths.misfitting(name, np.random.default_rng(0))
        theta = np.linalg.lstsq(truth.features, truth.means, rcond=None)[0]
        return int(np.argmax(truth.features @ theta)) == truth.best

    assert points_at_the_best("a saturating dose")
    assert not points_at_the_best("a saturating dose that has a price")
    assert not points_at_the_best("one outlying option")


# -- misfit ------------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", [None, "yes-no"])
def test_all_that_a_run_measured_is_summed_up(kind, monkeypatch):
    """The summary is that of all rewards, though batches come as totals and in parts."""
    drawn, family = [], sp.simulate.Bernoulli if kind else sp.simulate.Gaussian
    name = "Bernoulli" if kind else "Gaussian"

    class Remembers(family):
        def totals(self, rng, means, counts, scale):
            told = []
            for mean, count in zip(means, counts):
                told.append(self.draw(rng, mean, count, scale))
            drawn.append(told)
            sums = np.array([rewards.sum() for rewards in told])
            return sums, np.array([((rewards - rewards.mean()) ** 2).sum() for rewards in told])

    asked = []
    ask = sp.Run.ask

    def remember(run):
        asked.append(ask(run).pulls.arms)
        return ask(run)

    monkeypatch.setattr(misfit, name, Remembers)
    monkeypatch.setattr(sp.Run, "ask", remember)
    means = np.array([0.9, 0.2, 0.4])
    problem = sp.Problem([[1, 0], [1, 1], [1, 2]], noise=kind, misfit=math.inf)
    run, told = misfit.run_to_end(problem, means, 0.1, np.random.default_rng(0))
    arms = np.concatenate([np.repeat(a, [len(r) for r in t]) for a, t in zip(asked, drawn)])
    rewards = np.concatenate([reward for told in drawn for reward in told])
    whole = ArmSummary.of(3, arms, rewards)
    assert run.answer.arm == 0
    assert told.counts.tolist() == whole.counts.tolist()
    assert told.sums == pytest.approx(whole.sums)
    assert told.spread == pytest.approx(whole.spread)


def test_a_cost_is_measured_on_the_same_table():
    found = misfit.measure_cost(("σ known", 0, 0.7, 0, 2, 0))
    assert len(found["guided"]) == len(found["without"]) == 2
    assert min(found["guided"] + found["without"]) > 24
    again = misfit.measure_cost(("σ known", 0, 0.7, 1, 1, 0))
    assert found["guided"][1:] == again["guided"]
    rates = misfit.table_of((2, 3, 4), 0.5, "yes-no", np.random.default_rng(0)).means
    assert (rates >= 0.005).all()
    assert (rates < 0.5).all()


def test_trust_in_wrong_features_is_counted_as_an_error_and_distrust_is_not():
    name = "a saturating dose that has a price"
    trusting = misfit.measure_error((name, "σ known", "0", 0.2, 0, 4, 0))
    assert trusting["wrong"] >= 3
    assert trusting["wrong"] - trusting["spoke"] <= trusting["unnoticed"] <= trusting["wrong"]
    for trusted in ("largest deviation", "inf"):
        found = misfit.measure_error((name, "σ known", trusted, 0.05, 0, 4, 0))
        assert found["wrong"] <= 1
        assert found["spoke"] == 0


@pytest.mark.parametrize("kind", misfit.ERROR_KINDS)
def test_the_check_speaks_where_it_is_plain_that_features_are_wrong(kind):
    truth = truths.misfitting("interactions left out", np.random.default_rng(0)).as_rates()
    noise = 0.1 if kind == "σ known" else misfit.KINDS[kind]
    problem = sp.Problem(truth.features, noise=noise)
    run = sp.algorithms.PooledPeleg(0.1).start(problem)
    for means, alarm in ((truth.means, True), (np.full(24, 0.3), False)):
        counts = np.full(24, 1000)
        spread = counts * means * (1 - means) if kind == "yes-no" else 0.01 * counts
        assert misfit.spoke(run, ArmSummary(counts, counts * means, spread)) == alarm


def test_the_tables_of_misfit():
    parts = {}
    for key in misfit.tasks(4, 4, 0):
        part = {"seconds": 30, "wrong": 0}
        if key.startswith("cost"):
            part |= {"guided": [100, 400], "without": [200, 200], "wrong": [1, 0]}
            if key.startswith("cost | equal | 1 | 0.7"):
                part |= {"guided": [200, 200]}
        else:
            part |= {"trials": 4, "pulls": [100], "spoke": 1, "unnoticed": 0, "endless": 0}
            if key.startswith("error | one outlying option | σ known | 0 | 0.05"):
                part |= {"wrong": 4, "unnoticed": 3}
        parts[key] = part
    text = misfit.report(parts, 4, 4)
    assert "60 with features as a guide, 0 without" in text
    assert "| equal | 60 | 200 | 1.00 ± 0.69 | 200 | 1.00 ± 0.69 | 200 | **1.00** ± 0.00 |" in text
    assert "one outlying option | 100 | **1.000** (0.150 – 1.000) | 0.250 | 0.750 |" in text
    assert "all of these | 100 | 0.125 (0.012 – 0.409) | 0.250 | 0.094 |" in text
    assert misfit.geometric(np.array([0.5, 2.0]))[0] == pytest.approx(1.0)


# -- drift -------------------------------------------------------------------------------------
def test_levels_in_time():
    assert drift.stretch(np.array([0, 9, 10, 10.9, 11, 12.2])).tolist() == [0, 0, 1, 1, 2, 3]
    assert drift.stretch(drift.MOST) < drift.STRETCHES
    times = np.arange(20_000)
    level = {name: drift.levels(name, np.random.default_rng(0))(times) for name in drift.DRIFTS}
    assert not level["none"].any()
    assert np.abs(level["cycle"]).max() == pytest.approx(3.0, abs=1e-3)
    shifts, walk = (np.unique(level[name]) for name in ("shifts", "walk"))
    assert len(shifts) == len(walk) == drift.stretch(19_999) + 1
    assert 3.5 < shifts.std() < 6.5
    steps = np.diff(level["walk"])
    assert 0.7 < steps[steps != 0].std() < 1.3


def test_shifts_leave_runs_as_they_are_where_levels_cancel():
    """RAGE compares within a phase: to the last pull what it does without drift."""
    rage = [drift.measure(("RAGE, σ known", name, False, 0, 3, 0)) for name in ("none", "shifts")]
    assert rage[0]["pulls"] == rage[1]["pulls"]
    within = drift.measure(("RAGE, σ known, levels change within phases", "none", False, 0, 3, 0))
    assert within["pulls"] == rage[0]["pulls"]


@pytest.mark.validation
def test_shifts_mislead_who_pools_all_pulls_and_not_who_compares_within_blocks():
    pooled = drift.measure(("LinGapE, σ known", "shifts", False, 0, 2, 0))
    assert pooled["wrong"] >= 1
    for way in list(drift.WAYS)[:4]:
        found = drift.measure((way, "shifts", False, 0, 2, 0))
        assert found["wrong"] == 0
        assert found["endless"] == 0


@pytest.mark.some(1)
@pytest.mark.parametrize("batches", drift.BATCHES)
def test_a_level_that_rises_misleads_who_measures_arm_by_arm(batches):
    wrong = [drift.rising((0.1, batches, order, 0, 3, 0))["wrong"] for order in drift.ORDERS]
    assert wrong[0] <= 1
    assert wrong[1] >= 2
    parts = {key: {"trials": 4, "wrong": 1} for key in drift.rising_tasks(4, 0)}
    assert drift.rising_report(parts).count("| 1 of 4 |") == len(parts)


def test_the_tables_of_drift():
    parts = {
        key: {"pulls": [100, 100], "trials": 2, "wrong": 0, "endless": 0, "seconds": 30}
        for key in drift.tasks(20, 20, 0)
    }
    for key in parts:
        if key.startswith("PooledPeleg, σ known, misfit inf | walk | led"):
            parts[key]["pulls"] = [120, 120]
        if key.startswith("LinGapE, σ known | shifts"):
            parts[key] |= {"wrong": 2, "pulls": [400, 100]}
    text = drift.report(parts, 20, 20)
    assert "PooledPeleg, σ known, misfit inf | walk | 120 | **1.20** ± 0.00 | 0 | 0 of 4 |" in text
    assert (
        "LinGapE, σ known | shifts | 200 | 2.00 ± 0.80 | 0 | **4 of 4** | 0.150 – 1.000 |" in text
    )
    assert "| LinGapE, σ known | shifts | 4 of 4 | 0.150 – 1.000 |" in text


# -- traffic ---------------------------------------------------------------------------------
def test_a_site_is_decided_with_fewer_visitors_than_a_test_of_fixed_size():
    rates = traffic.rates_of("clear")
    assert (len(rates), rates.argmax()) == (46, 0)
    found = traffic.measure(("surepick, daily", "clear", 0, 1, 1))
    assert found["outcomes"] == ["right"]
    assert found["visitors"][0] < traffic.size(rates) * len(rates)
    assert traffic.measure((traffic.RULES[0], "tied", 0, 1, 1))["outcomes"] == ["right"]


# -- living ------------------------------------------------------------------------------------
def test_all_that_was_told_wrongly_is_corrected_at_the_end(monkeypatch):
    made = []

    def create(*given, **more):
        made.append(create_study(*given, **more))
        return made[-1]

    create_study = sp.create_study
    monkeypatch.setattr(sp, "create_study", create)
    monkeypatch.setattr(living, "MOST", 80)
    monkeypatch.setattr(living, "SHARE", 0.3)
    for way in living.WAYS:
        living.corrected("yes-no", way, np.random.default_rng(3))
        living.corrected(1.0, way, np.random.default_rng(3))
    right, left = made[:2], made[2:]
    assert all(study.corrections() for study in right)
    assert not any(study.corrections() for study in left)
    assert np.abs(right[1].rewards().values).max() < 5 < np.abs(left[1].rewards().values).max()
