"""Extra pulls after which a misfit would be noticed: enough of them, and no more."""

import numpy as np
import pytest

from surepick.design.misfit import check_pulls, noticeable
from surepick.problem import Problem

LEVEL = 0.05


def notices(problem, counts, size):
    pulled = np.flatnonzero(counts)
    found = noticeable(problem.features[pulled], counts[pulled].astype(float), LEVEL)
    return found * problem.noise <= size * (1 + 1e-9)


@pytest.mark.parametrize("noise", [1.0, 3.0])
@pytest.mark.parametrize("seed", range(6))
def test_they_are_as_many_as_it_takes(seed, noise):
    """What was measured before counts, but not for other arms than those it was measured of."""
    rng = np.random.default_rng(seed)
    problem = Problem(np.column_stack([np.ones(9), rng.normal(size=9)]), noise=noise)
    counts = np.zeros(9, dtype=np.int64)
    counts[:3] = 1, 30, 2000  # too few arms to notice anything
    size = 0.5 * noise
    extra = check_pulls(problem, counts, size, level=LEVEL)
    filled = counts + extra
    assert notices(problem, filled, size)
    assert extra[2] == 0 < extra[0]  # the arms measured least get them
    assert len(set(filled[extra > 0].tolist())) == 1
    less = np.maximum(counts, filled[extra > 0].max() - 1)
    assert not notices(problem, less, size)
