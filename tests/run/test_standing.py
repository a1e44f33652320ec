"""Estimates: one number for each option, which its own measurements do not contradict."""

import numpy as np
import pytest

import surepick as sp
from surepick.run.standing import Standing, best_first


def test_on_items_the_leader_has_the_mean_of_its_own_answers():
    """The first block has two items: how hard those are is nobody's level."""
    rng = np.random.default_rng(3)
    hard = np.linspace(-0.4, 0.4, 200)
    problem = sp.Problem.unstructured(["a", "b", "c"], noise="yes-no")
    run = sp.algorithms.PooledPeleg(0.05, items=200, max_samples=600).start(problem)
    while not run.stopped:
        batch = run.ask()
        rates = np.array([0.5, 0.55, 0.6])[batch.arms] - hard[batch.items]
        run.tell(batch, (rng.random(batch.size) < rates).astype(float))
    counts, sums = run.totals()
    now = run.standing()
    assert now["estimate"][now.leader_index] == pytest.approx(
        sums[now.leader_index] / counts[now.leader_index]
    )
    apart = now["estimate"][now.leader_index] - np.array(now["estimate"])
    assert apart == pytest.approx(np.array(now["behind"]), abs=1e-12)


def test_a_level_that_moves_between_batches_leaves_the_leader_its_own_mean():
    rng = np.random.default_rng(1)
    run = sp.algorithms.PooledPeleg(0.01, max_samples=900).start(sp.Problem(np.eye(3)))
    level = 0.0
    while not run.stopped:
        batch = run.ask()
        run.tell(batch, level + 0.2 * batch.arms + rng.normal(size=batch.size))
        level = 5.0  # from the second batch on
    (counts, sums), now = run.totals(), run.standing()
    best = now.leader_index
    assert now["estimate"][best] == pytest.approx(sums[best] / counts[best])
    assert now["estimate"][best] > 3.0


def test_nought_is_a_number_and_what_is_not_known_comes_last():
    values = [-1.0, 0.0, None, 2.0]
    assert sorted(values, key=best_first(False)) == [2.0, 0.0, -1.0, None]
    assert sorted(values, key=best_first(True)) == [-1.0, 0.0, 2.0, None]
    columns = {"option": ["low", "nought", "unknown", "high"], "estimate": values}
    now = Standing("best", "high", 3, 9, 0.05, columns)
    table = now.table()
    places = [table.index(f">{name}<") for name in ("high", "nought", "low", "unknown")]
    assert places == sorted(places)


def test_what_rounding_left_of_a_difference_is_nought():
    run = sp.algorithms.PooledPeleg(delta=0.05).start(sp.Problem(np.eye(3), noise=1.0), seed=0)
    left = 0.3 - 0.1 - 0.2
    assert 0 < abs(left) < 1e-15
    run.tell(run.ask(), sums=[left, 3.0, -1.0])
    standing = run.standing()
    assert standing["estimate"][0] == 0.0
    assert standing["estimate"][1] > 0.0 > standing["estimate"][2]
