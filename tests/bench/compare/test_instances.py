"""Instances that a process keeps: each belongs to its seed and its trial."""

import itertools

import numpy as np

from surepick.bench import Plan
from surepick.bench.compare.run import instance_of, run_plan
from surepick.bench.named import instance_named


def test_every_seed_and_trial_has_arms_of_its_own():
    named = instance_named("gaussian:k=6,d=3,rng=trial")
    drawn = {key: instance_of(named, *key) for key in itertools.product((0, 1), (0, 1, 2))}
    for one, other in itertools.combinations(drawn.values(), 2):
        assert not np.array_equal(one.problem.arms, other.problem.arms)
    for key, instance in drawn.items():  # asked for again, in another order or not
        assert np.array_equal(instance_of(named, *key).problem.arms, instance.problem.arms)


def test_plans_with_other_seeds_do_not_share_arms():
    """One after the other in one process, as in two."""

    def bounds(seed):
        plan = Plan(["peleg"], ["gaussian:k=6,d=3,gap=2,rng=trial"], trials=2, seed=seed)
        return run_plan(plan)["lower_bound"].tolist()

    first, second = bounds(5), bounds(6)
    assert len(set(first + second)) == 4
    assert bounds(5) == first
