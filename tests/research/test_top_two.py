"""Top-two: the leader against the challenger that is hardest to tell from it."""

import numpy as np
import pytest

import surepick as sp
from surepick.algorithms import TopTwo
from surepick.simulate import Instance, instances, trials


def test_a_best_arm_that_was_unlucky_at_first_is_found_while_others_tie():
    """Left to the plain cost, ties keep it out: one run in twenty went on for ever."""
    instance = Instance(sp.Problem(np.eye(10), noise=1.0), np.eye(10)[0] * 0.5)
    table = trials(TopTwo.heuristic(0.05), instance, n=40, seed=1)
    assert table["samples"].max() < 10 * np.median(table["samples"])


def test_of_unrelated_arms_the_leader_has_the_share_of_the_lower_bound():
    """sqrt(K - 1) pulls for one of each rival, in the limit of small delta."""
    instance = instances.standard(0.5)
    run = TopTwo(1e-30).start(instance.problem, 0)
    rng = np.random.default_rng(0)
    while not run.stopped:
        batch = run.ask()
        run.tell(batch, instance.means[batch.arms] + rng.normal(size=batch.size))
    pulls = run.state.memory.core.pulls
    assert pulls[0] / pulls[1:].mean() == pytest.approx(2.0, rel=0.15)


def test_pairwise_takes_fewer_where_options_are_unrelated():
    instance = Instance(sp.Problem(np.eye(10), noise=1.0), np.eye(10)[0] * 0.5)
    means = [
        trials(TopTwo(0.05, threshold=name), instance, n=20, seed=2)["samples"].mean()
        for name in ("pairwise", "self-normalised")
    ]
    assert means[0] < 0.9 * means[1]
