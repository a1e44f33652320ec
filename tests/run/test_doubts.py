"""What single rewards say against the kind of noise that was stated."""

import numpy as np
import pytest

import surepick as sp
from surepick.run import doubts
from surepick.run.diagnostics import beside
from surepick.run.doubts import DRIFTED, SKEWED, UNEVEN

PROBLEM = sp.Problem.unstructured(["a", "b"], noise="symmetric")


def times(seed, spread=(1.0, 1.0)):
    """Waiting times, which are skewed; with a lead that is found."""
    draw = np.random.default_rng(seed)
    return lambda arm: -(2.0 + 0.4 * (1 - arm) + spread[arm] * draw.exponential())


def readings(seed, spread=(1.0, 1.0)):
    draw = np.random.default_rng(seed)
    return lambda arm: 0.4 * arm + spread[arm] * draw.normal()


def test_a_promise_that_rests_on_symmetry_is_withdrawn_where_rewards_are_skewed():
    kinds = [sp.identify(PROBLEM, times(seed), 0.01).guarantee for seed in range(4)]
    withdrawn = [kind for kind in kinds if f"no guarantee: {SKEWED}; otherwise it would be" in kind]
    assert len(withdrawn) >= 2
    assert {kind.kind for kind in withdrawn} == {"heuristic"}
    answer = sp.identify(PROBLEM, readings(1), 0.01)
    assert answer.guarantee.kind == "pac"


def test_its_certificate_says_so_and_holds():
    answer = sp.identify(PROBLEM, times(0), 1e-4)
    assert not answer.guarantee
    certificate = answer.certificate()
    assert certificate["claim"]["guarantee"] == "heuristic"
    assert sp.verify(certificate, replay=True).replayed


def test_equal_noise_that_is_not_equal_is_noticed():
    problem = sp.Problem.unstructured(["a", "b"], noise="equal")
    answer = sp.identify(problem, readings(0, (1.0, 6.0)), 1e-6, max_samples=4000)
    assert not answer.guarantee
    uneven = [sp.identify(problem, readings(seed, (0.3, 2.0)), 1e-6).guarantee for seed in range(3)]
    assert all(UNEVEN in one for one in uneven)
    assert sp.identify(problem, readings(3), 1e-3).guarantee.kind == "pac"


@pytest.mark.parametrize("noise", ["yes-no", (-60.0, 0.0), 3.0])
def test_kinds_that_do_not_rest_on_it_are_not_looked_at(noise):
    problem = sp.Problem.unstructured(["a", "b"], noise=noise)
    run = sp.algorithms.PooledPeleg(0.1, max_samples=300).start(problem)
    measure = times(0)
    while not run.stopped:
        batch = run.ask()
        rewards = [float(arm) if noise == "yes-no" else measure(arm) for arm in batch.arms]
        run.tell(batch, rewards)
    assert run.doubts.skew(problem) is None


def test_a_saved_run_keeps_what_it_saw():
    run = sp.algorithms.PooledPeleg(1e-6, max_samples=600).start(PROBLEM)
    measure = times(2)
    while not run.stopped:
        batch = run.ask()
        run.tell(batch, [measure(arm) for arm in batch.arms])
        run = sp.Run.from_json(run.to_json())
    assert run.doubts.skew(PROBLEM).alarm


def test_levels_of_strata_are_not_taken_for_skew():
    draw = np.random.default_rng(0)
    run = sp.algorithms.PooledPeleg(1e-9, max_samples=900).start(PROBLEM)
    while not run.stopped:
        batch = run.ask()
        names = draw.choice(["one", "two", "three"], len(batch), p=[0.8, 0.1, 0.1])
        levels = {"one": 0.0, "two": 30.0, "three": 50.0}
        rewards = [levels[name] + draw.normal() for name in names]
        run.tell(batch, rewards, strata=names.tolist())
    assert not run.doubts.skew(PROBLEM)


def test_studies_warn_and_withdraw_too():
    study = sp.create_study(
        "times", PROBLEM, storage="memory://skewed", delta=1e-6, max_samples=600
    )
    measure = times(3)
    while not study.finished:
        study.tell_many({pull.id: measure(pull.arm) for pull in study.ask(100)})
    warnings = study.status()["checks"]["warnings"]
    assert any("reach further to one side" in text for text in warnings)
    assert not study.answer.guarantee


# -- drift -------------------------------------------------------------------------------------
NAMES = ["a", "b", "c", "d", "e", "f"]


class Bench:
    """Readings, of which those of one option rise by 5 at a scatter of 0.3; or of none."""

    def __init__(self, seed, odd=2, level=0.0):
        self.draw, self.odd, self.level, self.made = np.random.default_rng(seed), odd, level, 0
        self.means = np.array([8.6, 8.8, 8.3, 9.7, 9.3, 9.0])

    def measure(self, arms):
        when = self.made + np.arange(len(arms))
        self.made += len(arms)
        rise = np.where(arms == self.odd, 5.0 * np.minimum(when / 100, 1.0), 0.0)
        noise = 0.3 * self.draw.normal(size=len(arms))
        return self.means[arms] + rise + self.level * when + noise

    def identify(self):
        problem = sp.Problem.unstructured(NAMES, noise="symmetric")
        return sp.identify(problem, measure_batch=self.measure, seed=0, max_samples=2000)


def test_the_promise_is_withdrawn_where_an_option_drifts():
    answers = [Bench(seed).identify() for seed in range(4)]
    withdrawn = [one for one in answers if DRIFTED in one.guarantee]
    assert len(withdrawn) >= 3
    assert all(one.guarantee.startswith(f"no guarantee: {DRIFTED}; otherwise") for one in withdrawn)
    certificate = withdrawn[0].certificate()
    assert certificate["claim"]["guarantee"] == "heuristic"
    assert sp.verify(certificate, replay=True).replayed


def test_studies_say_it_in_the_same_words():
    bench, problem = Bench(0), sp.Problem.unstructured(NAMES, noise="symmetric")
    study = sp.create_study("drifts", problem, storage="memory://doubts", seed=0, max_samples=2000)
    while pulls := study.ask(6):
        values = bench.measure(np.array([pull.arm for pull in pulls]))
        study.tell_many([(pull.id, float(value)) for pull, value in zip(pulls, values)])
    assert f"no guarantee: {DRIFTED}; otherwise" in study.answer.guarantee


def test_a_level_of_all_and_noise_alone_withdraw_nothing():
    for seed in range(3):
        assert Bench(seed, odd=None).identify().guarantee.kind == "pac"
        assert Bench(seed, odd=None, level=0.005).identify().guarantee.kind == "pac"


def told(run, bench, times=99):
    for _ in range(times):
        if run.stopped:
            break
        run.tell(batch := run.ask(), bench.measure(batch.arms))
    return run


def begun():
    algorithm = sp.algorithms.PooledPeleg(0.05, max_samples=2000)
    return algorithm.start(sp.Problem.unstructured(NAMES, noise="symmetric"), seed=0)


def test_saved_runs_know_what_they_saw():
    run, bench = begun(), Bench(0)
    while not run.stopped:
        run = told(sp.Run.from_json(run.to_json()), bench, 1)
    assert DRIFTED in run.answer.guarantee
    assert run.answer.guarantee == told(begun(), Bench(0)).answer.guarantee


def test_of_very_many_pulls_only_sums_are_kept(monkeypatch):
    whole = told(begun(), Bench(0))
    monkeypatch.setattr(doubts, "_KEPT", 40)
    run = told(begun(), Bench(0))
    found = [one.doubts.drift(one.problem, one.batches, levels_cancel=True) for one in (run, whole)]
    assert found[0].alarm
    assert found[0].log_evidence == pytest.approx(found[1].log_evidence)
    assert found[0].message == found[1].message
    again = sp.Run.from_json(run.to_json())  # from there on
    assert again.doubts.drift(again.problem, again.batches, levels_cancel=True) is None


def test_strata_are_compared_within_themselves():
    run, bench = begun(), Bench(0, odd=None)
    while not run.stopped:
        batch = run.ask()
        plates = [f"plate {i % 3}" for i in range(batch.size)]
        levels = 3.0 * (np.arange(batch.size) % 3)
        run.tell(batch, bench.measure(batch.arms) + levels, strata=plates)
        run = sp.Run.from_json(run.to_json())
    assert run.answer.guarantee.kind == "pac"


def test_a_quick_look_tells_whether_a_thorough_one_is_worth_it(monkeypatch):
    """It must not miss what the thorough one finds, and spares it where nothing happens."""
    looked = []

    def noted(*told):
        looked.append(beside_may_drift(*told))
        return True

    beside_may_drift = beside.may_drift
    monkeypatch.setattr(beside, "may_drift", noted)
    for seed in range(6):
        if DRIFTED in Bench(seed).identify().guarantee:
            assert looked[-1]
    looked.clear()
    for seed in range(6):
        Bench(seed, odd=None, level=0.005).identify()
    assert sum(looked) <= 1


def test_rewards_without_noise_and_huge_ones_are_looked_at_without_a_warning():
    problem = sp.Problem.unstructured(["a", "b"], noise="symmetric")
    for size in (0.0, 1e-300, 1e70):
        draw = np.random.default_rng(1)
        answer = sp.identify(
            problem,
            lambda arm, size=size, draw=draw: size * (5.0 * arm + draw.normal()),
            max_samples=99,
        )
        assert DRIFTED not in answer.guarantee
