import numpy as np
import pytest

import surepick as sp
from surepick.algorithms import Peleg
from surepick.errors import InvalidInputError, InvalidTypeError, UnknownNameError

ARMS = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]])
PROBLEM = sp.Problem(ARMS, noise=0.5, labels=["left", "up", "between"])
MEANS = ARMS @ [0.3, 1.0]


def one_by_one(seed=0):
    rng = np.random.default_rng(seed)
    return lambda arm: MEANS[arm] + 0.5 * rng.standard_normal()


def all_at_once(seed=0):
    rng = np.random.default_rng(seed)
    return lambda arms: MEANS[arms] + 0.5 * rng.standard_normal(len(arms))


def test_measure_and_measure_batch_give_the_same_answer():
    one = sp.identify(PROBLEM, one_by_one())
    two = sp.identify(PROBLEM, measure_batch=all_at_once())
    assert one == two
    assert one.label == "up"
    assert (one.delta, one.algorithm) == (0.05, "pooled-peleg")
    assert one.guarantee.startswith("the best with probability at least 0.95 (")


def test_measure_gets_plain_arm_numbers():
    seen = []

    def measure(arm):
        seen.append(arm)
        return MEANS[arm]

    answer = sp.identify(PROBLEM, measure)
    assert {type(arm) for arm in seen} == {int}
    assert np.bincount(seen, minlength=3).tolist() == answer.pulls.tolist()


def test_rewards_of_a_batch_may_be_any_list():
    answer = sp.identify(PROBLEM, measure_batch=lambda arms: [float(MEANS[a]) for a in arms])
    assert answer.arm == 1


def test_settings_reach_the_algorithm():
    answer = sp.identify(PROBLEM, one_by_one(), 0.2, epsilon=0.4)
    assert (answer.delta, answer.epsilon) == (0.2, 0.4)
    cut = sp.identify(PROBLEM, one_by_one(), 1e-9, max_samples=5)
    assert (cut.samples, cut.guarantee.kind) == (5, "none")


@pytest.mark.some(1)
@pytest.mark.parametrize(
    ("named", "configured"),
    [("peleg", Peleg(0.1)), ("peleg-paper", Peleg.paper(0.1))],
)
def test_algorithms_by_name_and_by_value(named, configured):
    one = sp.identify(PROBLEM, measure_batch=all_at_once(), delta=0.1, algorithm=named)
    two = sp.identify(PROBLEM, measure_batch=all_at_once(), algorithm=configured)
    assert one == two
    assert one.algorithm == named


def test_a_configured_algorithm_is_not_overruled_in_silence():
    algorithm = Peleg(0.1, epsilon=0.2, max_samples=1000)
    repeated = {"delta": 0.1, "epsilon": 0.2, "max_samples": 1000}
    same = sp.identify(PROBLEM, one_by_one(), algorithm=algorithm, **repeated)
    assert same == sp.identify(PROBLEM, one_by_one(), algorithm=algorithm)
    for name, value in (("delta", 0.01), ("epsilon", 0.1), ("max_samples", 10)):
        with pytest.raises(InvalidInputError, match=f"{name}={value} was given, but the algorithm"):
            sp.identify(PROBLEM, one_by_one(), algorithm=algorithm, **{name: value})


def test_progress_is_reported_after_every_batch():
    seen = []
    answer = sp.identify(
        PROBLEM, one_by_one(), on_batch=lambda run: seen.append((run.batches, run.samples))
    )
    assert [b for b, _ in seen] == list(range(1, answer.batches + 1))
    assert seen[-1][1] == answer.samples


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({}, InvalidInputError, "either measure"),
        ({"measure": len, "measure_batch": len}, InvalidInputError, "either measure"),
        ({"measure": 3.0}, InvalidTypeError, "measure must be a function"),
        ({"measure_batch": [1.0]}, InvalidTypeError, "measure_batch must be a function"),
        ({"measure": len, "algorithm": "pelg"}, UnknownNameError, "did you mean 'peleg'"),
        ({"measure": len, "algorithm": Peleg}, InvalidTypeError, "algorithm must be a name"),
        ({"measure": len, "algorithm": None}, InvalidTypeError, "algorithm must be a name"),
        ({"measure": len, "delta": 1.0}, InvalidInputError, "delta must lie strictly"),
        ({"measure": len, "delta": "5%"}, InvalidTypeError, "delta must be a number"),
        ({"measure": len, "epsilon": -1}, InvalidInputError, "epsilon must be at least 0"),
        ({"measure": len, "max_samples": 0}, InvalidInputError, "max_samples must be at least 1"),
        ({"measure": lambda arm: None}, InvalidInputError, "it returned None, not a number"),
        ({"measure": lambda arm: float("nan")}, InvalidInputError, "it returned nan; a score must"),
        ({"measure": lambda arm: "1.0"}, InvalidInputError, "it returned '1.0', not a number"),
        ({"measure_batch": lambda arms: arms[1:]}, InvalidInputError, "one entry per pull"),
        ({"measure_batch": lambda arms: 1.0}, InvalidInputError, "flat list"),
        ({"measure_batch": lambda arms: None}, InvalidInputError, "either rewards"),
    ],
)
def test_wrong_arguments_are_named(arguments, error, message):
    with pytest.raises(error, match=message):
        sp.identify(PROBLEM, **arguments)


def test_the_problem_must_be_a_problem():
    with pytest.raises(InvalidTypeError, match="problem must be"):
        sp.identify(ARMS, one_by_one())


def test_errors_of_the_measurement_come_through():
    with pytest.raises(ZeroDivisionError):
        sp.identify(PROBLEM, lambda arm: 1 / 0)


@pytest.mark.some(10)
@pytest.mark.parametrize("seed", range(20))
def test_answers_are_usually_right(seed):
    assert sp.identify(PROBLEM, measure_batch=all_at_once(seed), delta=0.001).arm == 1


def test_a_seed_decides_in_which_order_arms_come():
    def asked(seed):
        seen = []
        sp.identify(PROBLEM, lambda arm: seen.append(arm) or MEANS[arm], 0.01, seed=seed)
        return seen

    orders = [asked(seed) for seed in (0, 1, np.random.default_rng(7), None)]
    assert orders == [asked(seed) for seed in (0, 1, np.random.default_rng(7), 0)]
    assert orders[0] != orders[1] != orders[2]
    assert sorted(orders[0]) == sorted(orders[1])  # which arms are pulled does not depend on it
