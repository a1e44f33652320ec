"""One thing under two names, on a machine whose first call is slow and that slows down with time.

A clock of its own stands in for the machine's, so that nothing hangs on how busy that one is.
"""

import random

import pytest

import surepick as sp
from surepick.integrations.comparing import compare
from surepick.integrations.pytest_plugin import Sure

RUNS, MOST = 40, 120


class Machine:
    """Times of calls: the first one is slow, and every call takes a little longer than the last."""

    def __init__(self, seed, cold=40.0, drift=0.03):
        self.draw, self.cold, self.drift = random.Random(seed), cold, drift
        self.calls = 0

    def __call__(self):
        self.calls += 1
        first = self.cold if self.calls == 1 else 0.0
        return 5.0 + first + self.drift * self.calls + self.draw.expovariate(2.0)


class Request:
    """What the fixture is given by pytest."""

    def __init__(self):
        self.node, self.user_properties = self, []


def by_identify(call, seed, names=2):
    problem = sp.Problem.unstructured(names)
    how = {"max_samples": MOST, "seed": seed, "minimise": True}
    return bool(sp.identify(problem, lambda arm: call(), **how).guarantee)


def by_three(call, seed):
    return by_identify(call, seed, names=3)


def by_compare(call, seed):
    found = compare(call, call, epsilon=1e-9, max_calls=MOST, seed=seed, minimise=True)
    return found.verdict != "undecided"


def by_fixture(call, seed):
    try:
        how = {"max_calls": MOST, "seed": seed, "minimise": True, "undecided": "skip"}
        Sure(Request()).not_worse(call, call, epsilon=1e-9, **how)
    except pytest.skip.Exception:
        return False
    except pytest.fail.Exception:
        return True
    return True


def by_study(call, seed):
    problem = sp.Problem.unstructured(["one", "other"], minimise=True)
    study = sp.create_study(
        "aa", problem, storage=f"memory://aa {seed}", seed=seed, max_samples=MOST
    )
    while not study.finished:
        for pull in study.ask(20):
            study.tell(pull.id, call())
    return bool(study.answer.guarantee)


@pytest.mark.parametrize("door", [by_identify, by_three, by_compare, by_fixture, by_study])
def test_one_thing_under_two_names_is_not_told_apart(door):
    runs = RUNS // 3 if door is by_study else RUNS
    decided = sum(door(Machine(seed), seed) for seed in range(runs))
    assert decided <= 0.05 * runs


@pytest.mark.parametrize("noise", ["any", "symmetric", "yes-no", (0.0, 10.0)])
def test_smaller_is_better_is_the_same_question_turned(noise):
    """Worse by more than epsilon means larger by more than it."""
    if noise == "yes-no":
        few, many, epsilon = (lambda d: float(d.random() < 0.2)), (lambda d: d.random() < 0.8), 0.2
    else:
        few, many, epsilon = (lambda d: 2 + d.random()), (lambda d: 5 + d.random()), 0.5
    draw = random.Random(3)
    how = {"epsilon": epsilon, "max_calls": 500, "noise": noise, "minimise": True, "seed": 1}
    better = compare(lambda: few(draw), lambda: many(draw), **how)
    worse = compare(lambda: many(draw), lambda: few(draw), **how)
    assert (better.verdict, worse.verdict) == ("not worse", "worse")
    assert worse.answer.label == "old plus epsilon"
    assert better.new < better.old  # as they were measured
    assert sp.verify(better.answer.certificate())
    usual = compare(lambda: few(draw), lambda: many(draw), **how | {"minimise": False})
    assert usual.verdict == "worse"


def test_calls_that_warm_up_do_not_count():
    calls = []

    def variant(name):
        return lambda: calls.append(name) or 0.1 * (len(calls) % 3)

    found = compare(variant("new"), variant("old"), epsilon=0.5, max_calls=40, warm_up=2, seed=1)
    assert calls[:4] == ["new", "old", "new", "old"]
    assert len(calls) == found.calls + 4
    assert compare(variant(0), variant(1), epsilon=0.5, max_calls=40, warm_up=0).calls <= 40


def test_the_order_of_calls_is_random_and_can_be_repeated():
    def order(seed):
        calls, draw = [], random.Random(0)
        compare(
            lambda: calls.append("new") or draw.gauss(0, 1),
            lambda: calls.append("old") or draw.gauss(0, 1),
            **{"epsilon": 1e-9, "max_calls": 40, "seed": seed},
        )
        return calls

    assert order(1) == order(1) != order(2)
    assert sorted(order(1)[:10]) != order(1)[:10]
