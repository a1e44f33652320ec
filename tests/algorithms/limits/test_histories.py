"""Options that come and go where the best that keeps limits is looked for."""

import json
import math

import numpy as np
import pytest

import surepick as sp
from surepick.algorithms.limits.histories import Histories
from surepick.errors import InvalidInputError

REWARDS, COSTS = np.array([0.4, 0.6, 0.8, 0.7, 0.5]), np.array([0.3, 0.3, 0.7, 0.35, 0.2])


class Machine:
    def __init__(self, seed=0, rewards=REWARDS, costs=COSTS, spread=0.1):
        self.rng, self.spread = np.random.default_rng(seed), spread
        self.rewards, self.costs = rewards, costs

    def __call__(self, arms):
        shared, own = self.rng.standard_normal((2, len(arms)))
        y = np.clip(self.rewards[arms] + self.spread * shared, 0, 1)
        c = np.clip(self.costs[arms] + self.spread * (0.6 * shared + 0.8 * own), 0, 1)
        return [{"reward": a, "cost": b} for a, b in zip(y.tolist(), c.tolist())]


def started(K=3, keep=("cost <= 0.5",), delta=0.05, **more):
    problem = sp.Problem.unstructured(K, noise=(0, 1), numbers={"cost": (0, 1)})
    return sp.algorithms.PooledPeleg(delta, keep=keep, **more).start(problem, 1)


def add(run):
    n = run.problem.n_arms
    run.add(np.eye(n + 1)[n:], [str(n)], reason="new")


def finish(run, machine, changes=None):
    changes = dict(changes or {})
    while True:
        while (change := changes.pop(run.batches, None)) is not None:
            change(run)
        if run.stopped:
            return run.answer
        batch = run.ask()
        run.tell(batch, machine(batch.arms))


@pytest.mark.some(1)
@pytest.mark.parametrize(
    ("changes", "label"),
    [
        ({3: add}, "3"),
        ({0: lambda run: run.retire("0", reason="sold out")}, "1"),
        ({4: add, 8: lambda run: run.retire("3", reason="sold out"), 10: add}, "1"),
    ],
)
def test_options_come_and_go_and_certificates_hold(changes, label):
    run = started()
    answer = finish(run, Machine(), changes)
    assert (answer.label, answer.guarantee.kind) == (label, "pac")
    assert "among all options that were ever added and not retired" in answer.guarantee
    again = sp.Run.from_json(run.to_json())
    assert again.answer.to_dict() == answer.to_dict()
    found = sp.verify(json.loads(json.dumps(answer.certificate())), replay=True)
    assert (found.label, found.replayed, found.unknown) == (label, True, ())


def test_newcomers_are_measured_before_anything_is_bet_on_them():
    run, machine = started(), Machine()
    for _ in range(3):
        batch = run.ask()
        run.tell(batch, machine(batch.arms))
    add(run)
    batch = run.ask()
    assert set(batch.arms.tolist()) == {3}
    run.tell(batch, machine(batch.arms))
    assert run.state.blocks[-1]["rivals"] == []
    assert set(run.ask().arms.tolist()) >= {3}


def test_a_study_that_has_ended_goes_on_with_a_newcomer():
    run, machine = started(), Machine()
    assert finish(run, machine).label == "1"
    add(run)
    assert not run.stopped
    assert finish(run, machine).label == "3"


def test_that_nobody_keeps_the_limits_is_open_again_with_a_newcomer():
    machine = Machine(costs=np.array([0.7, 0.8, 0.9, 0.3]))
    run = started()
    assert finish(run, machine).guarantee.kind == "nobody"
    add(run)
    assert finish(run, machine).label == "3"


# -- what is held against whom ---------------------------------------------------------------
def histories(K=3):
    decision = started(K).state.decision
    return decision.histories, decision.goals.racing


def hold(found, x, logs):
    """So much against an option, by limits that it breaks."""
    for epoch in found.epochs:
        epoch.capital.breaks[:, x] += logs
        epoch.most = np.maximum(epoch.most, epoch.against())


def alive(found: Histories, goal):
    return (found.there & (found.against() < goal)).tolist()


def test_a_newcomer_begins_with_the_least_against_anyone_who_is_left():
    run = started()
    found, goal = run.state.decision.histories, run.state.decision.goals.racing
    for x, logs in enumerate((-2.0, -1.0, 50.0)):
        found.last.capital.breaks[:, x] += logs
        found.last.capital.led.others[x, :, -1] -= 9.0  # all but what there is on limits
        found.last.capital.ahead[x] -= 9.0
    hold(found, 2, 0.0)
    least = found.now(goal)[0][:2].min()
    assert least < -1.0
    add(run)
    found = run.state.decision.histories
    assert found.last.head[3] == found.last.most[3] == pytest.approx(least)
    assert alive(found, goal) == [True, True, False, True]


def test_a_newcomer_begins_with_no_more_than_is_held_against_nobody():
    run = started()
    found, goal = run.state.decision.histories, run.state.decision.goals.racing
    found.last.capital.keeps -= 3.0
    found.last.capital.somebody.others -= 3.0
    against, nobody = found.now(goal)
    assert nobody < against.min() - 1.0
    add(run)
    assert run.state.decision.histories.last.head[3] == pytest.approx(nobody)


def test_when_the_best_is_retired_who_was_ruled_out_is_back():
    found, goal = histories()
    hold(found, 1, 50.0)
    assert alive(found, goal) == [True, False, True]
    found.leave(0, goal)
    assert alive(found, goal) == [False, True, True]
    hold(found, 1, 50.0)  # anew
    assert alive(found, goal) == [False, False, True]


def test_when_one_is_retired_who_was_ruled_out_nothing_changes():
    found, goal = histories()
    hold(found, 1, 50.0)
    found.leave(1, goal)
    assert len(found.epochs) == 1
    assert alive(found, goal) == [True, False, True]


def test_after_the_best_was_retired_it_takes_new_evidence_for_both_sides():
    """Evidence on one side from before must not wait for the other: it was held against another."""
    found, goal = histories()
    first = found.last.capital
    first.ahead[1, 2] += 50.0  # option 2 is better than option 1 …
    first.led.others[1, 2, -1] += 50.0
    found.leave(0, goal)
    first.keeps[:, 2] += 50.0  # … and now keeps the limit, too
    first.led.others[1, 2, :-1] += 50.0
    for epoch in found.epochs:
        epoch.most = np.maximum(epoch.most, epoch.against())
    assert alive(found, goal) == [False, True, True]


def test_what_began_small_takes_more():
    found, goal = histories()
    first = found.last.capital
    first.breaks[:, 0] -= 4.0
    first.led.others[0, :, -1] -= 9.0
    first.ahead[0] -= 9.0
    against = float(found.now(goal)[0][0])
    assert against < -2.0
    found.leave(0, goal)
    assert found.last.nobody == found.last.head[1] == pytest.approx(against)


def test_what_cannot_come_and_go():
    for keep, more in ((["cost <= 0.5 ± 0.1"], {}), (["cost <= 0.5"], {"epsilon": 0.1})):
        with pytest.raises(InvalidInputError, match="options cannot be added or retired here"):
            add(started(keep=keep, **more))
    with pytest.raises(InvalidInputError, match="compared with a baseline"):
        add(started(baseline=0))
    run = started(keep=["cost <= 0 + 0.3"])
    with pytest.raises(InvalidInputError, match="others are compared with it"):
        run.retire("0", reason="old")


# -- how often it goes wrong -----------------------------------------------------------------
def lost(seed, course, most=600):
    """Whether the best at the time was ever ruled out.

    Every newcomer is a hair better than all before; or the best is retired, once the next one, a
    hair better than the others, has rightly been ruled out.
    """
    rewards = 0.5 + 1e-9 * np.arange(40)
    if course == "leavers":
        rewards = np.array([0.8, 0.5, *(0.5 - 1e-9 * np.arange(1, 4))])
    run = started(3 if course == "newcomers" else 5, delta=0.2)
    machine = Machine(seed, rewards, np.full(40, 0.3), spread=0.3)
    while not run.stopped and run.samples < most:
        batch = run.ask()
        run.tell(batch, machine(batch.arms))
        there = np.flatnonzero(~run.state.retired)
        if there[np.argmax(rewards[there])] not in run.active:
            return True
        if course == "newcomers" and run.batches % 3 == 0 and run.problem.n_arms < 40:
            add(run)
        if course == "leavers" and 0 in there and 1 not in run.active:
            run.retire("0", reason="it was the best")
    return False


@pytest.mark.validation
@pytest.mark.parametrize("course", ["newcomers", "leavers"])
def test_whatever_comes_and_goes_the_best_is_rarely_lost(course):
    trials = 200
    assert sum(lost(seed, course) for seed in range(trials)) <= 0.2 * trials + 17


@pytest.mark.some(1)
@pytest.mark.parametrize("noise", [(0, 1), 0.2, "symmetric", "equal"])
def test_intervals_go_on_when_options_come_and_nothing_is_spent_again(noise):
    problem = sp.Problem.unstructured(3, noise=(0, 1), numbers={"cost": noise})
    run = sp.algorithms.PooledPeleg(0.05, keep=("cost <= 0.5",)).start(problem, 1)
    machine = Machine(rewards=np.full(9, 0.5), costs=np.full(9, 0.48))
    for count in range(3, 7):
        for _ in range(40):
            batch = run.ask()
            run.tell(batch, machine(batch.arms))
            before = run.state.intervals[0].interval(0.05)
            if np.isfinite([before.low, before.high]).all():
                break
        add(run)
        after = run.state.intervals[0].interval(0.05)
        for old, new, side in zip(before, after, (-1, 1)):
            np.testing.assert_allclose(new[:count], old, rtol=1e-9)
            assert new[count] == side * math.inf
    again = sp.Run.from_json(run.to_json())
    for one in (run, again):
        for _ in range(2):
            batch = one.ask()
            given = np.full(len(batch.arms), 0.5)
            one.tell(batch, given, numbers={"cost": 0.4 + batch.arms / 100.0})
    assert again.to_json() == run.to_json()
