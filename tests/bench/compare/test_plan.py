import numpy as np
import pytest

from surepick.bench import Contender, Plan, build_instance
from surepick.bench.compare.plan import instance_seeds
from surepick.errors import InvalidInputError, InvalidTypeError, UnknownNameError
from surepick.simulate import instances


def draw(seeds):
    return np.random.default_rng(seeds).integers(2**62)


def test_cells_are_all_combinations_and_tasks_begin_with_one_trial_of_each():
    plan = Plan(["peleg", "rage"], ["standard:gap=0.5", "confounding:d=3"], [0.1, 0.01], trials=3)
    assert len(plan.cells) == 8
    assert plan.size == 24
    tasks = list(plan.tasks())
    assert tasks[:8] == [(number, 0) for number in range(8)]
    assert sorted(tasks) == [(number, trial) for number in range(8) for trial in range(3)]


def test_seeds_depend_on_the_trial_alone():
    small = Plan(["rage"], ["standard:gap=0.5"], [0.1], trials=1)
    large = Plan(["peleg", "rage"], ["confounding:d=3", "standard:gap=0.5"], [0.2, 0.1], trials=9)
    (cell,) = small.cells
    (same,) = [c for c in large.cells if str(c) == str(cell)]
    assert draw(cell.seeds(0, 2)) == draw(same.seeds(0, 2))
    everything = {draw(c.seeds(0, i)) for c in large.cells for i in range(9)}
    assert len(everything) == large.size
    assert draw(cell.seeds(1, 2)) != draw(cell.seeds(0, 2))


def test_arms_are_the_same_for_every_algorithm_and_delta():
    plan = Plan(["peleg", "rage"], ["unit_sphere:d=3,rng=trial"], [0.1, 0.2], trials=2)
    seen = {draw(instance_seeds(c.instance, 0, 1)) for c in plan.cells}
    assert len(seen) == 1
    assert seen != {draw(instance_seeds(plan.cells[0].instance, 0, 0))}


def test_settings_reach_the_algorithm():
    instance = instances.standard(0.5)
    contender = Contender.named("peleg: growth=2, epsilon=0.25")
    algorithm = contender.configure(instance, 0.1, epsilon=0.0, max_samples=70)
    assert (algorithm.growth, algorithm.epsilon, algorithm.max_samples) == (2, 0.25, 70)
    assert contender.text == "peleg:growth=2,epsilon=0.25"
    assert not contender.needs_theta


def test_oracles_are_told_the_truth_and_the_reader_is_told_so():
    contender = Contender.named("xy-oracle")
    assert contender.needs_theta
    algorithm = contender.configure(instances.standard(0.5, 3), 0.1)
    assert algorithm.theta == (0.5, 0.0, 0.0)
    (note,) = Plan(["xy-oracle", "rage"], ["standard:gap=0.5"]).warnings()
    assert "uses the truth" in note


def test_a_bound_on_theta_that_does_not_hold_is_pointed_out():
    plan = Plan(["lingape:norm_bound=1", "lingape:norm_bound=2"], ["confounding:d=3,scale=2"])
    (note,) = plan.warnings()
    assert note.startswith("lingape:norm_bound=1 assumes")
    assert "try lingape:norm_bound=2" in note


def test_what_must_be_known_in_advance_is_taken_from_the_truth():
    plan = Plan(["lingape", "lingape-greedy", "alba"], ["confounding:d=3,scale=2"])
    example = build_instance("confounding:d=3,scale=2")
    for cell in plan.cells:
        assert plan.algorithm(cell, example).norm_bound == 2.0
    assert all("uses the length" in note for note in plan.warnings())


@pytest.mark.parametrize(
    ("changes", "error", "says"),
    [
        ({"algorithms": ["pelleg"]}, UnknownNameError, "did you mean 'peleg'"),
        ({"algorithms": ["peleg:growht=2"]}, UnknownNameError, "did you mean 'growth'"),
        ({"algorithms": ["peleg:growth=0"]}, InvalidInputError, "growth must lie"),
        ({"algorithms": ["lingape-greedy:nonsense=2"]}, InvalidInputError, "nonsense"),
        ({"algorithms": ["peleg:delta=0.2"]}, InvalidInputError, "delta comes from the plan"),
        ({"algorithms": ["peleg", "peleg"]}, InvalidInputError, "twice"),
        ({"algorithms": []}, InvalidInputError, "algorithms must name at least one"),
        (
            {"instances": ["confounding:d=3", "confounding:d=3,omega=0.1"]},
            InvalidInputError,
            "twice",
        ),
        ({"deltas": [0.1, 1.5]}, InvalidInputError, "delta must lie"),
        ({"deltas": [0.1, 0.1]}, InvalidInputError, "twice"),
        ({"trials": 0}, InvalidInputError, "trials must be at least 1"),
        ({"trials": 1.5}, InvalidTypeError, "trials must be a whole number"),
        ({"seed": -1}, InvalidInputError, "seed must be at least 0"),
        ({"epsilon": -0.5}, InvalidInputError, "epsilon must be at least 0"),
        ({"max_samples": 0}, InvalidInputError, "max_samples must be at least 1"),
    ],
)
def test_bad_plans_are_refused(changes, error, says):
    with pytest.raises(error, match=says):
        Plan(**{"algorithms": ["peleg"], "instances": ["standard:gap=0.5"], **changes})
