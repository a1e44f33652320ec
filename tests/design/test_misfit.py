"""Extra pulls after which a misfit would be noticed: enough of them, and no more."""

import math

import numpy as np
import pytest

from surepick.design.misfit import PRECISIONS, check_pulls, leverage, noticeable
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


def test_all_sizes_that_are_tried_share_the_level():
    """Of a misfit of one size: half of the level is for each arm alone, all precisions share it."""
    n, level = np.full(6, 50.0), 0.05
    x = np.column_stack([np.ones(6), np.arange(6.0)])
    found = []
    for rho in PRECISIONS:
        w = n * n / (n + rho)
        f = (1.0 - leverage(x, w)) * w
        need = 2 * math.log(2 * 9 / level) + float((np.log1p(n / rho) - f / n).sum())
        steady, wild = 2 * float(((f / n) ** 2).sum()), 4 * float((f * f / n).sum())
        low, high = 0.0, 1e6
        for _ in range(200):
            square = 0.5 * (low + high)
            enough = f.sum() * square >= need + 1.28 * math.sqrt(steady + wild * square)
            low, high = (low, square) if enough else (square, high)
        found.append(math.sqrt(high))
    assert len(PRECISIONS) == 9
    assert noticeable(x, n, level) == pytest.approx(min(found), rel=1e-6)
