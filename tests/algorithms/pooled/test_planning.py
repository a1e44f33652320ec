"""Planning is a function: the same knowledge gives the same block, and changes nothing."""

from __future__ import annotations

import numpy as np
import pytest

import surepick as sp
from surepick.algorithms.pooled.compiled.planner import _first_design
from surepick.algorithms.pooled.planning import next_block
from surepick.arrays.compiled import compiling
from surepick.errors import InvalidInputError
from surepick.run.sharing import Sharing

PROBLEM = sp.Problem(np.vstack([np.eye(3), [[0.8, 0.6, 0.0]]]), noise=1.0)


def known(blocks):
    state = sp.algorithms.PooledPeleg(1e-6).begin(PROBLEM, np.random.default_rng(0))
    rng = np.random.default_rng(1)
    for _ in range(blocks):
        pulls = state.propose(10**6)
        state.observe(
            pulls, pulls.counts * np.arange(4)[pulls.arms] + rng.normal(size=len(pulls.arms))
        )
    return state


@pytest.mark.parametrize("blocks", [0, 3])
def test_the_same_knowledge_gives_the_same_block_and_nothing_changes(blocks):
    state = known(blocks)
    before = state.save()
    one, other = (next_block(state.situation(), 10**6) for _ in range(2))
    assert one is not None
    assert other is not None
    assert one.pulls.same(other.pulls)
    assert np.array_equal(one.weights, other.weights)
    after = state.save()
    assert before.keys() == after.keys()
    assert np.array_equal(before["shares"], after["shares"])
    assert state.propose(10**6).same(one.pulls)


def test_a_block_keeps_to_its_budget_and_is_not_planned_too_far_ahead():
    at = known(3).situation()
    few = next_block(at, 5)
    assert few is not None
    assert few.pulls.total == 5
    assert next_block(at, 10**6, out=10**9) is None


def test_an_algorithm_that_cannot_share_out_visitors_says_so():
    run = sp.algorithms.Rage(0.1).start(PROBLEM)
    assert run.state.traffic() is None
    with pytest.raises(InvalidInputError, match="rage cannot share out visitors"):
        Sharing().shares(run, None)


@pytest.mark.parametrize("when", ["always", "never"])
def test_one_option_alone_has_all_pulls_of_the_first_block(when):
    """Compiled code divides nothing by nothing either."""
    with compiling(when):
        weights = _first_design(sp.Problem.unstructured(1, noise=(0, 1)))
    assert weights.tolist() == [1.0]
