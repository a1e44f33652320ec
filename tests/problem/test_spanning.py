"""The arms that span: as many as there are directions, and independent of each other."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import surepick as sp
from surepick.arrays.grid import spread_rows


def independent(problem):
    return np.linalg.matrix_rank(problem.arms[problem.spanning_arms])


@pytest.mark.parametrize("backend", [None, "numpy"])  # with a name: as if there were very many
def test_long_arms_that_are_parallel_do_not_span(backend):
    problem = sp.Problem(
        [[11, 0], [10, 0], [0, 1.0], [0, 1.01], [0, 0.99]], backend=backend, noise=1.0
    )
    assert len(problem.spanning_arms) == independent(problem) == 2


@given(
    st.integers(0, 10**6), st.integers(1, 5), st.integers(0, 3), st.sampled_from([None, "numpy"])
)
def test_spanning_arms_are_independent(seed, rank, more, backend):
    rng = np.random.default_rng(seed)
    lines = rng.normal(size=(rank, rank + more))  # all arms lie on a few lines
    lengths = 10.0 ** rng.uniform(-2, 2, size=4 * rank)
    arms = lines[np.arange(4 * rank) % rank] * lengths[:, None]
    problem = sp.Problem(arms, backend=backend, noise=1.0)
    assert problem.rank == rank
    assert len(set(problem.spanning_arms.tolist())) == rank
    assert independent(problem) == rank


@given(st.integers(0, 10**6), st.integers(1, 5))
def test_rows_are_spread_over_all_directions(seed, rank):
    """What is done where there are very many: a long row is no reason for one parallel to it."""
    rng = np.random.default_rng(seed)
    lines = rng.normal(size=(rank, rank))
    rows = lines[np.arange(4 * rank) % rank] * 10.0 ** rng.uniform(-2, 2, size=(4 * rank, 1))
    chosen = spread_rows(rows, rank)
    assert sorted(chosen % rank) == list(range(rank)), "one of each line"
