"""Whole pulls in parts, from designs that few pulls can hardly follow."""

import itertools

import numpy as np
import pytest

import surepick as sp
from surepick.algorithms.pooled.compiled.kernels import round_in_parts
from surepick.algorithms.pooled.large.rounding import round_many_in_parts
from surepick.algorithms.pooled.planner import BlockDesign

FACTORS = np.array(list(itertools.product([0.0, 1.0], repeat=6)))
ARMS = np.column_stack([np.ones(len(FACTORS)), FACTORS])


@pytest.mark.parametrize("n", [7, 14, 15, 21, 60, 200])
@pytest.mark.parametrize("due", [0.25, 0.65, 1.5])
def test_a_design_spread_over_more_arms_than_pulls_still_says_something(n, due):
    """Where at most one arm is due a pull of its own, arms that span are pulled, not it alone."""
    problem = sp.Problem(ARMS)
    rng = np.random.default_rng(n)
    weights = rng.uniform(0.9, 1.1, problem.n_arms)
    weights *= (1 - due / n) / weights[1:].sum()
    weights[0] = due / n
    directions = problem.targets[0] - problem.targets[1:]
    shares = np.full(len(directions), 1 / len(directions))
    nats, spanning = np.ones(len(directions)), problem.spanning_arms
    judges = BlockDesign(weights, 0.0, directions, shares, nats)
    for counts, parts in (
        round_in_parts(problem.features, weights, n, directions, shares, nats, spanning),
        round_many_in_parts(problem.features, weights, n, judges, spanning),
    ):
        assert counts.sum() == n
        assert counts[counts > 0].min() >= parts
        assert np.linalg.matrix_rank(problem.features[counts > 0]) == problem.rank
