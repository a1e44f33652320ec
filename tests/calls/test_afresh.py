"""What gives away that one draw is counted as many, and what looks like it and is not."""

import math
import random

import numpy as np
import pytest

import surepick as sp
from surepick.calls.afresh import CARRIED, CURES, REPEATED, SET_BACK, Generators, Repeats
from surepick.errors import MeasurementError
from surepick.verifier.statement import _BROKEN

#: measurements that are drawn afresh and still come twice, by what they are
HONEST = {
    "normal": lambda d, n: d.normal(size=n),
    "single precision": lambda d, n: (0.9 + 0.01 * d.random(n)).astype(np.float32),
    "half precision": lambda d, n: d.random(n).astype(np.float16),
    "yes or no": lambda d, n: d.integers(2, size=n),
    "counts": lambda d, n: d.poisson(3, size=n),
    "rounded": lambda d, n: np.round(d.normal(size=n), 2),
    "accuracy": lambda d, n: d.binomial(97, 0.9, size=n) / 97,
    "accuracy less epsilon": lambda d, n: d.binomial(997, 0.95, size=n) / 997 - 0.017,
    "standardised counts": lambda d, n: (d.poisson(3, size=n) - 2.8371) / 1.773123,
    "degrees": lambda d, n: (np.round(d.normal(70, 2, size=n)) - 32) * 5 / 9,
    "always the same": lambda d, n: np.full(n, 0.873),
    "cut off": lambda d, n: np.maximum(np.log(d.random(n)), math.log(0.5)),
    "mostly nothing": lambda d, n: d.lognormal(size=n) * (d.random(n) < 0.1),
    "a clock": lambda d, n: (20_000 + d.normal(0, 200, size=n)).astype(int) / 1e9 / 8,
    "folds": lambda d, n: (
        d.binomial([31, 30, 30, 30, 29], 0.97, size=(n, 5)) / [31, 30, 30, 30, 29]
    ).mean(1),
}


@pytest.mark.parametrize("name", HONEST)
def test_readings_that_come_twice_by_themselves_are_let_be(name):
    for seed in range(30):
        draw, repeats = np.random.default_rng(seed), Repeats()
        values = HONEST[name](draw, (8, 20, 100, 500)[seed % 4])
        repeats.add(np.zeros(len(values), dtype=int), values)
        assert repeats.options() == []


@pytest.mark.parametrize("seeds", [1, 3, 5, 10])
def test_a_few_seeds_in_turn_or_by_chance_are_noticed(seeds):
    found = 0
    for trial in range(30):
        draw, repeats = np.random.default_rng([seeds, trial]), Repeats()
        few = draw.normal(size=seeds) * 10 ** draw.uniform(-3, 3)
        repeats.add(np.zeros(40, dtype=int), draw.choice(few, 40))
        repeats.add(np.ones(40, dtype=int), draw.normal(size=40))
        found += repeats.options() == [0]
    assert found >= 28


def by_legacy(draw):
    np.random.seed(4)  # noqa: NPY002, TID251
    return np.random.random() < 0.9  # noqa: NPY002


def by_random(draw):
    random.seed("one of five" + str(draw.integers(5)))
    return random.random() < 0.9


def seeded_anew(draw):
    np.random.seed(draw.integers(2**31))  # noqa: NPY002, TID251
    return np.random.random() < 0.9  # noqa: NPY002


def of_its_own(draw):
    return np.random.default_rng(0).random() < 0.9


@pytest.mark.parametrize(
    ("function", "set_back"),
    [(by_legacy, True), (by_random, True), (seeded_anew, False), (of_its_own, False)],
)
def test_random_numbers_that_are_set_back_are_noticed(function, set_back):
    watched, draw = Generators(), np.random.default_rng(0)
    for _ in range(20):
        watched.look()
        function(draw)
    assert watched.set_back is set_back


def test_an_answer_about_one_draw_promises_nothing_and_verifies_as_that():
    draws = np.random.default_rng(0).normal(size=(2, 5))
    turn = [0, 0]

    def five_in_turn(arm):
        turn[arm] += 1
        return draws[arm][turn[arm] % 5] + 3 * arm

    def one_seed(arm):
        np.random.seed(1)  # noqa: NPY002, TID251
        return float(np.random.random() < (0.3, 0.6)[arm])  # noqa: NPY002

    for measure, noise, why in (
        (five_in_turn, "any", REPEATED),
        (one_seed, "yes-no", SET_BACK),
    ):
        problem = sp.Problem.unstructured(["a", "b"], noise=noise)
        answer = sp.identify(problem, measure, seed=1, max_samples=2000)
        assert not answer.guarantee
        assert why in answer.plain
        found = sp.verify(answer.certificate())
        assert found.guarantee == "heuristic"


def test_whoever_measures_what_never_varies_is_told_what_to_do_and_that_works():
    exact, labels = [0.731234, 0.2391823, 0.11192], ["a", "b", "c"]
    answer = sp.identify(sp.Problem.unstructured(labels), lambda arm: exact[arm])
    assert not answer.guarantee
    for plain in (answer.plain, sp.verify(answer.certificate()).plain):
        assert "Where an option always gives the same number, nothing is left to chance" in plain
    bounded, once = sp.Problem.unstructured(labels, noise=(0, 1)), {"complete": 1}
    algorithm = sp.algorithms.PooledPeleg(0.05, **once)
    answer = sp.identify(bounded, lambda arm, item: exact[arm], algorithm=algorithm)
    assert (answer.label, answer.samples) == ("a", 3)
    assert "It is certain" in sp.verify(answer.certificate(), replay=True).plain


def test_producer_and_verifier_say_it_alike():
    assert _BROKEN[-3:] == (REPEATED, SET_BACK, CARRIED)
    assert tuple(CURES) == (REPEATED, SET_BACK, CARRIED)


def test_a_run_that_was_saved_goes_on_noticing():
    problem = sp.Problem.unstructured(["a", "b"])
    run = sp.algorithms.get("pooled-peleg", delta=0.2, max_samples=400).start(problem, 3)
    values = np.random.default_rng(0).normal(size=(2, 3))
    values[1] += 2
    draw = np.random.default_rng(1)
    while not run.stopped:
        batch = run.ask()
        run.tell(batch, [draw.choice(values[arm]) for arm in batch.arms])
        run = sp.Run.from_json(run.to_json())
    assert REPEATED in str(run.answer.guarantee)


def test_a_study_says_which_rewards_came_back_and_promises_nothing():
    study = sp.create_study("back", sp.Problem.unstructured(["a", "b"]), storage="memory://back")
    values, draw = np.random.default_rng(0).normal(size=3), np.random.default_rng(1)
    answer = study.run(lambda task: draw.choice(values) if task.arm else 3 + draw.random())
    assert not answer.guarantee
    assert REPEATED in str(answer.guarantee)
    (warning,) = [one for one in study.checks().warnings if REPEATED in one]
    assert warning.startswith("Of 'b', the same numbers came back")
    assert sp.verify(answer.certificate()).guarantee == "heuristic"


def test_a_study_stops_where_a_function_sets_random_numbers_back():
    study = sp.create_study(
        "seeded", sp.Problem.unstructured(["a", "b"], noise="yes-no"), storage="memory://seeded"
    )

    def seeded(task):
        random.seed(task.arm)
        return float(random.random() < 0.9)

    with pytest.raises(MeasurementError, match="do not fix a seed"):
        study.run(seeded)
    assert not study.finished
