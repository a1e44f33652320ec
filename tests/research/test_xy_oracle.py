import math

import numpy as np
import pytest

import surepick as sp
from surepick.algorithms import XYOracle, get
from surepick.errors import InvalidInputError, InvalidTypeError
from surepick.simulate import Instance, instances, trials

# Mean pulls of public code, delta = 0.1, 50 trials each; that one tests the true best arm only.
PUBLIC = [
    (instances.standard(0.1), 41026),
    (instances.standard(0.5), 1524),
    (instances.confounding(2), 13301),
    (instances.confounding(10), 16097),
]


@pytest.mark.validation
@pytest.mark.parametrize(("instance", "reference"), PUBLIC, ids=lambda v: getattr(v, "name", ""))
def test_needs_fewer_pulls_than_public_code(instance, reference):
    table = trials(get("xy-oracle", delta=0.1, theta=instance.theta), instance, n=20, seed=1)
    assert table["samples"].mean() <= 0.6 * reference
    assert (~table["correct"]).sum() <= 2


@pytest.mark.parametrize(
    "instance", [instances.standard(0.3), instances.confounding(5), instances.unit_sphere(5, k=20)]
)
def test_the_allocation_is_the_best_for_theta(instance):
    problem = instance.problem
    batch = get("xy-oracle", delta=0.1, theta=instance.theta).start(problem).ask()
    V = (problem.arms.T * (batch.counts / batch.size)) @ problem.arms
    y = problem.arms[instance.best] - np.delete(problem.arms, instance.best, axis=0)
    gaps = np.delete(instance.gaps, instance.best)
    value = (np.einsum("pi,pi->p", y, np.linalg.solve(V, y.T).T) / gaps**2).max()
    best = 1 / sp.design.complexity(problem, instance.theta).D_star
    assert best * (1 - 1e-9) <= value <= 1.06 * best


@pytest.mark.validation
def test_a_wrong_theta_costs_pulls_but_not_correctness():
    truth = instances.confounding(3)
    right = get("xy-oracle", delta=0.1, theta=truth.theta)
    wrong = get("xy-oracle", delta=0.1, theta=[0.0, 0.0, 1.0])
    one, two = (trials(a, truth, n=30, seed=2) for a in (right, wrong))
    assert two["samples"].mean() > 2 * one["samples"].mean()
    assert two["correct"].mean() >= 0.9


def test_the_answer_follows_the_rewards_not_theta():
    problem = sp.Problem(np.eye(2), noise=1.0)
    run = get("xy-oracle", delta=0.1, theta=[1.0, 0.0]).start(problem)
    while not run.stopped:
        batch = run.ask()
        run.tell(batch, sums=batch.counts * np.array([0.0, 1.0]))
    assert run.answer.arm == 1


def test_papers_threshold_has_k_not_k_squared():
    problem = sp.Problem(np.eye(2), noise=1.0)
    width = 2 * math.sqrt(2 * 2 * math.log(6 * 2**2 * 2 / (math.pi**2 * 0.1)))
    for gap, stops in ((0.999 * width, False), (1.001 * width, True)):
        run = get("xy-oracle", delta=0.1, theta=[1.0, 0.0], constants="printed").start(problem)
        run.tell(run.ask(), sums=[gap, 0.0])
        assert run.stopped == stops
    sp.verify(run.answer.certificate())


def test_theta_is_kept_as_a_value():
    one = XYOracle(0.1, theta=np.array([1, 2.0]))
    assert one.theta == (1.0, 2.0)
    assert one == XYOracle(0.1, theta=[1.0, 2.0])
    assert hash(one) == hash(XYOracle(0.1, theta=(1.0, 2.0)))
    assert get(one.registered_name(), **one.settings()) == one


def test_theta_must_fit_the_problem():
    with pytest.raises(InvalidInputError, match="3 expected, 2 given"):
        get("xy-oracle", delta=0.1, theta=[1.0, 0.0]).start(sp.Problem(np.eye(3), noise=1.0))
    with pytest.raises(InvalidInputError, match="theta"):
        get("xy-oracle", delta=0.1)
    with pytest.raises(InvalidInputError, match="finite"):
        get("xy-oracle", delta=0.1, theta=[1.0, math.nan])
    with pytest.raises(InvalidTypeError, match="numbers"):
        get("xy-oracle", delta=0.1, theta="north")


def test_ties_need_epsilon():
    problem = sp.Problem(np.eye(3), labels=["a", "b", "c"], noise=1.0)
    with pytest.raises(InvalidInputError, match="'a' and 'c' tie"):
        get("xy-oracle", delta=0.1, theta=[1.0, 0.0, 1.0]).start(problem)
    algorithm = get("xy-oracle", delta=0.1, theta=[1.0, 0.0, 1.0], epsilon=0.5)
    table = trials(algorithm, Instance(problem, [1.0, 0.0, 1.0]), n=20)
    assert set(table["guarantee"]) <= {"pac", "eps-pac"}
    assert "eps-pac" in set(table["guarantee"])
    assert not (table["arm"] == 1).any()


def test_one_candidate_needs_no_design():
    run = get("xy-oracle", delta=0.1, theta=[0.0]).start(sp.Problem([[1.0], [1.0]], noise=1.0))
    assert run.stopped
    assert run.answer.samples == 0
