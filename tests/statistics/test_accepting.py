"""The capital for ruling options out, and for accepting one that is close enough."""

import math

import numpy as np
import pytest

from surepick.statistics import accepting
from surepick.verifier import accepting as twin


def test_all_shares_together_are_at_most_the_whole_capital():
    assert accepting.for_racing(0.0) == 0.0
    for several in (1, 3):
        shares = [math.exp(accepting.for_closeness(k, several)) for k in range(20_000)]
        whole = math.exp(accepting.for_racing(0.1)) + several * sum(shares) / several
        assert 1.0 - 1e-3 < whole <= 1.0 + 1e-12


def test_where_nobody_is_near_it_hardly_costs_anything():
    for delta in (0.05, 0.01):
        assert -accepting.for_racing(0.1) <= 0.02 * math.log(1 / delta)


def test_the_verifier_knows_the_same_shares():
    assert accepting.for_racing(0.1) == pytest.approx(twin.RACING)
    for number, several in ((0, 1), (1, 1), (5, 3)):
        mine = accepting.for_closeness(number, several)
        assert twin.of_leader(number, several) == pytest.approx(mine)


def test_both_kinds_of_capital_count_together_at_one_moment():
    racing, close = np.log([4.0, 1.0]), np.log([5.0, 0.5])
    assert accepting.together(racing, close, np).tolist() == pytest.approx(np.log([9.0, 1.5]))
    assert twin.beside(racing, close).tolist() == pytest.approx(np.log([9.0, 1.5]))
