"""Where PooledPeleg's pulls go: that the factors are what they say."""

import json
import math

import numpy as np
import pytest
from benchmarks import decomposition, fewer_pulls, yes_no

import surepick as sp
from surepick.bench.named import build_instance
from surepick.simulate import Instance


@pytest.mark.some(1)
@pytest.mark.parametrize("text", ["standard:gap=0.8", "confounding:d=3,omega=0.4"])
def test_factors_multiply_to_the_pulls_that_trials_take(text):
    delta, n = 0.1, 12
    instance, algorithm = build_instance(text), sp.algorithms.get("pooled-peleg", delta=delta)
    found = decomposition.measure((text, delta, 0, n, 3))
    plain = sp.simulate.trials(
        algorithm, instance, n=n, seed=3
    )  # the same rewards, nobody watching
    bound = sp.design.complexity(instance.problem, instance.theta).lower_bound(delta)
    assert found["wrong"] == 0
    assert plain["correct"].all()
    each = decomposition.factors(np.array(found["rows"]), delta)
    assert math.prod(each.values()) == pytest.approx(plain["samples"].mean() / bound)
    assert min(each["blocks"], each["first block"], each["overshoot"]) > 1


def test_of_rates_the_factors_multiply_to_the_pulls_too():
    text, delta, n = "3 % beside 2.5 %", 0.1, 5
    rates = decomposition.CLICKS[text]
    instance = Instance(sp.Problem.unstructured(2, noise="yes-no"), rates)
    found = decomposition.measure((text, delta, 0, n, 3))
    plain = sp.simulate.trials(sp.algorithms.PooledPeleg(delta), instance, n=n, seed=3)
    right = plain["samples"][plain["correct"]]
    each = decomposition.factors(np.array(found["rows"]), delta)
    bound = yes_no.lower_bound(rates, delta)
    assert math.prod(each.values()) == pytest.approx(right.mean() / bound)
    assert each["rivals"] == pytest.approx(1.0)  # there is one


def test_the_lower_bound_of_rates_is_the_best_of_all_shares():
    rates, delta = np.array([0.3, 0.2, 0.1]), 0.05
    shares = np.random.default_rng(0).dirichlet([8.0, 8.0, 3.0], 20_000)
    told = [yes_no.nats_apart(rates[0], rates[i], shares[:, 0], shares[:, i]) for i in (1, 2)]
    best = decomposition.kl(delta) / np.min(told, axis=0).max()
    assert yes_no.lower_bound(rates, delta) == pytest.approx(best, rel=2e-3)
    assert yes_no.lower_bound(rates, delta) <= best * (1 + 1e-6)


@pytest.mark.validation
def test_luck_is_none_where_only_one_can_be_last():
    # Two arms: the information of a block with n and m pulls is nm/(n + m), with one rival nothing
    # is lost between rivals, and what the truth would earn has the mean that Wald's identity gives.
    instance = build_instance("standard:gap=0.7,d=2")
    algorithm = sp.algorithms.get("pooled-peleg", delta=0.05)
    rows = [decomposition.steps(algorithm, instance, np.random.SeedSequence(i)) for i in range(150)]
    _, _, _, known, earned, alone, against = np.array([row for row in rows if row]).T
    assert alone == pytest.approx(against, rel=1e-6)
    apart = earned - known
    assert abs(apart.mean()) < 3 * apart.std() / math.sqrt(len(apart))


def test_the_command_writes_its_tables(tmp_path, monkeypatch):
    monkeypatch.setattr(decomposition, "DELTAS", (0.1,))
    asked = ["x", "--trials", "2", "--out", str(tmp_path), "--instances", "standard:gap=0.9,d=3"]
    monkeypatch.setattr("sys.argv", asked)
    decomposition.main()
    text = (tmp_path / "decomposition.md").read_text()
    assert text.count("| `standard:gap=0.9,d=3` |") == 1
    parts = json.loads((tmp_path / "decomposition.json").read_text())["parts"]
    assert [len(part["rows"]) for part in parts.values()] == [2]


# -- other choices ---------------------------------------------------------------------------
def test_every_variant_changes_what_is_pulled_and_nothing_stays_changed():
    task = ("standard:gap=0.8,d=6", 2, 5)
    before = fewer_pulls.measure(("usual pace", *task))["rows"]
    for variant in fewer_pulls.VARIANTS:
        found = fewer_pulls.measure((variant, *task))["rows"]
        # basis vectors are equally far from each other: none of them is near
        same = variant == "usual pace" or variant.startswith("near rivals")
        assert (found == before) == same, variant
    assert fewer_pulls.measure(("usual pace", *task))["rows"] == before


def test_a_near_rival_counts_for_less_where_that_is_asked_for():
    task = ("many_arms:k=40", 1, 5)
    plain = fewer_pulls.measure(("usual pace", *task))["rows"]
    assert fewer_pulls.measure(("near rivals: 100 times at most", *task))["rows"] != plain


def test_variants_are_compared_with_the_first():
    def cell(pulls):
        rows = [[one, 18.0, 5.0, 4.0, 4.0, 3.5, 3.0] for one in pulls.values()]
        return {"rows": rows, "right": list(pulls)}

    parts = {
        "as it is | x": cell({0: 10.0, 1: 20.0, 2: 30.0}),
        "caution 3 | x": cell({0: 11.0, 2: 33.0, 3: 900.0}),  # trial by trial, where both are right
    }
    text = fewer_pulls.compared(parts, ["as it is", "caution 3"], ("x",))
    ratio = 20.0 / decomposition.kl(0.1)
    assert f"| as it is | {ratio:.2f} |  | {ratio:.2f} |" in text
    assert "| +10.0 ± 0.0 % |" in text


def test_variants_meet_the_same_rewards():
    instance = build_instance("standard:gap=0.5")
    pulls = []
    for fewest in (4, 40):
        run = sp.algorithms.PooledPeleg(0.1, min_batch=fewest).start(instance.problem)
        fewer_pulls.the_same_rewards(run, instance, np.random.SeedSequence(7))
        draws = map(np.random.default_rng, np.random.SeedSequence(7).spawn(len(run.pulls)))
        noise = [draw.standard_normal(n).sum() for draw, n in zip(draws, run.pulls)]
        np.testing.assert_allclose(run.sums, run.pulls * instance.means + noise)
        pulls.append(run.samples)
    assert pulls[0] != pulls[1]
