"""Arms that cost different amounts: designs share out money."""

import math

import numpy as np
import pytest

import surepick as sp
from surepick.algorithms.pooled.direct import direct_counts
from surepick.algorithms.pooled.lacking import Lacking
from surepick.algorithms.pooled.prices import spanning_arms
from surepick.errors import InvalidInputError, InvalidTypeError
from surepick.problem.grown import some_of, with_more

ARMS = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [math.cos(0.3), math.sin(0.3), 0], [0.2, 1, 0]])
COSTS = [1.0, 100.0, 1.0, 1.0, 3.0]


def spent(costs, misfit=0.0, noise=0.5):
    rng, means = np.random.default_rng(0), ARMS[:, 0]
    problem = sp.Problem(ARMS, noise=noise, misfit=misfit, costs=costs)
    answer = sp.identify(
        problem, measure_batch=lambda arms: means[arms] + 0.5 * rng.normal(size=len(arms))
    )
    assert answer.arm == 0
    assert answer.cost == (None if costs is None else answer.pulls @ costs)
    assert ("cost" in answer.to_dict()) == (costs is not None)
    assert sp.verify(answer.certificate(), replay=True).replayed
    return float(answer.pulls @ np.array(COSTS))


@pytest.mark.some(1)
@pytest.mark.parametrize("noise", [0.5, None])
def test_what_is_dear_is_worked_out_from_what_is_cheap(noise):
    assert spent(COSTS, noise=noise) <= 0.3 * spent(None, noise=noise)


def spent_directly(costs, seed):
    """Where features only guide; the k-th pull of an option has the same reward in all runs."""
    drawn = [np.random.default_rng([seed, arm]) for arm in range(len(ARMS))]
    problem = sp.Problem(ARMS, noise=0.5, misfit=math.inf, costs=costs)
    run = sp.algorithms.PooledPeleg(0.05).start(problem)
    while not run.stopped:
        batch = run.ask()
        run.tell(batch, [ARMS[arm, 0] + 0.5 * drawn[arm].normal() for arm in batch.arms])
    return float(run.pulls @ np.array(COSTS))


@pytest.mark.validation
def test_costs_count_without_features_too():
    told, blind = (sum(spent_directly(c, s) for s in range(12)) for c in (COSTS, None))
    assert told <= blind
    variances, costs = np.array([1.0, 1.0, 2.0]), np.array([1.0, 50.0, 3.0])
    needs = np.array([0.0, 4.0, 9.0])
    pulls = direct_counts(0, needs, variances * costs) / costs
    assert (needs[1:] * (variances[0] / pulls[0] + variances[1:] / pulls[1:]) <= 1 + 1e-9).all()
    rng = np.random.default_rng(0)
    for _ in range(500):
        other = pulls * rng.uniform(0.6, 1.6, 3)
        worst = (needs[1:] * (variances[0] / other[0] + variances[1:] / other[1:])).max()
        assert pulls @ costs <= (other * worst) @ costs * (1 + 1e-6)


def test_the_lower_bound_is_in_money():
    """An arm of cost c is an arm of 1/√c of its length; equal costs are a unit of money."""
    priced = sp.Problem(ARMS, noise=1.0, costs=COSTS)
    shorter = sp.Problem(ARMS / np.sqrt(COSTS)[:, None], candidates=ARMS, noise=1.0)
    theta = [1.0, 0.0, 0.0]
    found = sp.design.complexity(priced, theta).lower_bound(0.1)
    assert found == pytest.approx(sp.design.complexity(shorter, theta).lower_bound(0.1), rel=1e-5)
    same = sp.design.complexity(sp.Problem(ARMS, noise=1.0, costs=[7.0] * 5), theta)
    plain = sp.design.complexity(sp.Problem(ARMS, noise=1.0), theta)
    assert same.lower_bound(0.1) == pytest.approx(7 * plain.lower_bound(0.1), rel=1e-5)


def test_one_cost_for_all_changes_no_pull():
    runs = []
    for costs in (None, [3.0] * 5):
        problem, rng = sp.Problem(ARMS, noise=1.0, costs=costs), np.random.default_rng(1)
        run = sp.algorithms.PooledPeleg(0.1).start(problem)
        for _ in range(6):
            batch = run.ask()
            run.tell(batch, ARMS[batch.arms, 0] + rng.normal(size=batch.size))
        runs.append(run.pulls.tolist())
    assert runs[0] == runs[1]


def test_what_spans_is_cheap():
    """Of two options of one direction the one that tells more for its money."""
    arms = np.array([[1.0, 0.0], [1.1, 0.0], [0.0, 1.0], [0.0, 1.2]])
    dear_first = sp.Problem(arms, noise=1.0, costs=[1.0, 50.0, 50.0, 1.0])
    assert spanning_arms(dear_first).tolist() == [0, 3]
    assert spanning_arms(sp.Problem(arms, noise=1.0)).tolist() == [1, 3]


def test_several_that_are_asked_for_get_whole_pulls_of_whoever_is_out():
    """However clear it is, an option that is not decided is due a pull, at its price."""
    costs = np.array([1.0, 30.0, 2.0, 70.0])
    problem = sp.Problem(np.eye(4), noise=1.0, costs=costs)
    state = sp.algorithms.PooledPeleg(0.05, top=2).begin(problem, np.random.default_rng(0))
    ahead, behind = np.array([0, 0, 1, 1]), np.array([2, 3, 2, 3])
    missing = Lacking(np.full(4, 1e-6), np.full(4, 0.5), (ahead, behind))
    planner = state.planner
    design = planner.next(0, missing, np.zeros(4), planner.first_shares())
    money = design.weights * design.value
    assert (money >= costs * (1 - 1e-9)).all()


def test_retired_options_leave_the_costs_of_the_others_as_they_are():
    costs = [1.0, 40.0, 3.0, 7.0]
    problem = sp.Problem(np.eye(4), noise=1.0, costs=costs, labels=list("abcd"))
    left = some_of(problem, np.array([1, 3]))
    assert left.costs.tolist() == [40.0, 7.0]
    by_arm = sp.Problem(np.eye(4), noise=[1.0, 2.0, 3.0, 4.0], labels=list("abcd"))
    assert some_of(by_arm, np.array([1, 3])).noise.tolist() == [2.0, 4.0]
    more = with_more(by_arm, np.eye(5)[-1:], ["e"], [9.0])
    assert more.noise.tolist() == [1.0, 2.0, 3.0, 4.0, 9.0]


def test_they_are_part_of_the_problem():
    problem = sp.Problem(ARMS, costs=COSTS)
    assert problem != sp.Problem(ARMS)
    again = sp.Problem.from_dict(problem.to_dict())
    assert again == problem
    assert again.costs.tolist() == COSTS
    assert "costs" not in sp.Problem(ARMS).to_dict()


@pytest.mark.parametrize(
    ("given", "kind", "said"),
    [
        ([1.0, 2.0], InvalidInputError, "one number for each of the 5 arms"),
        ([1, 1, 0, 1, 1], InvalidInputError, "that of arm 2 is 0"),
        ([1, 1, 1, math.nan, 1], InvalidInputError, "that of arm 3 is nan"),
        ("dear", InvalidTypeError, "costs must be one number per arm"),
    ],
)
def test_what_is_no_cost_is_refused(given, kind, said):
    with pytest.raises(kind, match=said):
        sp.Problem(ARMS, costs=given)


def test_on_items_dear_options_are_measured_less_and_it_is_verified():
    table = (np.random.default_rng(2).random((4, 50)) < [[0.2], [0.5], [0.55], [0.8]]).astype(float)
    spent = []
    for costs in (None, [1.0, 1.0, 30.0, 1.0]):
        problem = sp.Problem(np.eye(4), noise="yes-no", costs=costs)
        run = sp.algorithms.PooledPeleg(0.1, items=50).start(problem, 1)
        while not run.stopped:
            batch = run.ask()
            run.tell(batch, table[batch.arms, batch.items])
        assert run.answer.arm == 3
        assert sp.verify(run.answer.certificate(), replay=True).guarantee == "pac"
        spent.append(run.pulls[2] / run.samples)
    assert spent[1] <= spent[0]


def test_where_all_must_cost_the_same():
    with pytest.raises(InvalidInputError, match="leave out costs, or some of the arms"):
        sp.Problem(np.ones((40_000, 1)), costs=np.ones(40_000))
    with pytest.raises(InvalidInputError, match="sends visitors whatever options cost"):
        sp.create_study(
            "s",
            sp.Problem(np.eye(5), noise="yes-no", costs=COSTS),
            storage="memory://",
            traffic=True,
        )
