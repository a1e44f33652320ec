"""Judges do what they say: chances, position bias, ties, cycles."""

import numpy as np
import pytest

from surepick.errors import InvalidInputError
from surepick.simulate.judges import Judge, bradley_terry, thurstone, with_cycle


def _share(judge, first, second, n=4000):
    return np.mean([judge(first, second) for _ in range(n)])


def test_chances_bias_and_ties():
    fair = Judge(bradley_terry([1.0, 0.0]), rng=1)
    assert _share(fair, 0, 1) == pytest.approx(1 / (1 + np.exp(-1)), abs=0.03)
    left = Judge(bradley_terry([0.0, 0.0]), left=0.65, rng=2)
    assert _share(left, 0, 1) == pytest.approx(0.65, abs=0.03)
    assert _share(left, 1, 0) == pytest.approx(0.65, abs=0.03)
    tied = Judge(bradley_terry([9.0, 0.0]), ties=0.4, rng=3)
    assert _share(tied, 0, 1) == pytest.approx(0.8, abs=0.03)


def test_who_wins():
    assert Judge(thurstone([0.0, 0.3, 0.2])).winner == 1
    assert Judge(thurstone([0.0, 0.3, 0.2]), left=0.9).winner == 1
    assert Judge(with_cycle(bradley_terry([0.0, 0.3, 0.2]), [0, 1, 2])).winner is None
    with pytest.raises(InvalidInputError, match="sum to 1"):
        Judge([[0.5, 0.9], [0.9, 0.5]])
