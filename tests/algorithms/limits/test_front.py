"""Whom nobody seems to beat on all numbers at once: a view, without a proof."""

import numpy as np

import surepick as sp

#: reward and latency: the third is worse than the second on both
MEANS = [(5.0, 9.0), (4.0, 3.0), (3.0, 6.0), (1.0, 1.0)]


def told(keep, numbers, reward="reward"):
    problem = sp.Problem.unstructured(4, noise=0.1, numbers=numbers)
    run = sp.algorithms.PooledPeleg(0.05, keep=keep).start(problem, 1)
    rng = np.random.default_rng(0)
    batch = run.ask()
    values = [np.array(MEANS[arm]) + 0.1 * rng.standard_normal(2) for arm in batch.arms]
    run.tell(batch, [{"reward": y, "latency": c} for y, c in np.round(values, 6)])
    return run.standing()


def test_who_is_worse_on_both_is_not_on_the_front():
    now = told(["latency <= 5"], {"latency": 0.1})
    assert now["front"] == [True, True, False, True]
    assert sp.run.standing.Standing.from_dict(now.to_dict())["front"] == now["front"]
    assert now.marks == ({"mark": 5.0, "above": False, "about": "latency"},)


def test_the_side_of_the_limit_says_which_is_better():
    assert told(["latency >= 2"], {"latency": 0.1})["front"] == [True, False, False, False]


def test_a_number_with_limits_on_both_sides_has_no_better():
    assert "front" not in told(["latency >= 2", "latency <= 8"], {"latency": 0.1}).columns
