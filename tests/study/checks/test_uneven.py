"""Which arms fail too often: exactly those that the rule names."""

import itertools
from math import comb

import numpy as np

from surepick.study.checks.failures import uneven


def at_least(own_failed, own, failed, attempts):
    """P(so many of all failures on this arm), all failures dealt out to attempts at random."""
    ways = sum(
        comb(own, k) * comb(attempts - own, failed - k)
        for k in range(own_failed, min(own, failed) + 1)
    )
    return ways / comb(attempts, failed)


def test_named_are_those_whose_failures_would_be_rarer_than_one_in_a_thousand():
    close = 0
    for a, b, n in itertools.product(range(13), range(13), (12, 20, 30)):
        failed, told = np.array([a, b, 1]), np.array([n - a, n - b, 40])
        attempts = failed + told
        chances = [
            at_least(int(f), int(t), int(failed.sum()), int(attempts.sum()))
            for f, t in zip(failed, attempts, strict=True)
        ]
        named = [k for k, p in enumerate(chances) if failed[k] >= 3 and p < 0.001 / 3]
        assert uneven(failed, told) == named
        close += sum(0.001 / 3 <= p < 0.005 for p in chances)
    assert close > 20  # one failure more, and they would have been named
